// The same on PostgreSQL, opened as the example does.
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { serve } from './ours.js'

export const name = 'rest-conventions on PostgreSQL'

const load = path => import(new URL(path, process.env.BUILD))

export async function start(cars) {
  const { preparePostgres, reuseStatements, sqlStore } = await load('sql/index.js').catch(
    // an earlier build
    () => load('sql/sql-store.js'),
  )
  const pool = preparePostgres(new pg.Pool({ connectionString: process.env.DATABASE, max: 10 }))
  const db = new Kysely({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  return serve(clock => sqlStore({ db, create: true, clock, timeout: 10_000 }), cars)
}
