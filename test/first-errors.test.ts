// What the first mistakes of a new user are told.

import { Kysely, PostgresDialect, type SqliteDatabase, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore, type Store } from '../src/index.ts'
import { preparePostgres, sqlStore } from '../src/sql/index.ts'
import { freePort } from './free-port.ts'
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

it('a database without transactions, such as Cloudflare D1, is refused at open()', async () => {
  const file = new Database(':memory:')
  const sent: string[] = []
  // It refuses what D1 refuses, in its words.
  const database = {
    close: () => file.close(),
    prepare(text: string) {
      sent.push(text)
      if (/^(begin|savepoint)/i.test(text))
        throw new Error(
          'D1_ERROR: To execute a transaction, please use the state.storage.transaction() or state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements.',
        )
      return file.prepare(text)
    },
  } as unknown as SqliteDatabase // libsql declares more overloads
  const db = new Kysely({ dialect: new SqliteDialect({ database }) })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: sqlStore({ db, create: true }),
  })
  const opening = defineApi({ collections: [cars] }).open()
  await expect(opening).rejects.toThrow(/^The db of sqlStore refuses transactions/)
  expect(sent.filter(text => text.includes('create'))).toEqual([])
  file.close()
})

it('a database that is away is one error at open(), for all its collections', async () => {
  const connectionString = `postgres://127.0.0.1:${await freePort()}/shop`
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: preparePostgres(new pg.Pool({ connectionString })) }),
  })
  const schema = z.object({ color: z.string() })
  const define = (name: string) => defineCollection({ name, schema, store: sqlStore({ db }) })
  const opening = defineApi({ collections: [define('cars'), define('vans')] }).open()
  await expect(opening).rejects.toThrow(/^The store cannot be reached[^\n]*$/)
  await db.destroy()
})

describe('ids that no URL names are warned of at open(), with their number', () => {
  const ids = ['a/b', 'count', 'a\\b', '', '..', 'search', 'sell', 'ok', 'counts', 'a.b']
  const serve = (store: Store, more: object = {}) => {
    const tags = defineCollection({
      name: 'tags',
      schema: z.object({ id: z.string(), n: z.int() }),
      store,
      timestamps: false,
      ...more,
    })
    return defineApi({ collections: [tags] })
  }
  const openAndListen = async (api: ReturnType<typeof serve>) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    try {
      await api.open()
      return warn.mock.calls.map(([message]) => String(message))
    } finally {
      warn.mockRestore()
    }
  }
  const sell = { on: 'collection', run: async () => ({}) }

  it.each([
    ['SQLite', openDatabase],
    ['PostgreSQL', async () => openPostgres()],
  ])('%s', async (_name, openDb) => {
    const db: Kysely<{ tags_of_others: { id: string; n: number } }> = await openDb()
    await db.schema
      .createTable('tags_of_others')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('n', 'integer', column => column.notNull())
      .execute()
    const store = () => sqlStore({ db, table: 'tags_of_others', version: false, create: true })
    expect(await openAndListen(serve(store()))).toEqual([])
    await db
      .insertInto('tags_of_others')
      .values(ids.map((id, n) => ({ id, n })))
      .execute()
    const message = (count: number) => expect.stringMatching(`^tags: no URL names ${count} items`)
    expect(await openAndListen(serve(store()))).toEqual([message(5)])
    const more = { search: ['id'], actions: { sell } }
    expect(await openAndListen(serve(store(), more))).toContainEqual(message(7))
    await db.schema.dropTable('tags_of_others').execute()
  })

  it('a store that cannot count opens all the same', async () => {
    const store = memoryStore()
    const count = () => {
      throw new Error('It cannot count')
    }
    expect(await openAndListen(serve({ ...store, count }))).toEqual([])
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
