// A PostgreSQL for the tests of a file: a database of their own.
import { type CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { preparePostgres, reuseStatements } from '../../src/sql/sql-store.ts'
import { createDatabase, dropDatabase, startPostgres } from './postgres-server.ts'
import type { DatabaseServer } from './servers.ts'

let running: DatabaseServer | undefined

/** Has a server run while the tests of a file do. */
export function usePostgres(): void {
  let end = async () => {}
  beforeAll(async () => {
    const { server, stop } = await startPostgres()
    end = stop
    const name = `rest_${process.pid}_${Date.now()}`
    running = { ...server, url: await createDatabase(server.url, name) }
    end = async () => {
      if (!server.own) await dropDatabase(server.url, name)
      await stop()
    }
  }, 120_000)
  afterAll(() => end(), 60_000)
}

/** The server that {@link usePostgres} has started. */
export function postgres(): DatabaseServer {
  if (!running) throw new Error('No PostgreSQL is running')
  return running
}

/** Another connection pool to the database; closing its store, or itself, ends it. */
export function openPostgres(
  options: pg.PoolConfig = {},
  onStatement?: (statement: CompiledQuery) => void,
): Kysely<unknown> {
  const pool = new pg.Pool({ connectionString: postgres().url, max: 8, ...options })
  preparePostgres(pool)
  return new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: reuseStatements(pool) }),
    log: ({ query }) => onStatement?.(query),
  })
}
