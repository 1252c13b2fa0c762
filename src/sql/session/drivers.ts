// Wrappers of drivers: statements are prepared once, and lost or silent connections are noticed.
import type { PostgresPool as KyselyPool, SqliteDatabase, SqliteStatement } from 'kysely'
import { type PoolOptions, watchMarkers } from './cancel.ts'
import { type DirectDatabase, noteMarker } from './direct.ts'
import { MAX_STATEMENTS, wrapPool } from './prepared.ts'

/**
 * Wraps a database with the interface of better-sqlite3, or a pool of pg, for Kysely's `SqliteDialect`
 * or `PostgresDialect`: each statement is prepared once, by its text. A database, or each connection of a
 * pool, keeps the latest 500. Leave it out behind a pooler that keeps no prepared statements: once that is
 * found, a warning says so, and statements are sent as they are.
 */
export function reuseStatements(database: SqliteDatabase): SqliteDatabase
export function reuseStatements(pool: KyselyPool): KyselyPool
export function reuseStatements(driver: SqliteDatabase | KyselyPool) {
  return 'prepare' in driver ? wrapDatabase(driver) : wrapPool(driver)
}

function wrapDatabase(database: SqliteDatabase): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>()
  const wrapped: DirectDatabase = {
    prepare(text) {
      noteMarker(text, wrapped)
      let statement = kept.get(text)
      if (statement) kept.delete(text)
      else statement = wrapStatement(text, database, () => kept.delete(text))
      if (kept.size >= MAX_STATEMENTS) kept.delete(kept.keys().next().value ?? text)
      kept.set(text, statement)
      return statement
    },
    close: () => database.close(),
    // node:sqlite has another name for it, and is read as others are.
    get inTransaction() {
      return 'inTransaction' in database ? database.inTransaction : undefined
    },
  }
  return wrapped
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
  readonly options?: PoolOptions
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
}

/** Options of `preparePostgres`. */
export interface PreparePostgresOptions {
  /** Called with each connection that is lost. */
  readonly onError?: ((error: Error) => void) | undefined
  /**
   * After how many milliseconds without a byte a connection is closed: after a failover it may never end by
   * itself. It must be longer than any statement takes: than the `timeout` of the stores, than an index that
   * `create` makes, and than your own on this pool. A connection that only listens is closed too. Default 60,000.
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
    watchMarkers(client, pool.options ?? {})
    const socket = client.connection?.stream
    socket?.setTimeout?.(socketTimeout, () => socket.destroy())
  })
  return pool
}
