// References: fields that hold ids of other items, and what the deletion of those does.

import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  type Store,
} from '../src/index.ts'
import { findApiDefinition } from '../src/model/definitions.ts'
import { sqlStore } from '../src/sql/index.ts'
import { createOne } from '../src/testing/write-items.ts'
import { openHandler } from './handlers.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'

usePostgres()

let tables = 0

/** Makes stores of one database. */
const DATABASES: Readonly<Record<string, () => Promise<() => Store>>> = {
  memory: async () => () => memoryStore(),
  SQLite: async () => {
    const db = await openDatabase()
    return () => sqlStore({ db, table: `refs_${++tables}`, create: true })
  },
  PostgreSQL: async () => {
    const db = openPostgres()
    return () => sqlStore({ db, table: `refs_${++tables}`, create: true })
  },
}

type OnDelete = 'cascade' | 'restrict' | undefined

/** Cars with options, options with notes, accounts with a favourite and a second car. */
function serve(store: () => Store, optionsOnDelete: OnDelete, accountsOnDelete: OnDelete) {
  const to = (collection: string, onDelete: OnDelete) => ({ collection, onDelete })
  const blobs = memoryBlobs()
  const deleted: string[] = []
  const watch = (name: string) => ({
    before: ({ operation }: { operation: string }) => void deleted.push(`${operation} ${name}`),
  })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ name: z.string(), twin_id: z.string().optional() }),
    store: store(),
    references: { twin_id: to('cars', optionsOnDelete) },
    hooks: watch('cars'),
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({
      car_id: z.string(),
      photo: blob().optional(),
      price: z.number().default(1),
    }),
    store: store(),
    parents: { car_id: to('cars', optionsOnDelete) },
    blobs,
    hooks: watch('options'),
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ option_id: z.string(), car_id: z.string().nullable().default(null) }),
    store: store(),
    references: { option_id: to('options', 'cascade'), car_id: to('cars', optionsOnDelete) },
  })
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ car_id: z.string().nullable(), second_id: z.string().optional() }),
    store: store(),
    references: {
      car_id: to('cars', accountsOnDelete),
      second_id: to('cars', accountsOnDelete),
    },
  })
  return { api: defineApi({ collections: [cars, options, notes, accounts] }), blobs, deleted }
}

async function open(name: string, options: OnDelete, accounts: OnDelete) {
  const makeStore = await (DATABASES[name] as () => Promise<() => Store>)()
  const made = serve(makeStore, options, accounts)
  const { request } = await openHandler('fetch', made.api)
  const create = async (collection: string, json: object): Promise<string> => {
    const { status, json: item } = await request(`/${collection}`, { method: 'POST', json })
    expect(status).toBe(201)
    return Object(item).id
  }
  const count = async (collection: string) =>
    Object((await request(`/${collection}/count`)).json).count
  return { ...made, request, create, count }
}

describe.each(Object.keys(DATABASES))('on %s', name => {
  it('a cascade deletes what refers to an item, what refers to that, and their contents', async () => {
    const { request, create, count, blobs, deleted } = await open(name, 'cascade', 'restrict')
    const [car, other] = [await create('cars', { name: 'A' }), await create('cars', { name: 'B' })]
    const photo_data = Buffer.from('a photo').toString('base64')
    const option = await create('options', { car_id: car, photo_data })
    const kept = await create('options', { car_id: other, photo_data })
    await create('notes', { option_id: option, car_id: car })
    await create('notes', { option_id: kept })
    const twin = await create('cars', { name: 'A2', twin_id: car })
    await create('options', { car_id: twin })
    deleted.length = 0
    const answer = await request(`/cars/${car}`, { method: 'DELETE' })
    expect([answer.status, Object(answer.json).name]).toEqual([200, 'A'])
    expect([await count('cars'), await count('options'), await count('notes')]).toEqual([1, 1, 1])
    expect(deleted.filter(each => /delete/.test(each))).toEqual(['delete cars'])
    let contents = 0
    for await (const _key of blobs.keys()) contents++
    expect(contents).toBe(1)
  })

  test.each<OnDelete>(['restrict', undefined])(
    '%s refuses to delete what is referred to',
    async onDelete => {
      const { request, create, count } = await open(name, 'cascade', onDelete)
      const car = await create('cars', { name: 'A' })
      await create('options', { car_id: car })
      const account = await create('accounts', { car_id: null, second_id: car })
      const { status, json } = await request(`/cars/${car}`, { method: 'DELETE' })
      expect(status).toBe(409)
      expect(json).toEqual({
        errors: [
          {
            message:
              'This car cannot be deleted: accounts refer to it. Delete or change those first.',
            code: 409,
            type: 'referenced',
          },
        ],
      })
      expect([await count('cars'), await count('options')]).toEqual([1, 1])
      await request(`/accounts/${account}`, { method: 'DELETE' })
      expect((await request(`/cars/${car}`, { method: 'DELETE' })).status).toBe(200)
      expect([await count('cars'), await count('options')]).toEqual([0, 0])
    },
  )

  it('a restriction anywhere below a cascade keeps everything', async () => {
    const { request, create, count } = await open(name, 'cascade', 'restrict')
    const car = await create('cars', { name: 'A' })
    const twin = await create('cars', { name: 'A2', twin_id: car })
    await create('options', { car_id: twin })
    await create('accounts', { car_id: twin })
    expect((await request(`/cars/${car}`, { method: 'DELETE' })).status).toBe(409)
    expect([await count('cars'), await count('options')]).toEqual([2, 1])
  })

  it('items that refer to themselves or to each other are deleted', async () => {
    const { request, create, count } = await open(name, 'restrict', 'restrict')
    const car = await create('cars', { name: 'A' })
    const patch = { method: 'PATCH', json: { twin_id: car } }
    expect((await request(`/cars/${car}`, patch)).status).toBe(303)
    const twin = await create('cars', { name: 'B', twin_id: car })
    expect((await request(`/cars/${car}`, { method: 'DELETE' })).status).toBe(409)
    await request(`/cars/${twin}`, { method: 'DELETE' })
    expect((await request(`/cars/${car}`, { method: 'DELETE' })).status).toBe(200)
    expect(await count('cars')).toBe(0)
  })

  test.each<OnDelete>(['cascade', undefined])(
    'no item refers to a deleted one, however writes and deletions meet: %s',
    async onDelete => {
      const { request, create } = await open(name, onDelete, onDelete && 'restrict')
      for (let round = 0; round < 8; round++) {
        const car = await create('cars', { name: 'A' })
        const post = (target: string, json: object) => request(target, { method: 'POST', json })
        const answers = await Promise.all([
          ...[1, 2, 3].map(() => post('/options', { car_id: car })),
          request(`/cars/${car}`, { method: 'DELETE' }),
          ...[1, 2].map(() => post('/accounts', { car_id: car })),
          post(`/cars/${car}/options`, {}),
        ])
        for (const { status } of answers) expect([200, 201, 400, 404, 409, 503]).toContain(status)
        const exists = (await request(`/cars/${car}`)).status === 200
        for (const collection of ['options', 'accounts']) {
          const { json } = await request(`/${collection}?car_id=${car}`)
          if (!exists) expect(json).toEqual([])
        }
      }
    },
  )

  it('a deletion by a version without them considers the items of another one', async () => {
    const makeStore = await (DATABASES[name] as () => Promise<() => Store>)()
    const { v1, v2, request } = await serveVersions(makeStore)
    const make = async (json: object) => {
      const { id } = await v1.collection('cars').create({ name: 'A' })
      await v2.collection('options').create({ car_id: id, ...json })
      return id
    }
    const id = await make({})
    const refused = await request(`/v1/cars/${id}`, { method: 'DELETE' })
    expect([refused.status, Object(refused.json).errors[0].type]).toEqual([409, 'referenced'])
    for (let round = 0; round < 8; round++) {
      const { id: car_id } = await v1.collection('cars').create({ name: 'A' })
      const post = { method: 'POST', json: { car_id } }
      const [made, deleted] = await Promise.all([
        request('/v2/options', post),
        request(`/v1/cars/${car_id}`, { method: 'DELETE' }),
      ])
      expect([made?.status === 201, deleted?.status === 200].filter(Boolean)).toHaveLength(1)
    }
  })

  it('a reference has no path of its own, and is checked and indexed as a parent is', async () => {
    const { request, create, api } = await open(name, 'cascade', 'restrict')
    const car = await create('cars', { name: 'A' })
    expect((await request(`/cars/${car}/accounts`)).status).toBe(404)
    expect((await request(`/cars/${car}/options`)).status).toBe(200)
    const json = { car_id: null, second_id: '019a0000-0000-7000-8000-000000000000' }
    const refused = await request('/accounts', { method: 'POST', json })
    expect(refused.status).toBe(400)
    expect(Object(refused.json).errors).toMatchObject([
      { field: 'second_id', type: 'unknown_reference' },
    ])
    const upper = await create('accounts', { car_id: car.toUpperCase() })
    expect((await request(`/accounts/${upper}`)).json).toMatchObject({ car_id: car })
    const { collections } = findApiDefinition(api).defaultVersion
    expect(collections.get('accounts')?.shape.indexes).toEqual([['car_id'], ['second_id']])
  })
})

/** Cars in two versions, of which the second has options too. */
async function serveVersions(store: () => Store) {
  const [shared, own] = [store(), store()]
  const cars = () =>
    defineCollection({ name: 'cars', schema: z.object({ name: z.string() }), store: shared })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.string() }),
    store: own,
    parents: { car_id: 'cars' },
  })
  const api = defineApi({
    versions: [
      { version: 1, collections: [cars()] },
      { version: 2, collections: [cars(), options] },
    ],
  })
  const { request } = await openHandler('fetch', api)
  return { ...api.versions, request }
}

describe.each(Object.keys(DATABASES))(
  'a version that does not declare the reference, on %s',
  name => {
    it.each([true, false])(
      'writes none that another version would refuse (it has the parents: %s)',
      async hasCars => {
        const store = (await DATABASES[name]?.()) ?? memoryStore
        const [carStore, optionStore] = [store(), store()]
        const cars = () =>
          defineCollection({
            name: 'cars',
            schema: z.object({ name: z.string() }),
            store: carStore,
            id: 'integer',
          })
        const options = (references: { car_id: string } | undefined) =>
          defineCollection({
            name: 'options',
            schema: z.object({ car_id: z.int().nullable() }),
            store: optionStore,
            operations: ['list', 'read', 'create', 'replace', 'patch', 'patchMany'],
            references,
          })
        const api = defineApi({
          versions: [
            { version: 1, collections: [cars(), options({ car_id: 'cars' })] },
            { version: 2, collections: [...(hasCars ? [cars()] : []), options(undefined)] },
          ],
          changes: 'representation',
        })
        const { request } = await openHandler('fetch', api)
        const create = async (path: string, json: unknown) =>
          Object((await request(path, { method: 'POST', json })).json).id
        const car_id = await create('/v1/cars', { name: 'A' })
        const made = await create('/v2/options', { car_id })
        const writes = [
          ['POST', '/v2/options', { car_id: 99 }],
          ['POST', '/v2/options', [{ car_id }, { car_id: 99 }]],
          ['PUT', `/v2/options/${made}`, { car_id: 99 }],
          ['PATCH', `/v2/options/${made}`, { car_id: 99 }],
          ['PATCH', `/v2/options?car_id=${car_id}`, { car_id: 99 }],
        ] as const
        for (const [method, path, json] of writes) {
          const refused = await request(path, { method, json })
          expect(refused.status).toBe(400)
          expect(refused.text).toContain('unknown_reference')
        }
        expect((await request('/v2/options?car_id=99')).json).toEqual([])
        const freed = await request(`/v2/options/${made}`, {
          method: 'PUT',
          json: { car_id: null },
        })
        expect(freed.status).toBe(200)
      },
    )
  },
)

describe.each(Object.keys(DATABASES))('items whose ids clients choose, on %s', name => {
  const serveOwnIds = async () => {
    const store = await DATABASES[name]?.()
    if (!store) throw new Error(`There is no ${name}`)
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ id: z.string(), twin_id: z.string().optional() }),
      store: store(),
      putCreates: true,
      references: { twin_id: 'cars' },
    })
    return openHandler('fetch', defineApi({ collections: [cars], batch: true }))
  }
  const itself = { id: 'a', twin_id: 'a' }

  test.each<[string, string, string, unknown]>([
    ['a POST', 'POST', '/cars', itself],
    ['a POST of several', 'POST', '/cars', [itself]],
    ['a PUT', 'PUT', '/cars/a', itself],
    ['a batch', 'POST', '/batch', [{ method: 'POST', path: '/cars', body: itself }]],
  ])('%s creates one that names itself', async (_title, method, path, body) => {
    const { request } = await serveOwnIds()
    expect((await request(path, { method, json: body })).status).toBeLessThan(300)
    expect((await request('/cars/a')).json).toMatchObject(itself)
    expect((await request('/cars/a', { method: 'DELETE' })).status).toBe(200)
  })

  test.each<[string, string, unknown]>([
    ['a POST', '/cars', { id: 'a', twin_id: 'none' }],
    ['a POST of several', '/cars', [{ id: 'a', twin_id: 'none' }]],
    ['a batch', '/batch', [{ method: 'POST', path: '/cars', body: { id: 'a', twin_id: 'none' } }]],
  ])('%s with an id that is taken hears first of what it names', async (_title, path, body) => {
    const { request } = await serveOwnIds()
    await request('/cars', { method: 'POST', json: { id: 'a' } })
    const { status, json } = await request(path, { method: 'POST', json: body })
    expect([status, Object(json).errors[0].type]).toEqual([400, 'unknown_reference'])
  })
})

it('two versions say the same of a reference between two stores', () => {
  const [shared, own] = [memoryStore(), memoryStore()]
  const define = (onDelete: OnDelete, store = shared) => [
    defineCollection({ name: 'cars', schema: z.object({ name: z.string() }), store }),
    defineCollection({
      name: 'options',
      schema: z.object({ car_id: z.string() }),
      store: own,
      parents: { car_id: { collection: 'cars', onDelete } },
    }),
  ]
  const serveBoth = (one: OnDelete, other: OnDelete, store?: Store) =>
    defineApi({
      versions: [
        { version: 1, collections: define(one) },
        { version: 2, collections: define(other, store) },
      ],
    })
  expect(() => serveBoth('cascade', undefined)).not.toThrow()
  expect(() => serveBoth('cascade', 'restrict')).toThrow(/onDelete: cascade and restrict in two/)
  expect(() => serveBoth('cascade', 'cascade', memoryStore())).toThrow(/items of two stores/)
})

it('more than 10,000 items are not deleted with one', async () => {
  const made = memoryStore()
  const stores = [memoryStore(), made, memoryStore(), memoryStore()]
  const { api } = serve(() => stores.shift() as Store, 'cascade', 'restrict')
  const { request } = await openHandler('fetch', api)
  const { id } = await api.collection('cars').create({ name: 'A' })
  for (let count = 0; count < 10_001; count++)
    await createOne(made, { car_id: String(id), price: 1 })
  const refused = await request(`/cars/${id}`, { method: 'DELETE' })
  expect([refused.status, Object(refused.json).errors[0].type]).toEqual([409, 'cascade_too_large'])
  const [first] = (await request('/options?limit=1')).json as { id: string }[]
  await request(`/options/${first?.id}`, { method: 'DELETE' })
  expect((await request(`/cars/${id}`, { method: 'DELETE' })).status).toBe(200)
  expect((await request('/options/count')).json).toEqual({ count: 0 })
})

it('the items stay where the stores are of different databases, unless that is declared otherwise', async () => {
  const db = await openDatabase()
  const define = (onDelete: OnDelete) => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ name: z.string() }),
      store: memoryStore(),
    })
    const options = defineCollection({
      name: 'options',
      schema: z.object({ car_id: z.string() }),
      store: sqlStore({ db, table: `refs_${++tables}`, create: true }),
      parents: { car_id: { collection: 'cars', onDelete } },
    })
    return defineApi({ collections: [cars, options] })
  }
  const api = define(undefined)
  const { id } = await api.collection('cars').create({ name: 'A' })
  await api.collection('options').create({ car_id: id })
  await api.collection('cars').delete(String(id))
  expect(await api.collection('options').count()).toBe(1)
  expect(() => define('cascade')).toThrow(
    /"car_id" has onDelete, but the stores of options and cars/,
  )
  expect(() => define('restrict')).toThrow(TypeError)
})

it('a client does not learn of a collection that is hidden from it', async () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    access: { default: 'public' },
  })
  const files = defineCollection({
    name: 'files',
    schema: z.object({ car_id: z.string() }),
    store: memoryStore(),
    references: { car_id: 'cars' },
    hideExistence: true,
  })
  const scheme = { name: 'Test', challenge: () => 'Test', authenticate: async () => undefined }
  const api = defineApi({ collections: [cars, files], schemes: [scheme] })
  const { id } = await api.collection(cars).create({ name: 'A' })
  await api.collection(files).create({ car_id: id }, { principal: { id: 'ann' } })
  const { request } = await openHandler('fetch', api)
  const { status, text } = await request(`/cars/${id}`, { method: 'DELETE' })
  expect([status, text.includes('files')]).toEqual([409, false])
})

describe('a TypeError', () => {
  const schema = z.object({ car_id: z.string(), count: z.boolean() })
  test.each<[string, object, RegExp]>([
    ['of no field', { references: { cart_id: 'cars' } }, /references names no field: "cart_id"/],
    [
      'of a field of another type',
      { references: { count: 'cars' } },
      /"count" must be a field that holds an id/,
    ],
    [
      'of a field with two references',
      { parents: { car_id: 'cars' }, references: { car_id: 'cars' } },
      /"car_id" is declared as a reference twice/,
    ],
    [
      'of an unknown word',
      { references: { car_id: { collection: 'cars', onDelete: 'remove' } } },
      /onDelete must be "cascade" or "restrict"/,
    ],
    [
      'of an unknown option',
      { parents: { car_id: { collection: 'cars', on: 1 } } },
      /the reference car_id: unknown option "on"/,
    ],
    [
      'of no collection',
      { references: { car_id: 7 } },
      /references\.car_id must be a collection, or \{.* not 7/,
    ],
  ])('%s', (_what, options, message) => {
    const define = () =>
      defineCollection({ name: 'options', schema, store: memoryStore(), ...options })
    expect(define).toThrow(message)
    expect(define).toThrow(TypeError)
  })

  it('of a collection that is not in the api', () => {
    const references = { car_id: 'cars' }
    const options = defineCollection({ name: 'options', schema, store: memoryStore(), references })
    expect(() => defineApi({ collections: [options] })).toThrow(/"cars" is not a collection/)
  })
})

describe.each(['cascade', 'restrict'] as const)(
  'items that the deleter does not see: %s',
  onDelete => {
    it('are deleted, or told of', async () => {
      const cars = defineCollection({
        name: 'cars',
        schema: z.object({ name: z.string() }),
        store: memoryStore(),
      })
      const options = defineCollection({
        name: 'options',
        schema: z.object({ car_id: z.string(), owner: z.string() }),
        store: memoryStore(),
        parents: { car_id: { collection: 'cars', onDelete } },
        visible: principal => ({ owner: principal?.id ?? '' }),
      })
      const api = defineApi({ collections: [cars, options] })
      const { id: car_id } = await api.collection(cars).create({ name: 'a' })
      const ann = { principal: { id: 'ann' } }
      await api.collection(options).create({ car_id, owner: 'ann' }, ann)
      const { request } = await openHandler('fetch', api)
      expect((await request('/options')).json).toEqual([])
      const { status, json } = await request(`/cars/${car_id}`, { method: 'DELETE' })
      expect(status).toBe(onDelete === 'cascade' ? 200 : 409)
      if (onDelete === 'restrict') expect(JSON.stringify(json)).toContain('options')
      const left = await api.collection(options).count({}, ann)
      expect(left).toBe(onDelete === 'cascade' ? 0 : 1)
    })
  },
)

describe('References and the before hook', () => {
  interface HookOfOrders {
    readonly value: { id: string; car_id: string }
    readonly collection: (name: 'cars') => { read(id: string): Promise<unknown> }
  }

  /** Orders of cars: the hook reads the car that the client named, and may name another one. */
  function serveOrders(onDelete: OnDelete, change: (car_id: string) => string) {
    const read: string[] = []
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ id: z.string() }),
      store: memoryStore(),
    })
    const orders = defineCollection({
      name: 'orders',
      schema: z.object({ id: z.string(), car_id: z.string() }),
      store: memoryStore(),
      references: { car_id: { collection: 'cars', onDelete } },
      putCreates: true,
    })
    const hook = async ({ value, collection }: HookOfOrders) => {
      read.push(value.car_id)
      await collection('cars').read(value.car_id)
      return { ...value, car_id: change(value.car_id) }
    }
    const hooks = { orders: { before: { create: hook, replace: hook, patch: hook } } }
    const api = defineApi({ collections: { cars, orders }, hooks })
    const send = (method: string, path: string, body: object) =>
      api.fetch(
        new Request(`http://localhost/${path}`, {
          method,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      )
    return { api, read, send }
  }

  const ways = [
    ['POST', 'orders', { id: 'b' }],
    ['PUT', 'orders/a', {}],
    ['PUT', 'orders/b', {}],
    ['PATCH', 'orders/a', {}],
  ] as const
  for (const onDelete of [undefined, 'cascade'] as const) {
    for (const [method, path, rest] of ways) {
      it(`${method} /${path}, onDelete ${onDelete}: an unknown reference is a 400 before the hook`, async () => {
        const { api, read, send } = serveOrders(onDelete, car_id => car_id)
        await api.collection('cars').create({ id: 'red' })
        await api.collection('orders').create({ id: 'a', car_id: 'red' })
        read.length = 0
        const refused = await send(method, path, { ...rest, car_id: 'none' })
        expect([refused.status, await refused.json()]).toMatchObject([
          400,
          { errors: [{ field: 'car_id', type: 'unknown_reference' }] },
        ])
        expect(read).toEqual([])
      })

      it(`${method} /${path}, onDelete ${onDelete}: a reference that the hook names is checked too`, async () => {
        const { api, read, send } = serveOrders(onDelete, car_id =>
          car_id === 'blue' ? 'none' : car_id,
        )
        await api.collection('cars').create({ id: 'red' })
        await api.collection('cars').create({ id: 'blue' })
        await api.collection('orders').create({ id: 'a', car_id: 'red' })
        read.length = 0
        const refused = await send(method, path, { ...rest, car_id: 'blue' })
        expect([refused.status, await refused.json()]).toMatchObject([
          400,
          { errors: [{ field: 'car_id', type: 'unknown_reference' }] },
        ])
        expect(read).toEqual(['blue'])
        const items = await api.collection('orders').list().toArray()
        expect(items).toMatchObject([{ id: 'a', car_id: 'red' }])
      })
    }
  }
})
