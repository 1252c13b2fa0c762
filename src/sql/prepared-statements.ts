// Statements that a database prepares once: for SQLite preparing one costs as much as reading a page
// by it, for PostgreSQL a fifth. Kysely's own drivers have each prepared anew.
import type { PostgresPool, PostgresPoolClient, SqliteDatabase, SqliteStatement } from 'kysely'

/** How many statements a database, or each connection of a pool, keeps: no stranger has more kept. */
const MOST = 500

/**
 * What to give to Kysely's `SqliteDialect` or `PostgresDialect` in the place of a database with the
 * interface of better-sqlite3, or of a pool of pg: statements are prepared once, by their text, the
 * latest 500 of a database and the first 500 of each connection of a pool. A pool in front of which a
 * pooler gives each transaction another connection must be one that knows of prepared statements.
 */
export function reuseStatements(database: SqliteDatabase): SqliteDatabase
export function reuseStatements(pool: PostgresPool): PostgresPool
export function reuseStatements(given: SqliteDatabase | PostgresPool) {
  return 'prepare' in given ? reusingDatabase(given) : reusingPool(given)
}

function reusingDatabase(database: SqliteDatabase): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>()
  return {
    prepare(text) {
      let statement = kept.get(text)
      if (statement) kept.delete(text)
      else statement = reusable(text, database, () => kept.delete(text))
      if (kept.size >= MOST) kept.delete(kept.keys().next().value ?? text)
      kept.set(text, statement)
      return statement
    },
    close: () => database.close(),
  }
}

/** @param forget is called when the statement fails: a driver may leave it half done. */
function reusable(text: string, database: SqliteDatabase, forget: () => void): SqliteStatement {
  const statement = database.prepare(text)
  const tried = <T>(work: () => T): T => {
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
    all: parameters => tried(() => statement.all(parameters)),
    run: parameters => tried(() => statement.run(parameters)),
    // Two at a time would be in each other's way.
    iterate: parameters => database.prepare(text).iterate(parameters),
  }
}

/**
 * Ends a statement that has met a lock. libsql leaves it half done, and until it is collected nothing
 * that comes after it is committed; another error ends it, and changes nothing.
 */
function endLocked(work: () => unknown, database: SqliteDatabase): void {
  const sayQueryOnly = (value: 0 | 1) => database.prepare(`pragma query_only = ${value}`).run([])
  sayQueryOnly(1)
  try {
    work()
  } catch {
    // What it would write is refused before it asks for the lock.
  } finally {
    sayQueryOnly(0)
  }
}

function reusingPool(pool: PostgresPool): PostgresPool {
  // Kysely tells connections apart by identity.
  const clients = new WeakMap<PostgresPoolClient, PostgresPoolClient>()
  return {
    async connect() {
      const client = await pool.connect()
      const reusing = clients.get(client) ?? reusingClient(client)
      clients.set(client, reusing)
      return reusing
    },
    end: () => pool.end(),
  }
}

/** What PostgreSQL says of a statement that it cannot run any more: a table was altered, or all were dropped. */
const STALE = new Set(['0A000', '26000'])

function reusingClient(client: PostgresPoolClient): PostgresPoolClient {
  const names = new Map<string, string>()
  let made = 0
  const nameOf = (text: string) => {
    const known = names.get(text)
    if (known !== undefined || made >= MOST) return known
    const name = `rest_${++made}`
    names.set(text, name)
    return name
  }
  const query = async (text: string, values: readonly unknown[]) => {
    const name = nameOf(text)
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
