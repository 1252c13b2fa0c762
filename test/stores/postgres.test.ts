import { describe, test } from 'vitest'
import { sqlStore } from '../../src/stores/sql.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { agrees } from './questions.ts'

usePostgres()

describe('PostgreSQL gives the answer of the store in memory', () => {
  test('for any items, filters, searches, sorts and slices', async () => {
    const db = openPostgres()
    await agrees(table => sqlStore({ db, create: true, table, clock: () => 1e12 }), db, 25)
    await db.destroy()
  }, 240_000)
})
