// `where`: a filter with `or`, `and` and `not` (conventions, "Filters").
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { askStores } from './ask.ts'

usePostgres()

test('150 trees find the same in each store, in each way, as plain JavaScript does', async () => {
  const stores = {
    memory: memoryStore(),
    SQLite: sqlStore({ db: await openDatabase(), migrate: true }),
    PostgreSQL: sqlStore({ db: openPostgres(), migrate: true }),
  }
  const { asked, telling } = await askStores(stores, 150)
  expect(asked).toBe(150)
  expect(telling).toBeGreaterThan(60)
})
