// The types of PostgreSQL's columns: what each can hold, and how `uuid`, dates, times, and texts with
// an order of their own are read and written.

import { isDate, parseInstant } from '../../base/dates.ts'
import { isUuid } from '../../base/values.ts'
import type { Field } from '../../schema/fields.ts'
import type { MadeRole, NativeType, ServedType } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'

const DAY_MS = 86_400_000

const UUID: NativeType = {
  kind: 'string',
  toColumnText: text => (isUuid(text) ? text.toLowerCase() : undefined),
  read: column => sql`${column}::text`,
  parse: String,
  bind: text => sql`${isUuid(text) ? text : null}::text::uuid`,
  text: column => sql`${column}::text collate "C"`,
}

const MAX_INT = sql.lit(2 ** 31 - 1)

/** Prints a time of the years 1 to 9999; no other has a text of RFC 3339 that PostgreSQL reads. */
function printTime(time: number): string | undefined {
  const date = new Date(time)
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999 ? date.toISOString() : undefined
}

const DATE: NativeType = {
  kind: 'date',
  toColumnText: text => (isDate(text) ? text : undefined),
  // As a number of days: PostgreSQL does not print the year 0 as ISO 8601 does.
  // Infinity is a number of days that no date has.
  read: column =>
    sql`case when isfinite(${column}) then ${column} - date '1970-01-01' when ${column} is not null then ${MAX_INT} end`,
  parse: days => printTime(Number(days) * DAY_MS)?.slice(0, -14),
  bind: text => sql`${isDate(text) ? toBound(text) : null}::text::date`,
  text: column => sql`to_char(${column}, 'YYYY-MM-DD') collate "C"`,
  toUtc: column => sql`${column}::timestamp`,
}

const UTC = sql.lit('YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
/** A text of `toISOString()` on a day that every month has: the usual case needs no `Date`. */
const PLAIN_ISO =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/**
 * @param digits how many digits of a second the column keeps; finer ones are cut.
 * @param toUtc converts it to a `timestamp` in UTC.
 */
function instants(digits: number, toUtc: (column: Fragment) => Fragment): NativeType {
  const cut = (text: string, at: number): string | undefined => {
    if (at >= 3 && PLAIN_ISO.test(text)) return text
    const time = parseInstant(text)
    if (Number.isNaN(time)) return undefined
    const [, fraction = ''] = /[.](\d+)/.exec(text) ?? []
    return printInstant(time, fraction.slice(0, at).padEnd(6, '0'))
  }
  return {
    kind: 'date-time',
    toColumnText: text => cut(text, digits),
    ...(digits > 3 ? MICROSECONDS : MILLISECONDS),
    bind(text) {
      const instant = cut(text, Math.max(3, digits))
      return sql`${instant === undefined ? null : toBound(instant)}`
    },
    text: column => sql`to_char(${toUtc(column)}, ${UTC}) collate "C"`,
    toUtc,
  }
}

const fromZone = (column: Fragment) => sql`(${column} at time zone 'UTC')`
const asItIs = (column: Fragment) => column

/**
 * The type of texts that the database compares in a way of its own. They are compared by code point, as everywhere.
 * @param type its name, as SQL.
 */
function texts(type: string, toColumnText: (text: string) => string | undefined): ServedType {
  const native: NativeType = {
    kind: 'string',
    // A domain over an enum is not comparable by itself.
    own: column => sql`${column}::${sql.raw(type)}`,
    toColumnText: text =>
      text.includes('\0') || !text.isWellFormed() ? undefined : toColumnText(text),
    read: column => sql`${column}::text`,
    parse: String,
    bind: text => sql`${text}::text::${sql.raw(type)}`,
    text: column => sql`${column}::text collate "C"`,
  }
  return { as: [], native, exact: true }
}

/** The names that PostgreSQL itself makes, and cuts. */
const NAME = texts('name', text => (Buffer.byteLength(text) < 64 ? text : undefined))
const CHAR = texts('bpchar', text => {
  let end = text.length
  while (text[end - 1] === ' ') end--
  return text.slice(0, end)
})

/** Most items have one time twice, as created and updated: it is printed once. */
let [lastSeconds, lastText]: [unknown, string | undefined] = [undefined, '']

const MILLISECONDS: Pick<NativeType, 'read' | 'parse'> = {
  read: column => sql`date_part('epoch', ${column})`,
  parse(seconds) {
    if (seconds !== lastSeconds) {
      lastText = printTime(Math.round(Number(seconds) * 1000))
      lastSeconds = seconds
    }
    return lastText
  },
}

/** As text: a double cannot hold so many digits. */
const MICROSECONDS: Pick<NativeType, 'read' | 'parse'> = {
  read: column =>
    sql`case when isfinite(${column}) then (extract(epoch from ${column}) * 1000000)::bigint::text when ${column} is not null then 'infinity' end`,
  parse(value) {
    if (value === 'infinity') return undefined
    const microseconds = BigInt(String(value))
    const fraction = ((microseconds % 1_000_000n) + 1_000_000n) % 1_000_000n
    const milliseconds = (microseconds - (fraction % 1000n)) / 1000n
    const time = Number(milliseconds)
    return printTime(time) && printInstant(time, String(fraction).padStart(6, '0'))
  },
}

/**
 * Prints an instant as `toISOString()` does, with six digits of a second where three are not exact.
 * @param time in milliseconds since 1970.
 * @param fraction six digits of a second, which replace those of `time`.
 */
function printInstant(time: number, fraction: string): string {
  const finer = fraction.endsWith('000') ? '' : fraction.slice(3)
  return `${new Date(time).toISOString().slice(0, -4)}${fraction.slice(0, 3)}${finer}Z`
}

/** Replaces a time before the year 1, which PostgreSQL does not read, by one before all others. */
function toBound(text: string): string {
  return text < '0001' ? '-infinity' : text
}

/** Finds the native type of a new column. */
export function nativeFor({ kind }: Field, role: MadeRole | undefined): string | undefined {
  if (role === 'id') return 'uuid'
  if (role === 'time') return 'timestamptz(3)'
  return kind === 'date' ? 'date' : undefined
}

const NARROW = 'alter it to a numeric of at most 15 digits, such as numeric(12,2)'

const SERVED: Readonly<Record<string, ServedType>> = {
  text: { as: ['text', 'json'], exact: true },
  'character varying': { as: ['text', 'json'] },
  // A UUID fills it; shorter texts would be read with blanks at the end.
  'character(36)': { as: ['text'] },
  smallint: { as: ['integer', 'real'], exact: true },
  integer: { as: ['integer', 'real'], exact: true },
  bigint: { as: ['integer'], exact: true },
  'double precision': { as: ['integer', 'real'], exact: true },
  boolean: { as: ['boolean'], exact: true },
  json: { as: ['json'], exact: true },
  jsonb: { as: ['json'] },
  uuid: { as: [], native: UUID, exact: true },
  date: { as: [], native: DATE, exact: true },
  numeric: { as: [], instead: NARROW },
  name: NAME,
  character: CHAR,
}

const TIMESTAMPTZ = /^timestamp(?:tz)?(?:\((\d)\))?(?: with time zone)?$/
const TIMESTAMP = /^timestamp(?:\((\d)\))? without time zone$/
/** What stands between the name of an enum and its labels as JSON. */
const LABELS = ' ["'
const CITEXT = /^(?:.+\.)?citext$/

/**
 * Finds what a column of a type, as the catalog prints it, can hold.
 * @param isUtc whether times without a zone are UTC.
 */
export function serves(type: string, isUtc = false): ServedType {
  const [, precision, scale] = /^numeric\((\d+)(?:,(-?\d+))?\)$/.exec(type) ?? []
  // A double holds 15 digits exactly.
  if (precision !== undefined && Number(precision) <= 15) return { as: ['integer', 'real'] }
  if (precision !== undefined)
    return { as: Number(scale) === 0 ? ['integer'] : [], instead: NARROW }
  const [instant, digits = 6] = TIMESTAMPTZ.exec(type) ?? []
  if (instant !== undefined)
    return { as: [], native: instants(Number(digits), fromZone), exact: true }
  const [local, kept = 6] = TIMESTAMP.exec(type) ?? []
  if (local !== undefined) {
    if (!isUtc) return { as: [], instead: "set timezone: 'UTC' in the store if its times are UTC" }
    return { as: [], native: instants(Number(kept), asItIs), exact: true }
  }
  const end = type.indexOf(LABELS)
  if (end > 0) {
    const known: ReadonlySet<string> = new Set(JSON.parse(type.slice(end + 1)))
    return texts(type.slice(0, end), text => (known.has(text) ? text : undefined))
  }
  if (CITEXT.test(type)) return texts(type, text => text)
  return SERVED[type] ?? SERVED[type.replace(/\(\d+\)/, '')] ?? { as: [] }
}
