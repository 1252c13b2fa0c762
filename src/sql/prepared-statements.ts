// Prepares each statement once: for SQLite preparing one costs as much as reading a page by it, for
// PostgreSQL a fifth. Kysely's own drivers prepare each anew.
import type { PostgresPool, PostgresPoolClient, SqliteDatabase, SqliteStatement } from 'kysely'

/** How many statements a database, or each connection of a pool, keeps: no client makes it keep more. */
const MAX_STATEMENTS = 500

/**
 * Wraps a database with the interface of better-sqlite3, or a pool of pg, for Kysely's `SqliteDialect`
 * or `PostgresDialect`: each statement is prepared once, by its text. A database keeps the latest 500,
 * each connection of a pool its first 500. A pooler between server and database must know of prepared
 * statements.
 */
export function reuseStatements(database: SqliteDatabase): SqliteDatabase
export function reuseStatements(pool: PostgresPool): PostgresPool
export function reuseStatements(given: SqliteDatabase | PostgresPool) {
  return 'prepare' in given ? wrapDatabase(given) : wrapPool(given)
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
 * Ends a statement that has met a lock. libsql leaves it half done, and until it is collected nothing
 * that comes after it is committed; another error ends it, and changes nothing.
 */
function endLocked(work: () => unknown, database: SqliteDatabase): void {
  const setQueryOnly = (value: 0 | 1) => database.prepare(`pragma query_only = ${value}`).run([])
  setQueryOnly(1)
  try {
    work()
  } catch {
    // What it would write is refused before it asks for the lock.
  } finally {
    setQueryOnly(0)
  }
}

function wrapPool(pool: PostgresPool): PostgresPool {
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

/** What PostgreSQL says of a statement that it cannot run any more: a table was altered, or all were dropped. */
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
    // A cursor has its own way.
    query: ((given: never, values?: readonly unknown[]) =>
      values ? query(given, values) : client.query(given)) as PostgresPoolClient['query'],
    release: () => client.release(),
  }
}
