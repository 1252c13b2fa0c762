// The types of PostgreSQL that the store makes, and tables of 0.1, which had other ones.
import { type Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item } from '../../src/index.ts'
import { createTableSql, type SqlStoreOptions, sqlStore } from '../../src/sql/index.ts'
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
  const { version = '' } = (await store.get(made.id)) ?? {}
  const changed = await store.update(made.id, version, { ...CAR, color: 'blue' })
  // One statement compares the version and writes, as in a new table.
  expect(statements).toHaveLength(2)
  expect(await store.get(made.id)).toEqual(changed)
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
    expect(await store.get(typeof value === 'boolean' ? 1 : value)).toBeUndefined()
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
