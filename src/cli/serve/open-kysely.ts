// Opens a Kysely for `serve`, with the driver that the user's project has installed.
import type { Kysely, PostgresPool as KyselyPool, SqliteDatabase } from 'kysely'
import { type PostgresPool, preparePostgres, reuseStatements } from '../../sql/session/drivers.ts'
import { type NodeSqliteDatabase, nodeSqlite } from '../../sql/session/node-sqlite.ts'
import { CommandError } from '../output/command-error.ts'
import { type CatalogConnection, loadDriver } from '../pull/connect.ts'

/** Opens a database, read-only unless `isWritten`. @throws CommandError if Kysely is not installed. */
export async function openKysely(
  source: string,
  { driver, file }: Pick<CatalogConnection, 'driver' | 'file'>,
  isWritten: boolean,
): Promise<{ readonly db: Kysely<unknown>; close(): Promise<void> }> {
  const { Kysely, PostgresDialect, SqliteDialect } = await import('kysely').catch(() => {
    throw new CommandError(
      'kysely is not installed with rest-conventions. Run npm install rest-conventions zod kysely',
    )
  })
  if (file === undefined) {
    const { Pool } = loadDriver('pg') as {
      Pool: new (options: object) => KyselyPool & PostgresPool
    } // pg exports this class
    const pool = new Pool({
      connectionString: source,
      connectionTimeoutMillis: 5000,
      // The database rejects every write, also one in a function or a trigger.
      ...(!isWritten && { options: '-c default_transaction_read_only=on' }),
    })
    preparePostgres(pool)
    const db = new Kysely<unknown>({
      dialect: new PostgresDialect({ pool: reuseStatements(pool) }),
    })
    return { db, close: () => db.destroy() }
  }
  const loaded = loadDriver(driver)
  // Each package is this class, or exports it.
  const Database = ('DatabaseSync' in loaded ? loaded.DatabaseSync : loaded) as DatabaseConstructor
  const opened = new Database(file, { readonly: !isWritten, readOnly: !isWritten })
  const database = driver === 'node:sqlite' ? nodeSqlite(opened) : reuseStatements(opened)
  for (const pragma of ['foreign_keys = on', 'busy_timeout = 10'])
    database.prepare(`pragma ${pragma}`).all([])
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
  return { db, close: () => db.destroy() }
}

type DatabaseConstructor = new (
  path: string,
  options: object,
) => SqliteDatabase & NodeSqliteDatabase
