// The tables of a SQL store: the collection's own, and two small ones that all stores of a database share.
import { CompiledQuery, type Kysely } from 'kysely'
import { fieldAt, toPath } from '../fields.ts'
import type { Shape } from '../store.ts'
import { hasOrder, indexesOf } from './shapes.ts'
import type { DialectName, SqlDialect } from './sql-dialect.ts'
import { Layout, type LayoutOptions } from './sql-layout.ts'
import { postgres } from './sql-postgres.ts'
import { sqlite } from './sql-sqlite.ts'
import { type Fragment, print, sql } from './sql-text.ts'

export const DIALECTS: Readonly<Record<DialectName, SqlDialect>> = { sqlite, postgres }

/** The last id made for each table. */
export const SEQUENCES = 'rest_sequences'
/** Claimed and answered idempotency keys of each table. */
export const IDEMPOTENCY = 'rest_idempotency'

/** Statements that make what is not there yet, in their order. Every one may be run again. */
export function tableStatements(layout: Layout): Fragment[] {
  const { dialect, shape } = layout
  const { text, integer } = dialect.types
  const columns = layout.columns.map(({ name, column, field, type }) => {
    const required = !field.nullable && !field.optional
    const constraint =
      name === shape.identity.name ? ' primary key not null' : required ? ' not null' : ''
    return sql`${sql.id(column)} ${sql.raw(dialect.types[type] + constraint)}`
  })
  if (layout.versionColumn !== undefined) {
    columns.push(sql`${sql.id(layout.versionColumn)} ${sql.raw(text)} not null`)
  }
  return [
    sql`create table if not exists ${layout.from} (${sql.join(columns)})`,
    ...shape.unique.map(set => indexStatement(layout, set, 'unique')),
    ...indexesOf(shape)
      .filter(set => set.every(path => isOrdered(layout, path)))
      .map(set => indexStatement(layout, set, 'by')),
    sql`create table if not exists ${sql.table(SEQUENCES)} (${sql.id('name')} ${sql.raw(text)} primary key not null, ${sql.id('last_id')} ${sql.raw(text)} not null)`,
    sql`create table if not exists ${sql.table(IDEMPOTENCY)} (${sql.id('name')} ${sql.raw(text)} not null, ${sql.id('key')} ${sql.raw(text)} not null, ${sql.id('fingerprint')} ${sql.raw(text)} not null, ${sql.id('answer')} ${sql.raw(text)}, ${sql.id('expires_at')} ${sql.raw(integer)} not null, primary key (${sql.id('name')}, ${sql.id('key')}))`,
    sql`create index if not exists ${sql.id(`${IDEMPOTENCY}_by_expires_at`)} on ${sql.table(IDEMPOTENCY)} (${sql.id('expires_at')})`,
  ]
}

function isOrdered({ shape }: Layout, path: string): boolean {
  const kind = fieldAt(shape.fields, toPath(path))?.kind
  return hasOrder(kind) || kind === 'union' || kind === 'any'
}

/** An index of `set` and then the id, or one that keeps the set unique. */
function indexStatement(layout: Layout, set: readonly string[], kind: 'unique' | 'by'): Fragment {
  const { identity } = layout.shape
  const paths = kind === 'unique' || set.includes(identity.name) ? set : [...set, identity.name]
  const parts = paths.map(path => {
    const place = layout.at(toPath(path))
    if (!place) throw new TypeError(`${layout.shape.name} has no field "${path}" to index`)
    const { column, mixed, value, order, maybe } = place
    if (kind === 'unique') return column ?? sql`(${mixed ? order : value})`
    const part = column && order === value ? column : sql`(${order})`
    return layout.dialect.orderBy(part, false, maybe)
  })
  const what = sql.raw(kind === 'unique' ? 'unique index' : 'index')
  const name = sql.id(layout.indexName(set, kind))
  return sql`create ${what} if not exists ${name} on ${layout.from} (${sql.join(parts)})`
}

/**
 * The same statements as text, for a migration. An index ends in the id; one on a path inside JSON,
 * or on a date-time, is on an expression, and only the very same expression is served by it.
 * @throws TypeError as `attach` does.
 */
export function createTableSql(
  shape: Shape,
  { dialect = 'sqlite', ...options }: LayoutOptions & { readonly dialect?: DialectName } = {},
): string[] {
  const layout = new Layout(shape, DIALECTS[dialect], options)
  return tableStatements(layout).map(each => print(each, layout.dialect.placeholder).sql)
}

/**
 * What a database of SQLite needs once after it is opened, so that what is acknowledged survives a
 * loss of power: WAL with `synchronous=FULL`; waits 5 s for a lock; foreign keys count.
 */
export async function prepareSqlite<Database>(db: Kysely<Database>): Promise<void> {
  for (const pragma of [
    'journal_mode = wal',
    'synchronous = full',
    'busy_timeout = 5000',
    'foreign_keys = on',
  ]) {
    await db.executeQuery(CompiledQuery.raw(`pragma ${pragma}`))
  }
}

/** The pool of pg, as far as {@link preparePostgres} asks for it. */
export interface PostgresPool {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
}

export interface PostgresClient {
  on(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * What a pool of pg needs once, before it is used: listeners for lost connections, without which Node
 * ends the process. A call that a lost connection was serving throws an `UnavailableError` by itself;
 * the pool replaces the connection.
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
  })
  return pool
}
