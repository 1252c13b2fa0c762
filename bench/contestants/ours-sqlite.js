// The same on SQLite, opened as the example does.
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { serve } from './ours.js'

export const name = 'rest-conventions on SQLite'

const load = path => import(new URL(path, process.env.BUILD))

export async function start(cars) {
  const { prepareSqlite, reuseStatements, sqlStore } = await load('sql/index.js').catch(
    // an earlier build
    () => load('sql/sql-store.js'),
  )
  const database = reuseStatements(new Database(process.env.DATABASE))
  const db = new Kysely({ dialect: new SqliteDialect({ database }) })
  await prepareSqlite(db)
  return serve(clock => sqlStore({ db, create: true, clock }), cars)
}
