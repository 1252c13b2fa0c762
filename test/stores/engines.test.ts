// The contract on engines that cannot be started here: a PostgreSQL that refuses what they refuse.
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { preparePostgres, type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { findOne } from '../../src/store/writes.ts'
import { storeCases } from '../../src/testing/index.ts'
import { COCKROACH, startEngine, YUGABYTE } from './engine-proxy.ts'
import { postgres, usePostgres } from './postgres.ts'
import { SHAPE } from './selections.ts'
import { testCases } from './test-cases.ts'

usePostgres()

const ENGINES = {
  cockroach: { refusals: COCKROACH, version: 'CockroachDB ' },
  yugabyte: { refusals: YUGABYTE, version: 'Pg 15-YB-1.1' },
} as const

describe.each(Object.entries(ENGINES))('%s', (name, { refusals, version }) => {
  let engine: Awaited<ReturnType<typeof startEngine>>
  let db: Kysely<unknown>
  beforeAll(async () => {
    engine = await startEngine(postgres().url, refusals, version)
    const pool = preparePostgres(new pg.Pool({ connectionString: engine.url, max: 8 }))
    db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  })
  afterAll(async () => {
    await db.destroy()
    await engine.stop()
  })
  let tables = 0
  const make = (options: Partial<SqlStoreOptions> = {}) =>
    sqlStore({ db, table: `${name}_${++tables}`, create: true, ...options })

  const database = name as keyof typeof ENGINES
  testCases(
    storeCases(() => make({ database })),
    ['The store has no changes'],
  )

  test('nothing of it was refused, and commits have failed', () => {
    expect(engine.refused).toEqual([])
    expect(engine.conflicts()).toBeGreaterThan(5)
  })

  test('is known by its version()', async () => {
    const store = make()
    store.attach(SHAPE)
    await expect(findOne(store, 1)).rejects.toThrow(
      `sqlStore: the database is ${name}, not postgres. Set database: '${name}'.`,
    )
  })
})
