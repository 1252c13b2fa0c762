// The tables of a file of SQLite, from its catalog, and their checks from their statements.
import { sql } from '../../sql/databases/sql-text.ts'
import { sqlite } from '../../sql/databases/sqlite.ts'
import type { CatalogConnection } from './connect.ts'
import { type FoundTable, hasTriggers, toColumn } from './found-tables.ts'

const TABLES = sql`select t.name as name, t.type as type, m.sql as sql,
  (select json_group_array(name) from (select p.name from pragma_table_info(t.name) as p where p.pk > 0 order by p.pk)) as key,
  (select json_group_array(json_object('columns', json(f.columns), 'to', json(f.names), 'table', f.name, 'onDelete', lower(f.action)))
    from (select k."table" as name, k.on_delete as action, json_group_array(k."from") as columns, json_group_array(k."to") filter (where k."to" is not null) as names
      from pragma_foreign_key_list(t.name) as k group by k.id order by k.id desc) as f) as refs,
  (select json_group_array(json_object('unique', l."unique" = 1, 'where', case when l.partial then substr(x.sql, instr(lower(x.sql), ' where ') + 7) end, 'text', x.sql,
      'columns', json((select json_group_array(i.name) from pragma_index_info(l.name) as i))))
    from pragma_index_list(t.name) as l left join sqlite_schema as x on x.type = 'index' and x.name = l.name where l.origin <> 'pk' order by l.seq desc) as indexes
  from pragma_table_list as t join sqlite_schema as m on m.name = t.name and m.type = t.type
  where t.schema = 'main' and t.type in ('table', 'view') and t.name not like 'sqlite\\_%' escape '\\' order by t.name`

/** Reads all tables. */
export async function readSqlite({ select }: CatalogConnection): Promise<readonly FoundTable[]> {
  const tables: FoundTable[] = []
  for (const row of await select(TABLES)) {
    const own = String(row.name)
    // A point would end a schema.
    const isNamed = !own.includes('.')
    const name = isNamed ? own : `main.${own}`
    const catalog = isNamed ? await select(sqlite.catalog(name)) : []
    const indexes: FoundTable['indexes'] = JSON.parse(String(row.indexes))
    tables.push({
      name,
      fills: catalog.some(hasTriggers),
      isView: row.type === 'view',
      comment: undefined,
      columns: catalog.map(column => toColumn(column, undefined)),
      key: JSON.parse(String(row.key)),
      references: JSON.parse(String(row.refs)),
      indexes: indexes.map(index => ({ ...index, unique: Boolean(index.unique) })),
      checks: row.type === 'view' ? [] : listChecks(String(row.sql)),
    })
  }
  return tables
}

const CHECK = /\bcheck\s*\(/gi
/** A statement is a stranger's: it is read only so far. */
const MAX_STATEMENT = 100_000
const MAX_CHECKS = 200

/** Lists the conditions of the checks in a statement. */
function listChecks(statement: string): string[] {
  const text = statement.slice(0, MAX_STATEMENT)
  return [...text.matchAll(CHECK)].slice(0, MAX_CHECKS).flatMap(({ 0: found, index }) => {
    const from = index + found.length
    const to = findClosing(text, from)
    return to === undefined ? [] : [text.slice(from, to)]
  })
}

/** Finds the bracket that closes the one before `from`; those in strings do not count. */
function findClosing(text: string, from: number): number | undefined {
  let [depth, quote] = [1, '']
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at)
    if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === "'" || char === '"' || char === '`') quote = char
    else if (char === '(') depth++
    else if (char === ')' && --depth === 0) return at
  }
  return undefined
}
