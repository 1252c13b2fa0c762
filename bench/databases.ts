// Databases for the benches: each new and empty, all removed at the end.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { createDatabase, dropDatabase, startPostgres } from '../test/stores/postgres-server.ts'
import { published } from './processes.ts'

export type Engine = 'sqlite' | 'postgres'

export interface Databases {
  readonly title: string
  /** @returns where a new one is: a file of SQLite, or an address of PostgreSQL. */
  fresh(): Promise<string>
  close(): Promise<void>
}

/** Files in a folder of their own; or the PostgreSQL at `DATABASE_URL`, else a server of our own. */
export function openDatabases(engine: Engine): Promise<Databases> {
  return engine === 'sqlite' ? sqliteFiles() : postgresDatabases()
}

async function sqliteFiles(): Promise<Databases> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-'))
  let made = 0
  return {
    title: 'SQLite',
    fresh: async () => join(directory, `${++made}.db`),
    close: () => rm(directory, { recursive: true, force: true }),
  }
}

async function postgresDatabases(): Promise<Databases> {
  const server = await startPostgres()
  const made: string[] = []
  return {
    title: server.own ? 'PostgreSQL (of its own, fsync off)' : 'PostgreSQL',
    async fresh() {
      const name = `bench_${process.pid}_${made.length}`
      made.push(name)
      return createDatabase(server.url, name)
    },
    async close() {
      for (const name of made) await dropDatabase(server.url, name)
    },
  }
}

/** Opens a database as the example does. */
export async function openKysely(engine: Engine, database: string): Promise<Kysely<unknown>> {
  const { preparePostgres, prepareSqlite, reuseStatements } = await published()
  if (engine === 'postgres') {
    const pool = preparePostgres(new pg.Pool({ connectionString: database, max: 10 }))
    return new Kysely({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  }
  const db = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: reuseStatements(new Database(database)) }),
  })
  await prepareSqlite(db)
  return db
}
