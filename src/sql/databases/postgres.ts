// PostgreSQL, 13 and later, and what speaks as it does. The database's encoding must be UTF8.

import type { Path } from '../../base/paths.ts'
import type { Scalar } from '../../base/values.ts'
import type { Kind } from '../../schema/fields.ts'
import type { LikeStep } from '../../store/selection.ts'
import { MAX_AHEAD_MS } from '../../store/written.ts'
import type { SqlDatabase } from './database.ts'
import { findFailure } from './postgres-errors.ts'
import { FORMS, nativeFor, serves } from './postgres-types.ts'
import { type Fragment, shorten, sql } from './sql-text.ts'

/** Compares texts by code point, whatever the collation of the database is. */
const C = sql`collate "C"`

/** Selects a value inside JSON. A column of text or `jsonb` is cast to `json`. */
function inside(column: Fragment, path: Path): Fragment {
  return path.reduce<Fragment>(
    (value, name) => sql`${value} -> ${sql.lit(name)}`,
    sql`(${column})::json`,
  )
}

function textInside(column: Fragment, path: Path): Fragment {
  const last = path.at(-1)
  if (last === undefined) return rootText(inside(column, path))
  return sql`(${inside(column, path.slice(0, -1))} ->> ${sql.lit(last)})`
}

function rootText(json: Fragment): Fragment {
  return sql`(${json} #>> '{}')`
}

/** Reads a value of one kind from JSON; null for one of another type, since a cast of it would be an error. */
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

const DATE_TIME =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?$'

/**
 * Computes an instant without PostgreSQL's casts: these depend on settings, so that no index may use them,
 * and fail for a text that is not a date. The day is that of Fliegel and Van Flandern (1968).
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

/** Binds a value as text with a cast that never fails, so that no driver has to guess its type. */
function bind(value: Scalar, kind: Kind): Fragment {
  switch (kind) {
    case 'boolean':
      return sql`${String(value === true)}::boolean`
    case 'number': {
      // So a numeric column of any type is compared without a cast, and its index can be used.
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

/** PostgreSQL has no text with U+0000, and binding one is an error: U+10FFFF is bound in its place. */
function storable(text: string): string {
  return text.replaceAll('\0', '\u{10FFFF}').toWellFormed()
}

/** The type of a column, an enum with its labels, a text with its collation if that takes different ones for equal; of a domain its base type, through any number of domains. */
const CATALOG = sql.raw(`select a.attname as name,
  (with recursive base (type, mod, next, below) as (
    select t.oid, a.atttypmod, t.typbasetype, t.typtypmod union all
    select b.oid, base.below, b.typbasetype, b.typtypmod from base join pg_type as b on b.oid = base.next)
    select format_type(base.type, base.mod) || coalesce(' ' || (select json_agg(e.enumlabel order by e.enumsortorder)::text from pg_enum as e where e.enumtypid = base.type), '')
      || coalesce((select ' collate' from pg_collation as o where o.oid = a.attcollation and not o.collisdeterministic), '')
    from base where base.next = 0) as type,
  (with recursive base (type, next) as (select t.oid, t.typbasetype union all
    select b.oid, b.typbasetype from base join pg_type as b on b.oid = base.next)
    select format_type(base.type, -1) from base where base.next = 0) as bare_type,
  a.attnotnull and not a.atthasdef and t.typdefault is null and a.attidentity = '' as is_required, a.attnotnull or t.typnotnull as is_not_null,
  case when a.attidentity = 'd' then format('nextval(%L)', pg_get_serial_sequence(format('%s', c.oid::regclass), a.attname))
    else coalesce((select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef as d where d.adrelid = c.oid and d.adnum = a.attnum), pg_get_expr(t.typdefaultbin, 0)) end as preset,
  a.attgenerated <> '' or a.attidentity = 'a' as is_generated, c.relkind = 'v' as is_view,
  c.relkind not in ('v', 'm') or pg_column_is_updatable(c.oid, a.attnum, true) as is_writable,
  has_column_privilege(c.oid, a.attnum, 'select') as is_readable, has_column_privilege(c.oid, a.attnum, 'insert') as is_insertable,
  (select bool_and(k.option in (0, 3)) from pg_index as i, unnest(i.indkey::int2[], i.indoption::int2[]) as k (num, option) where i.indrelid = c.oid and k.num = a.attnum) as has_nulls_last,
  c.relkind in ('r', 'p') and not c.relrowsecurity as is_table, (select json_agg(json_build_object('name', fired.name, 'text', fired.text, 'events', array_remove(array[case when fired.inserts then 'insert' end, case when fired.skips then 'skip' end, case when fired.changes then 'change' end, case when fired.inserted then 'inserted' end, case when fired.changed then 'changed' end], null)))::text
    from (select g.tgname as name, p.prosrc as text, g.tgtype & 4 > 0 as inserts, g.tgtype & 4 > 0 and g.tgtype & 66 > 0 as skips, g.tgtype & 56 > 0 as changes,
        g.tgtype & 4 > 0 and g.tgtype & 2 = 0 as inserted, g.tgtype & 16 > 0 and g.tgtype & 2 = 0 as changed
      from pg_trigger as g join pg_proc as p on p.oid = g.tgfoid where not g.tgisinternal and g.tgrelid in (
        with recursive part (id) as (select c.oid union all select i.inhrelid from part join pg_inherits as i on i.inhparent = part.id) select id from part)
      union all select w.rulename, '', w.ev_type = '3', w.ev_type = '3', w.ev_type in ('2', '4'), w.ev_type = '3', w.ev_type = '2' from pg_rewrite as w where w.ev_class = c.oid and w.ev_type <> '1') as fired) as triggers,
  c.relkind = 'r' and not c.relrowsecurity and not c.relhasrules
    and not exists (select 1 from pg_trigger as g where g.tgrelid = c.oid and not g.tgisinternal and g.tgtype & 4 > 0)
    and not exists (select 1 from pg_attribute as o join pg_type as d on d.oid = o.atttypid
      where o.attrelid = c.oid and o.attnum > 0 and not o.attisdropped and d.typtype = 'd') as inserts_all,
  version() !~ 'YB|Greenplum|Redshift|Cockroach' and to_regclass('pg_catalog.pg_dist_partition') is null as tells_changes,
  case c.relkind when 'r' then exists (select 1 from pg_index as i where i.indrelid = c.oid and i.indisunique
    and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum) end as is_unique
  from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type as t on t.oid = a.atttypid
  where c.oid = to_regclass(`)

function quoteTable(table: string): string {
  const names = table.split('.').map(name => `"${name.replaceAll('"', '""')}"`)
  return names.join('.')
}

const NAME_BYTES = 63

const BEGIN = 'begin isolation level read committed'

/** An advisory lock that no other program uses: tables are made by one process at a time. */
const LOCK = '7215423909113245'

const AHEAD = sql.raw(`interval '${MAX_AHEAD_MS} milliseconds'`)

/**
 * Builds what makes the trigger of versions.
 * @param read a column of the row before (`old`) or after the update (`new`).
 */
export function buildRenewVersion(
  read: (row: 'new' | 'old', column: string) => Fragment,
): SqlDatabase['renewVersion'] {
  return ({ table, version, updated, instant, folded, sign }) => {
    const [own = '', schema] = table.split('.').reverse()
    const name = shorten(`${own}_renew_version`, NAME_BYTES)
    const call = sql.table(schema === undefined ? name : `${schema}.${name}`)
    const [now, before] = [read('new', version), read('old', version)]
    const setTime = (value: (before: Fragment) => Fragment) => {
      if (updated === undefined) return sql``
      const column = sql.id(updated)
      const old = read('old', updated)
      const before = instant ? instant.read(old) : sql`${old}::timestamptz`
      const time = value(before)
      return sql`new.${column} = ${instant ? instant.write(time) : time}; `
    }
    const changes = (column: string, not = '') =>
      sql`${read('new', column)}::text is ${sql.raw(not)}distinct from ${read('old', column)}::text`
    const empty = folded.map(({ column, source }) => {
      return sql`if ${changes(source)} then new.${sql.id(column)} = null; end if; `
    })
    const print = (time: Fragment) => {
      const renew = sql`new.${sql.id(version)} = gen_random_uuid()::text; ${time}`
      const work =
        empty.length === 0
          ? renew
          : sql`if ${now} = ${before} then ${renew}end if; ${sql.join(empty, '')}`
      return sql`begin ${work}return new; end`.text
    }
    const clock = sql`clock_timestamp()`
    const text = print(setTime(old => base.nextDate(clock, old, true)))
    const keeps = folded.map(({ column }) => changes(column, 'not '))
    const isOfOthers =
      keeps.length === 0
        ? sql`${now} = ${before}`
        : sql`case when ${now} = ${before} then ${sql.join(keeps, ' and ')} else right(${now}, ${sql.lit(sign.length)}) is distinct from ${sql.lit(sign)} end`
    const statements = [
      sql`create or replace function ${call}() returns trigger language plpgsql as ${sql.lit(text)}`,
      sql`drop trigger if exists ${sql.id(name)} on ${sql.table(table)}`,
      // In the condition of the trigger: a write of the store sets the version itself, so it must not call the function.
      sql`create trigger ${sql.id(name)} before update on ${sql.table(table)} for each row when (${isOfOthers}) execute function ${call}()`,
    ]
    return { name, texts: [text, print(setTime(() => clock))], statements }
  }
}

const base: SqlDatabase = {
  name: 'postgres',
  placeholder: position => `$${position}`,
  types: {
    text: 'text collate "C"',
    integer: 'bigint',
    real: 'double precision',
    boolean: 'boolean',
    json: 'json',
  },
  nativeFor,
  catalog: table => sql`${CATALOG}${quoteTable(table)})`,
  relations(table, indexes) {
    const [own = '', schema] = table.split('.').reverse()
    const names = [own, ...indexes].map(name => sql.lit(name))
    // A role that may make nothing uses what its search path finds.
    const here =
      schema === undefined
        ? sql` and (c.relnamespace = current_schema()::regnamespace or not has_schema_privilege(current_schema(), 'create'))`
        : sql``
    return sql`select r.relname as name, coalesce(i.indisvalid, true) as is_valid,
      case when r.oid <> c.oid then null when r.relkind = 'p' then 'partitioned' when r.relkind not in ('r', 'm') then 'view' when r.relrowsecurity then 'guarded' else 'table' end as kind
      from pg_class as c join pg_class as r on r.relnamespace = c.relnamespace left join pg_index as i on i.indexrelid = r.oid
      where c.oid = to_regclass(${quoteTable(table)})${here} and r.relname in (${sql.join(names)})`
  },
  uniqueIndexes:
    table => sql`select x.relname as name, pg_get_expr(i.indpred, i.indrelid) as condition,
      (select json_agg(a.attname order by p.at) from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as p (num, at)
        left join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = p.num and p.num > 0)::text as columns
      from pg_index as i join pg_class as x on x.oid = i.indexrelid
      where i.indrelid = to_regclass(${quoteTable(table)}) and i.indisunique and i.indisvalid`,
  // A lock of a reader counts last: only few statements wait for it.
  blocker:
    tables => sql`select l.pid as pid, a.state as state from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
      where l.granted and l.pid <> pg_backend_pid() and l.relation in (${sql.join(tables.map(table => sql`to_regclass(${quoteTable(table)})`))})
      and l.database = (select oid from pg_database where datname = current_database())
      order by l.mode = 'AccessShareLock', a.xact_start limit 1`,
  hasKey(table, column, target, deferred = false) {
    const attribute = (of: string, name: string) =>
      sql`array[(select a.attnum from pg_attribute as a where a.attrelid = ${sql.raw(of)} and a.attname = ${name})]`
    // PostgreSQL 18 can have keys that are not enforced.
    return sql`exists (select 1 from pg_constraint as k where k.contype = 'f' and (${sql.raw(`${deferred}`)} or not k.condeferred) and coalesce(to_jsonb(k) ->> 'conenforced', 'true') = 'true'
      and k.conrelid = to_regclass(${quoteTable(table)}) and k.conkey = ${attribute('k.conrelid', column)}
      and k.confrelid = to_regclass(${quoteTable(target.table)}) and k.confkey = ${attribute('k.confrelid', target.column)})`
  },
  nextDate(now, before, native) {
    if (!native) {
      const date = base.nextDate(now, sql`${before}::timestamptz`, true)
      return sql`to_char(${date} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    }
    const isFarAhead = sql`next > now + ${AHEAD} and next <= now + ${AHEAD} + interval '1 second'`
    return sql`(select case when next > now then case when ${isFarAhead} then ${before} else next end else now end
      from (select ${now}::timestamptz as now, date_trunc('second', ${before}) + interval '1 second' as next) as rest_t)`
  },
  idSequence: (
    table,
    column,
  ) => sql`select format('%I.%I', n.nspname, s.relname) as name, q.seqcache as cache,
      has_sequence_privilege(s.oid, 'usage') as is_usable,
      case when has_sequence_privilege(s.oid, 'usage') then coalesce(pg_sequence_last_value(s.oid), q.seqstart - 1) end as last
    from pg_attribute as a left join pg_attrdef as f on f.adrelid = a.attrelid and f.adnum = a.attnum
    join pg_depend as d on case when a.attidentity <> ''
      then d.deptype = 'i' and d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = a.attrelid and d.refobjsubid = a.attnum
      else d.classid = 'pg_attrdef'::regclass and d.objid = f.oid and d.refclassid = 'pg_class'::regclass and pg_get_expr(f.adbin, f.adrelid) ~ '^nextval[(][^()]*[)]$' end
    join pg_class as s on s.oid = case when a.attidentity <> '' then d.objid else d.refobjid end and s.relkind = 'S'
    join pg_namespace as n on n.oid = s.relnamespace
    join pg_sequence as q on q.seqrelid = s.oid and q.seqincrement > 0
    where a.attrelid = to_regclass(${quoteTable(table)}) and a.attname = ${column}`,
  enforcesKeys: sql`true`,
  renewVersion: buildRenewVersion((row, column) => sql`${sql.raw(row)}.${sql.id(column)}`),
  serves: type => serves(type),
  forms: FORMS,
  keepsExactly: type => serves(type).exact === true,
  longestName: NAME_BYTES,
  serial: false,
  limit: timeout => `set local statement_timeout = ${timeout}`,
  begin: [BEGIN],
  beginTransaction: ['begin isolation level serializable'],
  // Unlike a `select`, it takes no snapshot: all earlier commits are seen. `select for update` waits for it too.
  lockTransaction: (table, exclusive) =>
    `lock table "${table}" in ${exclusive ? 'exclusive' : 'row exclusive'} mode`,
  beginRead: ['begin isolation level repeatable read read only'],
  // An index may take long to make. Two processes that make one table fail, even with `if not exists`. A statement that
  // waits for the lock of a table has all writes of others wait behind it: not for long.
  beginSetup: [
    BEGIN,
    'set local statement_timeout = 0',
    `select pg_advisory_xact_lock(${LOCK}::bigint)`,
    "set local lock_timeout = '3s'",
  ],
  supportsDmlInCte: true,
  overriding: sql` overriding system value`,
  forUpdate: sql` for update`,
  now: sql`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
  boolean: value => value,
  bind,
  // As text: users choose what their driver makes of JSON.
  read: (column, type) => (type === 'json' ? sql`${column}::text` : column),
  print: column => sql`${column}::text`,
  text: value => sql`${value} ${C}`,
  json: (column, path, kind) => typed(inside(column, path), textInside(column, path), kind),
  has: (column, path) => sql`coalesce(json_typeof(${inside(column, path)}), 'null') <> 'null'`,
  holds: (column, path, what) => sql`json_typeof(${inside(column, path)}) = ${sql.lit(what)}`,
  anyElement(column, path, kind, test) {
    const list = inside(column, path)
    const value = sql.raw('rest_e.value')
    // Only an array has elements: of another value they would be an error.
    return sql`exists (select 1 from json_array_elements(case json_typeof(${list}) when 'array' then ${list} end) as rest_e(value) where ${test(typed(value, rootText(value), kind))})`
  },
  instant,
  like: (text, pattern) => sql`${text} like ${storable(pattern.map(likeOf).join(''))}::text`,
  sum: value => sql`sum(${value})`,
  startOf(part, value, native) {
    const utc = native?.toUtc?.(value) ?? sql`(to_timestamp(${value} / 1000.0) at time zone 'UTC')`
    return sql`date_trunc(${sql.lit(part)}, ${utc})`
  },
  startInSeconds: start => sql`date_part('epoch', ${start})`,
  contains(text, part, indexed) {
    // An index of trigrams serves patterns with at least one.
    if (!indexed || !/[\p{L}\p{N}]{3}/u.test(part))
      return sql`strpos(${text}, ${storable(part)}::text) > 0`
    return sql`${text} like ${`%${storable(part).replace(/[\\%_]/g, '\\$&')}%`}::text`
  },
  searchIndex: {
    create: index =>
      sql`do $rest$ begin if exists (select from pg_opclass where opcname = 'gin_trgm_ops' and pg_opclass_is_visible(oid)) then ${index}; end if; end $rest$`,
    print: (name, from, column, how) =>
      sql`create index${sql.raw(how ?? '')} if not exists ${sql.id(name)} on ${from} using gin (${column} gin_trgm_ops)`,
    look: table =>
      sql`select c.reltuples::bigint as rows, (select coalesce(json_agg(a.attname), '[]')::text from pg_index as i join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
        where i.indrelid = c.oid and exists (select from pg_opclass as o where o.oid = any(i.indclass) and o.opcname = 'gin_trgm_ops')) as indexed
        from pg_class as c where c.oid = to_regclass(${quoteTable(table)})`,
  },
  orderBy(value, descending, nullable) {
    if (!nullable) return descending ? sql`${value} desc` : value
    return descending ? sql`${value} desc nulls last` : sql`${value} nulls first`
  },
  /**
   * The snapshot decides what a statement sees: two with the same text see the same rows. After a restart
   * its numbers may repeat, so the start time precedes it. On a standby it does not show every change.
   */
  // Not by `||`, which is planned as a function of SQL each time.
  state: sql`(case when pg_is_in_recovery() then null else concat(extract(epoch from pg_postmaster_start_time()), ' ', pg_current_snapshot()) end)`,
  plan: {
    statement: statement => sql`explain (format json) ${statement}`,
    read(row) {
      const [output] = Object.values(row)
      // What `explain (format json)` gives: a list with one plan.
      const plans: { Plan: { 'Plan Rows': number; 'Total Cost': number } }[] =
        typeof output === 'string' ? JSON.parse(output) : Object(output)
      const plan = plans[0]?.Plan
      return { rows: plan?.['Plan Rows'] ?? 0, cost: plan?.['Total Cost'] ?? 0 }
    },
  },
  failure: findFailure,
}

const inUtc: SqlDatabase = {
  ...base,
  serves: type => serves(type, true),
  keepsExactly: type => serves(type, true).exact === true,
}

export const postgres: SqlDatabase = { ...base, inUtc }

function likeOf(step: LikeStep): string {
  if (step === 'run') return '%'
  if (step === 'one') return '_'
  return /[\\%_]/.test(step.char) ? `\\${step.char}` : step.char
}
