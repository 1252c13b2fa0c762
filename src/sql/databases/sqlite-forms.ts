// What columns of SQLite hold: by the affinity of their types, and by forms of values that no type tells, such as times as
// numbers and booleans as words.

import { isDateTime, parseInstant, toUtc } from '../../base/dates.ts'
import type { Kind } from '../../schema/fields.ts'
import type { NativeType, ServedType, SqlDatabase, ValueForm } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'

const TEXT: ServedType = { as: ['text', 'json'], instead: adviseForm }
const NUMBER: ServedType = { as: ['integer', 'real', 'boolean'], instead: adviseForm }
const ANY: ServedType = { as: ['text', 'integer', 'real', 'boolean', 'json'] }
const REAL = /REAL|FLOA|DOUB/i
/** Types of numbers whose affinity is that of unknown types, such as `DATETIME`. */
const NUMERIC = /NUMERIC|NUMBER|DECIMAL|MONEY|BOOL/

/** What stands behind the type of a column in whose collation different texts are equal. */
const COLLATED = ' COLLATE'

/** Texts of such a column. They are compared by code point, as everywhere. */
const COLLATED_TEXT: NativeType = {
  kind: 'string',
  byText: true,
  exact: true,
  own: column => column,
  toColumnText: text => text,
  read: column => column,
  parse: value => (typeof value === 'string' ? value : undefined),
  bind: text => sql`${text}`,
  text: column => sql`(${column} collate binary)`,
}

/** Finds the type of a row of the catalog, with its collation if that is not by code point. */
export function typeOf(row: Readonly<Record<string, unknown>>): string {
  const type = String(row.type)
  // The statement that makes the table, if that names a collation.
  if (row.statement === null) return type
  const [, columns = ''] = String(row.statement).split(/\((.*)/s)
  const own = columns.split(',').find(column => beginsWith(column, String(row.name)))
  return TEXTS.test(type) && FOLDING.test(own ?? '') ? type + COLLATED : type
}

/** Whether the declaration of a column is of this name. */
function beginsWith(column: string, name: string): boolean {
  const unquoted = column.trimStart().replace(/^["'`[]/, '')
  const [found, next = ''] = [unquoted.slice(0, name.length), unquoted.slice(name.length)]
  return found.toLowerCase() === name.toLowerCase() && !/^\w/.test(next)
}

/** Names a collation that is not by code point. */
const FOLDING = /\bcollate\s+["'`[]?(?!binary\b)\w/i

const TEXTS = /CHAR|CLOB|TEXT/

/** Finds what a column holds by the words of its type, as SQLite finds its affinity. It converts all other values. */
export function converts(type: string): ServedType {
  if (type.endsWith(COLLATED)) return { as: ['json'], natives: [COLLATED_TEXT] }
  const name = type.toUpperCase()
  if (/INT/.test(name)) return NUMBER
  if (TEXTS.test(name)) return TEXT
  if (name === '' || /BLOB/.test(name)) return ANY
  return REAL.test(name) || NUMERIC.test(name) ? NUMBER : ANY
}

function adviseForm(kind: Kind): string | undefined {
  const forms = Object.keys(FORMS).filter(name => FORMS[name]?.native('')?.kind === kind)
  const named = forms.map(name => `'${name}'`).join(', ')
  return named === ''
    ? undefined
    : `say the form of its values in columns: { type: … } with one of ${named}`
}

/** The years 0 to 9999: no other time has a text of RFC 3339. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z')
const END_MS = Date.parse('+010000-01-01T00:00:00Z')

/** @param unit in milliseconds. */
function unix(unit: number): ValueForm {
  const seconds = sql.lit(1000 / unit)
  const print = (column: Fragment) =>
    sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / ${seconds}.0, 'unixepoch')`
  const native: NativeType = {
    kind: 'date-time',
    as: 'integer',
    toColumnText: text => (Number.isNaN(parseInstant(text)) ? undefined : text),
    encode: value => Math.floor(parseInstant(String(value)) / unit),
    read: column => column,
    parse(value) {
      if (typeof value !== 'number' && typeof value !== 'bigint') return undefined
      const time = Math.round(Number(value) * unit)
      return time >= FIRST_MS && time < END_MS ? new Date(time).toISOString() : undefined
    },
    bind: text => sql`${parseInstant(text) / unit}`,
    text: print,
    instant: {
      read: print,
      write: instant =>
        sql`cast(round((julianday(${instant}) - 2440587.5) * 86400000) / ${sql.lit(unit)} as integer)`,
    },
    toUtc: column => sql`cast(round(${column} * ${sql.lit(unit)}) as integer)`,
  }
  // The digits beyond milliseconds are not shown. An index serves a column without them.
  const order = (column: Fragment) =>
    sql`(round(${column} * ${sql.lit(unit)}) / ${sql.lit(unit)}.0)`
  const finer: NativeType = { ...native, order, text: column => print(order(column)) }
  return { made: 'INTEGER', native: type => (REAL.test(type) ? finer : native) }
}

/** @param no sorts first. */
function words(no: string, yes: string): ValueForm {
  const native: NativeType = {
    kind: 'boolean',
    toColumnText: text => text,
    encode: value => (value === true ? yes : no),
    read: column => column,
    parse: value => (value === yes ? true : value === no ? false : undefined),
    bind: text => sql`${text === 'true' ? yes : no}`,
    text: column => column,
  }
  return { made: 'TEXT', native: () => native }
}

/**
 * Converts a text to milliseconds since 1970. It is computed from its parts: `julianday` rounds milliseconds, and refuses
 * offsets beyond 14 hours.
 */
export function printedInstant(text: Fragment): Fragment {
  return sql`(cast(round((julianday(substr(${text}, 1, 10) || ' ' || substr(${text}, 12, 5)) - 2440587.5) * 1440) as integer) * 60000
    + case when substr(${text}, 17, 1) = ':' then cast(round(cast(substr(${text}, 18, 6) as real) * 1000) as integer) else 0 end
    - case when ${text} glob '*[+-][0-9][0-9]:[0-9][0-9]' then (case substr(${text}, -6, 1) when '-' then -1 else 1 end) * (substr(${text}, -5, 2) * 60 + substr(${text}, -2)) * 60000 else 0 end)`
}

const INSTANT = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?Z?$/

/** Texts as `datetime()` and `current_timestamp` print them, in UTC. Those of the store are read and compared too. */
const DATE_TIME: NativeType = {
  kind: 'date-time',
  toColumnText: text => (Number.isNaN(parseInstant(text)) ? undefined : text),
  encode: value =>
    toUtc(String(value))
      .replace(/(?:\.000)?Z$/, '')
      .replace('T', ' '),
  read: column => column,
  parse(value) {
    const [, day, time, fraction = ''] = INSTANT.exec(String(value)) ?? []
    const text = `${day}T${time}.${fraction.padEnd(3, '0')}Z`
    return isDateTime(text) ? text : undefined
  },
  bind: text => sql`${parseInstant(text)}`,
  text: column => {
    const fraction = sql`rtrim(substr(${column}, 21), 'Z')`
    return sql`substr(${column}, 1, 10) || 'T' || substr(${column}, 12, 8) || '.' || substr(${fraction} || '000', 1, max(3, length(${fraction}))) || 'Z'`
  },
  order: printedInstant,
  instant: {
    read: column => column,
    write: instant => sql`replace(rtrim(${instant}, 'Z'), 'T', ' ')`,
  },
}

export const FORMS: SqlDatabase['forms'] = {
  'datetime utc': { made: 'TEXT', native: () => DATE_TIME },
  'unix seconds': unix(1000),
  'unix milliseconds': unix(1),
  't/f': words('f', 't'),
  'true/false': words('false', 'true'),
  'Y/N': words('N', 'Y'),
  'yes/no': words('no', 'yes'),
}
