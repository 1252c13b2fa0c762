// The log of changes in SQLite: one writer after another, so that numbers are the order of commits.
import { type Fragment, sql } from '../databases/sql-text.ts'
import { LOG } from '../databases/table-names.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { type LoggedColumn, type LogSql, listLogged } from './log-shape.ts'

function split({ table }: TableMapping): { own: string; schema: string } {
  const [own = '', schema = 'main'] = table.split('.').reverse()
  return { own, schema }
}

/** Prints a member of an object: a number with all its digits, and bytes as a list, which no column can be read from. */
function printColumn({ value, name }: LoggedColumn): Fragment {
  const key = sql.lit(`${JSON.stringify(name)}:`)
  return sql`${key} || case typeof(${value}) when 'blob' then '[]' when 'real' then format('%!.17g', ${value}) else json_quote(${value}) end`
}

/** Prints the columns of a row as JSON. It is no function: the number of arguments has a limit. */
function printRow(mapping: TableMapping, row: string): Fragment {
  return sql`'{' || ${sql.join(listLogged(mapping, row).map(printColumn), " || ',' || ")} || '}'`
}

const log = sql.id(LOG)

export const sqliteLog: LogSql = {
  printColumn,
  // With `autoincrement` a number never comes again, even if all rows are pruned.
  createLog: [
    sql`create table if not exists ${log} ("seq" integer primary key autoincrement, "name" text not null, "id" text, "before" text, "after" text, "at" integer not null default (unixepoch()))`,
    sql`insert or ignore into ${log} ("seq", "name", "id", "before") values (0, '', lower(hex(randomblob(16))), '0')`,
  ],
  createTriggers(mapping) {
    const { own, schema } = split(mapping)
    const { id, table } = mapping
    const isMain = schema.toLowerCase() === 'main'
    if (!isMain) {
      throw new TypeError(
        `${table} is in another file than ${LOG}: SQLite has no triggers across files. Leave changes out.`,
      )
    }
    const key = (row: string) => sql`${sql.raw(row)}.${id.ref}`
    const before = printRow(mapping, 'old')
    // Read anew: another trigger may have changed the row, and its change may stand in the log already.
    const after = (row: string) =>
      sql`(select ${printRow(mapping, 'rest_t')} from ${sql.id(own)} as rest_t where rest_t.${id.ref} is ${key(row)})`
    const add = (row: string, values: Fragment) =>
      sql`insert into ${log} ("name", "id", "before", "after") values (${sql.lit(own.toLowerCase())}, ${key(row)}, ${values});`
    const name = (event: string) => sql.id(`${own}_rest_changes_${event}`)
    const moved = sql`old.${id.ref} is not new.${id.ref}`
    const trigger = (event: string, on: string, body: Fragment, when = sql``) => [
      sql`drop trigger if exists ${name(event)}`,
      sql`create trigger ${name(event)} after ${sql.raw(on)} on ${sql.id(own)} for each row${when} begin ${body} end`,
    ]
    return [
      ...trigger('insert', 'insert', add('new', sql`null, ${after('new')}`)),
      ...trigger('update', 'update', add('old', sql`${before}, ${after('old')}`)),
      ...trigger('move', 'update', add('new', sql`null, ${after('new')}`), sql` when ${moved}`),
      ...trigger('delete', 'delete', add('old', sql`${before}, ${after('old')}`)),
    ]
  },
  findTriggers(mapping) {
    const { own } = split(mapping)
    const names = ['insert', 'update', 'move', 'delete'].map(event =>
      sql.lit(`${own}_rest_changes_${event}`.toLowerCase()),
    )
    const hasLog = sql`exists (select 1 from sqlite_schema where name = ${sql.lit(LOG)})`
    return sql`select case when count(*) = 4 and ${hasLog} then group_concat(m.sql, ' ') end as text,
      (select case when t.type = 'table' and t.rootpage > 0 then null else 'it is no table, and has no triggers that could log them' end from sqlite_schema as t where lower(t.name) = lower(${own})) as refusal, lower(${own}) as name
      from sqlite_schema as m where m.type = 'trigger' and lower(m.name) in (${sql.join(names)})`
  },
  last: sql`select (select seq from sqlite_sequence where name = ${sql.lit(LOG)}) as last, id as log, before as pruned from ${log} where seq = 0`,
  olderThan: seconds => sql`"at" < unixepoch() - ${seconds}`,
}
