// Several items at once: by how many statements, in tables that others have made, and without the methods for it.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Item } from '../../src/base/values.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { KeptError } from '../../src/store/errors.ts'
import { toKeyedStore } from '../../src/store/keyed-store.ts'
import type { Store, Stored } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { toAnswer } from '../../src/store/written.ts'
import {
  createAll,
  createOne,
  deleteAll,
  updateAll,
  updateOne,
} from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { by, SHAPE } from './selections.ts'
import { closing, newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

type Open = (onStatement?: (statement: CompiledQuery) => void) => Promise<Kysely<unknown>>

const DATABASES: [string, Open][] = [
  ['SQLite', onStatement => openDatabase(undefined, onStatement)],
  ['PostgreSQL', async onStatement => openPostgres({}, onStatement)],
]

const car = (color: string): Item => ({ color, price: 1, year: 1 })

async function colorsOf(store: Store): Promise<unknown[]> {
  const { items } = await store.list({ where: [], sort: by('') }, { limit: 100, offset: 0 }, 'none')
  return items.map(({ item }) => item.color)
}

/** An api of cars with options, which are deleted with them. */
function serve(store: () => Store) {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ name: z.string() }),
    store: store(),
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.string(), price: z.number() }),
    store: store(),
    references: { car_id: { collection: 'cars', onDelete: 'cascade' } },
  })
  const api = defineApi({ collections: { cars, options } })
  return { cars: api.collection(cars), options: api.collection(options), api }
}

describe.each(DATABASES)('%s', (_name, open) => {
  test('a cascade of 1,100 items takes three statements that delete, and one for the item', async () => {
    const deleted: string[] = []
    const db = await open(({ sql: text }) => {
      if (text.startsWith('delete from')) deleted.push(text)
    })
    const stores: Store[] = []
    const { cars, options, api } = serve(() => {
      const store = sqlStore({ db, table: newTable(), create: true })
      stores.push(store)
      return store
    })
    const { id } = await cars.create({ name: 'A' })
    const other = await cars.create({ name: 'B' })
    await options.create({ car_id: other.id, price: 1 })
    for (const count of [500, 500, 100]) {
      await (stores[1] &&
        createAll(
          stores[1],
          Array.from({ length: count }, (_, price) => ({ car_id: id, price })),
        ))
    }
    await cars.delete(id)
    expect(deleted).toHaveLength(4)
    expect([await cars.count(), await options.count()]).toEqual([1, 1])
    await api.close()
  })

  test('500 items that are changed alike take one statement, and those of their own one each', async () => {
    const statements: string[] = []
    const db = await open(({ sql: text }) => {
      if (text.startsWith('update')) statements.push(text)
    })
    const store = sqlStore({ db, table: newTable(), create: true })
    store.attach(SHAPE)
    await closing([store], async () => {
      const created =
        (await createAll(
          store,
          Array.from({ length: 500 }, (_, at) => car(`${at}`)),
        )) ?? []
      statements.length = 0
      const alike = created.map(before => ({
        before,
        values: { ...car(`${before.item.color}`), year: 9 },
      }))
      const changed = (await updateAll(store, alike)) ?? []
      expect(changed.every(({ item }) => item.year === 9)).toBe(true)
      expect(statements).toHaveLength(1)
      expect(statements[0]).not.toContain('"color"')
      const own = changed.slice(0, 3).map((before, at) => ({ before, values: car(`own ${at}`) }))
      await updateAll(store, own)
      expect(statements).toHaveLength(4)
      expect((await colorsOf(store)).filter(color => String(color).startsWith('own'))).toEqual([
        'own 0',
        'own 1',
        'own 2',
      ])
    })
  })

  test('a table without versions: what was changed meanwhile keeps all', async () => {
    const store = sqlStore({ db: await open(), table: newTable(), version: false, create: true })
    store.attach(SHAPE)
    await closing([store], async () => {
      const created = (await createAll(store, ['a', 'b', 'c'].map(car))) ?? []
      expect(created.map(({ id }) => id)).toEqual([1, 2, 3])
      expect(await store.find([3, 4, 1])).toEqual([created[2], undefined, created[0]])
      await updateOne(store, { id: 2, version: created[1]?.version ?? '' }, car('changed'))
      expect(await deleteAll(store, created)).toBe(false)
      expect(await colorsOf(store)).toEqual(['a', 'changed', 'c'])
      const now = (await store.find([1, 2, 3])) ?? []
      const found = now.filter(each => each !== undefined)
      const to = (color: string) => (before: Stored) => ({ before, values: car(color) })
      expect(await updateAll(store, created.map(to('x')))).toBe(undefined)
      expect(await colorsOf(store)).toEqual(['a', 'changed', 'c'])
      const updated = (await updateAll(store, found.map(to('y')))) ?? []
      expect(await store.find([1, 2, 3])).toEqual(updated)
      expect(await deleteAll(store, found)).toBe(false)
      expect(await deleteAll(store, updated)).toBe(true)
      expect(await colorsOf(store)).toEqual([])
    })
  })
})

test('triggers of PostgreSQL: rows get the answers that are theirs, and what they skip leaves none', async () => {
  const db = openPostgres()
  const table = newTable()
  const first = sqlStore({ db, table, create: true })
  first.attach(SHAPE)
  await first.count({ where: [] }, 'exact')
  await sql`create function set_rule() returns trigger language plpgsql as 'begin
    if tg_op = ''DELETE'' then
      if old.color = ''kept'' then return null; end if;
      return old;
    end if;
    if new.color = ''out'' then return null; end if;
    if new.color = ''other'' then new.id := new.id + 1000; end if;
    return new; end'`.execute(db)
  await sql`create trigger set_rule before insert or delete on ${sql.id(table)} for each row execute function set_rule()`.execute(
    db,
  )
  const store = sqlStore({ db, table })
  store.attach(SHAPE)
  await closing([store], async () => {
    const created = [...((await createAll(store, ['a', 'other', 'kept'].map(car))) ?? [])]
    expect(created.map(({ item }) => item.color)).toEqual(['a', 'other', 'kept'])
    for (const each of created) expect(await findOne(store, each.id)).toEqual(each)
    const skipped = async () => createAll(store, ['b', 'out'].map(car))
    await expect(skipped()).rejects.toMatchObject({ status: 409, at: 1 })
    await expect((async () => createAll(store, [car('out')]))()).rejects.toThrow(KeptError)
    const [a, other] = created as [Stored, Stored]
    const changes = [a, other].map(before => ({ before, values: car('out') }))
    expect((await updateAll(store, changes))?.map(({ item }) => item.color)).toEqual(['out', 'out'])
    const present = async () =>
      ((await store.find(created.map(({ id }) => id))) ?? []).filter(each => each !== undefined)
    const now = (await present()).slice(0, 2)
    expect(await updateAll(store, changes)).toBe(undefined)
    await updateAll(
      store,
      now.map((before, at) => ({ before, values: car(['a', 'other'][at] ?? '') })),
    )
    expect(await colorsOf(store)).toEqual(['a', 'other', 'kept'])
    created.splice(0, 3, ...(await present()))
    const refused = (async () => deleteAll(store, created))()
    await expect(refused).rejects.toMatchObject({ status: 409, at: 2 })
    expect(await store.count({ where: [] }, 'exact')).toBe(3)
    expect(await deleteAll(store, created.slice(0, 2))).toBe(true)
    expect(await colorsOf(store)).toEqual(['kept'])
  })
})

test('a view with several rows of one id: none is deleted', async () => {
  const db = openPostgres()
  const table = newTable()
  const first = sqlStore({ db, table, create: true })
  first.attach(SHAPE)
  const created = await createOne(first, car('a'))
  await sql`create view ${sql.id(`${table}_twice`)} as select * from ${sql.id(table)} union all select * from ${sql.id(table)}`.execute(
    db,
  )
  const store = sqlStore({ db, table: `${table}_twice` })
  store.attach(SHAPE)
  await closing([store], async () => {
    await expect((async () => deleteAll(store, [created]))()).rejects.toThrow()
    expect(await first.count({ where: [] }, 'exact')).toBe(1)
  })
})

test('a store whose idempotency keys are kept for it takes several changes a call', async () => {
  const store = toKeyedStore({ ...memoryStore(), idempotency: 'process' })
  store.attach(SHAPE)
  await store.claim('key', 'print')
  const creations = ['a', 'b'].map(color => ({ create: car(color) }))
  const created = (await store.write(creations, { idempotencyKey: 'key' })) ?? []
  expect(await store.claim('key', 'print')).toMatchObject({ answer: created.map(toAnswer) })
  expect(await store.find([2])).toEqual(created.slice(1))
  const changed = await updateAll(
    store,
    created.map(before => ({ before, values: car('c') })),
  )
  expect(await deleteAll(store, changed ?? [])).toBe(true)
  expect(await colorsOf(store)).toEqual([])
})
