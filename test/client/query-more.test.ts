// More of the options for TanStack Query: groups, actions by GET, batches, and mutations that go on after a reload.
import {
  dehydrate,
  hydrate,
  MutationObserver,
  onlineManager,
  QueryClient,
  QueryObserver,
} from '@tanstack/query-core'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { createClient, HttpError, versionOf } from '../../src/client/index.ts'
import { batchMutation } from '../../src/client/query-batch.ts'
import { createQueries } from '../../src/client/tanstack-query.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

/** What the action `cheapest` finds. */
let cheapest: number | null = null

const cars = defineCollection({
  name: 'cars',
  schema: z.object({ color: z.enum(['red', 'blue']), price: z.int().max(99) }),
  store: memoryStore(),
  id: 'integer',
  groups: ['color'],
  actions: {
    cheapest: {
      on: 'collection',
      method: 'GET',
      input: z.object({ color: z.string() }),
      output: z.object({ price: z.number().nullable() }),
      run: () => ({ price: cheapest }),
    },
    buy: { on: 'item', output: 'item', run: ({ update }) => update({ price: 1 }) },
  },
})
const parts = defineCollection({
  name: 'parts',
  schema: z.object({ car_id: z.int(), name: z.string() }),
  store: memoryStore(),
  references: { car_id: { collection: 'cars', onDelete: 'cascade' } },
})
const api = defineApi({ collections: { cars, parts }, batch: true })
afterAll(() => api.close())

function open() {
  const requests: string[] = []
  const client = createClient<typeof api>('https://api.example', {
    methods: { cars: { cheapest: 'GET' } },
    fetch: (url, init) => {
      requests.push(`${init.method} ${url.slice('https://api.example'.length)}`)
      return api.fetch(new Request(url, init))
    },
  })
  return { client, q: createQueries(client), queries: new QueryClient(), requests }
}

const current = (queries: QueryClient, options: object) =>
  new QueryObserver(queries, options as { queryKey: readonly unknown[] }).getCurrentResult()

test('counts by groups are queries', async () => {
  const { client, q, queries } = open()
  await client.cars.create([
    { color: 'red', price: 2 },
    { color: 'red', price: 3 },
  ])
  const options = q.cars.count({ by: ['color'], sum: 'price' }).queryOptions()
  const groups = await queries.fetchQuery(options)
  expect(groups).toEqual([{ color: 'red', count: 2, sum: { price: 5 } }])
  expectTypeOf(groups[0]?.color).toEqualTypeOf<'red' | 'blue' | undefined>()
  expect(await queries.fetchQuery(q.cars.count({ color: 'red' }).queryOptions())).toBe(2)
  // @ts-expect-error `price` is no group
  q.cars.count({ by: ['price'] })
  // @ts-expect-error the declaration names no groups
  q.parts.count({ by: ['name'] })
})

test('an action by GET is a query, which is old after a write', async () => {
  const { client, q, queries, requests } = open()
  const query = q.cars.cheapest({ color: 'blue' })
  const blue = await client.cars.create({ color: 'blue', price: 50 })
  cheapest = 50
  const found = await queries.fetchQuery(query.queryOptions({ staleTime: 1e6 }))
  expectTypeOf(found).toEqualTypeOf<{ price: number | null }>()
  expect(found).toEqual({ price: 50 })
  expect(requests.at(-1)).toBe('GET /cars/cheapest?color=blue')
  await new MutationObserver(queries, q.cars.patch.mutationOptions()).mutate([blue, { price: 40 }])
  cheapest = 40
  expect(current(queries, query.queryOptions()).isStale).toBe(true)
  expect(await queries.fetchQuery(query.queryOptions())).toEqual({ price: 40 })
  // @ts-expect-error it is no mutation
  expect(q.cars.cheapest.mutationOptions).toBeUndefined()
  expectTypeOf(q.cars.buy.mutationOptions).toBeFunction()
})

describe('a batch', () => {
  test('updates what it changed in the cache', async () => {
    const { client, q, queries } = open()
    const car = await client.cars.create({ color: 'red', price: 5 })
    const old = await client.parts.create({ car_id: car.id, name: 'old' })
    for (const options of [q.cars.read(car.id).queryOptions(), q.parts.read(old.id).queryOptions()])
      await queries.fetchQuery(options as never)
    const list = q.parts.list({ car_id: car.id }).queryOptions({ staleTime: 1e6 })
    await queries.fetchQuery(list)
    const options = batchMutation(client, (steps, name: string) => {
      steps.cars.patch(car.id, { price: 6 })
      steps.parts.delete(old.id)
      return [steps.parts.create({ car_id: car.id, name })]
    })
    const [part] = await new MutationObserver(queries, options).mutate('new')
    expectTypeOf(part.name).toEqualTypeOf<string>()
    expect(current(queries, q.cars.read(car.id).queryOptions()).data).toMatchObject({ price: 6 })
    expect(queries.getQueryData(q.parts.read(old.id).queryOptions().queryKey)).toBeUndefined()
    expect(current(queries, q.parts.read(part.id).queryOptions()).data).toEqual(part)
    expect(queries.getQueryState(list.queryKey)?.isInvalidated).toBe(true)
    // What it put into the cache can be written on the condition of its version.
    await client.cars.patch(car.id, { price: 7 })
    const shown = current(queries, q.cars.read(car.id).queryOptions()).data as typeof car
    await expect(client.cars.patch(shown, { price: 8 })).rejects.toThrow('changed')
  })

  test('that fails changes nothing', async () => {
    const { client, q, queries } = open()
    const car = await client.cars.create({ color: 'red', price: 5 })
    await queries.fetchQuery(q.cars.read(car.id).queryOptions())
    const options = batchMutation(client, (steps, price: number) => [
      steps.cars.patch(car.id, { price: 7 }),
      steps.cars.patch(car.id, { price }),
    ])
    const mutation = new MutationObserver(queries, options)
    await expect(mutation.mutate(1000)).rejects.toThrow(HttpError)
    expect(current(queries, q.cars.read(car.id).queryOptions()).data).toMatchObject({ price: 5 })
  })
})

test.each([
  ['goes on', false],
  ['is a conflict if somebody wrote meanwhile', true],
])('a mutation that waited for the network over a reload %s', async (_, isTaken) => {
  const before = open()
  const { client, q } = before
  const car = await client.cars.create({ color: 'red', price: 5 })
  onlineManager.setOnline(false)
  const options = q.cars.patch.mutationOptions()
  void new MutationObserver(before.queries, options)
    .mutate([car, { price: 9 }, { version: versionOf(car) }])
    .catch(() => {})
  await expect.poll(() => before.queries.isMutating()).toBe(1)
  const stored = JSON.stringify(dehydrate(before.queries))
  before.queries.clear()
  if (isTaken) await open().client.cars.patch(car.id, { price: 6 })
  const after = open()
  const again = after.q.cars.patch.mutationOptions()
  after.queries.setMutationDefaults(again.mutationKey, again)
  hydrate(after.queries, JSON.parse(stored))
  onlineManager.setOnline(true)
  await after.queries.resumePausedMutations()
  const [mutation] = after.queries.getMutationCache().getAll()
  expect(mutation?.state.status).toBe(isTaken ? 'error' : 'success')
  const shown = current(after.queries, after.q.cars.read(car.id).queryOptions()).data
  expect(shown).toMatchObject({ price: isTaken ? 6 : 9 })
})
