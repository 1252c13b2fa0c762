// The statements that create tables, and those that add missing columns.
import { CompiledQuery, type Kysely } from 'kysely'
import {
  ANYTHING,
  BOOLEAN,
  checkOptions,
  FUNCTION,
  having,
  needed,
  oneOf,
  type Rules,
  wholeFrom,
} from '../options.ts'
import type { Shape } from '../store/store.ts'
import { type Column, encodeValue } from './columns.ts'
import type { DatabaseName, SqlDatabase } from './database.ts'
import { postgres } from './postgres.ts'
import { useReader } from './session.ts'
import type { SqlStoreOptions } from './sql-store.ts'
import { type Fragment, print, sql } from './sql-text.ts'
import { sqlite } from './sqlite.ts'
import { TABLE_MAPPING_RULES, TableMapping, type TableMappingOptions } from './table-mapping.ts'

export const DATABASES: Readonly<Record<DatabaseName, SqlDatabase>> = { sqlite, postgres }

export const SQL_STORE_RULES: Rules<SqlStoreOptions> = {
  ...TABLE_MAPPING_RULES,
  db: needed(having('a Kysely', 'getExecutor')),
  database: oneOf(...Object.keys(DATABASES)),
  create: BOOLEAN,
  migrate: BOOLEAN,
  timeout: wholeFrom(1),
  maxScan: wholeFrom(1),
  rememberTotals: BOOLEAN,
  clock: FUNCTION,
}

/** The last id made for each table. */
export const SEQUENCES = 'rest_sequences'
/** Claimed and answered idempotency keys of each table. */
export const IDEMPOTENCY = 'rest_idempotency'

/** Builds the statements that create missing tables and indexes, in order. Each may run again. */
export function tableStatements(mapping: TableMapping): Fragment[] {
  const { database, shape, from, indexes, versionColumn } = mapping
  const { text, integer } = database.types
  const columns = mapping.columns.map(({ name, column, field, made }) => {
    const required = !field.nullable && !field.optional
    const constraint =
      name === shape.identity.name ? ' primary key not null' : required ? ' not null' : ''
    return sql`${sql.id(column)} ${sql.raw(made + constraint)}`
  })
  if (versionColumn !== undefined) {
    columns.push(sql`${sql.id(versionColumn)} ${sql.raw(text)} not null`)
  }
  return [
    sql`create table if not exists ${from} (${sql.join(columns)})`,
    ...indexes.map(
      ({ unique, name, parts }) =>
        sql`create ${sql.raw(unique ? 'unique index' : 'index')} if not exists ${sql.id(name)} on ${from} (${sql.join(parts)})`,
    ),
    sql.raw(
      `create table if not exists "${SEQUENCES}" ("name" ${text} primary key not null, "last_id" ${text} not null)`,
    ),
    sql.raw(
      `create table if not exists "${IDEMPOTENCY}" ("name" ${text} not null, "key" ${text} not null, "fingerprint" ${text} not null, "answer" ${text}, "expires_at" ${integer} not null, primary key ("name", "key"))`,
    ),
    sql.raw(
      `create index if not exists "${IDEMPOTENCY}_by_expires_at" on "${IDEMPOTENCY}" ("expires_at")`,
    ),
  ]
}

/**
 * Prints the same statements as text, for a migration. An index ends in the id. One on a path inside
 * JSON, or on a date-time, is on an expression, and serves only the very same expression.
 * @param shape of a collection: `cars.definition.shape`.
 * @param options `database`, by default `sqlite`, and the table's options of the store.
 * @throws TypeError as `attach` does.
 */
export function createTableSql(
  shape: Shape,
  options: TableMappingOptions & { readonly database?: DatabaseName | undefined } = {},
): string[] {
  if (!(shape.fields instanceof Map)) {
    throw new TypeError(
      `createTableSql takes the shape of a collection: ${shape.name}.definition.shape`,
    )
  }
  // The options of the store may be passed as they are.
  checkOptions('createTableSql', options, { ...SQL_STORE_RULES, db: ANYTHING })
  const { database = 'sqlite', table, columns, version } = options
  const mapping = new TableMapping(shape, DATABASES[database], { table, columns, version })
  return tableStatements(mapping).map(each => print(each, mapping.database).sql)
}

/**
 * Prepares a database of SQLite once after it is opened, so that what is acknowledged survives a loss
 * of power: WAL with `synchronous=FULL`. Foreign keys are enforced. A driver that waits for a lock blocks the
 * whole process: stores wait up to 5 s for it by themselves, other statements on this Kysely get
 * `SQLITE_BUSY` after 10 ms.
 * @param reader another connection to the same file: while a transaction runs, it reads, so that reads do
 * not wait. It never writes, and is closed with the stores. Default: reads wait.
 */
export async function prepareSqlite<Database>(
  db: Kysely<Database>,
  { reader }: { readonly reader?: Kysely<Database> | undefined } = {},
): Promise<void> {
  for (const pragma of [
    // Others may open it at the same time.
    'busy_timeout = 5000',
    'journal_mode = wal',
    'synchronous = full',
    'foreign_keys = on',
    'busy_timeout = 10',
  ]) {
    await db.executeQuery(CompiledQuery.raw(`pragma ${pragma}`))
  }
  if (reader) await useReader(db, reader)
}

/** Whether a column can be added to existing rows: they get the default of the schema, or null. */
export function isAddable({ field }: Column): boolean {
  return field.default !== undefined || field.optional || field.nullable
}

/** Builds the statement that adds a column; `undefined` if existing rows would have no value. */
export function addColumn(column: Column, { database, from }: TableMapping): Fragment | undefined {
  if (!isAddable(column)) return undefined
  const { field, made } = column
  const add = sql`alter table ${from} add column ${sql.id(column.column)} ${sql.raw(made)}`
  if (field.default === undefined) return add
  const required = field.optional || field.nullable ? '' : ' not null'
  return sql`${add}${sql.raw(required)} default ${toLiteral(encodeValue(field.default, column, database))}`
}

function toLiteral(value: unknown): Fragment {
  if (typeof value === 'string' || typeof value === 'number') return sql.lit(value)
  return sql.raw(String(value))
}
