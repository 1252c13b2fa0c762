// The statements of a migration, as text: to create the table of a collection, and to add columns.

import { ANYTHING, checkOptions } from '../options.ts'
import type { Shape } from '../store/store.ts'
import { changeStatements } from './changes/log-sql.ts'
import type { DatabaseName } from './databases/database.ts'
import { DATABASES, findDatabase } from './databases/databases.ts'
import { print } from './databases/sql-text.ts'
import { SQL_STORE_RULES, type SqlStoreOptions } from './options.ts'
import { Session } from './session/session.ts'
import { findSharedDatabase } from './session/shared-database.ts'
import { readCatalog } from './table/catalog.ts'
import { addColumn, extraStatements, tableStatements } from './table/create-table.ts'
import type { TableMappingOptions } from './table/mapping-options.ts'
import { TableMapping } from './table/table-mapping.ts'
/**
 * Prints the statements that create the table, its indexes, and the trigger that renews the version of a row which
 * other programs change. An index ends in the id. One on a path inside
 * JSON, or on a date-time, is on an expression, and serves only the very same expression.
 * @param shape of a collection: `cars.shape`.
 * @param options the table's options of the store. `database`: default that of `db`; without both the statements are those of
 * SQLite, and the first one begins with a comment that says so.
 * @throws TypeError as `attach` does.
 */
export function createTableSql(
  shape: Shape,
  options: TableMappingOptions &
    Pick<SqlStoreOptions, 'changes'> & {
      readonly database?: DatabaseName | undefined
      readonly db?: Parameters<typeof findDatabase>[0] | undefined
    } = {},
): string[] {
  if (!(shape?.fields instanceof Map)) {
    throw new TypeError(
      `createTableSql takes the shape of a collection: ${shape?.name ?? 'cars'}.shape`,
    )
  }
  // The options of the store may be passed as they are.
  checkOptions('createTableSql', options, { ...SQL_STORE_RULES, db: ANYTHING })
  const { db, table, columns, version, changes } = options
  const named = options.database ?? (db && findDatabase(db))
  const database = named ?? 'sqlite'
  const mapping = new TableMapping({
    shape,
    database: DATABASES[database],
    options: { table, columns, version },
  })
  const statements = [...tableStatements(mapping), ...extraStatements(mapping)]
  if (changes) statements.push(...changeStatements(mapping))
  const printed = statements.map(each => print(each, mapping.database).sql)
  return named === undefined
    ? printed.map((each, at) => (at === 0 ? UNNAMED + each : each))
    : printed
}

/** A comment within a statement, because a driver rejects a statement that is only a comment. */
const UNNAMED =
  "-- SQLite, because no database is named: { database: 'postgres' } prints for PostgreSQL\n"

/**
 * Prints the statements that add the columns which a table lacks, each with the default of its schema; for a
 * required column without one a comment. Nothing is changed.
 * @param shape of a collection: `cars.shape`.
 * @param options those of the store.
 * @throws the database's own error for a table that does not exist.
 */
export async function alterTableSql<Database>(
  shape: Shape,
  options: SqlStoreOptions<Database>,
): Promise<string[]> {
  if (!options?.db)
    throw new TypeError('alterTableSql needs { db }, your Kysely, as its second argument')
  const { db, database: name = findDatabase(db) ?? 'sqlite', timeout } = options
  const database = DATABASES[name]
  const mapping = new TableMapping({ shape, database, options })
  const session = new Session(findSharedDatabase(db), database, timeout)
  const catalog = await session.read(runner => readCatalog(mapping.table, database, runner))
  return catalog.findMissing(mapping).map(column => {
    const statement = addColumn(column, mapping)
    if (statement) return print(statement, database).sql
    return `-- ${mapping.table}."${column.column}" is required and has no default: give it one in the schema, or add it with a value for the rows that are there`
  })
}
