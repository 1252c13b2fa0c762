// A PostgreSQL for the tests of a file: a database of their own.
import { type CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { preparePostgres, reuseStatements } from '../../src/sql/index.ts'
import { createDatabase, dropDatabase, startPostgres } from './postgres-server.ts'
import type { DatabaseServer } from './servers.ts'

// Before the tests are counted: where it does not start, a file fails and none of its tests is skipped.
const server = await startPostgres()

let running: DatabaseServer | undefined
const opened: Kysely<unknown>[] = []

/** Gives the tests of a file a database. */
export function usePostgres(): void {
  const name = `rest_${process.pid}_${Date.now()}`
  beforeAll(async () => {
    running = { ...server, url: await createDatabase(server.url, name) }
  })
  afterAll(async () => {
    await Promise.all(opened.splice(0).map(db => db.destroy()))
    await dropDatabase(server.url, name)
  })
}

/** The server, by the database that {@link usePostgres} has created. */
export function postgres(): DatabaseServer {
  if (!running) throw new Error('No PostgreSQL is running')
  return running
}

/** Another connection pool to the database; it ends with the tests of the file. */
export function openPostgres(
  options: pg.PoolConfig = {},
  onStatement?: (statement: CompiledQuery) => void,
): Kysely<unknown> {
  const connectionString = postgres().url
  // The server takes a hundred connections: those of earlier tests end soon.
  const pool = new pg.Pool({ connectionString, max: 8, idleTimeoutMillis: 500, ...options })
  preparePostgres(pool)
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: reuseStatements(pool) }),
    log: ({ query }) => onStatement?.(query),
  })
  opened.push(db)
  return db
}
