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
      await stores[1]?.createAll?.(
        Array.from({ length: count }, (_, price) => ({ car_id: id, price })),
      )
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
        (await store.createAll?.(Array.from({ length: 500 }, (_, at) => car(`${at}`)))) ?? []
      statements.length = 0
      const alike = created.map(before => ({
        before,
        values: { ...car(`${before.item.color}`), year: 9 },
      }))
      const changed = (await store.updateAll?.(alike)) ?? []
      expect(changed.every(({ item }) => item.year === 9)).toBe(true)
      expect(statements).toHaveLength(1)
      expect(statements[0]).not.toContain('"color"')
      const own = changed.slice(0, 3).map((before, at) => ({ before, values: car(`own ${at}`) }))
      await store.updateAll?.(own)
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
      const created = (await store.createAll?.(['a', 'b', 'c'].map(car))) ?? []
      expect(created.map(({ id }) => id)).toEqual([1, 2, 3])
      expect(await store.getMany?.([3, 4, 1])).toEqual([created[2], undefined, created[0]])
      await store.update(2, created[1]?.version ?? '', car('changed'))
      expect(await store.deleteAll?.(created)).toBe(false)
      expect(await colorsOf(store)).toEqual(['a', 'changed', 'c'])
      const now = (await store.getMany?.([1, 2, 3])) ?? []
      const found = now.filter(each => each !== undefined)
      const to = (color: string) => (before: Stored) => ({ before, values: car(color) })
      expect(await store.updateAll?.(created.map(to('x')))).toBe(undefined)
      expect(await colorsOf(store)).toEqual(['a', 'changed', 'c'])
      const updated = (await store.updateAll?.(found.map(to('y')))) ?? []
      expect(await store.getMany?.([1, 2, 3])).toEqual(updated)
      expect(await store.deleteAll?.(found)).toBe(false)
      expect(await store.deleteAll?.(updated)).toBe(true)
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
    const created = [...((await store.createAll?.(['a', 'other', 'kept'].map(car))) ?? [])]
    expect(created.map(({ item }) => item.color)).toEqual(['a', 'other', 'kept'])
    for (const each of created) expect(await store.get(each.id)).toEqual(each)
    const skipped = async () => store.createAll?.(['b', 'out'].map(car))
    await expect(skipped()).rejects.toMatchObject({ status: 409, at: 1 })
    await expect((async () => store.createAll?.([car('out')]))()).rejects.toThrow(KeptError)
    const [a, other] = created as [Stored, Stored]
    const changes = [a, other].map(before => ({ before, values: car('out') }))
    expect((await store.updateAll?.(changes))?.map(({ item }) => item.color)).toEqual([
      'out',
      'out',
    ])
    const present = async () =>
      ((await store.getMany?.(created.map(({ id }) => id))) ?? []).filter(
        each => each !== undefined,
      )
    const now = (await present()).slice(0, 2)
    expect(await store.updateAll?.(changes)).toBe(undefined)
    await store.updateAll?.(
      now.map((before, at) => ({ before, values: car(['a', 'other'][at] ?? '') })),
    )
    expect(await colorsOf(store)).toEqual(['a', 'other', 'kept'])
    created.splice(0, 3, ...(await present()))
    const refused = (async () => store.deleteAll?.(created))()
    await expect(refused).rejects.toMatchObject({ status: 409, at: 2 })
    expect(await store.count({ where: [] }, 'exact')).toBe(3)
    expect(await store.deleteAll?.(created.slice(0, 2))).toBe(true)
    expect(await colorsOf(store)).toEqual(['kept'])
  })
})

test('a view with several rows of one id: none is deleted', async () => {
  const db = openPostgres()
  const table = newTable()
  const first = sqlStore({ db, table, create: true })
  first.attach(SHAPE)
  const created = await first.create(car('a'))
  await sql`create view ${sql.id(`${table}_twice`)} as select * from ${sql.id(table)} union all select * from ${sql.id(table)}`.execute(
    db,
  )
  const store = sqlStore({ db, table: `${table}_twice` })
  store.attach(SHAPE)
  await closing([store], async () => {
    await expect((async () => store.deleteAll?.([created]))()).rejects.toThrow()
    expect(await first.count({ where: [] }, 'exact')).toBe(1)
  })
})

const withoutSets = ({
  getMany: _get,
  createAll: _create,
  updateAll: _update,
  deleteAll: _delete,
  ...rest
}: Store): Store => rest

/** A store in memory whose transactions have none of the four. */
function storeWithoutSets(originals: Map<Store, Store>): Store {
  const whole = memoryStore()
  const store: Store = {
    ...whole,
    database: originals,
    transaction: (stores, work, options) =>
      (whole.transaction as NonNullable<Store['transaction']>)(
        stores.map(each => originals.get(each) ?? each),
        bound => work(bound.map(withoutSets)),
        options,
      ),
  }
  originals.set(store, whole)
  return store
}

test('a store without the four: a cascade deletes one by one, and a copy has none of them', async () => {
  const originals = new Map<Store, Store>()
  const { cars, options } = serve(() => storeWithoutSets(originals))
  const copy: Store = { ...memoryStore() }
  expect([copy.getMany, copy.createAll, copy.updateAll, copy.deleteAll]).toEqual(
    Array(4).fill(undefined),
  )
  const { id } = await cars.create({ name: 'A' })
  for (const price of [1, 2, 3]) await options.create({ car_id: id, price })
  await cars.delete(id)
  expect([await cars.count(), await options.count()]).toEqual([0, 0])
})

test('a store without the four: arrays and writes by filter go one by one, all or none', async () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ name: z.string(), price: z.int().default(1) }),
    store: storeWithoutSets(new Map()),
    id: 'integer',
    unique: ['name'],
    operations: ['list', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
  })
  const api = defineApi({ collections: { cars } })
  const all = api.collection(cars)
  const names = (list: string) => [...list].map(name => ({ name }))
  await all.create(names('ABCD'))
  await expect(all.create(names('EFA'))).rejects.toMatchObject({
    errors: [{ field: '2.name', type: 'not_unique' }],
  })
  expect(await all.patchMany({ name: ['A', 'B', 'C'] }, { price: 2 })).toBe(3)
  await expect(all.patchMany({ id: [1, 2] }, { name: 'new' })).rejects.toMatchObject({
    errors: [{ message: 'Another item has the same name (car 2)' }],
  })
  // What an outer transaction catches is undone with it: a part is stored.
  const caught = api.transaction(async tx => {
    await tx
      .collection(cars)
      .patchMany({ id: [1, 2] }, { name: 'new' })
      .catch(() => undefined)
  })
  await expect(caught).rejects.toThrow('Another item has the same name')
  expect(await all.count({ name: ['A', 'B', 'C', 'D'] })).toBe(4)
  expect(await all.deleteMany({ price: 2 }, { maxAffected: 3 })).toBe(3)
  expect(await all.count()).toBe(1)
})

test('a store whose idempotency keys are kept for it keeps the four', async () => {
  const whole = memoryStore()
  const { getMany, createAll, updateAll, deleteAll } = whole as Required<Store>
  const own: Store = { ...whole, getMany, createAll, updateAll, deleteAll, idempotency: 'process' }
  const store = toKeyedStore(own)
  store.attach(SHAPE)
  const created = (await store.createAll?.([car('a'), car('b')])) ?? []
  expect(await store.getMany?.([2])).toEqual(created.slice(1))
  const changed = await store.updateAll?.(created.map(before => ({ before, values: car('c') })))
  expect(await store.deleteAll?.(changed ?? [])).toBe(true)
  expect(await colorsOf(store)).toEqual([])
})
