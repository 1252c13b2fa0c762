// PostgreSQL, 13 and later, and what speaks as it does. The database's encoding must be UTF8.

import type { Kind } from '../schema/fields.ts'
import type { Path } from '../schema/paths.ts'
import type { Scalar } from '../schema/values.ts'
import type { LikeStep } from '../store/selection.ts'
import {
  type Failure,
  type JsonPath,
  literalOrBound,
  type Mixed,
  type ServedColumn,
  type SqlDatabase,
  servedDecimal,
} from './database.ts'
import { type Fragment, sql } from './sql-text.ts'
import { timestampText } from './types.ts'

/** By code point, whatever the order of the database is. */
const C = sql`collate "C"`

/** `json` keeps what it is given as it is written; a column of text or `jsonb` is read as if it were one. */
function inside(column: Fragment, names: Path, declared: boolean): Fragment {
  return names.reduce<Fragment>(
    (value, name) => sql`${value} -> ${nameOf(name, declared)}`,
    sql`(${column})::json`,
  )
}

/** An operator on JSON takes a position as well: a bound name must say that it is none. */
function nameOf(name: string, declared: boolean): Fragment {
  return declared ? literalOrBound(name, true) : sql`${name}::text`
}

function textInside(column: Fragment, { names, declared }: JsonPath): Fragment {
  const last = names.at(-1)
  if (last === undefined) return rootText(inside(column, names, declared))
  const parent = inside(column, names.slice(0, -1), declared)
  return sql`(${parent} ->> ${nameOf(last, declared)})`
}

function rootText(json: Fragment): Fragment {
  return sql`(${json} #>> '{}')`
}

/** One kind out of JSON; null where the value is of another type, since a cast of it would be an error. */
function typed(json: Fragment, text: Fragment, kind: Kind): Fragment {
  switch (kind) {
    case 'number':
    case 'integer':
      return sql`case json_typeof(${json}) when 'number' then ${text}::double precision end`
    case 'boolean':
      return sql`case json_typeof(${json}) when 'boolean' then ${text}::boolean end`
    default:
      return sql`${text} ${C}`
  }
}

/**
 * Values of all types in one order, as texts: `1` and `2` before negative and other numbers, by the
 * bits of the number, `3` before texts, `4` for the rest. {@link mixedKey} gives the same for a value.
 */
function mixed(json: Fragment): Mixed {
  const text = rootText(json)
  const bits = (number: Fragment) => sql`encode(float8send(${number}), 'hex')`
  const number = sql`${text}::double precision`
  const key = sql`(case json_typeof(${json})
    when 'string' then '3' || ${text}
    when 'number' then case when ${number} < 0
      then '1' || translate(${bits(number)}, '0123456789abcdef', 'fedcba9876543210')
      else '2' || ${bits(sql`(${number} + 0)`)} end
    when 'boolean' then '2' || ${bits(sql`(case ${text} when 'true' then 1 else 0 end)::double precision`)}
    when 'null' then null
    when 'object' then '4' when 'array' then '4' end) ${C}`
  return {
    value: sql`${text} ${C}`,
    order: key,
    is: type => sql`json_typeof(${json}) = ${sql.lit(type)}`,
    as: kind => typed(json, text, kind),
  }
}

function mixedKey(value: Scalar | object): string {
  if (typeof value === 'object') return '4'
  if (typeof value === 'string') return `3${value}`
  const bits = Buffer.alloc(8)
  bits.writeDoubleBE(Number(value) + 0)
  if (Number(value) >= 0) return `2${bits.toString('hex')}`
  return `1${Buffer.from(bits.map(byte => 255 - byte)).toString('hex')}`
}

const DATE_TIME =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?$'

/**
 * Counted by hand: PostgreSQL's own casts depend on settings, so that no index may hold them, and
 * fail where a text is no date. The day is that of Fliegel and Van Flandern (1968).
 */
function instant(text: Fragment): Fragment {
  const part = (from: number, length: number) =>
    sql`substr(${text}, ${sql.lit(from)}, ${sql.lit(length)})::int`
  const [year, month, day] = [part(1, 4), part(6, 2), part(9, 2)]
  const early = sql`((${month} - 14) / 12)`
  return sql`(case when ${text} ~ ${sql.lit(DATE_TIME)} then
    (1461 * (${year} + 4800 + ${early}) / 4 + 367 * (${month} - 2 - 12 * ${early}) / 12
      - 3 * ((${year} + 4900 + ${early}) / 100) / 4 + ${day} - 2472663)::bigint * 86400000
    + (${part(12, 2)} * 60 + ${part(15, 2)}) * 60000
    + coalesce(substring(${text} from '^.{16}:([0-9]{2})')::int, 0) * 1000
    + coalesce(rpad(substring(${text} from '[.]([0-9]{1,3})'), 3, '0')::int, 0)
    - case when left(right(${text}, 6), 1) in ('+', '-')
      then (left(right(${text}, 6), 1) || '1')::int * 60000
        * (left(right(${text}, 5), 2)::int * 60 + right(${text}, 2)::int)
      else 0 end end)`
}

/** Bound as text and cast: a driver that guesses types cannot guess wrong, and no value fails to be cast. */
function bind(value: Scalar | object, kind: Kind): Fragment {
  switch (kind) {
    case 'any':
    case 'union':
      return sql`${storable(mixedKey(value))}::text`
    case 'boolean':
      return sql`${String(value === true)}::boolean`
    case 'number': {
      // Which a column of any type of numbers is compared with as it is, and an index of it with it.
      const number = Number(value)
      return Number.isFinite(number)
        ? sql`${String(number)}::numeric`
        : sql`${String(number)}::double precision`
    }
    case 'integer': {
      const number = Number(value)
      return Number.isSafeInteger(number)
        ? sql`${String(number)}::bigint`
        : sql`${String(number)}::numeric`
    }
    default:
      return sql`${storable(String(value))}::text`
  }
}

const UTC = sql.lit('YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')

const OWN: Required<SqlDatabase['own']> = {
  uuid: {
    made: () => 'uuid',
    read: column => sql`${column}::text`,
    parse: text => text,
    write: text => text,
    bind: text => sql`${text}::text::uuid`,
    text: column => sql`${column}::text ${C}`,
  },
  date: {
    made: () => 'date',
    read: column => sql`to_char(${column}, 'YYYY-MM-DD')`,
    parse: text => text,
    write: dayOf,
    bind: text => sql`${text === null ? null : dayOf(text)}::text::date`,
    text: column => sql`to_char(${column}, 'YYYY-MM-DD') ${C}`,
  },
  // With and without a time zone: an epoch is of UTC in both, a bound value of the column's own type.
  timestamp: {
    made: digits => `timestamp(${digits}) with time zone`,
    read: column => sql`(extract(epoch from ${column}) * 1000000)::bigint::text`,
    parse(text) {
      const microseconds = BigInt(text)
      const fraction = ((microseconds % 1_000_000n) + 1_000_000n) % 1_000_000n
      const milliseconds = (microseconds - (fraction % 1000n)) / 1000n
      return timestampText(Number(milliseconds), String(fraction).padStart(6, '0'))
    },
    write: dayOf,
    bind: text => sql`${text === null ? null : dayOf(text)}`,
    text: column =>
      sql`to_char(to_timestamp(extract(epoch from ${column})) at time zone 'UTC', ${UTC}) ${C}`,
  },
}

/** Of years before the first, and after 9999, as PostgreSQL reads them. */
function dayOf(text: string): string {
  const [, sign, year = '', rest] = /^([+-]?)(\d+)(-.*)$/.exec(text) ?? []
  if (sign === '-' || Number(year) === 0) {
    return `${String(1 + Number(year)).padStart(4, '0')}${rest} BC`
  }
  return `${sign === '+' ? year.replace(/^0/, '') : year}${rest}`
}

/** No text in the database holds U+0000, and to bind one is an error: a character that none has stands for it. */
function storable(text: string): string {
  return text.replaceAll('\0', '\u{10FFFF}').toWellFormed()
}

/** The type of a column, or that of which its domain is, or the domain of that one. */
const CATALOG =
  sql.raw(`select a.attname as name, t.typcategory::text as category, l.collname as collation,
  (with recursive base (type, mod, next, below) as (
    select t.oid, a.atttypmod, t.typbasetype, t.typtypmod union all
    select b.oid, base.below, b.typbasetype, b.typtypmod from base join pg_type as b on b.oid = base.next)
    select format_type(base.type, base.mod) from base where base.next = 0) as type,
  c.relkind in ('r', 'p') and not c.relrowsecurity as base, exists (select 1 from pg_trigger as g where g.tgrelid = c.oid and not g.tgisinternal) as ruled,
  case c.relkind when 'r' then exists (select 1 from pg_index as i where i.indrelid = c.oid and i.indisunique
    and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum) end as alone
  from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type as t on t.oid = a.atttypid left join pg_collation as l on l.oid = a.attcollation
  where c.oid = to_regclass(`)

const NOTHING: ServedColumn = { as: [], types: [] }
const OF_TYPE: Readonly<Record<string, ServedColumn>> = {
  text: { as: ['text', 'json'], types: ['text'] },
  'character varying': { as: ['text', 'json'], types: ['text'] },
  smallint: { as: ['integer', 'real'], types: ['double', 'text'] },
  integer: { as: ['integer', 'real'], types: ['double', 'text'] },
  bigint: { as: ['integer'], types: ['double', 'text'] },
  'double precision': { as: ['integer', 'real'], types: ['double'] },
  real: { as: [], types: ['double'] },
  boolean: { as: ['boolean'], types: [] },
  json: { as: ['json'], types: [] },
  jsonb: { as: ['json'], types: [] },
  uuid: { as: [], types: ['uuid'] },
  date: { as: [], types: ['date'] },
  'timestamp with time zone': { as: [], types: ['timestamp'] },
  'timestamp without time zone': { as: [], types: ['timestamp'] },
}

/** Of what is read with blanks at its end and compared without, the one that a UUID fills. */
const UUID_TEXT = 'character(36)'

function serves(type: string, category: string): ServedColumn {
  const [, digits, scale] = /^numeric\((\d+),(-?\d+)\)$/.exec(type) ?? []
  if (digits !== undefined) return servedDecimal(Number(digits), Number(scale))
  if (type === 'numeric') return { as: [], types: ['double', 'text'] }
  const known = OF_TYPE[type.replace(/\(\d+\)/, '')]
  if (known) return known
  // Strings and enums.
  if (category !== 'S' && category !== 'E') return NOTHING
  return { as: type === UUID_TEXT ? ['text'] : [], types: ['text'] }
}

/** A text too long for its column, a number or a date out of its range, no value of an enum; null, a check, a trigger. */
const UNSTORABLE: ReadonlySet<string> = new Set([
  '22001',
  '22003',
  '22008',
  '22P02',
  '23502',
  '23514',
  'P0001',
])
/** Foreign keys, exclusions. */
const CONFLICT: ReadonlySet<string> = new Set(['23001', '23503', '23P01'])

/** SQLSTATE classes and codes, and what Node and pg say of connections. */
const UNAVAILABLE =
  /^(?:08...|53...|57P0\d|25006|55P03|E(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN))$/
const LOST =
  /^Connection terminated|^Client (?:has encountered a connection error|was closed)|timeout exceeded when trying to connect|^Query read timeout|after calling end on the pool|already been destroyed|^the database system is (?:starting up|shutting down|in recovery)/

function failure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error ? String(error.code) : ''
  if (code === '23505') return uniqueFailure(error)
  if (code === '40001' || code === '40P01' || isStale(error, code)) return { kind: 'again' }
  if (code === '54000') {
    // `index row size 2728 exceeds btree version 4 maximum 2704 for index "cars_by_color"`
    const index = /"([^"]+)"/.exec(error.message)?.[1]
    return { kind: 'unstorable', ...(index !== undefined && { index }) }
  }
  if (UNSTORABLE.has(code)) {
    const column = 'column' in error ? error.column : undefined
    return { kind: 'unstorable', ...(typeof column === 'string' && { column }) }
  }
  if (CONFLICT.has(code)) return { kind: 'conflict' }
  if (code === '57014') return { kind: 'cancelled' }
  // Several addresses tried at once fail as one.
  const [first] = error instanceof AggregateError ? error.errors : []
  if (first !== undefined && code === '') return failure(first)
  return UNAVAILABLE.test(code) || LOST.test(error.message) ? { kind: 'unavailable' } : undefined
}

/** Whether a statement was prepared before its table was altered, or all were dropped: it is prepared anew. */
function isStale(error: Error, code: string): boolean {
  // The message is in the server's language.
  const revalidated = 'routine' in error && error.routine === 'RevalidateCachedQuery'
  return code === '26000' || (code === '0A000' && revalidated)
}

function uniqueFailure(error: Error): Failure {
  const index = 'constraint' in error ? String(error.constraint) : ''
  const detail = 'detail' in error ? String(error.detail) : ''
  // `Key (paint, "Remark")=(…) already exists.`
  const [, list] = /^[^(]*\((.+?)\)=\(/.exec(detail) ?? []
  const columns = list
    ?.split(', ')
    .map(name => name.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'))
  return { kind: 'unique', ...(index !== '' && { index }), ...(columns && { columns }) }
}

/** A connection of pg, as far as it is asked for here. */
export interface PostgresClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  // Those of pg have these two, though their types do not say so.
  readonly processID?: number | null
  end?(): unknown
}

/** Connections by their backends: those of two servers may have one number. */
const clients = new Map<number, Set<PostgresClient>>()

/** Has a connection known by its backend while it lasts. */
export function remember(client: PostgresClient): void {
  const { processID: backend } = client
  if (typeof backend !== 'number') return
  const same = clients.get(backend) ?? new Set()
  clients.set(backend, same.add(client))
  client.on('end', () => {
    same.delete(client)
    if (same.size === 0 && clients.get(backend) === same) clients.delete(backend)
  })
}

const BEGIN = 'begin isolation level read committed'

/** Any number that no other program takes a lock by: tables are made by one process at a time. */
const LOCK = '7215423909113245'

export const postgres: SqlDatabase = {
  name: 'postgres',
  placeholder: position => `$${position}`,
  types: {
    text: 'text collate "C"',
    integer: 'bigint',
    real: 'double precision',
    boolean: 'boolean',
    json: 'json',
  },
  own: OWN,
  catalog: {
    columns(table) {
      const names = table.split('.').map(name => `"${name.replaceAll('"', '""')}"`)
      return sql`${CATALOG}${names.join('.')})`
    },
    serves,
  },
  casts: {
    text: column => sql`(${column})::text`,
    // By way of its text: 0.1 of a `real` is 0.1 then.
    double: column => sql`(${column})::text::double precision`,
  },
  digits: 6,
  longestName: 63,
  begin: [BEGIN],
  beginRead: ['begin isolation level repeatable read read only'],
  pool: {
    meet(timeout) {
      const limit =
        timeout === undefined ? '' : `, set_config('statement_timeout', '${timeout}', false)`
      return [`select pg_backend_pid() as backend${limit}`]
    },
    cancel: backend => `select pg_cancel_backend(${backend})`,
    hangUp(backend) {
      const [client, ...others] = clients.get(backend) ?? []
      // Of several it is not known which one it is: none that is sound may be ended.
      if (others.length === 0) client?.end?.()
    },
    // `if not exists` alone is an error where two make the same table at the same time.
    lock: [BEGIN, `select pg_advisory_xact_lock(${LOCK}::bigint)`],
  },
  chains: true,
  overriding: sql` overriding system value`,
  forUpdate: sql` for update`,
  boolean: value => value,
  bind,
  // As text: what a driver makes of JSON is its user's choice.
  read: (column, type) => (type === 'json' ? sql`${column}::text` : column),
  equalsAnyhow: true,
  text: value => sql`${value} ${C}`,
  json: (column, path, kind) =>
    typed(inside(column, path.names, path.declared), textInside(column, path), kind),
  mixed: (column, { names, declared }) => mixed(inside(column, names, declared)),
  has: (column, { names, declared }) =>
    sql`coalesce(json_typeof(${inside(column, names, declared)}), 'null') <> 'null'`,
  holds: (column, { names, declared }, what) =>
    sql`json_typeof(${inside(column, names, declared)}) = ${sql.lit(what)}`,
  anyElement(column, { names, declared }, test) {
    const list = inside(column, names, declared)
    // Of what is no array there are no elements; to ask for them is an error.
    return sql`exists (select 1 from json_array_elements(case json_typeof(${list}) when 'array' then ${list} end) as rest_e(value) where json_typeof(rest_e.value) <> 'null' and ${test(mixed(sql.raw('rest_e.value')))})`
  },
  instant,
  like: (text, pattern) => sql`${text} like ${storable(pattern.map(likeOf).join(''))}::text`,
  contains: (text, word) => sql`strpos(lower(${text}), ${storable(word)}::text) > 0`,
  orderBy(value, descending, maybe) {
    if (!maybe) return descending ? sql`${value} desc` : value
    return descending ? sql`${value} desc nulls last` : sql`${value} nulls first`
  },
  /**
   * What a statement sees is decided by its snapshot: two of the same text see the same rows. After
   * a restart numbers may come again; of a standby the text does not say all, nor of databases that
   * are many servers.
   */
  state: sql`(case when pg_is_in_recovery() or version() ~ 'YB|Greenplum|Redshift|Cockroach' or to_regclass('pg_catalog.pg_dist_partition') is not null then null else extract(epoch from pg_postmaster_start_time()) || ' ' || pg_current_snapshot() end)`,
  plan: {
    statement: statement => sql`explain (format json) ${statement}`,
    read(row) {
      const [given] = Object.values(row)
      // What `explain (format json)` gives: a list with one plan.
      const plans = (typeof given === 'string' ? JSON.parse(given) : given) as {
        Plan: { 'Plan Rows': number; 'Total Cost': number }
      }[]
      const plan = plans[0]?.Plan
      return { rows: plan?.['Plan Rows'] ?? 0, cost: plan?.['Total Cost'] ?? 0 }
    },
  },
  failure,
}

function likeOf(step: LikeStep): string {
  if (step === 'run') return '%'
  if (step === 'one') return '_'
  return /[\\%_]/.test(step.char) ? `\\${step.char}` : step.char
}
