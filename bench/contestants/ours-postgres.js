// The same on PostgreSQL, opened as the example does.
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { serve } from './ours.js'

export const name = 'rest-conventions on PostgreSQL'

export async function start(cars) {
  const { preparePostgres, reuseStatements, sqlStore } = await import(
    new URL('sql/sql-store.js', process.env.BUILD)
  )
  const pool = preparePostgres(new pg.Pool({ connectionString: process.env.DATABASE, max: 10 }))
  const db = new Kysely({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  return serve(clock => sqlStore({ db, create: true, clock, timeout: 10_000 }), cars)
}
