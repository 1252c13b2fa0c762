// Wrappers of drivers: statements are prepared once, and lost or silent connections are noticed.
import type {
  PostgresPool as KyselyPool,
  PostgresPoolClient,
  SqliteDatabase,
  SqliteStatement,
} from 'kysely'

/** How many prepared statements a database, or each connection of a pool, keeps at most. */
const MAX_STATEMENTS = 500

/**
 * Wraps a database with the interface of better-sqlite3, or a pool of pg, for Kysely's `SqliteDialect`
 * or `PostgresDialect`: each statement is prepared once, by its text. A database keeps the latest 500,
 * each connection of a pool its first 500. A pooler between server and database must know of prepared
 * statements.
 */
export function reuseStatements(database: SqliteDatabase): SqliteDatabase
export function reuseStatements(pool: KyselyPool): KyselyPool
export function reuseStatements(driver: SqliteDatabase | KyselyPool) {
  return 'prepare' in driver ? wrapDatabase(driver) : wrapPool(driver)
}

function wrapDatabase(database: SqliteDatabase): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>()
  return {
    prepare(text) {
      let statement = kept.get(text)
      if (statement) kept.delete(text)
      else statement = wrapStatement(text, database, () => kept.delete(text))
      if (kept.size >= MAX_STATEMENTS) kept.delete(kept.keys().next().value ?? text)
      kept.set(text, statement)
      return statement
    },
    close: () => database.close(),
  }
}

/** @param forget is called when the statement fails: a driver may leave it half done. */
function wrapStatement(
  text: string,
  database: SqliteDatabase,
  forget: () => void,
): SqliteStatement {
  const statement = database.prepare(text)
  const run = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      forget()
      const { code } = Object(error)
      if (String(code).startsWith('SQLITE_BUSY') && text !== 'commit') endLocked(work, database)
      throw error
    }
  }
  return {
    reader: statement.reader,
    all: parameters => run(() => statement.all(parameters)),
    run: parameters => run(() => statement.run(parameters)),
    // A kept statement cannot iterate twice at the same time.
    iterate: parameters => database.prepare(text).iterate(parameters),
  }
}

/**
 * Ends a statement that has met a lock. libsql leaves it half done, and commits nothing more until it is
 * garbage-collected. Another error ends it, and changes nothing.
 */
function endLocked(work: () => unknown, database: SqliteDatabase): void {
  const setQueryOnly = (value: 0 | 1) => database.prepare(`pragma query_only = ${value}`).run([])
  setQueryOnly(1)
  try {
    work()
  } catch {
    // `query_only` refuses the write before it needs the lock.
  } finally {
    setQueryOnly(0)
  }
}

function wrapPool(pool: KyselyPool): KyselyPool {
  // Kysely tells connections apart by identity.
  const clients = new WeakMap<PostgresPoolClient, PostgresPoolClient>()
  return {
    async connect() {
      const client = await pool.connect()
      const wrapped = clients.get(client) ?? wrapClient(client)
      clients.set(client, wrapped)
      return wrapped
    },
    end: () => pool.end(),
  }
}

/** The errors of a prepared statement that PostgreSQL cannot run any more: a table was altered, or all were dropped. */
const STALE = new Set(['0A000', '26000'])

function wrapClient(client: PostgresPoolClient): PostgresPoolClient {
  const names = new Map<string, string>()
  let made = 0
  const toName = (text: string) => {
    const known = names.get(text)
    if (known !== undefined || made >= MAX_STATEMENTS) return known
    const name = `rest_${++made}`
    names.set(text, name)
    return name
  }
  const query = async (text: string, values: readonly unknown[]) => {
    const name = toName(text)
    if (name === undefined) return client.query(text, values)
    try {
      // Kysely's type of a client does not say it, but pg takes a configuration too.
      return await client.query({ name, text, values } as never)
    } catch (error) {
      const { code } = Object(error)
      if (STALE.has(String(code))) names.delete(text)
      throw error
    }
  }
  return {
    // Kysely passes a cursor without values.
    query: ((statement: never, values?: readonly unknown[]) =>
      values ? query(statement, values) : client.query(statement)) as PostgresPoolClient['query'],
    release: () => client.release(),
  }
}

/** A connection of pg, as far as it is used here. */
export interface PostgresClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  readonly connection?: {
    readonly stream?: {
      // The type of pg lacks it; a socket has it.
      setTimeout?(milliseconds: number, listener: () => void): unknown
      destroy(): unknown
    }
  }
}

/** The pool of pg, as far as it is used here. */
export interface PostgresPool {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
}

/** Options of `preparePostgres`. */
export interface PreparePostgresOptions {
  /** Called with each connection that is lost. */
  readonly onError?: ((error: Error) => void) | undefined
  /**
   * After how many milliseconds without a byte a connection is closed: after a failover it may never end by
   * itself. It must be longer than any statement takes: than the `timeout` of the stores, and than an index
   * that `create` makes. Default 60,000.
   */
  readonly socketTimeout?: number | undefined
}

/**
 * Prepares a pool of pg once, before it is used. Without listeners for lost connections Node ends the
 * process. A call that a lost connection was serving throws an `UnavailableError`; the pool replaces
 * the connection.
 * @param options or `onError` alone.
 */
export function preparePostgres<Pool extends PostgresPool>(
  pool: Pool,
  options: PreparePostgresOptions | ((error: Error) => void) = {},
): Pool {
  const { onError = () => {}, socketTimeout = 60_000 } =
    typeof options === 'function' ? { onError: options } : options
  pool.on('error', onError)
  // A connection in use calls only its own listeners.
  pool.on('connect', client => {
    client.on('error', onError)
    const socket = client.connection?.stream
    socket?.setTimeout?.(socketTimeout, () => socket.destroy())
  })
  return pool
}
