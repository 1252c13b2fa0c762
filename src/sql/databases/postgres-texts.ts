// Types of PostgreSQL that an item has as strings, as the database prints them, and its lists of scalars.

import { isIP } from 'node:net'
import { parseKept } from '../../base/exact-numbers.ts'
import { isUuid, type Json, type Scalar } from '../../base/values.ts'
import type { Kind } from '../../schema/fields.ts'
import type { ListType, NativeType } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'

/** Of a type that has an index for its values: which strings it surely takes, and as which type they are bound. */
interface IndexedText {
  readonly takes: (text: string) => boolean
  readonly type: string
}

/**
 * The type of strings that the database prints and reads itself. They are compared by code point, as everywhere.
 * @param comparable absent where no index finds a value by `=`.
 */
export function printed(
  comparable?: IndexedText,
  read = (column: Fragment) => sql`${column}::text`,
): NativeType {
  return {
    kind: 'string',
    byText: true,
    ...(comparable && { own: (column: Fragment) => column, indexes: comparable.takes }),
    toColumnText: text => (text.includes('\0') || !text.isWellFormed() ? undefined : text),
    read,
    parse: String,
    bind(text) {
      const { takes, type } = comparable ?? { takes: () => false, type: 'text' }
      return sql`${takes(text) ? text : null}::text::${sql.raw(type)}`
    },
    text: column => sql`${read(column)} collate "C"`,
  }
}

const by = (pattern: RegExp) => (text: string) => pattern.test(text)

function takesNetwork(text: string): boolean {
  const [address = '', bits = '0', ...rest] = text.split('/')
  const version = address.includes('%') ? 0 : isIP(address)
  return (
    version > 0 &&
    rest.length === 0 &&
    /^\d{1,3}$/.test(bits) &&
    +bits <= (version === 4 ? 32 : 128)
  )
}

const NUMERIC: IndexedText = { takes: by(/^-?\d{1,999}(?:\.\d{1,999})?$/), type: 'numeric' }
const NETWORK: IndexedText = { takes: takesNetwork, type: 'inet' }
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const BYTES: NativeType = {
  ...printed(undefined, column => sql`translate(encode(${column}, 'base64'), chr(10), '')`),
  own: column => column,
  toColumnText: text => (BASE64.test(text) ? text : undefined),
  encode: value =>
    typeof value === 'string' && BASE64.test(value)
      ? `\\x${Buffer.from(value, 'base64').toString('hex')}`
      : undefined,
  bind: text => sql`decode(${BASE64.test(text) ? text : null}::text, 'base64')`,
}

const PRINTED: Readonly<Record<string, NativeType>> = {
  bytea: BYTES,
  numeric: printed(NUMERIC),
  bigint: printed({ takes: by(/^-?\d{1,18}$/), type: 'bigint' }),
  'time without time zone': printed({
    takes: by(/^(?:24:00:00|(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?)$/),
    type: 'time',
  }),
  // A cast of `inet` to text adds the mask to each address.
  inet: printed(NETWORK, column => sql`abbrev(${column})`),
  cidr: printed(NETWORK),
  macaddr: printed({ takes: by(/^[\da-f]{2}(?::[\da-f]{2}){5}$/), type: 'macaddr' }),
  macaddr8: printed({ takes: by(/^[\da-f]{2}(?::[\da-f]{2}){7}$/), type: 'macaddr8' }),
}

/** Those that a schema says more exactly than by z.string(). */
const OTHERS = /^(?:|boolean|smallint|integer|jsonb?|date|timestamp.*|.*\[\])$/

/** Finds how a type is read as strings; `undefined` for one that is better declared as what it is. */
export function findPrinted(type: string): NativeType | undefined {
  const bare = type.replace(/\([\d,-]+\)/, '')
  return PRINTED[bare] ?? (OTHERS.test(bare) ? undefined : printed())
}

// --- Lists -----------------------------------------------------------------------------------

const [INT2, INT4] = [2 ** 15, 2 ** 31]
const isStorable = (value: Scalar) => typeof value === 'string' && !value.includes('\0')
const within = (limit: number) => (value: Scalar) =>
  typeof value === 'number' && value >= -limit && value < limit

/** The types whose lists `&&` compares with others, and which values they take. */
const ELEMENTS: Readonly<Record<string, (value: Scalar) => boolean>> = {
  text: isStorable,
  'character varying': isStorable,
  uuid: value => typeof value === 'string' && isUuid(value) && value === value.toLowerCase(),
  smallint: within(INT2),
  integer: within(INT4),
  bigint: within(Number.MAX_SAFE_INTEGER),
}

/** Prints a list as the database reads it; `undefined` where an element is neither a scalar nor null. */
function printList(values: readonly Json[]): string | undefined {
  const texts = values.map(value => {
    if (value === null) return 'NULL'
    if (Array.isArray(value)) return printList(value)
    if (typeof value === 'object' || String(value).includes('\0')) return undefined
    return `"${String(value).toWellFormed().replace(/["\\]/g, '\\$&')}"`
  })
  return texts.includes(undefined) ? undefined : `{${texts.join()}}`
}

/**
 * The type of lists of scalars.
 * @param type of an element, as SQL without a length.
 * @param kind of an element.
 */
export function lists(type: string, kind: Kind): ListType {
  const takes = kind === 'string' || kind === 'integer' ? ELEMENTS[type] : undefined
  const toJson = (column: Fragment) =>
    kind === 'string' ? sql`to_json(${column}::text[])` : sql`to_json(${column})`
  return {
    kind: 'array',
    byText: true,
    toColumnText: () => undefined,
    read: column => sql`${toJson(column)}::text`,
    parse: value => parseKept(String(value)),
    bind: () => sql`null`,
    text: column => sql`${toJson(column)}::text`,
    encode: value => (Array.isArray(value) ? printList(value) : undefined),
    toJson,
    ...(takes && {
      overlap(column: Fragment, values: readonly Scalar[]) {
        return sql`${column} && ${printList(values.filter(takes)) ?? '{}'}::text::${sql.raw(type)}[]`
      },
    }),
  }
}
