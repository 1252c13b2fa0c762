// MariaDB, 10.6 and later, and MySQL, 8.0.21 and later, with InnoDB.
import type { Kind, Scalar } from '../fields.ts'
import type { LikeStep } from '../selection.ts'
import { type Failure, type Served, type SqlDialect, servedDecimal } from './sql-dialect.ts'
import { C, COLLATE, inside, mixed, mixedKey, typed } from './sql-mysql-json.ts'
import { type Fragment, sql } from './sql-text.ts'
import { timestampText } from './sql-types.ts'

/** Without a question mark, which drivers are known to take for a placeholder in a literal too. */
const DATE_TIME =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+){0,1}){0,1}([Zz]|[+-][0-9]{2}:[0-9]{2}){0,1}$'

/** Counted by hand: the database's own dates begin in the year 1000. As {@link postgres} counts. */
function instant(text: Fragment): Fragment {
  const part = (from: number, length: number) =>
    sql`cast(substr(${text}, ${sql.lit(from)}, ${sql.lit(length)}) as signed)`
  const [year, month, day] = [part(1, 4), part(6, 2), part(9, 2)]
  const early = sql`((${month} - 14) div 12)`
  const seconds = sql`if(substr(${text}, 17, 1) = ':', ${part(18, 2)}, 0)`
  const fraction = sql`if(substr(${text}, 20, 1) = '.', cast(rpad(left(regexp_substr(substr(${text}, 21), '^[0-9]+'), 3), 3, '0') as signed), 0)`
  return sql`(case when ${text} regexp ${sql.lit(DATE_TIME)} then
    ((1461 * (${year} + 4800 + ${early})) div 4 + (367 * (${month} - 2 - 12 * ${early})) div 12
      - (3 * ((${year} + 4900 + ${early}) div 100)) div 4 + ${day} - 2472663) * 86400000
    + (${part(12, 2)} * 60 + ${part(15, 2)}) * 60000 + ${seconds} * 1000 + ${fraction}
    - case when left(right(${text}, 6), 1) in ('+', '-')
      then if(left(right(${text}, 6), 1) = '-', -60000, 60000)
        * (cast(left(right(${text}, 5), 2) as signed) * 60 + cast(right(${text}, 2) as signed))
      else 0 end end)`
}

/** Numbers go as they are printed: the driver writes them into the statement. */
function bind(value: Scalar | object, kind: Kind): Fragment {
  switch (kind) {
    case 'any':
    case 'union':
      return sql`${mixedKey(value).toWellFormed()} ${C}`
    case 'boolean':
      return sql`${value === true ? 1 : 0}`
    case 'number':
    case 'integer': {
      const number = Number(value)
      if (Number.isNaN(number)) return sql`null`
      if (Number.isSafeInteger(number)) return sql`${number}`
      const most = Math.min(Math.max(number, -Number.MAX_VALUE), Number.MAX_VALUE)
      return sql`cast(${String(most)} as double)`
    }
    default:
      return sql`${String(value).toWellFormed()} ${C}`
  }
}

/** Columns of `datetime` and of `timestamp`: the session's time zone is UTC. */
const OWN: SqlDialect['own'] = {
  date: {
    made: () => 'date',
    read: column => sql`date_format(${column}, '%Y-%m-%d')`,
    parse: text => text,
    write: text => text,
    bind: text => sql`cast(${text} as date)`,
    text: column => sql`convert(date_format(${column}, '%Y-%m-%d') using utf8mb4) ${C}`,
  },
  timestamp: {
    made: digits => `datetime(${digits})`,
    read: column => sql`date_format(${column}, '%Y-%m-%dT%H:%i:%s.%f')`,
    parse: text => timestampText(Date.parse(`${text.slice(0, 19)}Z`), text.slice(20)),
    write: literalOf,
    bind: text => sql`cast(${text === null ? null : datetimeOf(text)} as datetime(6))`,
    text: column =>
      sql`convert(concat(left(date_format(${column}, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') using utf8mb4) ${C}`,
  },
}

/** As a literal of a date-time; none of a year out of its range. */
function literalOf(text: string): string {
  return `${text.slice(0, 10)} ${text.slice(11, -1)}`
}

/** What is out of the range is its end. */
function datetimeOf(text: string): string {
  if (text.startsWith('+')) return '9999-12-31 23:59:59.999999'
  if (text.startsWith('-')) return '0000-01-01 00:00:00'
  return literalOf(text)
}

const OF_TYPE: Readonly<Record<string, Served>> = {
  char: { as: ['text', 'json'], types: ['text'] },
  varchar: { as: ['text', 'json'], types: ['text'] },
  tinytext: { as: ['text', 'json'], types: ['text'] },
  text: { as: ['text', 'json'], types: ['text'] },
  mediumtext: { as: ['text', 'json'], types: ['text'] },
  longtext: { as: ['text', 'json'], types: ['text'] },
  json: { as: ['json'], types: [] },
  boolean: { as: ['boolean', 'integer', 'real'], types: ['double'] },
  tinyint: { as: ['boolean', 'integer', 'real'], types: ['double'] },
  smallint: { as: ['boolean', 'integer', 'real'], types: ['double', 'text'] },
  mediumint: { as: ['boolean', 'integer', 'real'], types: ['double', 'text'] },
  int: { as: ['boolean', 'integer', 'real'], types: ['double', 'text'] },
  bigint: { as: ['boolean', 'integer'], types: ['double', 'text'] },
  year: { as: ['integer', 'real'], types: [] },
  double: { as: ['integer', 'real'], types: ['double'] },
  float: { as: [], types: ['double'] },
  date: { as: [], types: ['date'] },
  datetime: { as: [], types: ['timestamp'] },
  timestamp: { as: [], types: ['timestamp'] },
  enum: { as: [], types: ['text'] },
  set: { as: [], types: ['text'] },
  uuid: { as: [], types: ['text'] },
}

function serves(type: string): Served {
  const [, precision, scale] = /^decimal\((\d+),(\d+)\)/.exec(type) ?? []
  if (precision !== undefined) return servedDecimal(Number(precision), Number(scale))
  return OF_TYPE[/^[a-z]+/.exec(type)?.[0] ?? ''] ?? { as: [], types: [] }
}

/** What Node and mysql2 say of connections, and errors of the server by which it serves nobody. */
const LOST =
  /^(?:PROTOCOL_|POOL_|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/
const CLOSED =
  /^(?:Pool is closed|No connections available|Queue limit reached|Can't add new command when connection is in closed state)/
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  // Too many connections, no memory, no threads, no space.
  1040, 1041, 1203, 1226, 1037, 1135, 1021, 1114,
  // Shutting down, connection killed or broken.
  1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031,
  // Read only, offline.
  1290, 1792, 1836, 3032,
])

function failure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined
  const { errno, code, sqlMessage: message = error.message } = fieldsOf(error)
  switch (errno) {
    case 1062: {
      // `Duplicate entry 'x' for key 'cars_unique_color'`; MySQL has the table in front.
      const key = message.slice(message.lastIndexOf(" for key '") + 10, -1)
      const dot = key.indexOf('.')
      const own = key.slice(dot + 1)
      const inFront = own === 'PRIMARY' || own.startsWith(`${key.slice(0, dot)}_`)
      const index = dot > 0 && inFront ? own : key
      return index === 'PRIMARY' ? { kind: 'unique' } : { kind: 'unique', index }
    }
    case 1264:
    case 1292:
    case 1406: {
      const column = columnOf(message)
      return { kind: 'unstorable', ...(column !== undefined && { column }) }
    }
    // Null, no default: `Column 'color' cannot be null`.
    case 1048:
    case 1364: {
      const [, column] = message.split("'")
      return { kind: 'unstorable', ...(column !== undefined && { column }) }
    }
    // More than a packet, more than a row, JSON deeper than functions of it read.
    case 1153:
    case 1118:
    case 4040:
    case 3157:
    // A check, no value of an enum.
    case 1265:
    case 1366:
    case 3819:
    case 4025:
      return { kind: 'unstorable' }
    // Foreign keys.
    case 1216:
    case 1217:
    case 1451:
    case 1452:
      return { kind: 'conflict' }
    case 1020:
    case 1205:
    case 1213:
      return { kind: 'again' }
    case 1060:
    case 1061:
      return { kind: 'exists' }
    case 1317:
    case 1969:
    case 3024:
      return { kind: 'cancelled' }
  }
  // What a trigger says, by whatever number.
  if ('sqlState' in error && error.sqlState === '45000') return { kind: 'unstorable' }
  // Several addresses tried at once fail as one.
  const [first] = error instanceof AggregateError ? error.errors : []
  if (first !== undefined && code === undefined) return failure(first)
  const lost = UNAVAILABLE.has(errno) || LOST.test(code ?? '') || CLOSED.test(error.message)
  return lost ? { kind: 'unavailable' } : undefined
}

/**
 * The column that a value does not fit: `Data too long for column 'color' at row 1`, or
 * ``Incorrect datetime value: '…' for column `a`.`cars`.`at` at row 1``.
 */
function columnOf(message: string): string | undefined {
  const before = ' for column '
  const start = message.lastIndexOf(before)
  const place = message.slice(start + before.length, message.lastIndexOf(' at row '))
  return start === -1 ? undefined : place.split(/['`]/).at(-2)
}

/** What mysql2 adds to an error. */
function fieldsOf(error: Error & { errno?: unknown; code?: unknown; sqlMessage?: unknown }): {
  errno: unknown
  code: string | undefined
  sqlMessage: string | undefined
} {
  const { errno, code, sqlMessage } = error
  return {
    errno,
    code: typeof code === 'string' ? code : undefined,
    sqlMessage: typeof sqlMessage === 'string' ? sqlMessage : undefined,
  }
}

/** How long a lock of a row is waited for, in seconds. */
const LOCK_WAIT = 5

/** MySQL ends by itself what reads alone: of what writes, only the wait for a lock has an end there. */
function limits(timeout: number | undefined): string {
  if (timeout === undefined) return `innodb_lock_wait_timeout = ${LOCK_WAIT}`
  const seconds = Math.ceil(timeout / 1000)
  const wait = seconds === 0 ? 'default' : seconds
  return `innodb_lock_wait_timeout = ${Math.min(LOCK_WAIT, seconds || LOCK_WAIT)}, lock_wait_timeout = ${wait} /*M! , max_statement_time = ${timeout / 1000} */ /*!80017 , max_execution_time = ${timeout} */`
}

export const mysql: SqlDialect = {
  name: 'mysql',
  placeholder: () => '?',
  quote: '`',
  types: {
    text: `longtext ${COLLATE}`,
    integer: 'bigint',
    real: 'double',
    boolean: 'boolean',
    // `json` is no type of its own in MariaDB, and one that sorts members in MySQL.
    json: `longtext ${COLLATE}`,
  },
  own: OWN,
  catalog: {
    columns(table) {
      const [name = '', schema] = table.split('.').reverse()
      const here = (alias: string) =>
        sql`${sql.raw(alias)}.table_schema = ${schema === undefined ? sql`database()` : schema} and ${sql.raw(alias)}.table_name = ${name}`
      // Indexes may be hidden from who may see the table.
      return sql`select c.column_name as name, replace(replace(lower(c.column_type), 'tinyint(1)', 'boolean'), 'bigint(20)', 'bigint') as type, '' as category, c.collation_name as collation,
        c.collation_name not in ('utf8mb4_nopad_bin', 'utf8mb4_0900_bin') as folds,
        t.table_type = 'BASE TABLE' as base,
        exists (select 1 from information_schema.triggers as g where g.event_object_schema = c.table_schema and g.event_object_table = c.table_name) as ruled,
        case when t.table_type = 'BASE TABLE' and exists (select 1 from information_schema.statistics as s where ${here('s')})
          then exists (select 1 from information_schema.statistics as s where ${here('s')} and s.non_unique = 0 and s.column_name = c.column_name and s.sub_part is null
            and not exists (select 1 from information_schema.statistics as o where ${here('o')} and o.index_name = s.index_name and o.column_name <> s.column_name)) end as alone
        from information_schema.columns as c join information_schema.tables as t on t.table_schema = c.table_schema and t.table_name = c.table_name
        where ${here('c')}`
    },
    serves,
  },
  casts: {
    text: column => sql`convert(${column} using utf8mb4) ${C}`,
    // By way of its text: 0.1 of a `float` is 0.1 then.
    double: column => sql`cast(cast(${column} as char) as double)`,
  },
  digits: 0,
  // A key of InnoDB holds 3072 bytes, and each character counts as four.
  keys: {
    longest: parts => Math.min(255, Math.floor(768 / parts)),
    type: longest => `varchar(${longest}) ${COLLATE}`,
  },
  generates: true,
  // MySQL has no such words: what is there is an error, which is passed over.
  ifNotExists: '/*M! if not exists */ ',
  longestName: 64,
  begin: ['start transaction'],
  beginRead: ['set transaction isolation level repeatable read', 'start transaction read only'],
  pool: {
    meet: timeout => [
      // What the driver escapes with backslashes must be read with them; texts are never cut; texts
      // are told apart in their order beyond the first 1024 bytes; who waits for a lock is tried again.
      `set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', max_sort_length = 16384, time_zone = '+00:00', ${limits(timeout)}`,
      'set session transaction isolation level read committed',
      'select connection_id() as backend',
    ],
    cancel: backend => `kill query ${backend}`,
    lock: ["select get_lock(left(concat('rest_conventions ', database()), 64), 60)"],
    unlock: ["do release_lock(left(concat('rest_conventions ', database()), 64))"],
  },
  returns: false,
  chains: false,
  overriding: sql``,
  insertNew: into => sql`insert ignore into ${into}`,
  forUpdate: sql` for update`,
  boolean: Number,
  bind,
  // Drivers are known to round what they read of digits themselves.
  read: (column, type) => (type === 'real' ? sql`cast(${column} as char)` : column),
  equalsAnyhow: false,
  text: value => value,
  json: (column, path, kind) => typed(inside(column, path), kind),
  mixed: (column, path) => mixed(inside(column, path)),
  has: (column, path) => sql`coalesce(json_type(${inside(column, path)}), 'NULL') <> 'NULL'`,
  holds: (column, path, what) =>
    sql`coalesce(json_type(${inside(column, path)}) = ${sql.lit(what.toUpperCase())}, false)`,
  anyElement(column, path, test) {
    const list = inside(column, path)
    // Of what is no array there are no elements; to ask for them is an error.
    return sql`exists (select 1 from json_table(case json_type(${list}) when 'ARRAY' then ${list} end, '$[*]' columns (value json path '$')) as rest_e where json_type(rest_e.value) <> 'NULL' and ${test(mixed(sql.raw('rest_e.value')))})`
  },
  instant,
  like: (text, pattern) =>
    sql`${text} like ${pattern.map(likeOf).join('').toWellFormed()} ${C} escape '|'`,
  // Byte by byte in a character set of which ASCII alone has two cases.
  contains: (text, word) =>
    sql`instr(cast(lower(convert(cast(${text} as binary) using tis620)) as binary), cast(${word.toWellFormed()} as binary)) > 0`,
  orderBy: (value, descending) => (descending ? sql`${value} desc` : value),
  // It takes such a comparison for the rows, not for the index.
  findsRows: false,
  findsNulls: true,
  sortsEquals: false,
  plan: {
    statement: statement => sql`explain format=json ${statement}`,
    read(row) {
      const [text] = Object.values(row)
      const { rows, filtered } = scanOf(JSON.parse(String(text))) ?? { rows: 0, filtered: 100 }
      return { rows: Math.round((rows * filtered) / 100), cost: rows }
    },
  },
  indexColumns(table, index) {
    const [name = '', schema] = table.split('.').reverse()
    // MySQL tells of an index with its table in front.
    return sql`select column_name as "column" from information_schema.statistics where table_schema = ${schema === undefined ? sql`database()` : sql`${schema}`} and table_name = ${name} and ${index} in (index_name, concat(table_name, '.', index_name)) order by seq_in_index`
  },
  failure,
}

/** How many rows a plan reads of its first table, and how many of a hundred it keeps. */
function scanOf(plan: unknown): { rows: number; filtered: number } | undefined {
  if (typeof plan !== 'object' || plan === null) return undefined
  const {
    rows,
    rows_examined_per_scan: examined,
    filtered,
  } = plan as Readonly<
    // As MariaDB and MySQL call them, wherever they stand.
    Partial<Record<'rows' | 'rows_examined_per_scan' | 'filtered', unknown>>
  >
  const read = Number(rows ?? examined)
  if (!Number.isNaN(read)) return { rows: read, filtered: Number(filtered ?? 100) }
  for (const part of Object.values(plan)) {
    const found = scanOf(part)
    if (found) return found
  }
  return undefined
}

function likeOf(step: LikeStep): string {
  if (step === 'run') return '%'
  if (step === 'one') return '_'
  return /[|%_]/.test(step.char) ? `|${step.char}` : step.char
}
