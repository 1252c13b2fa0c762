// Versions as texts: they survive what copies an item, and a write of the copy is as conditional as one of the item.
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { batch } from '../../src/client/batch.ts'
import { ConflictError, createClient, versionOf } from '../../src/client/index.ts'
import {
  ConflictError as ConflictInProcess,
  defineApi,
  defineCollection,
  memoryStore,
  versionOf as versionInProcess,
} from '../../src/index.ts'
import { serve } from './line.ts'

const makers = defineCollection({
  name: 'makers',
  schema: z.object({ name: z.string() }),
  store: memoryStore(),
  id: 'integer',
})
const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    id: z.string(),
    color: z.string().default('red'),
    price: z.int(),
    maker_id: z.int().nullable().default(null),
  }),
  store: memoryStore(),
  references: { maker_id: { collection: 'makers', as: 'maker' } },
  actions: {
    buy: {
      on: 'item',
      input: z.object({ offer: z.int(), version: z.int().optional() }),
      output: 'item',
      run: ({ input, update }) => update({ price: input.offer }),
    },
    honk: { on: 'item', run: () => ({ sound: 'honk' }) },
    publish: {
      on: 'collection',
      input: z.object({ version: z.string() }),
      run: ({ input }) => input,
    },
  },
})
const api = defineApi({ collections: { makers, cars }, batch: true })
const server = await serve(api.handler)
afterAll(async () => {
  await server.close()
  await api.close()
})
const open = () => createClient<typeof api>(server.url)
const client = open()
const other = open()

/** An id with what separates the parts of a version. */
const ID = 'a b%,"7".json'

beforeEach(async () => {
  for await (const { id } of client.cars.list()) await client.cars.delete(id)
  await client.makers.create({ name: 'Ann' })
  await client.cars.create({ id: ID, price: 1 })
  await client.cars.create({ id: 'b', price: 1 })
})

/** What servers, caches, workers and states do to items. */
const copies: readonly (readonly [string, <T>(item: T) => T])[] = [
  ['JSON', item => JSON.parse(JSON.stringify(item))],
  ['a structured clone', structuredClone],
  ['a copy with changes', item => ({ ...item, color: 'blue' })],
]

type Car = Awaited<ReturnType<typeof client.cars.read>>
const sources: readonly (readonly [string, () => Promise<Car | undefined>])[] = [
  ['a read', () => client.cars.read(ID)],
  ['a write', () => client.cars.patch(ID, { price: 1 })],
  ['a list', () => client.cars.list({ price: 1 }).first()],
  ['a list of some fields', () => client.cars.list({ fields: ['price', 'id'] }).first() as never],
  ['a list that includes', () => client.cars.list({ include: ['maker'] }).first()],
  ['an array that was created', async () => (await client.cars.create([{ id: 'c', price: 1 }]))[0]],
  ['a batch', async () => (await batch(client, steps => [steps.cars.patch(ID, { price: 1 })]))[0]],
  ['an item in process', async () => api.collection(cars).read(ID)],
  [
    'a list in process',
    () =>
      api
        .collection(cars)
        .list({ fields: ['id'] })
        .first() as never,
  ],
]

describe.each(sources)('of %s', (_title, source) => {
  const find = async (): Promise<readonly [Car, string]> => {
    const item = await source()
    const version = item && (versionOf(item) ?? versionInProcess(item))
    if (!item || version === undefined) throw new Error('There is no version')
    expect(version).toMatch(/ cars\/\S+( \S+)?$/)
    return [item, version]
  }

  test.each(copies)('%s is written on its condition', async (_title, copy) => {
    const [item, version] = await find()
    const copied = copy(item)
    expect(versionOf(copied)).toBe(undefined)
    const written = await other.cars.patch(copied, { price: 2 }, { version })
    expect(written).toMatchObject({ id: item.id, price: 2 })
    const lost = other.cars.patch(copied, { price: 3 }, { version })
    await expect(lost).rejects.toMatchObject({
      name: 'ConflictError',
      status: 412,
      mine: { price: 3 },
      theirs: { price: 2 },
    })
    for (const call of [
      () => other.cars.replace(copied, { id: item.id, price: 3 }, { version }),
      () => other.cars.buy(copied, { offer: 3 }, { version }),
      () => other.cars.honk(copied, { version }),
      () => other.cars.delete(copied, { version }),
      () => other.cars.delete(item.id, { version }),
    ])
      await expect(call()).rejects.toThrow(ConflictError)
    expect(await client.cars.read(item.id)).toEqual(written)
    const again = versionOf(written)
    expect(await other.cars.honk(copied, { version: again })).toEqual({ sound: 'honk' })
    const bought = await other.cars.buy(copied, { offer: 4 }, { version: again })
    expect(bought.price).toBe(4)
    await other.cars.delete(copied, { version: versionOf(bought) })
    await expect(client.cars.read(item.id)).rejects.toMatchObject({ status: 404 })
    await expect(other.cars.patch(copied, {}, { version })).rejects.toMatchObject({
      name: 'ConflictError',
      theirs: undefined,
    })
  })

  test('it is a conflict for another item, and of another collection', async () => {
    const [, version] = await find()
    await expect(client.cars.patch('b', { price: 9 }, { version })).rejects.toMatchObject({
      name: 'ConflictError',
      theirs: { id: 'b', price: 1 },
    })
    await expect(client.makers.patch(1, { name: 'Bob' }, { version })).rejects.toThrow(
      ConflictError,
    )
    await expect(client.cars.patch(ID, {}, { version: 'x' })).rejects.toThrow(ConflictError)
  })

  test('it holds in process too, but for that of a list', async () => {
    const [item, version] = await find()
    const write = api.collection(cars).patch({ ...item }, { price: 5 }, { version })
    if (version.split(' ').length === 3) {
      await expect(write).rejects.toThrow('the version of an item of a list')
      return
    }
    expect(await write).toMatchObject({ price: 5 })
    for (const id of [item.id, 'b'])
      await expect(api.collection(cars).patch(id, {}, { version })).rejects.toThrow(
        ConflictInProcess,
      )
  })

  test('it holds for a step of a batch, but for that of a list', async () => {
    const [item, version] = await find()
    const write = () =>
      batch(client, steps => [steps.cars.patch(item.id, { price: 5 }, { version })])
    if (version.split(' ').length === 3) {
      await expect(write()).rejects.toThrow(/A step needs the version of cars.*read it first/)
      return
    }
    expect(await write()).toMatchObject([{ price: 5 }])
    await expect(write()).rejects.toMatchObject({ status: 412, errors: [{ step: 0 }] })
  })
})

test('an item of one client is known to another, and given back as it was', async () => {
  const car = await client.cars.read(ID)
  expect(await other.cars.patch(car, { price: 2 })).toMatchObject({ price: 2 })
  await expect(other.cars.patch(car, { price: 3 })).rejects.toThrow(ConflictError)
})

test('a copy without a version is a TypeError that names both ways', async () => {
  const copy = { ...(await client.cars.read(ID)) }
  const message =
    'client.cars: this object has no version. Pass what it returned, or add { version: versionOf(it) }'
  for (const call of [
    () => client.cars.patch(copy, { price: 2 }),
    () => client.cars.replace(copy, { id: ID, price: 2 }),
    () => client.cars.delete(copy),
    () => client.cars.buy(copy, { offer: 2 }),
  ])
    await expect(call()).rejects.toThrow(new TypeError(message))
  expect(await client.cars.buy(copy, { offer: 2 }, { unconditional: true })).toMatchObject({
    price: 2,
  })
})

test('an input may have a version of its own', async () => {
  expect(await client.cars.publish({ version: 'v2' })).toEqual({ version: 'v2' })
  expect(await client.cars.buy(ID, { offer: 7, version: 2 })).toMatchObject({ price: 7 })
})

test('no value, however alike, has the version of another', async () => {
  const seen = new Set<string>()
  for (let price = 0; price < 300; price++) await client.cars.create({ id: `x${price}`, price })
  for await (const item of client.cars.list({ fields: ['id', 'price'] }))
    seen.add(versionOf(item)?.split(' ')[2] ?? '')
  expect(seen.size).toBe(302)
})
