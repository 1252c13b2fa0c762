// Prints the tables of a SQL store: the collection's own, and two small ones that all stores of a
// database share.
import { CompiledQuery, type Kysely } from 'kysely'
import { checkOptions, oneOf } from '../options.ts'
import type { Shape } from '../store/store.ts'
import type { DatabaseName, SqlDatabase } from './database.ts'
import type { IndexKind } from './indexes.ts'
import { postgres } from './postgres.ts'
import { useReader } from './shared-database.ts'
import { type Fragment, print, sql } from './sql-text.ts'
import { sqlite } from './sqlite.ts'
import { TABLE_MAPPING_RULES, TableMapping, type TableMappingOptions } from './table-mapping.ts'

export const DATABASES: Readonly<Record<DatabaseName, SqlDatabase>> = { sqlite, postgres }

/** The options of the store itself may be passed as well: the store checks them. */
const STORE_OPTION = { wanted: 'what sqlStore takes', fits: () => true }

const CREATE_RULES = {
  ...TABLE_MAPPING_RULES,
  database: oneOf(...Object.keys(DATABASES)),
  db: STORE_OPTION,
  create: STORE_OPTION,
  migrate: STORE_OPTION,
  timeout: STORE_OPTION,
  rememberTotals: STORE_OPTION,
  clock: STORE_OPTION,
}

/** The last id made for each table. */
export const SEQUENCES = 'rest_sequences'
/** Claimed and answered idempotency keys of each table. */
export const IDEMPOTENCY = 'rest_idempotency'

/** Builds the statements that make what does not exist yet, in their order. Each may be run again. */
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
  const index = (kind: IndexKind) => (set: readonly string[]) =>
    sql`create ${sql.raw(kind === 'unique' ? 'unique index' : 'index')} if not exists ${sql.id(indexes.name(set, kind))} on ${from} (${sql.join(indexes.parts(set, kind))})`
  return [
    sql`create table if not exists ${from} (${sql.join(columns)})`,
    ...indexes.sets('unique').map(index('unique')),
    ...indexes.sets('by').map(index('by')),
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
 * @param given `database`, by default `sqlite`, and the table's options of the store.
 * @throws TypeError as `attach` does.
 */
export function createTableSql(
  shape: Shape,
  given: TableMappingOptions & { readonly database?: DatabaseName | undefined } = {},
): string[] {
  if (!(shape.fields instanceof Map)) {
    throw new TypeError(
      `createTableSql takes the shape of a collection: ${shape.name}.definition.shape`,
    )
  }
  checkOptions('createTableSql', given, CREATE_RULES)
  const { database = 'sqlite', table, columns, version } = given
  const mapping = new TableMapping(shape, DATABASES[database], { table, columns, version })
  return tableStatements(mapping).map(each => print(each, mapping.database).sql)
}

/**
 * Prepares a database of SQLite once after it is opened, so that what is acknowledged survives a loss
 * of power: WAL with `synchronous=FULL`; foreign keys count. A driver that waits for a lock blocks the
 * whole process: stores wait up to 5 s for it by themselves, other statements on this Kysely get
 * `SQLITE_BUSY` after 10 ms.
 * @param reader another connection to the same file: what is read while a transaction runs is read by
 * it, and does not wait. It only reads, and is closed with the stores. Default: reads wait.
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
