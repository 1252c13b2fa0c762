import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { describe } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import { storeCases } from '../../src/testing/index.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { testCases } from './test-cases.ts'

usePostgres()

let tables = 0
const make = () =>
  sqlStore({ db: openPostgres(), table: `cases_${++tables}`, create: true, changes: true })

describe('PostgreSQL', () => {
  testCases(storeCases(make))
})

/** Names the parts of an error as postgres.js does. */
function rename(error: unknown): never {
  const { constraint, column, ...parts } = Object(error)
  const renamed = { ...parts, constraint_name: constraint, column_name: column }
  throw Object.assign(new Error(Object(error).message), renamed)
}

describe('a driver with the errors of postgres.js', () => {
  let db: Kysely<unknown> | undefined
  const open = () => {
    const pool = new pg.Pool({ connectionString: postgres().url })
    pool.on('error', () => {})
    pool.on('connect', client => {
      const { query } = client
      const call = async (...input: unknown[]) => Reflect.apply(query, client, input)
      Object.assign(client, { query: (...input: unknown[]) => call(...input).catch(rename) })
    })
    db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
    return db
  }
  const makeRenamed = () =>
    sqlStore({ db: db ?? open(), table: `renamed_${++tables}`, create: true })
  testCases(storeCases(makeRenamed).filter(({ name }) => name.startsWith('a unique set refuses')))
})
