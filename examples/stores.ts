// Where the examples keep their items: one SQLite database, a table for each collection.
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import type { Store } from '../src/index.ts'
import { prepareSqlite, sqlStore } from '../src/stores/sql.ts'
import { StartError } from './options.ts'

/**
 * Opens a SQLite file, made with its directory where there is none; `:memory:` is gone with the
 * process. Closing any of the stores closes the database.
 * @returns what gives the store of a collection, by its name.
 * @throws StartError
 */
export async function openStores(database: string): Promise<(name: string) => Store> {
  try {
    if (database !== ':memory:') await mkdir(dirname(database), { recursive: true })
    const dialect = new SqliteDialect({ database: new Database(database) })
    const db = new Kysely<unknown>({ dialect })
    await prepareSqlite(db)
    return table => sqlStore({ db, table, create: true })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`Cannot open the database ${database}: ${reason}`, { cause: error })
  }
}
