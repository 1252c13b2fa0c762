// The types of PostgreSQL that the store makes, and tables of 0.1, which had other ones.
import { type Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item } from '../../src/index.ts'
import { createTableSql, type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
import { findOne } from '../../src/store/writes.ts'
import { updateOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { by, is } from './selections.ts'
import { newTable } from './several.ts'

usePostgres()

const Car = z.object({
  color: z.string(),
  built: z.iso.date(),
  price: z.number(),
  doors: z.int(),
  sold: z.boolean(),
  seen: z.iso.datetime({ offset: true }),
  settings: z.object({ 'b b': z.number(), a: z.array(z.json()) }),
})

const CAR = {
  color: 'red',
  built: '2024-02-29',
  price: 0.1 + 0.2,
  doors: 2 ** 53 - 1,
  sold: true,
  seen: '2024-02-29T23:00:00.123456+02:00',
  settings: { 'b b': 1, a: [1.5, null, { x: '\u{1F600}' }] },
}

function carsOf(db: Kysely<unknown>, options: Partial<SqlStoreOptions> = {}) {
  const store = sqlStore({ db, table: newTable(), create: true, ...options })
  const indexes = ['built', 'settings.b b', 'seen'] as const
  const definition = defineCollection({ name: 'cars', schema: Car, store, indexes })
  const api = defineApi({ collections: [definition] })
  return { store, definition, cars: api.collection(definition), fetch: api.fetch }
}

async function typesOf(db: Kysely<unknown>, table: string): Promise<Record<string, string>> {
  const { rows } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 order by attnum`.execute(db)
  return Object.fromEntries(rows.map(({ name, type }) => [name, type]))
}

test('a new table has the types of its values, and gives them back byte for byte', async () => {
  const [db, table] = [openPostgres(), newTable()]
  const { cars, fetch, store } = carsOf(db, { table })
  const made = await cars.create(CAR)
  expect(await typesOf(db, table)).toEqual({
    id: 'uuid',
    color: 'text',
    built: 'date',
    price: 'double precision',
    doors: 'bigint',
    sold: 'boolean',
    seen: 'text',
    settings: 'json',
    created_at: 'timestamp(3) with time zone',
    updated_at: 'timestamp(3) with time zone',
    version: 'text',
  })
  const answer = await fetch(new Request(`http://a.example/cars/${made.id}`))
  const { created_at, updated_at, id, ...rest } = (await answer.json()) as Item
  expect(JSON.stringify(rest)).toBe(JSON.stringify(CAR))
  expect([id, created_at, updated_at]).toEqual([made.id, made.created_at, made.created_at])
  for (const built of ['0001-01-01', '1969-12-31', '9999-12-31']) {
    const other = await cars.create({ ...CAR, built })
    expect(await cars.read(other.id)).toMatchObject({ built })
    expect((await cars.list({ built }).toArray()).map(each => each.id)).toEqual([other.id])
  }
  const sorted = await cars.list({ sort: '-built', fields: ['built'] }).toArray()
  const dates = sorted.map(({ built }) => built)
  expect(dates).toEqual(['9999-12-31', '2024-02-29', '1969-12-31', '0001-01-01'])
  await expect(cars.create({ ...CAR, built: '0000-02-29' })).rejects.toMatchObject({ status: 400 })
  expect(await cars.count({ built: { gte: '0000-02-29', nin: ['0000-03-01'] } })).toBe(4)
  expect(await cars.count({ built: { lte: '0000-12-31' } })).toBe(0)
  await store.close()
})

test('a column of jsonb is made where it is asked for, and indexed', async () => {
  const [db, table] = [openPostgres(), newTable()]
  const { cars, store } = carsOf(db, { table, columns: { settings: 'jsonb' } })
  const made = await cars.create(CAR)
  expect((await typesOf(db, table)).settings).toBe('jsonb')
  expect(made.settings).toEqual(CAR.settings)
  expect(Object.keys(made.settings)).toEqual(['a', 'b b'])
  expect(await cars.read(made.id)).toEqual(made)
  expect(await cars.patch(made.id, { color: 'blue' })).toMatchObject({ color: 'blue' })
  expect(await cars.count({ settings: { 'b b': { gte: 1 } } })).toBe(1)
  await store.close()
})

const Visit = z.object({
  starts_at: z.iso.datetime({ offset: true }),
  ends_at: z.iso.datetime().nullable(),
  total: z.number(),
  count: z.int().default(1),
})

const VISIT_TYPES = {
  starts_at: 'timestamptz(3)',
  ends_at: { name: 'until', type: 'timestamptz' },
  total: 'numeric(12,2)',
  count: 'numeric(9)',
} as const

function visitsOf(table: string) {
  const store = sqlStore({ db: openPostgres(), table, create: true, columns: VISIT_TYPES })
  const indexes = ['starts_at', 'total'] as const
  const visits = defineCollection({ name: 'visits', schema: Visit, store, indexes })
  const api = defineApi({ collections: { visits } })
  return { store, shape: visits.shape, visits: api.collection('visits'), api }
}

test('columns of timestamptz and numeric are made where they are asked for', async () => {
  const table = newTable()
  const { visits, shape, api, store } = visitsOf(table)
  const made = await visits.create({
    starts_at: '2024-02-29T23:00:00.1239+02:00',
    ends_at: '2024-03-01T00:00:00.123456Z',
    total: 1234567890.125,
  })
  const types = await typesOf(openPostgres(), table)
  expect(types).toMatchObject({
    starts_at: 'timestamp(3) with time zone',
    until: 'timestamp with time zone',
    total: 'numeric(12,2)',
    count: 'numeric(9,0)',
  })
  const printed = createTableSql(shape, { database: 'postgres', columns: VISIT_TYPES })[0]
  expect(printed).toContain('"starts_at" timestamptz(3) not null, "until" timestamptz, "total" num')
  const read = { starts_at: '2024-02-29T21:00:00.123Z', ends_at: '2024-03-01T00:00:00.123456Z' }
  expect(made).toMatchObject({ ...read, total: 1234567890.13, count: 1 })
  expect(await visits.read(made.id)).toEqual(made)
  await expect(visits.create({ ...made, total: 1e10 })).rejects.toMatchObject({ status: 400 })
  // The store opens its own table again.
  expect(await visitsOf(table).visits.read(made.id)).toEqual(made)
  const { 0: row } = (
    await sql`select sum(total) as sum from ${sql.id(table)}`.execute(openPostgres())
  ).rows
  expect(row).toEqual({ sum: '1234567890.13' })
  await api.close()
  await store.close()
})

test('lists filter, sort and continue by columns of timestamptz and numeric', async () => {
  const table = newTable()
  const { visits, api } = visitsOf(table)
  const totals = [0.1, 0.3, 9_999_999_999.99, -5, 0.3, 10]
  for (const [at, total] of totals.entries()) {
    const starts_at = `2024-03-10T0${at % 3}:00:00.00${at}Z`
    await visits.create({ starts_at, ends_at: at % 2 ? starts_at : null, total })
  }
  const listed = async (query: object) =>
    (await visits.list(query).toArray()).map(({ total }) => total)
  expect(await listed({ sort: 'total' })).toEqual([...totals].sort((a, b) => a - b))
  expect(await listed({ total: 0.3 })).toEqual([0.3, 0.3])
  expect(await listed({ total: { gt: 0.3 }, sort: '-total' })).toEqual([9_999_999_999.99, 10])
  expect(await listed({ starts_at: '2024-03-10T01:00:00.003+01:00' })).toEqual([-5])
  expect(await listed({ starts_at: { lt: '2024-03-10T00:00:00.003Z' } })).toEqual([0.1])
  expect(await visits.count({ ends_at: { exists: true } })).toBe(3)
  for (const sort of ['total', '-total', 'starts_at', '-starts_at', 'ends_at', '-ends_at']) {
    const seen: unknown[] = []
    let path: string | undefined = `/visits?limit=2&sort=${sort}`
    while (path !== undefined) {
      const answer: Response = await api.fetch(new Request(new URL(path, 'http://a.example')))
      expect(answer.status).toBe(200)
      seen.push(...((await answer.json()) as Item[]).map(({ total }) => total))
      path = /<([^>]+)>; rel="?next/.exec(answer.headers.get('link') ?? '')?.[1]
    }
    expect(seen).toEqual(await listed({ sort }))
  }
  await api.close()
})

test('a table of 0.1 is served as before', async () => {
  const [db, table] = [openPostgres(), newTable()]
  const text = 'text collate "C" not null'
  await sql
    .raw(
      `create table ${table} (id text collate "C" primary key not null, color ${text}, built ${text}, price double precision not null, doors bigint not null, sold boolean not null, seen ${text}, settings json not null, created_at ${text}, updated_at ${text}, version ${text})`,
    )
    .execute(db)
  const statements: string[] = []
  const logged = openPostgres({}, query => statements.push(query.sql))
  const { cars, store, definition } = carsOf(logged, { table })
  const made = await cars.create(CAR)
  statements.length = 0
  const { version = '' } = (await findOne(store, made.id)) ?? {}
  const changed = await updateOne(store, { id: made.id, version }, { ...CAR, color: 'blue' })
  // One statement compares the version and writes, as in a new table.
  expect(statements).toHaveLength(2)
  expect(await findOne(store, made.id)).toEqual(changed)
  const day = String(made.created_at).slice(0, 10)
  for (const query of [{ since: day }, { until: day }, { built: CAR.built }, { id: made.id }]) {
    expect((await cars.list(query).toArray()).map(({ id }) => id)).toEqual([made.id])
  }
  const second = await cars.create(CAR)
  expect(second.id > made.id).toBe(true)
  const ids = (await cars.list({ sort: '-created_at' }).toArray()).map(({ id }) => id)
  expect(ids).toEqual([second.id, made.id])
  expect((await typesOf(db, table)).id).toBe('text')
  expect(createTableSql(definition.shape, { database: 'postgres' })[0]).toContain('uuid')
  await db.destroy()
  await store.close()
})

test('no value that a client may send is an error in a column of such a type', async () => {
  const { cars, store } = carsOf(openPostgres())
  const { id } = await cars.create(CAR)
  const odd = [
    '\0',
    'a\0b',
    '\ud800',
    "'",
    '',
    '2024-02-30',
    '2024-13-01T00:00:00.000Z',
    1e300,
    true,
  ]
  for (const value of odd) {
    expect(await findOne(store, typeof value === 'boolean' ? 1 : value)).toBeUndefined()
    for (const path of ['id', 'built', 'created_at']) {
      for (const operator of ['in', 'nin', 'gt', 'lte', 'prefix', 'like'] as const) {
        await store.count({ where: [is(path, operator, value)] }, 'exact')
      }
      const slice = { limit: 1, key: [value, value], backward: false }
      await store.list({ where: [], sort: by(`-${path}`) }, slice, 'none')
    }
  }
  expect(await store.count({ where: [is('id', 'in', id, 'nope')] }, 'exact')).toBe(1)
  await store.close()
})

test('a type that has the name of a method of objects is one that nothing serves', async () => {
  const db = openPostgres()
  const table = newTable()
  await sql.raw(`create type "constructor" as (x int)`).execute(db)
  await sql.raw(`create table ${table} (id uuid primary key, color "constructor")`).execute(db)
  const store = sqlStore({ db, table, version: false, create: 'records' })
  const schema = z.object({ color: z.string() })
  const cars = defineCollection({ name: 'cars', schema, store, timestamps: false })
  const opened = defineApi({ collections: [cars] }).open()
  await expect(opened).rejects.toThrow('its column "color" is constructor, which cannot be read')
})
