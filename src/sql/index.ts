// The entry point `rest-conventions/sql`: stores in SQLite and PostgreSQL.
export { createTablesSql } from './create-tables.ts'
export type { DatabaseName } from './databases/database.ts'
export { alterTableSql, createTableSql } from './migrations.ts'
export type { KyselyStore, SqlStoreOptions } from './options.ts'
export {
  type PostgresClient,
  type PostgresPool,
  type PreparePostgresOptions,
  preparePostgres,
  reuseStatements,
} from './session/drivers.ts'
export { type NodeSqliteDatabase, nodeSqlite } from './session/node-sqlite.ts'
export { prepareSqlite } from './session/prepare-sqlite.ts'
export { sqlStore } from './sql-store.ts'
export type { ColumnOptions } from './table/columns.ts'
export type { TableMappingOptions } from './table/mapping-options.ts'
