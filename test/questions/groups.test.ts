// Counts by groups in each store (conventions, "Counts by groups").
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { countInStores } from './groups.ts'

usePostgres()

test('100 counts by groups give the same in each store, in each way, as plain JavaScript does', async () => {
  const stores = {
    memory: memoryStore(),
    SQLite: sqlStore({ db: await openDatabase(), migrate: true }),
    'SQLite that walks': sqlStore({ db: await openDatabase(), migrate: true, maxScan: 7 }),
    PostgreSQL: sqlStore({ db: openPostgres(), migrate: true }),
  }
  const { asked, telling } = await countInStores(stores, 100)
  expect(asked).toBe(100)
  expect(telling).toBeGreaterThan(40)
})
