// Memory, SQLite and PostgreSQL answer alike: the short form of `bench/proofs/stores.ts`.
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { runs, SEED } from '../random.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { askStores } from './ask-stores.ts'

usePostgres()

test('2,000 requests at random have the same answer on each store', async () => {
  const [sqlite, postgres] = [await openDatabase(':memory:'), openPostgres()]
  let tables = 0
  const open = {
    memory: () => memoryStore(),
    SQLite: () => sqlStore({ db: sqlite, table: `equal_${++tables}`, create: true }),
    PostgreSQL: () => sqlStore({ db: postgres, table: `equal_${++tables}`, create: true }),
  }
  const count = runs(2000)
  const { asked, statuses, differences } = await askStores(open, { count, seed: SEED, size: 350 })
  expect(differences).toEqual([])
  expect(asked).toBe(count)
  // Every kind of answer is among them, and no server error.
  const least = {
    200: 300,
    201: 100,
    204: 5,
    206: 3,
    303: 10,
    304: 2,
    400: 200,
    403: 5,
    404: 100,
    409: 30,
    412: 10,
  }
  for (const [status, number] of Object.entries(least)) {
    expect([status, statuses[Number(status)] ?? 0]).toEqual([
      status,
      expect.toSatisfy(n => n >= number),
    ])
  }
  expect(Object.keys(statuses).filter(status => status >= '500')).toEqual([])
})
