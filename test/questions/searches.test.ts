// Searches in each store find the same texts, whatever their script (conventions, "Search").
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { searchStores } from './searches.ts'

usePostgres()

test('searches for parts of 300 texts find the same in each store, whoever wrote them', async () => {
  const dbs = [await openDatabase(), await openDatabase(), openPostgres()]
  const [SQLite, walking, PostgreSQL] = dbs.map((db, at) => ({
    store: sqlStore({ db, create: true, ...(at === 1 && { maxScan: 7 }) }),
    write: (id: number, title: string) =>
      sql`update books set title = ${title} where id = ${id}`.execute(db),
  }))
  if (!SQLite || !walking || !PostgreSQL) throw new Error('There are three')
  const stores = {
    memory: { store: memoryStore() },
    SQLite,
    'SQLite that walks': walking,
    PostgreSQL,
  }
  const { texts, telling } = await searchStores(stores, 300)
  expect(texts).toBeGreaterThanOrEqual(300)
  expect(telling).toBeGreaterThan(100)
})
