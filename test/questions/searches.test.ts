// Searches in each store find the same texts, whatever their script (conventions, "Search").
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'
import { searchStores } from './searches.ts'

usePostgres()

test('a text of a third of a million marks is folded in a moment', async () => {
  const store = memoryStore()
  const search = ['text'] as const
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store,
    search,
  })
  const api = defineApi({ collections: { notes } })
  // In their canonical order each would pass all marks of the other kind.
  for (const run of ['\u0301\u0323', '\u0301\uff9e', '\u0e38\u2de0'])
    await api.collection(notes).create({ text: `é${run.repeat(165_000)}b` })
  expect(await api.collection(notes).search('e').toArray()).toHaveLength(3)
  expect(await api.collection(notes).search('eb').toArray()).toHaveLength(2)
})

test('searches for parts of 150 texts find the same in each store, whoever wrote them', async () => {
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
  const { texts, telling } = await searchStores(stores, 150)
  expect(texts).toBeGreaterThanOrEqual(150)
  expect(telling).toBeGreaterThan(60)
})
