// SQLite, 3.43 and later, by a driver with the interface of better-sqlite3: it, libsql, bun:sqlite, and
// node:sqlite by `nodeSqlite`.

import type { Path } from '../../base/paths.ts'
import { findLiteral, type LikeStep } from '../../store/selection.ts'
import { MAX_AHEAD_MS } from '../../store/written.ts'
import type { SqlDatabase } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'
import { converts, FORMS, printedInstant, typeOf } from './sqlite-forms.ts'

/** Prints a JSON path as a literal, so that an index on the same expression serves it. */
function toJsonPath(path: Path): Fragment {
  return sql.lit(path.reduce((above, name) => `${above}."${name}"`, '$'))
}

/** The JSON type of a value inside a column, as SQLite names it. */
function typeInside(column: Fragment, path: Path): Fragment {
  return sql`json_type(${column}, ${toJsonPath(path)})`
}

const COLUMN_TYPES = {
  text: 'TEXT',
  integer: 'INTEGER',
  real: 'REAL',
  boolean: 'INTEGER',
  json: 'TEXT',
} as const

/** Defaults that are no texts, though they are names. */
const KEYWORDS = sql.raw(
  "'NULL', 'TRUE', 'FALSE', 'CURRENT_TIME', 'CURRENT_DATE', 'CURRENT_TIMESTAMP'",
)

const UNIQUE = /UNIQUE constraint failed: (?:index '(.+)'|(.+))$/
/** SQLITE_CONSTRAINT_TRIGGER. */
const TRIGGER = 1811
const NOT_NULL = 'NOT NULL constraint failed: '
/** Of a table that is `strict`. */
const OTHER_TYPE = /^cannot store \w+ value in \w+ column (.+)$/
const UNAVAILABLE = /^SQLITE_(?:LOCKED|CANTOPEN|IOERR|PROTOCOL)/
/** By its message: node:sqlite has one code for all errors. */
const READ_ONLY = /^attempt to write a readonly database/
/** Another connection writes. By its message: node:sqlite has one code for all errors. */
const LOCKED = /^database is locked/
/** As of any driver. */
const FULL = /^database or disk is full/
const CLOSED = /connection is not open|database is not open|already been destroyed/

export const sqlite: SqlDatabase = {
  name: 'sqlite',
  placeholder: () => '?',
  types: COLUMN_TYPES,
  catalog(table) {
    const [name = '', schema = 'main'] = table.split('.').reverse()
    const schemaTable = sql`${sql.id(schema)}.sqlite_schema`
    const index = sql`select count(*) = 1 and max(i.name) = p.name from pragma_index_info(l.name, ${schema}) as i`
    return sql`select p.name as name, upper(p.type) as type,
        (select m.sql from ${schemaTable} as m where lower(m.name) = lower(${name}) and m.sql like '%collate%') as statement,
        lower(p.dflt_value) in ('current_timestamp', 'datetime(''now'')') as makes_time,
        p."notnull" and p.dflt_value is null and p.hidden = 0 as is_required, p."notnull" as is_not_null,
        case when p.dflt_value glob '"*"' then quote(replace(substr(p.dflt_value, 2, length(p.dflt_value) - 2), '""', '"'))
          when p.dflt_value not glob '[^a-zA-Z_]*' and p.dflt_value not glob '*[^a-zA-Z0-9_]*' and upper(p.dflt_value) not in (${KEYWORDS}) then quote(p.dflt_value)
          else p.dflt_value end as preset,
        p.hidden in (2, 3) as is_generated, v.is_view as is_view,
        not v.is_view or exists (select 1 from ${schemaTable} as m where lower(m.tbl_name) = lower(${name}) and m.type = 'trigger') as is_writable,
        exists (select 1 from ${schemaTable} as m where lower(m.name) = lower(${name}) and m.type = 'table' and m.rootpage > 0) as is_table,
        (select max(t.wr = 0) from pragma_table_list(${name}) as t where t.schema = ${schema}) as has_rowid,
        (select json_group_array(json_object('name', m.name, 'text', m.sql)) from ${schemaTable} as m where lower(m.tbl_name) = lower(${name}) and m.type = 'trigger') as triggers,
        case when exists (select 1 from ${schemaTable} as m where lower(m.name) = lower(${name}) and m.type = 'table' and m.rootpage > 0)
          then (p.pk = 1 and (select max(o.pk) from pragma_table_info(${name}, ${schema}) as o) = 1)
            or exists (select 1 from pragma_index_list(${name}, ${schema}) as l where l."unique" and not l.partial and (${index})) end as is_unique
        from pragma_table_xinfo(${name}, ${schema}) as p,
          (select exists (select 1 from ${schemaTable} as m where lower(m.name) = lower(${name}) and m.type = 'view') as is_view) as v`
  },
  relations(table, indexes) {
    const [own = '', schema = 'main'] = table.split('.').reverse()
    const names = [own, ...indexes].map(name => sql`(${sql.lit(name)})`)
    return sql`with wanted (name) as (values ${sql.join(names)}) select wanted.name as name, 1 as is_valid,
        case when m.type = 'index' then null when m.type = 'table' and m.rootpage > 0 then 'table' else 'view' end as kind
        from wanted join ${sql.id(schema)}.sqlite_schema as m on lower(m.name) = lower(wanted.name)`
  },
  uniqueIndexes(table) {
    const [name = '', schema = 'main'] = table.split('.').reverse()
    return sql`select l.name as name, case when l.partial then substr(x.sql, instr(lower(x.sql), ' where ') + 7) end as condition,
        (select json_group_array(i.name) from pragma_index_info(l.name, ${schema}) as i) as columns
        from pragma_index_list(${name}, ${schema}) as l left join ${sql.id(schema)}.sqlite_schema as x on x.type = 'index' and x.name = l.name
        where l."unique"`
  },
  hasKey(table, column, target) {
    const [name = '', schema = 'main'] = table.split('.').reverse()
    const [parent = '', parentSchema = 'main'] = target.table.split('.').reverse()
    const keys = sql`pragma_foreign_key_list(${name}, ${schema})`
    // The list does not tell which keys are deferred.
    return sql`(${schema} = ${parentSchema} and exists (select 1 from ${keys} as k where lower(k."table") = lower(${parent}) and lower(k."from") = lower(${column})
      and lower(coalesce(k."to", ${target.column})) = lower(${target.column}) and (select count(*) from ${keys} as o where o.id = k.id) = 1)
      and not exists (select 1 from ${sql.id(schema)}.sqlite_schema as m where lower(m.name) = lower(${name}) and m.sql like '%initially deferred%'))`
  },
  renewVersion({ table, ids, version, updated, instant, folded, sign }) {
    const [own = '', schema] = table.split('.').reverse()
    const name = `${own}_renew_version`
    const isSame = (column: string) => sql`new.${sql.id(column)} is old.${sql.id(column)}`
    const isRow = (column: string) => sql`${sql.id(column)} is new.${sql.id(column)}`
    const isRenewed = isSame(version)
    /** Sets a column of a row whose version is renewed. */
    const renew = (column: string, value: Fragment) =>
      folded.length === 0
        ? sql`${sql.id(column)} = ${value}`
        : sql`${sql.id(column)} = case when ${isRenewed} then ${value} else ${sql.id(column)} end`
    const empty = folded.map(
      ({ column, source }) =>
        sql`${sql.id(column)} = case when ${isSame(source)} then ${sql.id(column)} end`,
    )
    const keeps = folded.map(({ column }) => isSame(column))
    const reads = folded.map(({ source }) => isSame(source))
    const isOfOthers =
      folded.length === 0
        ? isRenewed
        : sql`case when ${isRenewed} then ${sql.join(keeps, ' and ')} else substr(new.${sql.id(version)}, ${sql.lit(-sign.length)}) is not ${sql.lit(sign)} and not (${sql.join(reads, ' and ')}) end`
    const clock = sql`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
    // What the catalog has begins with the name; inside of it names have no schema.
    const print = (toTime: (before: Fragment) => Fragment) => {
      const before = sql`old.${sql.id(updated ?? '')}`
      const next = instant ? instant.write(toTime(instant.read(before))) : toTime(before)
      const time = updated === undefined ? [] : [renew(updated, next)]
      const set = [renew(version, sql`lower(hex(randomblob(12)))`), ...time, ...empty]
      return sql`${sql.id(name)} after update on ${sql.id(own)} for each row when ${isOfOthers} begin update ${sql.id(own)} set ${sql.join(set)} where ${sql.join(ids.map(isRow), ' and ')}; end`
    }
    const rest = print(before => sqlite.nextDate(clock, before, false))
    const earlier = print(() => clock)
    const place = schema === undefined ? sql`` : sql`${sql.id(schema)}.`
    const statements = [
      sql`drop trigger if exists ${place}${sql.id(name)}`,
      sql`create trigger ${place}${rest}`,
    ]
    return { name, texts: [rest, earlier].map(({ text }) => `CREATE TRIGGER ${text}`), statements }
  },
  nextDate(now, before) {
    const plus = (seconds: number) =>
      sql`strftime('%Y-%m-%dT%H:%M:%fZ', now, ${sql.lit(`+${seconds} seconds`)})`
    const ahead = MAX_AHEAD_MS / 1000
    const isFarAhead = sql`next > ${plus(ahead)} and next <= ${plus(ahead + 1)}`
    return sql`(select case when next > now then case when ${isFarAhead} then ${before} else next end else now end
        from (select ${now} as now, strftime('%Y-%m-%dT%H:%M:%S.000Z', ${before}, '+1 second') as next))`
  },
  enforcesKeys: sql`(select foreign_keys from pragma_foreign_keys)`,
  converts,
  typeOf,
  forms: FORMS,
  keepsExactly: (type, as) => type === COLUMN_TYPES[as],
  serial: true,
  begin: ['begin immediate'],
  beginTransaction: ['begin immediate'],
  beginRead: ['begin'],
  beginSetup: ['begin immediate'],
  longestName: Number.POSITIVE_INFINITY,
  nativeFor: () => undefined,
  supportsDmlInCte: false,
  overriding: sql``,
  forUpdate: sql``,
  now: sql`cast((julianday('now') - 2440587.5) * 86400000 as integer)`,
  boolean: Number,
  bind: value => sql`${typeof value === 'boolean' ? Number(value) : value}`,
  read: column => column,
  print: column => sql`quote(${column})`,
  text: value => value,
  json: (column, path) => sql`json_extract(${column}, ${toJsonPath(path)})`,
  toValidJson: column => sql`case when json_valid(${column}) then ${column} end`,
  has: (column, path) => sql`coalesce(${typeInside(column, path)}, 'null') <> 'null'`,
  holds: (column, path, what) => sql`${typeInside(column, path)} = ${sql.lit(what)}`,
  anyElement: (column, path, _kind, test) =>
    sql`exists (select 1 from json_each(${column}, ${toJsonPath(path)}) as rest_e where ${test(sql.raw('rest_e.value'))})`,
  instant: printedInstant,
  like(text, pattern) {
    const matches = sql`${text} glob ${pattern.map(globOf).join('')}`
    const literal = findLiteral(pattern)
    // Trying the whole pattern at each place of a long text would take a hundred times as long.
    return literal === undefined ? matches : sql`(instr(${text}, ${literal}) > 0 and ${matches})`
  },
  // `sum` of whole numbers would be an error beyond 2^63; beyond the range of numbers `total` is null.
  sum: value => sql`coalesce(total(${value}), 9e999)`,
  startOf(part, value, native) {
    const time = native?.toUtc?.(value) ?? value
    // A division would round a time before 1970 up.
    const seconds = sql`(${time} - ((${time} % 1000) + 1000) % 1000) / 1000`
    return sql`cast(strftime('%s', ${seconds}, 'unixepoch', ${sql.lit(`start of ${part}`)}) as integer)`
  },
  startInSeconds: start => start,
  contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
  orderBy: (value, descending) => (descending ? sql`${value} desc` : value),
  // The changes of this connection, and those of all others.
  state: sql`(total_changes() || '-' || (select data_version from pragma_data_version))`,
  failure(error) {
    if (!(error instanceof Error)) return undefined
    const { message } = error
    const code = 'code' in error ? String(error.code) : ''
    // node:sqlite has one code for all errors, and SQLite's number.
    const isTrigger = 'errcode' in error && error.errcode === TRIGGER
    // First: its message is the trigger's.
    if (code === 'SQLITE_CONSTRAINT_TRIGGER' || isTrigger)
      return { kind: 'refused', status: 400, message }
    const unique = UNIQUE.exec(message)
    if (unique?.[1] !== undefined) return { kind: 'unique', index: unique[1] }
    if (unique?.[2] !== undefined) {
      // `table.column, table.column`; neither has a comma and a space in its name.
      const columns = unique[2].split(', ').map(columnOf)
      return { kind: 'unique', columns }
    }
    const [, place] = message.split(NOT_NULL)
    if (place !== undefined) return { kind: 'missing', columns: [columnOf(place)] }
    const [, other] = OTHER_TYPE.exec(message) ?? []
    if (other !== undefined) return { kind: 'unstorable', columns: [columnOf(other)] }
    if (/CHECK constraint failed/.test(message)) return { kind: 'unstorable' }
    if (/FOREIGN KEY constraint failed/.test(message)) return { kind: 'conflict' }
    if (code.startsWith('SQLITE_BUSY') || LOCKED.test(message)) return { kind: 'again' }
    if (code === 'SQLITE_FULL' || FULL.test(message)) return { kind: 'full' }
    if (READ_ONLY.test(message)) return { kind: 'read-only' }
    const lost = UNAVAILABLE.test(code) || CLOSED.test(message)
    return lost ? { kind: 'unavailable' } : undefined
  },
}

/** Takes the column out of `table.column`. */
function columnOf(place: string): string {
  return place.slice(place.indexOf('.') + 1)
}

function globOf(step: LikeStep): string {
  if (step === 'run') return '*'
  if (step === 'one') return '?'
  return /[[*?]/.test(step.char) ? `[${step.char}]` : step.char
}
