// Collections whose ids may become visible in any order: nobody waits for the last id, and nobody may read by it.
import type { CompiledQuery, Kysely } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/sql-store.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

const schema = z.object({ color: z.string() })

const DATABASES: [string, (log: (query: CompiledQuery) => void) => Promise<Kysely<unknown>>][] = [
  ['SQLite', log => openDatabase(undefined, log)],
  ['PostgreSQL', async log => openPostgres({}, log)],
]

describe.each(DATABASES)('ordered: false on %s', (_name, open) => {
  test('a create is one statement, which touches its own table alone', async () => {
    const statements: string[] = []
    const table = newTable()
    const store = sqlStore({
      db: await open(({ sql }) => statements.push(sql)),
      table,
      create: true,
    })
    const cars = defineCollection({ name: 'cars', schema, store, ordered: false })
    const resource = defineApi({ collections: { cars } }).collection(cars)
    await store.open?.()
    statements.length = 0
    const inserts = () => statements.filter(text => text.startsWith('insert')).length
    const first = await resource.create({ color: 'red' })
    expect(statements).toEqual([expect.stringContaining(`insert into "${table}"`)])
    const others = await Promise.all(
      Array.from({ length: 40 }, (_, at) => resource.create({ color: `c${at}` })),
    )
    expect(statements.filter(text => text.includes('rest_sequences'))).toEqual([])
    // Those that wait at the same time are inserted together: 32 and 8.
    expect(inserts()).toBe(3)
    const ids = [first, ...others].map(({ id }) => id)
    expect(new Set(ids).size).toBe(41)
    const found = await resource.list().toArray()
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids))
    await store.close()
  })
})

test('after a conflict, transactions exclude those of other processes at their first attempt', async () => {
  const statements: string[] = []
  const table = newTable()
  const db = openPostgres({}, ({ sql }) => statements.push(sql))
  const store = sqlStore({ db, table, create: true })
  // Each has made an id before any of the first ones ends.
  const hooks = { transaction: true, after: { create: () => new Promise<void>(setImmediate) } }
  const cars = defineCollection({ name: 'cars', schema, store, id: 'integer', hooks })
  const resource = defineApi({ collections: { cars } }).collection(cars)
  await store.open?.()
  const all = Array.from({ length: 40 }, (_, at) => resource.create({ color: `c${at}` }))
  expect(new Set((await Promise.all(all)).map(({ id }) => id)).size).toBe(40)
  const count = (part: string) => statements.filter(text => text.includes(part)).length
  const conflicts = count('rollback') - count('rollback to')
  expect(conflicts).toBeGreaterThan(0)
  expect(count('in exclusive mode')).toBeGreaterThan(conflicts)
  await store.close()
})

test('since_id is refused, and not described', async () => {
  const cars = defineCollection({ name: 'cars', schema, store: memoryStore(), ordered: false })
  const api = defineApi({ collections: { cars } })
  const { id } = await api.collection(cars).create({ color: 'red' })
  const ask = (path: string, method = 'GET') =>
    api.fetch(new Request(`http://x/cars${path}`, { method }))
  const refused = await ask(`?since_id=${id}`)
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('use since')
  expect((await ask(`?max_id=${id}`)).status).toBe(200)
  const options = await (await ask('', 'OPTIONS')).text()
  expect(options).toContain('max_id')
  expect(options).not.toContain('since_id')
})

test('counted ids are ordered', () => {
  const define = () =>
    defineCollection({ name: 'cars', schema, store: memoryStore(), id: 'integer', ordered: false })
  expect(define).toThrow("leave out id: 'integer'")
})
