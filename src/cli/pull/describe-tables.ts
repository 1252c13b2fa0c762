// The tables of a database as collections: those that have a key, and those that are left out.
import { IDEMPOTENCY, LOG, SEQUENCES } from '../../sql/databases/table-names.ts'
import type { CatalogConnection } from './connect.ts'
import { type DescribedTable, describeTable, type LeftOut } from './describe-table.ts'
import type { FoundTable } from './found-tables.ts'
import { type CollectionName, Names, nameCollection } from './names.ts'
import { findKey, findPair, type TableKey } from './table-key.ts'

/** The tables and views that the library creates. */
const OWN: readonly string[] = [SEQUENCES, IDEMPOTENCY, LOG]
/** Tables of migrations. */
const INTERNAL =
  /^(?:_prisma_migrations|schema_migrations|ar_internal_metadata|django_migrations|_{0,2}drizzle_migrations|knex_migrations(?:_lock)?|flyway_schema_history|migrations|strapi_migrations\w*|typeorm_metadata)$/

/** Describes the tables that become collections, in their order. */
export function describeTables(
  tables: readonly FoundTable[],
  database: CatalogConnection['database'],
): { readonly described: readonly DescribedTable[]; readonly leftOut: readonly LeftOut[] } {
  const names = new Names()
  const unnamed: LeftOut[] = []
  const served = new Map<string, CollectionName & TableKey>()
  for (const table of tables) {
    const own = table.name.replace(/^.*\./, '')
    if (OWN.includes(own)) continue
    const key = INTERNAL.test(own)
      ? 'other programs keep their state there'
      : findKey(table, database)
    if (typeof key === 'string') unnamed.push({ table, reason: key })
    else served.set(table.name, { ...nameCollection(own, names), ...key })
  }
  const known = { database, served }
  const leftOut: LeftOut[] = []
  const links = new Map<string, DescribedTable>()
  for (const each of unnamed) {
    const { table } = each
    const own = table.name.replace(/^.*\./, '')
    const pair = INTERNAL.test(own) ? undefined : findPair(table, known)
    if (pair) links.set(table.name, describeTable(table, nameCollection(own, names), pair, known))
    else leftOut.push(each)
  }
  const described = tables.flatMap(table => {
    const named = served.get(table.name)
    return (named ? describeTable(table, named, named, known) : links.get(table.name)) ?? []
  })
  return { described, leftOut }
}
