// The types of PostgreSQL's columns: what each can hold, and how `uuid`, dates, times, `real`, and texts with
// an order of their own are read and written.

import { isDate, parseInstant } from '../../base/dates.ts'
import { isUuid } from '../../base/values.ts'
import type { Field, Kind } from '../../schema/fields.ts'
import type {
  ColumnType,
  ListType,
  MadeRole,
  NativeType,
  ServedType,
  SqlDatabase,
} from './database.ts'
import { findPrinted, lists, printed } from './postgres-texts.ts'
import { type Fragment, sql } from './sql-text.ts'

const DAY_MS = 86_400_000

const UUID: NativeType = {
  kind: 'string',
  exact: true,
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
  exact: true,
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
    exact: true,
    toColumnText: text => cut(text, digits),
    finer: digits > 3,
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
/** A time without a zone is in UTC, whatever the zone of the session is. */
const LOCAL = { read: fromZone, write: fromZone }

/**
 * The type of texts that the database compares in a way of its own. They are compared by code point, as everywhere.
 * @param type its name, as SQL.
 */
function texts(type: string, toColumnText: (text: string) => string | undefined): ServedType {
  const native: NativeType = {
    ...printed(),
    exact: true,
    // A domain over an enum is not comparable by itself.
    own: column => sql`${column}::${sql.raw(type)}`,
    toColumnText: text =>
      text.includes('\0') || !text.isWellFormed() ? undefined : toColumnText(text),
    bind: text => sql`${text}::text::${sql.raw(type)}`,
  }
  return { as: [], natives: [native] }
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

/** The number of a text in the precision of `real`, with the digits that PostgreSQL prints. */
function printReal(real: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(real.toPrecision(digits))
    if (Math.fround(short) === real) return short
  }
  return Number(real.toPrecision(9))
}

/** Finds what compares with a `real` as a number does with what is read of it. */
function toReal(value: number): number {
  const real = Math.fround(value)
  const read = printReal(real)
  if (read === value || !Number.isFinite(real)) return read === value ? real : value
  // Between that one and the next.
  return real + Math.sign(value - read) * (Math.abs(real) * 2 ** -26 || 2 ** -160)
}

const REAL: NativeType = {
  kind: 'number',
  toColumnText: text => text,
  encode: value => (typeof value === 'number' ? value : undefined),
  read: column => column,
  parse: value => (Number.isFinite(Number(value)) ? Number(value) : undefined),
  bind: text => sql`${String(toReal(Number(text)))}::double precision`,
  text: column => column,
}

const SERVED: Readonly<Record<string, ServedType>> = {
  text: { as: ['text', 'json'], exact: true },
  'character varying': { as: ['text', 'json'] },
  // A UUID fills it; shorter texts would be read with blanks at the end.
  'character(36)': { as: ['text'] },
  smallint: { as: ['integer', 'real'], exact: true },
  integer: { as: ['integer', 'real'], exact: true },
  bigint: { as: ['integer'], exact: true },
  'double precision': { as: ['integer', 'real'], exact: true },
  numeric: { as: ['integer', 'real'] },
  boolean: { as: ['boolean'], exact: true },
  json: { as: ['json'], exact: true },
  jsonb: { as: ['json'] },
  uuid: { as: [], natives: [UUID] },
  date: { as: [], natives: [DATE] },
  real: { as: [], natives: [REAL, printed()] },
  name: NAME,
  character: CHAR,
}

const TIMESTAMPTZ = /^timestamp(?:tz)?(?:\((\d)\))?(?: with time zone)?$/
const TIMESTAMP = /^timestamp(?:\((\d)\))? without time zone$/
/** What stands between the name of an enum and its labels as JSON. */
const LABELS = ' ["'
const CITEXT = /^(?:.+\.)?citext$/
const LENGTH = /\([\d,-]+\)/

/**
 * Finds what a column of a type, as the catalog prints it, can hold.
 * @param isUtc whether times without a zone are UTC.
 */
export function serves(type: string, isUtc = false): ServedType {
  const [instant, digits = 6] = TIMESTAMPTZ.exec(type) ?? []
  if (instant !== undefined) return { as: [], natives: [instants(Number(digits), fromZone)] }
  const [local, kept = 6] = TIMESTAMP.exec(type) ?? []
  if (local !== undefined) {
    if (isUtc) return { as: [], natives: [{ ...instants(Number(kept), asItIs), instant: LOCAL }] }
    const instead =
      "set timezone: 'UTC' in the store if its times are UTC, or { type: 'timestamp utc' } for it in columns"
    return { as: [], instead: () => instead }
  }
  const end = type.indexOf(LABELS)
  if (end > 0) {
    const known: ReadonlySet<string> = new Set(JSON.parse(type.slice(end + 1)))
    return texts(type.slice(0, end), text => (known.has(text) ? text : undefined))
  }
  if (CITEXT.test(type) || type.endsWith(' collate'))
    return texts(type.replace(/ collate$/, ''), text => text)
  if (type.endsWith('[]')) return { as: [], listOf: kind => findList(type.slice(0, -2), kind) }
  // Users name types as they like: `constructor` is none of these.
  const name = [type, type.replace(LENGTH, '')].find(each => Object.hasOwn(SERVED, each))
  const served = (name === undefined ? undefined : SERVED[name]) ?? { as: [] }
  const text = served.as.includes('text') ? undefined : findPrinted(type)
  return { ...(text && { natives: [text] }), ...served }
}

const TYPES_OF_KIND: Readonly<Partial<Record<Kind, ColumnType>>> = {
  integer: 'integer',
  number: 'real',
  boolean: 'boolean',
}

/** Finds how a list of a type is read as one of a kind; `undefined` where its elements are of another kind. */
function findList(type: string, kind: Kind): ListType | undefined {
  const { as, natives = [] } = serves(type)
  const wanted = kind === 'string' ? 'text' : TYPES_OF_KIND[kind]
  const isOfKind = natives.some(each => each.kind === kind) || (wanted && as.includes(wanted))
  return isOfKind ? lists(type.replace(LENGTH, ''), kind) : undefined
}

/** The forms that `columns` names: a `timestamp` whose times are UTC. */
export const FORMS: SqlDatabase['forms'] = {
  'timestamp utc': {
    made: 'timestamp(3) without time zone',
    native: type => (TIMESTAMP.test(type) ? serves(type, true).natives?.[0] : undefined),
  },
}
