// Where the examples keep what they have: one database with a table for each collection, SQLite,
// PostgreSQL, and one folder of files.
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Kysely, PostgresDialect, type RawBuilder, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { type BlobStore, fileBlobs, type Limiter, memoryBlobs, type Store } from 'rest-conventions'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from 'rest-conventions/sql'
import { findSystem, MEMORY, StartError } from './options.ts'

/** How far the first items of a database are made. */
export const SEEDING = ['no', 'begun', 'done'] as const
export type Seeding = (typeof SEEDING)[number]

export interface Stores {
  /** The store of a collection, by its name. */
  readonly storeFor: (name: string, options?: { readonly changes?: boolean }) => Store
  readonly blobs: BlobStore
  /** Counts requests for all servers of the same database; absent where there is one server. */
  readonly limiterOf?: (limit: number, window: number) => Promise<Limiter>
  readonly seeding: {
    read(): Promise<Seeding>
    write(state: Seeding): Promise<void>
    /** Does something while no other server of the same database does. */
    alone<T>(work: () => Promise<T>): Promise<T>
  }
  /** Closes the database, once the stores are closed. */
  close(): Promise<void>
}

/**
 * Opens a database and a folder; a file and a folder are made where there are none, and `:memory:` is
 * gone with the process.
 * @throws StartError
 */
export async function openStores(database: string, blobs: string): Promise<Stores> {
  try {
    const open = { postgres: openPostgres, file: openSqlite }
    const { db, ...others } = await open[findSystem(database) ?? 'file'](database)
    return {
      storeFor: (table, options) =>
        sqlStore({ db, table, create: true, timeout: 10_000, ...options }),
      blobs: blobs === MEMORY ? memoryBlobs() : fileBlobs(blobs),
      ...others,
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message || String(error) : String(error)
    const what = findSystem(database) ? new URL(database).host : database
    throw new StartError(`Cannot open the database ${what}: ${reason}`, { cause: error })
  }
}

type Opened = Pick<Stores, 'seeding' | 'limiterOf' | 'close'> & { readonly db: Kysely<unknown> }

async function openSqlite(file: string): Promise<Opened> {
  if (file !== MEMORY) await mkdir(dirname(file), { recursive: true })
  const connect = () =>
    new Kysely<unknown>({
      dialect: new SqliteDialect({ database: reuseStatements(new Database(file)) }),
    })
  const db = connect()
  // What is read while a transaction runs is read by another connection.
  const reader = file === MEMORY ? undefined : connect()
  await prepareSqlite(db, { reader })
  // SQLite keeps a number for whoever uses a database: 0 in a new one.
  const seeding: Stores['seeding'] = {
    async read() {
      const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db)
      return SEEDING[rows[0]?.user_version ?? 0] ?? 'done'
    },
    async write(state) {
      await sql.raw(`pragma user_version = ${SEEDING.indexOf(state)}`).execute(db)
    },
    alone: work => work(),
  }
  const close = async () => {
    await reader?.destroy()
    await db.destroy()
  }
  return { db, seeding, close }
}

/** The driver is loaded by those who use it alone. */
async function openPostgres(connectionString: string): Promise<Opened> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString, max: 10, connectionTimeoutMillis: 5000 })
  preparePostgres(pool, error => console.error(`PostgreSQL: ${error.message}`))
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  const lock = sql`hashtext('rest-conventions example')`
  const seeding = sharedSeeding(
    db,
    sql`select pg_advisory_lock(${lock})`,
    sql`select pg_advisory_unlock(${lock})`,
  )
  const limiterOf = (points: number, duration: number) =>
    // It makes its table, which two at a time cannot.
    seeding.alone(() =>
      ready(each => {
        const options = { storeClient: pool, points, duration, tableName: 'example_limits' }
        return new RateLimiterPostgres(options, each)
      }),
    )
  await sql`select 1`.execute(db)
  return { db, seeding, limiterOf, close: () => db.destroy() }
}

/** A limiter when it has told that it can be used. */
function ready(make: (onReady: (error?: Error) => void) => Limiter): Promise<Limiter> {
  return new Promise((resolve, reject) => {
    const limiter = make(error => {
      if (error) reject(error)
      else resolve(limiter)
    })
  })
}

/** The state in a table, and a lock for all servers of the database. */
function sharedSeeding(
  db: Kysely<unknown>,
  lock: RawBuilder<unknown>,
  unlock: RawBuilder<unknown>,
): Stores['seeding'] {
  return {
    async read() {
      const { rows } = await sql<{ state: number }>`select state from example_seeding`.execute(db)
      return SEEDING[rows[0]?.state ?? 0] ?? 'done'
    },
    async write(state) {
      await sql`update example_seeding set state = ${SEEDING.indexOf(state)}`.execute(db)
    },
    alone: work =>
      db.connection().execute(async connection => {
        await lock.execute(connection)
        try {
          await sql`create table if not exists example_seeding (state integer)`.execute(connection)
          await sql`insert into example_seeding select 0 from (select 1 as one) as given where not exists (select 1 from example_seeding)`.execute(
            connection,
          )
          return await work()
        } finally {
          await unlock.execute(connection)
        }
      }),
  }
}
