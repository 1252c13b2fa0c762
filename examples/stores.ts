// Where the examples keep what they have: one SQLite database with a table for each collection, one
// folder of files.
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Kysely, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { type BlobStore, fileBlobs, memoryBlobs, type Store } from '../src/index.ts'
import { prepareSqlite, sqlStore } from '../src/stores/sql.ts'
import { MEMORY, StartError } from './options.ts'

/** How far the first items of a database are made. */
export const SEEDING = ['no', 'begun', 'done'] as const
export type Seeding = (typeof SEEDING)[number]

export interface Stores {
  /** The store of a collection, by its name. Closing any of them closes the database. */
  readonly storeFor: (name: string) => Store
  readonly blobs: BlobStore
  readonly seeding: {
    read(): Promise<Seeding>
    write(state: Seeding): Promise<void>
  }
}

/**
 * Opens a SQLite file and a folder, made where there are none; `:memory:` is gone with the process.
 * @throws StartError
 */
export async function openStores(database: string, blobs: string): Promise<Stores> {
  try {
    if (database !== MEMORY) await mkdir(dirname(database), { recursive: true })
    const dialect = new SqliteDialect({ database: new Database(database) })
    const db = new Kysely<unknown>({ dialect })
    await prepareSqlite(db)
    return {
      storeFor: table => sqlStore({ db, table, create: true }),
      blobs: blobs === MEMORY ? memoryBlobs() : fileBlobs(blobs),
      seeding: seedingOf(db),
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`Cannot open the database ${database}: ${reason}`, { cause: error })
  }
}

/** SQLite keeps a number for whoever uses a database: 0 in a new one. */
function seedingOf(db: Kysely<unknown>): Stores['seeding'] {
  return {
    async read() {
      const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db)
      return SEEDING[rows[0]?.user_version ?? 0] ?? 'done'
    },
    async write(state) {
      await sql.raw(`pragma user_version = ${SEEDING.indexOf(state)}`).execute(db)
    },
  }
}
