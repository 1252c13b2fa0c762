// The tables of a PostgreSQL, from its catalog.
import { postgres } from '../../sql/databases/postgres.ts'
import { sql } from '../../sql/databases/sql-text.ts'
import type { CatalogConnection } from './connect.ts'
import { type FoundTable, hasTriggers, toColumn } from './found-tables.ts'

const namesOf = (of: string, numbers: string) =>
  sql.raw(
    `(select json_agg(a.attname order by p.at) from unnest(${numbers}) with ordinality as p (num, at) left join pg_attribute as a on a.attrelid = ${of} and a.attnum = p.num and p.num > 0)`,
  )

/** Without partitions, and what extensions have made. */
const TABLES = sql`select n.nspname as schema, c.relname as name, c.relkind in ('v', 'm') as is_view, c.relkind = 'p' as is_partitioned, obj_description(c.oid, 'pg_class') as comment,
  (select json_agg(json_build_object('name', a.attname, 'comment', col_description(c.oid, a.attnum)) order by a.attnum)
    from pg_attribute as a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)::text as columns,
  (select json_agg(json_build_object('kind', k.contype, 'columns', ${namesOf('k.conrelid', 'k.conkey')}, 'to', ${namesOf('k.confrelid', 'k.confkey')},
      'schema', t.nspname, 'table', r.relname, 'action', k.confdeltype, 'text', pg_get_expr(k.conbin, k.conrelid)) order by k.conname)
    from pg_constraint as k left join pg_class as r on r.oid = k.confrelid left join pg_namespace as t on t.oid = r.relnamespace
    where k.conrelid = c.oid)::text as constraints,
  (select json_agg(json_build_object('column', quote_ident(a.attname), 'text', pg_get_expr(k.conbin, 0)) order by a.attnum, k.conname)
    from pg_attribute as a cross join lateral (with recursive base (type) as (select a.atttypid union all
      select t.typbasetype from base join pg_type as t on t.oid = base.type where t.typbasetype <> 0) select type from base) as b
    join pg_constraint as k on k.contypid = b.type and k.contype = 'c' where a.attrelid = c.oid and a.attnum > 0)::text as domains,
  (select json_agg(json_build_object('unique', i.indisunique, 'columns', ${namesOf('i.indrelid', '(i.indkey::int2[])[0:i.indnkeyatts - 1]')},
      'where', pg_get_expr(i.indpred, i.indrelid), 'text', pg_get_indexdef(i.indexrelid)) order by x.relname)
    from pg_index as i join pg_class as x on x.oid = i.indexrelid join pg_am as m on m.oid = x.relam
    where i.indrelid = c.oid and not i.indisprimary and m.amname = 'btree')::text as indexes
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and not exists (select 1 from pg_depend as d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`

interface Constraint {
  readonly kind: 'p' | 'f' | 'c' | 'u' | 'x' | 'n'
  readonly columns: readonly string[]
  readonly to: readonly string[]
  readonly schema: string
  readonly table: string
  readonly action: string
  readonly text: string
}

const ACTIONS: Readonly<Record<string, string>> = { c: 'cascade', n: 'set null', d: 'set default' }

/** Reads the tables of one schema. @param schema default: the first of the search path. */
export async function readPostgres(
  { select }: CatalogConnection,
  schema?: string,
): Promise<readonly FoundTable[]> {
  const own = sql`${TABLES} and n.nspname = ${schema === undefined ? sql.raw('current_schema()') : schema} order by c.relname`
  const rows = await select(own)
  // A name with its schema, where it is not the one that is found first, or has a point that would end a schema.
  const nameOf = (of: unknown, name: unknown) =>
    schema === undefined && of === rows[0]?.schema && !String(name).includes('.')
      ? String(name)
      : `${of}.${name}`
  const tables: FoundTable[] = []
  for (const row of rows) {
    const name = nameOf(row.schema, row.name)
    const isNamed = !String(row.name).includes('.')
    const catalog = isNamed ? await select(postgres.catalog(name)) : []
    const columns: { name: string; comment: unknown }[] = JSON.parse(String(row.columns)) ?? []
    const constraints: Constraint[] = JSON.parse(String(row.constraints)) ?? []
    const listKind = (kind: Constraint['kind']) => constraints.filter(each => each.kind === kind)
    tables.push({
      name,
      fills: catalog.some(hasTriggers),
      isView: row.is_view === true,
      isPartitioned: row.is_partitioned === true,
      comment: row.comment === null ? undefined : String(row.comment),
      columns: columns.flatMap(each => {
        const found = catalog.find(column => column.name === each.name)
        return found?.is_readable === false || !found ? [] : toColumn(found, each.comment)
      }),
      key: listKind('p')[0]?.columns ?? [],
      references: listKind('f').map(({ columns, to, action, schema, table }) => ({
        ...{ columns, to, table: nameOf(schema, table) },
        onDelete: ACTIONS[action] ?? 'restrict',
      })),
      indexes: JSON.parse(String(row.indexes)) ?? [],
      checks: [...listKind('c').map(({ text }) => text), ...listDomainChecks(row.domains)],
    })
  }
  return tables
}

/** Lists the checks of domains, with the names of columns for `VALUE`, but for that in strings. */
function listDomainChecks(domains: unknown): readonly string[] {
  const found: { column: string; text: string }[] = JSON.parse(String(domains)) ?? []
  return found.map(({ column, text }) =>
    text.replace(/'(?:[^']|'')*'|\bVALUE\b/g, each => (each === 'VALUE' ? column : each)),
  )
}
