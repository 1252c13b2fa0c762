// Values inside JSON text, as MariaDB and MySQL read them.
import type { Kind, Scalar } from '../fields.ts'
import type { JsonPath, JsonType, Mixed } from './sql-dialect.ts'
import { type Fragment, sql } from './sql-text.ts'

/** By code point, blanks at the end counting: each of the two reads the comment that is for it. */
export const COLLATE = 'collate /*M!100201 utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */'
export const C = sql.raw(COLLATE)

/**
 * A literal that means the same whatever a backslash does in the session, a `?` for the driver, and
 * the character set of the database: a generated column of a `latin1` one finds no `ß`.
 */
function literal(text: string): Fragment {
  if (!/[\\?]|[^ -~]/.test(text)) return sql.lit(text)
  return sql.raw(`convert(x'${Buffer.from(text).toString('hex')}' using utf8mb4)`)
}

export function inside(column: Fragment, { names, declared }: JsonPath): Fragment {
  if (names.length === 0) return column
  const text = names.reduce((path, name) => `${path}."${name.replace(/["\\]/g, '\\$&')}"`, '$')
  return sql`json_extract(${column}, ${declared ? literal(text) : sql`${text.toWellFormed()}`})`
}

/** What a JSON value says without its quotes; functions of JSON have a collation of their own. */
function unquoted(json: Fragment): Fragment {
  return sql`convert(json_unquote(${json}) using utf8mb4) ${C}`
}

const TYPES: Readonly<Record<JsonType, Fragment>> = {
  string: sql`= 'STRING'`,
  number: sql`in ('INTEGER', 'DOUBLE', 'UNSIGNED INTEGER', 'DECIMAL')`,
  boolean: sql`= 'BOOLEAN'`,
}

function isType(json: Fragment, type: JsonType): Fragment {
  return sql`json_type(${json}) ${TYPES[type]}`
}

/** One kind out of JSON; null where the value is of another type. */
export function typed(json: Fragment, kind: Kind): Fragment {
  const only = (type: JsonType, value: Fragment) =>
    sql`(case when ${isType(json, type)} then ${value} end)`
  switch (kind) {
    case 'number':
    case 'integer':
      return only('number', sql`cast(${unquoted(json)} as double)`)
    case 'boolean':
      return only('boolean', sql`${unquoted(json)} = 'true'`)
    default:
      return only('string', unquoted(json))
  }
}

/** The digits of a number that count in a {@link mixedKey}: more than a double has. */
const DIGITS = 20
const NINES = '9'.repeat(DIGITS)
/** Makes every exponent of ten positive, of four digits. */
const BIAS = 500

/**
 * Values of all types in one order, as texts: `1` and `2` before negative and other numbers, then the
 * exponent and the digits, `3` before texts, `4` for the rest. {@link mixedKey} gives the same for a value.
 */
export function mixed(json: Fragment): Mixed {
  const text = unquoted(json)
  const size = sql`trim(leading '-' from lower(${text}))`
  const mantissa = sql`substring_index(${size}, 'e', 1)`
  const exponent = sql`cast(if(locate('e', ${size}), substring_index(${size}, 'e', -1), '0') as signed)`
  const all = sql`replace(${mantissa}, '.', '')`
  const digits = sql`trim(leading '0' from ${all})`
  const point = sql`${exponent} + length(substring_index(${mantissa}, '.', 1)) - length(${all}) + length(${digits})`
  const padded = sql`rpad(${digits}, ${sql.lit(DIGITS)}, '0')`
  const key = sql`(case json_type(${json})
    when 'STRING' then concat('3', ${text})
    when 'BOOLEAN' then if(${text} = 'true', ${sql.lit(mixedKey(1))}, ${sql.lit(mixedKey(0))})
    when 'OBJECT' then '4' when 'ARRAY' then '4'
    when 'NULL' then null
    else case when ${digits} = '' then ${sql.lit(mixedKey(0))}
      when left(${text}, 1) = '-' then concat('1', lpad(${sql.lit(9999 - BIAS)} - (${point}), 4, '0'),
        lpad(${sql.raw(NINES)} - cast(${padded} as decimal(${sql.lit(DIGITS)})), ${sql.lit(DIGITS)}, '0'))
      else concat('2', lpad(${sql.lit(BIAS)} + ${point}, 4, '0'), ${padded}) end end)`
  return {
    value: text,
    order: key,
    is: type => isType(json, type),
    as: kind => typed(json, kind),
  }
}

export function mixedKey(value: Scalar | object): string {
  if (typeof value === 'object') return '4'
  if (typeof value === 'string') return `3${value}`
  const number = Number(value)
  if (number === 0) return `2${'0'.repeat(4 + DIGITS)}`
  const [digits = '', exponent] = Math.abs(number).toExponential().replace('.', '').split('e')
  const point = BIAS + 1 + Number(exponent)
  const padded = digits.padEnd(DIGITS, '0')
  if (number > 0) return `2${String(point).padStart(4, '0')}${padded}`
  const rest = String(BigInt(NINES) - BigInt(padded)).padStart(DIGITS, '0')
  return `1${String(9999 - point).padStart(4, '0')}${rest}`
}
