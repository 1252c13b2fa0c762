// Prints what a table lacks after a change of the schema.
import type { Shape } from '../store/store.ts'
import { readCatalog } from './catalog.ts'
import { findDatabase } from './database.ts'
import { addColumn } from './missing-columns.ts'
import { Session } from './session.ts'
import { findSharedDatabase } from './shared-database.ts'
import type { SqlStoreOptions } from './sql-store.ts'
import { print } from './sql-text.ts'
import { TableMapping } from './table-mapping.ts'
import { DATABASES } from './tables.ts'

/**
 * Prints the statements that add the columns which a table lacks, each with the default of its schema; for a
 * required column without one a comment. Nothing is changed.
 * @param shape of a collection: `cars.definition.shape`.
 * @param options those of the store.
 * @throws the database's own error for a table that does not exist.
 */
export async function alterTableSql<Database>(
  shape: Shape,
  options: SqlStoreOptions<Database>,
): Promise<string[]> {
  const { db, database: name = findDatabase(db) ?? 'sqlite', timeout } = options
  const database = DATABASES[name]
  const mapping = new TableMapping(shape, database, options)
  const session = new Session(findSharedDatabase(db), database, timeout)
  const catalog = await session.read(runner => readCatalog(mapping.table, database, runner))
  return catalog.findMissing(mapping).map(column => {
    const statement = addColumn(column, mapping)
    if (statement) return print(statement, database).sql
    return `-- ${mapping.table}."${column.column}" is required and has no default: give it one in the schema, or add it with a value for the rows that are there`
  })
}
