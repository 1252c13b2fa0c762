// The same on SQLite, opened as the example does.
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { serve } from './ours.js'

export const name = 'rest-conventions on SQLite'

export async function start(cars) {
  const { prepareSqlite, reuseStatements, sqlStore } = await import(
    new URL('sql/sql-store.js', process.env.BUILD)
  )
  const database = reuseStatements(new Database(process.env.DATABASE))
  const db = new Kysely({ dialect: new SqliteDialect({ database }) })
  await prepareSqlite(db)
  return serve(clock => sqlStore({ db, create: true, clock }), cars)
}
