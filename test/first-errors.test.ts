// What the first mistakes of a new user are told.
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'

usePostgres()

describe('a table that does not exist', () => {
  it.each([
    ['SQLite', openDatabase, 'sqlite'],
    ['PostgreSQL', async () => openPostgres(), 'postgres'],
  ])('%s', async (_name, openDb, database) => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: sqlStore({ db: await openDb(), table: 'absent_cars' }),
    })
    const message = `The table absent_cars does not exist. Set create: true on sqlStore, or run createTableSql(cars.shape, { table: 'absent_cars', database: '${database}' }).`
    await expect(defineApi({ collections: [cars] }).open()).rejects.toThrow(message)
  })
})

it.each([
  ['zod 3', () => import('zod/v3'), 'an older one'],
  [
    'zod 4.1',
    async () => ({ z: { core: { version: { major: 4, minor: 1, patch: 2 } } } }),
    '4.1.2',
  ],
])('%s is named', async (_name, load, found) => {
  vi.resetModules()
  vi.doMock('zod', load)
  try {
    await expect(import('../src/index.ts')).rejects.toThrow(
      `rest-conventions needs zod 4.6 or newer; this project has ${found}. Run npm install zod@latest.`,
    )
  } finally {
    vi.doUnmock('zod')
    vi.resetModules()
  }
})

it.each([undefined, null, {}])('no id in process: %j', async id => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
    actions: { paint: { on: 'item', run: async () => ({}) } },
  })
  const { collection } = defineApi({ collections: [cars] })
  const resource = collection(cars)
  const calls = {
    read: () => resource.read(id as never),
    patch: () => resource.patch(id as never, {}, { unconditional: true }),
    delete: () => resource.delete(id as never, { unconditional: true }),
  }
  for (const [name, call] of Object.entries(calls)) {
    const error = await call().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toMatch(
      name === 'read' ? /^TypeError: cars\.read needs an id, not / : /cars/,
    )
  }
})
