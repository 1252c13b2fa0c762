// Lists that include and filter by related items: in any world, for any principal, as plain JavaScript says.
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { askWorlds } from './worlds.ts'

usePostgres()

test('100 questions in worlds at random have the same right answer in each store', async () => {
  const [sqlite, postgres] = [await openDatabase(':memory:'), openPostgres()]
  let tables = 0
  const open = {
    memory: () => memoryStore(),
    SQLite: () => sqlStore({ db: sqlite, table: `world_${++tables}`, create: true }),
    PostgreSQL: () => sqlStore({ db: postgres, table: `world_${++tables}`, create: true }),
  }
  const { asked, telling, refused } = await askWorlds(open, 100)
  expect(asked).toBe(100)
  expect(telling).toBeGreaterThan(15)
  expect(refused).toBeGreaterThan(10)
})

test('750 questions in worlds at random have the right answer in memory', async () => {
  const { asked } = await askWorlds({ memory: () => memoryStore() }, 750)
  expect(asked).toBe(750)
})
