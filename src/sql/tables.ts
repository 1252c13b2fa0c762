// The tables of a SQL store: the collection's own, and two small ones that all stores of a database share.
import { CompiledQuery, type Kysely } from 'kysely'
import { checkOptions, oneOf } from '../options.ts'
import type { Shape } from '../store/store.ts'
import type { Column } from './columns.ts'
import type { DatabaseName, SqlDatabase } from './database.ts'
import type { IndexKind } from './indexes.ts'
import { type PostgresClient, postgres, remember } from './postgres.ts'
import { type Fragment, print, sql } from './sql-text.ts'
import { sqlite } from './sqlite.ts'
import { TABLE_MAPPING_RULES, TableMapping, type TableMappingOptions } from './table-mapping.ts'

export const DIALECTS: Readonly<Record<DatabaseName, SqlDatabase>> = { sqlite, postgres }

/** The options of the store itself do as well: it checks them. */
const STORE_OPTION = { wanted: 'what sqlStore takes', fits: () => true }

const CREATE_RULES = {
  ...TABLE_MAPPING_RULES,
  dialect: oneOf(...Object.keys(DIALECTS)),
  db: STORE_OPTION,
  create: STORE_OPTION,
  timeout: STORE_OPTION,
  rememberTotals: STORE_OPTION,
  clock: STORE_OPTION,
}

/** The last id made for each table. */
export const SEQUENCES = 'rest_sequences'
/** Claimed and answered idempotency keys of each table. */
export const IDEMPOTENCY = 'rest_idempotency'

/** Statements that make what is not there yet, in their order. Every one may be run again. */
export function tableStatements(layout: TableMapping): Fragment[] {
  const { dialect, shape } = layout
  const { text, integer } = dialect.types
  const columns = layout.columns.map(each => {
    const { name, column, field } = each
    const required = !field.nullable && !field.optional
    const constraint =
      name === shape.identity.name ? ' primary key not null' : required ? ' not null' : ''
    return sql`${sql.id(column)} ${sql.raw(madeType(layout, each) + constraint)}`
  })
  if (layout.versionColumn !== undefined) {
    columns.push(sql`${sql.id(layout.versionColumn)} ${sql.raw(text)} not null`)
  }
  const key = sql.raw(text)
  return [
    sql`create table if not exists ${layout.from} (${sql.join(columns)})`,
    ...layout.indexes.sets('unique').map(set => indexStatement(layout, set, 'unique')),
    ...layout.indexes.sets('by').map(set => indexStatement(layout, set, 'by')),
    sql`create table if not exists ${sql.table(SEQUENCES)} (${sql.id('name')} ${key} primary key not null, ${sql.id('last_id')} ${sql.raw(text)} not null)`,
    sql`create table if not exists ${sql.table(IDEMPOTENCY)} (${sql.id('name')} ${key} not null, ${sql.id('key')} ${key} not null, ${sql.id('fingerprint')} ${sql.raw(text)} not null, ${sql.id('answer')} ${sql.raw(text)}, ${sql.id('expires_at')} ${sql.raw(integer)} not null, primary key (${sql.id('name')}, ${sql.id('key')}))`,
    sql`create index if not exists ${sql.id(`${IDEMPOTENCY}_by_expires_at`)} on ${sql.table(IDEMPOTENCY)} (${sql.id('expires_at')})`,
  ]
}

/** The type of a column that the store makes. */
export function madeType({ dialect }: TableMapping, { type, declared }: Column): string {
  return declared ? declared.own.made(declared.digits ?? 0) : dialect.types[type]
}

/** An index of `set` and then the id, or one that keeps the set unique. */
function indexStatement(layout: TableMapping, set: readonly string[], kind: IndexKind): Fragment {
  const what = sql.raw(kind === 'unique' ? 'unique index' : 'index')
  const name = sql.id(layout.indexes.name(set, kind))
  return sql`create ${what} if not exists ${name} on ${layout.from} (${sql.join(layout.indexes.parts(set, kind))})`
}

/**
 * The same statements as text, for a migration. An index ends in the id; one on a path inside JSON,
 * or on a date-time, is on an expression, and only the very same expression is served by it.
 * @param shape of a collection: `cars.definition.shape`.
 * @param given `dialect`, by default `sqlite`, and what the store is told of the table.
 * @throws TypeError as `attach` does.
 */
export function createTableSql(
  shape: Shape,
  given: TableMappingOptions & { readonly dialect?: DatabaseName | undefined } = {},
): string[] {
  if (!(shape.fields instanceof Map)) {
    throw new TypeError(
      `createTableSql takes the shape of a collection: ${shape.name}.definition.shape`,
    )
  }
  checkOptions('createTableSql', given, CREATE_RULES)
  const { dialect = 'sqlite', table, columns, version } = given
  const options = { table, columns, version }
  const layout = new TableMapping(shape, DIALECTS[dialect], options)
  return tableStatements(layout).map(each => print(each, layout.dialect).sql)
}

/**
 * What a database of SQLite needs once after it is opened, so that what is acknowledged survives a
 * loss of power: WAL with `synchronous=FULL`; foreign keys count. Of a lock that another process has,
 * a driver that waits keeps the whole process: stores wait up to 5 s for it by themselves, others'
 * statements on this Kysely meet `SQLITE_BUSY` after 10 ms.
 */
export async function prepareSqlite<Database>(db: Kysely<Database>): Promise<void> {
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
}

/** The pool of pg, as far as {@link preparePostgres} asks for it. */
export interface PostgresPool {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
}

export type { PostgresClient } from './postgres.ts'

/**
 * What a pool of pg needs once, before it is used: listeners for lost connections, without which Node
 * ends the process. A call that a lost connection was serving throws an `UnavailableError` by itself;
 * the pool replaces the connection, also one that has gone silent (`timeout` of `sqlStore`).
 * @param onError is told of each connection that is lost.
 */
export function preparePostgres<Pool extends PostgresPool>(
  pool: Pool,
  onError: (error: Error) => void = () => {},
): Pool {
  pool.on('error', onError)
  // One that is in use tells its own listeners only.
  pool.on('connect', client => {
    client.on('error', onError)
    remember(client)
  })
  return pool
}
