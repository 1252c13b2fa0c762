// Foreign keys: made in new tables, used where they are, and left alone where they are not.
import { type CompiledQuery, type Kysely, SqliteAdapter, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openHandler } from '../handlers.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

type OnStatement = (statement: CompiledQuery) => void
type OnDelete = 'cascade' | 'restrict' | undefined

const DATABASES: [string, (on?: OnStatement) => Promise<Kysely<unknown>>][] = [
  ['SQLite', on => openDatabase(undefined, on)],
  ['PostgreSQL', async on => openPostgres({}, on)],
]

const GONE = '019a0000-0000-7000-8000-000000000000'

/** Cars with options, in tables that are new unless they were made before. */
function serve(db: Kysely<unknown>, onDelete: OnDelete) {
  const [table, child] = [newTable(), newTable()]
  const api = defineCars(db, table, child, onDelete)
  return {
    api,
    table,
    child,
    cars: api.collection('cars'),
    options: api.collection('options'),
  }
}

function defineCars(db: Kysely<unknown>, table: string, child: string, onDelete: OnDelete) {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ name: z.string() }),
    store: sqlStore({ db, table, create: true }),
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({
      car_id: z.string().nullable(),
      twin_id: z.string().nullable().default(null),
    }),
    store: sqlStore({ db, table: child, create: true }),
    parents: { car_id: { collection: 'cars', onDelete } },
    references: { twin_id: 'options' },
  })
  return defineApi({ collections: { cars, options } })
}

const count = async (db: Kysely<unknown>, table: string, where = sql`1 = 1`) => {
  const { rows } = await sql<{
    n: number
  }>`select count(*) as n from ${sql.id(table)} where ${where}`.execute(db)
  return Number(rows[0]?.n)
}

/**
 * Makes tables as they were before they had keys: a reference is a text.
 * @param deferral of a key that the host has made; without it there is none.
 */
async function makeTablesWithoutKeys(
  db: Kysely<unknown>,
  table: string,
  child: string,
  deferral?: string,
) {
  const [id, text, time] = isSqlite(db)
    ? ['text', 'text', 'text']
    : ['uuid', 'text collate "C"', 'timestamptz(3)']
  const rest = `created_at ${time} not null, updated_at ${time} not null, version ${text} not null`
  for (const own of [
    `"${table}" (name ${text} not null,`,
    `"${child}" (car_id ${deferral ? `${id} references "${table}" (id) ${deferral}` : text}, twin_id ${text},`,
  ]) {
    await sql.raw(`create table ${own} id ${id} primary key not null, ${rest})`).execute(db)
  }
}

function isSqlite(db: Kysely<unknown>): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}

/** What is said of a table while work is done. */
async function warningsOf(table: string, work: () => Promise<unknown>): Promise<string[]> {
  const warned: string[] = []
  const listen = (warning: Error) => void warned.push(warning.message)
  process.on('warning', listen)
  await work()
  await new Promise(resolve => setImmediate(resolve))
  process.off('warning', listen)
  const texts = warned.flatMap(text => text.split(new RegExp(`\\n(?=${table}\\b)`)))
  return texts.filter(text => text.startsWith(table))
}

describe.each(DATABASES)('%s', (_name, open) => {
  test.each<OnDelete>(['cascade', 'restrict', undefined])(
    'a new table has keys, which hold for SQL beside the api: %s',
    async onDelete => {
      const db = await open()
      const { api, table, child, cars, options } = serve(db, onDelete)
      await api.open()
      const { id } = await cars.create({ name: 'A' })
      const { id: option } = await options.create({ car_id: id })
      await options.create({ car_id: null, twin_id: option })
      const orphan = sql`update ${sql.id(child)} set car_id = ${GONE} where car_id = ${id}`.execute(
        db,
      )
      await expect(orphan).rejects.toThrow(/foreign key/i)
      const remove = sql`delete from ${sql.id(table)}`.execute(db)
      if (onDelete === 'cascade') {
        await expect(remove).rejects.toThrow(/foreign key/i) // a twin refers to the option
        await sql`update ${sql.id(child)} set twin_id = null`.execute(db)
        await sql`delete from ${sql.id(table)}`.execute(db)
        expect(await count(db, child)).toBe(1)
      } else await expect(remove).rejects.toThrow(/foreign key/i)
    },
  )

  test('a create takes no transaction, and tells of a parent that was deleted meanwhile', async () => {
    const statements: string[] = []
    const db = await open(({ sql: text }) => statements.push(text))
    const { api, table, cars, options } = serve(db, undefined)
    await api.open()
    const { request } = await openHandler('fetch', api)
    const [{ id }, { id: other }] = [
      await cars.create({ name: 'A' }),
      await cars.create({ name: 'B' }),
    ]
    await options.create({ car_id: id })
    statements.length = 0
    await options.create({ car_id: id })
    expect(
      statements.filter(text => /^(?:begin|lock)/.test(text) && !/immediate|committed/.test(text)),
    ).toEqual([])
    expect(statements.filter(text => /^select/.test(text) && text.includes(table))).toEqual([])
    const posts = Array.from({ length: 100 }, (_, at) =>
      request('/options', { method: 'POST', json: { car_id: at === 50 ? GONE : id } }),
    )
    const answers = await Promise.all(posts)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(99)
    const refused = answers.find(({ status }) => status !== 201)
    expect(refused?.status).toBe(400)
    const unknown = { errors: [{ field: 'car_id', type: 'unknown_reference' }] }
    expect(refused?.json).toMatchObject(unknown)
    // A column of UUIDs would refuse the text itself.
    const nobody = await request('/options', { method: 'POST', json: { car_id: 'nobody' } })
    expect([nobody.status, nobody.json]).toMatchObject([400, unknown])
    const several = await request('/options', {
      method: 'POST',
      json: [{ car_id: id }, { car_id: 'nobody' }, { car_id: GONE }],
    })
    expect([several.status, several.json]).toMatchObject([
      400,
      {
        errors: [
          { field: '1.car_id', type: 'unknown_reference' },
          { field: '2.car_id', type: 'unknown_reference' },
        ],
      },
    ])
    // Within a transaction nothing is left to the database, and a call that fails alone may be caught.
    await api.transaction(async tx => {
      const within = tx.collection('options')
      await expect(within.create({ car_id: 'nobody' })).rejects.toMatchObject({ status: 400 })
      await within.create({ car_id: id })
    })
    const { id: option } = await options.create({ car_id: other })
    await sql`delete from ${sql.id(table)} where name = 'C'`.execute(db)
    const patch = { method: 'PATCH', json: { car_id: GONE } }
    expect((await request(`/options/${option}`, patch)).status).toBe(400)
    expect((await request(`/cars/${other}`, { method: 'DELETE' })).status).toBe(409)
  })

  test.each<OnDelete>(['cascade', 'restrict', undefined])(
    'a table without keys stays as it is, and has no orphans either: %s',
    async onDelete => {
      const db = await open()
      const { api, table, child, cars, options } = serve(db, onDelete)
      await makeTablesWithoutKeys(db, table, child)
      await api.open()
      const { request } = await openHandler('fetch', api)
      for (let round = 0; round < 10; round++) {
        const { id } = await cars.create({ name: 'A' })
        const answers = await Promise.all([
          request('/options', { method: 'POST', json: { car_id: id } }),
          request(`/cars/${id}`, { method: 'DELETE' }),
          request('/options', { method: 'POST', json: { car_id: id } }),
        ])
        for (const { status } of answers) expect([200, 201, 400, 409, 503]).toContain(status)
      }
      const orphans = sql`not exists (select 1 from ${sql.id(table)} as p where cast(p.id as text) = car_id)`
      expect(await count(db, child, orphans)).toBe(0)
      const { id: car_id } = await cars.create({ name: 'A' })
      const { id: option } = await options.create({ car_id })
      expect(await options.read(option)).toMatchObject({ car_id })
    },
  )

  test('a key that is checked at the commit is not relied on: one write fails alone', async () => {
    const db = await open()
    const { api, table, child, cars } = serve(db, undefined)
    await makeTablesWithoutKeys(db, table, child, 'deferrable initially deferred')
    const warned = await warningsOf(child, () => api.open())
    // Another key beside it is no advice.
    expect(warned.filter(each => each.includes('"car_id"'))).toEqual([])
    const { id } = await cars.create({ name: 'A' })
    const { request } = await openHandler('fetch', api)
    const posts = Array.from({ length: 20 }, (_, at) =>
      request('/options', { method: 'POST', json: { car_id: at === 10 ? GONE : id } }),
    )
    const statuses = (await Promise.all(posts)).map(({ status }) => status)
    expect(statuses).toEqual(Array.from({ length: 20 }, (_, at) => (at === 10 ? 400 : 201)))
  })

  test('a circle of tables is opened, without keys that need both', async () => {
    const db = await open()
    const define = (name: string, other: string) =>
      defineCollection({
        name,
        schema: z.object({ other_id: z.string().nullable() }),
        store: sqlStore({ db, table: newTable(), create: true }),
        references: { other_id: { collection: other, onDelete: 'cascade' } },
      })
    const api = defineApi({ collections: [define('hens', 'eggs'), define('eggs', 'hens')] })
    await api.open()
    const [hens, eggs] = [api.collection('hens'), api.collection('eggs')]
    const { id: hen } = await hens.create({ other_id: null })
    const { id: egg } = await eggs.create({ other_id: String(hen) })
    await hens.patch(String(hen), { other_id: String(egg) })
    await hens.delete(String(hen))
    expect([await hens.count(), await eggs.count()]).toEqual([0, 0])
  })

  test('a table with a store of its own in each version: its rows are deleted once', async () => {
    const db = await open()
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ name: z.string() }),
      store: sqlStore({ db, table: newTable(), create: true }),
      operations: ['list', 'read', 'create', 'delete', 'deleteMany'],
    })
    const table = newTable()
    const options = () =>
      defineCollection({
        name: 'options',
        schema: z.object({ car_id: z.string() }),
        store: sqlStore({ db, table, create: true }),
        references: { car_id: { collection: 'cars', onDelete: 'cascade' } },
      })
    const api = defineApi({
      versions: [1, 2].map(version => ({ version, collections: [cars, options()] })),
    })
    const { v1, v2 } = api.versions
    const [own, other] = [v1?.collection('cars'), v2?.collection('options')]
    for (const many of [false, true]) {
      const id = String((await own?.create({ name: 'A' }))?.id)
      for (const version of [v1, v2]) await version?.collection('options').create({ car_id: id })
      if (many) await own?.deleteMany({ id }, { maxAffected: 1 })
      else await own?.delete(id)
      expect(await other?.count()).toBe(0)
    }
  })

  test('rows of one table that refer to each other are deleted by their keys', async () => {
    const db = await open()
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({
        twin_id: z.string().nullable(),
        other_id: z.string().nullable().default(null),
      }),
      store: sqlStore({ db, table: newTable(), create: true }),
      references: {
        twin_id: { collection: 'cars', onDelete: 'cascade' },
        other_id: { collection: 'cars', onDelete: 'cascade' },
      },
    })
    const api = defineApi({ collections: { cars } })
    const resource = api.collection('cars')
    const { id: one } = await resource.create({ twin_id: null })
    const { id: other } = await resource.create({ twin_id: one })
    await resource.patch(one, { twin_id: other })
    await resource.delete(one)
    expect(await resource.count()).toBe(0)
    const { id: root } = await resource.create({ twin_id: null })
    const { id: left } = await resource.create({ twin_id: root })
    for (const twin_id of [left, root]) await resource.create({ twin_id: root, other_id: twin_id })
    await resource.create({ twin_id: left, other_id: root })
    await resource.delete(root)
    expect(await resource.count()).toBe(0)
  })
})

test.each(DATABASES)('%s: a column that no create fills in is named', async (_name, open) => {
  const db = await open()
  const table = newTable()
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ name: z.string() }),
    timestamps: false,
    store: sqlStore({ db, table, create: true }),
  })
  const rest = `name varchar(9) not null, plate varchar(9) not null, noted varchar(9) not null default 'x', version text not null`
  const id = _name === 'SQLite' ? 'text' : 'uuid'
  await sql.raw(`create table ${table} (id ${id} primary key not null, ${rest})`).execute(db)
  const errors: unknown[] = []
  const api = defineApi({
    collections: { cars },
    health: true,
    onError: error => errors.push(error),
  })
  expect(await warningsOf(table, () => api.open())).toEqual([
    expect.stringMatching(/not in the schema, so that each create fails: "plate"\. /),
  ])
  const { request } = await openHandler('fetch', api)
  const post = (json: object) => request('/cars', { method: 'POST', json })
  for (const { status } of await Promise.all([post({ name: 'A' }), post({ name: 'B' })])) {
    expect(status).toBe(500)
  }
  expect(errors.map(String)).toEqual(
    Array(2).fill(expect.stringContaining('The column "plate" of')),
  )
  const health = await request('/health')
  expect(health.status).toBe(200)
  expect(health.json).toEqual({ status: 'degraded', creates_fail: ['cars'] })
  if (_name === 'SQLite') return
  expect((await post({ name: 'far too long' })).status).toBe(400)
})

test('a reference in PostgreSQL has the type of what it names', async () => {
  const db = openPostgres()
  const { api, child } = serve(db, undefined)
  await api.open()
  const { rows } =
    await sql`select data_type from information_schema.columns where table_name = ${child} and column_name = 'car_id'`.execute(
      db,
    )
  expect(rows).toEqual([{ data_type: 'uuid' }])
})

test('the statements that open prints for a table in PostgreSQL give it its keys', async () => {
  const db = openPostgres()
  const { table, child, api } = serve(db, 'cascade')
  await makeTablesWithoutKeys(db, table, child)
  const [first = '', ...others] = await warningsOf(child, () => api.open())
  expect(others).toHaveLength(1)
  const before = await api.collection('cars').create({ name: 'A' })
  await api.collection('options').create({ car_id: before.id })
  for (const each of [first, ...others]) {
    const [, printed = ''] = each.split('restart what serves the table:\n')
    for (const text of printed.split('\n')) await sql.raw(text).execute(db)
  }
  const statements: string[] = []
  const restarted = openPostgres({}, ({ sql: text }) => statements.push(text))
  const again = defineCars(restarted, table, child, 'cascade')
  expect(await warningsOf(child, () => again.open())).toEqual([])
  statements.length = 0
  await again.collection('options').create({ car_id: before.id })
  expect(statements.filter(text => /^begin|^lock/.test(text))).toEqual([])
  await sql`delete from ${sql.id(table)}`.execute(db)
  expect(await count(db, child)).toBe(0)
})

test('SQLite without foreign keys on its connection says so, and goes on by transactions', async () => {
  const db = await openDatabase()
  await sql`pragma foreign_keys = off`.execute(db)
  const { api, child, cars, options } = serve(db, undefined)
  expect(await warningsOf(child, () => api.open())).toEqual([
    expect.stringMatching(/foreign keys are off .* Run: pragma foreign_keys = on$/),
  ])
  const { id } = await cars.create({ name: 'A' })
  await expect(options.create({ car_id: GONE })).rejects.toMatchObject({ status: 400 })
  await options.create({ car_id: id })
  await expect(cars.delete(id)).rejects.toMatchObject({ status: 409 })
})
