// The options for TanStack Query, in its own cache: pages, mutations, and caches that travel as JSON.
import {
  dehydrate,
  hydrate,
  InfiniteQueryObserver,
  MutationObserver,
  QueryClient,
  QueryObserver,
} from '@tanstack/query-core'
import { afterAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { ConflictError, createClient } from '../../src/client/index.ts'
import { createQueries, type MutationOptions } from '../../src/client/tanstack-query.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { openLine, serve } from './line.ts'

const makers = defineCollection({
  name: 'makers',
  schema: z.object({ name: z.string() }),
  store: memoryStore(),
  id: 'integer',
})
const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    color: z.enum(['red', 'blue']).default('red'),
    price: z.int(),
    maker_id: z.int().nullable().default(null),
  }),
  store: memoryStore(),
  id: 'integer',
  search: ['color'],
  references: { maker_id: 'makers' },
  actions: {
    buy: {
      on: 'item',
      input: z.object({ offer: z.int() }),
      output: 'item',
      run: ({ input, update }) => update({ price: input.offer }),
    },
    honk: { on: 'item', run: () => ({ sound: 'honk' }) },
    sum: { on: 'collection', input: z.object({ of: z.array(z.int()) }), run: ({ input }) => input },
  },
})
const api = defineApi({ collections: { makers, cars } })
const server = await serve(api.handler)
const line = await openLine(server.url)
afterAll(async () => {
  await line.close()
  await server.close()
  await api.close()
})

const other = createClient<typeof api>(server.url)

/** A program: a client, its queries, and its cache. */
function open() {
  const client = createClient<typeof api>(line.url)
  return { client, q: createQueries(client), queries: new QueryClient() }
}
let { client, q, queries } = open()

/** A cache that came from another program as JSON. */
function moved(from: QueryClient): void {
  const text = JSON.stringify(dehydrate(from))
  ;({ client, q, queries } = open())
  hydrate(queries, JSON.parse(text))
  queries.setDefaultOptions({ queries: { staleTime: Number.POSITIVE_INFINITY } })
}

beforeEach(async () => {
  ;({ client, q, queries } = open())
  for await (const { id } of other.cars.list()) await other.cars.delete(id)
  line.log.length = 0
})

/** What an observer gives when its data is there. */
async function see<T>(observer: {
  subscribe(listener: () => void): () => void
  getCurrentResult(): { readonly data: T | undefined; readonly isFetching: boolean }
}): Promise<T> {
  let unsubscribe = () => {}
  await new Promise<void>(resolve => {
    const look = () => !observer.getCurrentResult().isFetching && resolve()
    unsubscribe = observer.subscribe(look)
    look()
  })
  unsubscribe()
  const { data } = observer.getCurrentResult()
  if (data === undefined) throw new Error('There is no data')
  return data
}

describe('queries', () => {
  test('give what the client gives, and the same again where nothing changed', async () => {
    const { id } = await other.cars.create({ price: 1 })
    const observer = new QueryObserver(queries, q.cars.read(id).queryOptions())
    const first = await see(observer)
    expectTypeOf(first.color).toEqualTypeOf<'red' | 'blue'>()
    await observer.refetch()
    expect(observer.getCurrentResult().data).toBe(first)
    expect(line.log.map(({ status }) => status)).toEqual([200, 304])
    const pages = new QueryObserver(queries, q.cars.list({ color: 'red', limit: 5 }).queryOptions())
    const page = await see(pages)
    expect(page).toEqual({ items: [first], total: 1, cursor: undefined })
    await pages.refetch()
    expect(pages.getCurrentResult().data).toBe(page)
    expect(await queries.fetchQuery(q.cars.count({ price: 1 }).queryOptions())).toBe(1)
    const found = await queries.fetchQuery(q.cars.search('red').queryOptions())
    expect(found.items).toEqual([first])
    const cached = queries.getQueryData(q.cars.read(id).queryOptions().queryKey)
    expectTypeOf(cached?.item.price).toEqualTypeOf<number | undefined>()
    expect(cached?.item).toBe(first)
  })

  test('with related items, and of some fields, have the types of those', async () => {
    const { id: maker_id } = await other.makers.create({ name: 'Ann' })
    const { id } = await other.cars.create({ price: 1, maker_id })
    const whole = await queries.fetchQuery(q.cars.read(id, { include: ['maker'] }).queryOptions())
    expect(whole.item.maker?.name).toBe('Ann')
    const { items } = await queries.fetchQuery(q.cars.list({ fields: ['price'] }).queryOptions())
    expectTypeOf(items[0]).toEqualTypeOf<{ readonly price: number } | undefined>()
    expect(items).toEqual([{ price: 1 }])
    // @ts-expect-error There is no such field.
    q.cars.list({ colour: 'red' })
    // @ts-expect-error There is no such relation.
    q.cars.read(id, { include: ['owner'] })
  })

  test('take options of a program, whose select gets items that can be written', async () => {
    const { id } = await other.cars.create({ price: 1 })
    await queries.prefetchQuery(q.cars.read(id).queryOptions())
    moved(queries)
    const options = q.cars.read(id).queryOptions({ staleTime: 60_000, select: car => ({ car }) })
    const { car } = await see(new QueryObserver(queries, options))
    expectTypeOf(car.price).toEqualTypeOf<number>()
    expect((await client.cars.patch(car, { price: 2 })).price).toBe(2)
    const off = q.cars.count().queryOptions({ enabled: false, select: count => `${count} cars` })
    const { data } = new QueryObserver(queries, off).getCurrentResult()
    expectTypeOf(data).toEqualTypeOf<string | undefined>()
    expect(data).toBe(undefined)
  })

  test('of two apis share a cache under keys of their own alone', async () => {
    const { id } = await other.cars.create({ price: 1 })
    const elsewhere = defineApi({ collections: { makers, cars } })
    const { url, close } = await serve(elsewhere.handler)
    const open = (key?: string) =>
      createQueries(createClient<typeof elsewhere>(url), { ...(key && { key }) })
    await queries.fetchQuery(q.cars.read(id).queryOptions())
    const shared = queries.fetchQuery(open().cars.count().queryOptions())
    await expect(shared).rejects.toThrow(/share a QueryClient\. Give each a key/)
    const options = open('shop').cars.read(id).queryOptions()
    expect(options.queryKey).toEqual(['shop', 'cars', 'read', `${id}`])
    expect((await queries.fetchQuery(options)).item.price).toBe(1)
    // Made anew, as after a hot reload: the address is the same.
    await queries.fetchQuery(open('shop').cars.count().queryOptions())
    await close()
  })

  test('end with their signal', async () => {
    line.next('hang')
    const loading = queries.fetchQuery(q.cars.count().queryOptions())
    setTimeout(() => queries.cancelQueries({ queryKey: q.cars.key }), 50)
    await expect(loading).rejects.toThrow('CancelledError')
  })
})

describe('pages', () => {
  const seen = (pages: readonly { readonly items: readonly { readonly price: number }[] }[]) =>
    pages.flatMap(({ items }) => items.map(({ price }) => price))

  test('follow each other by cursor: nothing is skipped or comes twice while others write', async () => {
    for (let price = 0; price < 7; price++) await other.cars.create({ price })
    const options = q.cars.list({ sort: ['-color', 'price'], limit: 3 }).infiniteOptions()
    const observer = new InfiniteQueryObserver(queries, options)
    expect(seen((await see(observer)).pages)).toEqual([0, 1, 2])
    const [first] = await other.cars.list({ price: 0 }).toArray()
    if (first) await other.cars.delete(first)
    await other.cars.create({ price: -1 })
    await observer.fetchNextPage()
    const { data } = await observer.fetchNextPage()
    expect(seen(data?.pages ?? [])).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(observer.getCurrentResult().hasNextPage).toBe(false)
    expect(data?.pages.at(-1)?.cursor).toBe(undefined)
  })

  test('that a server has read go on in a browser', async () => {
    for (let price = 0; price < 5; price++) await other.cars.create({ price })
    const options = () => q.cars.list({ limit: 2 }).infiniteOptions()
    await queries.fetchInfiniteQuery(options())
    moved(queries)
    const observer = new InfiniteQueryObserver(queries, options())
    const { data } = await observer.fetchNextPage()
    expect(seen(data?.pages ?? [])).toEqual([0, 1, 2, 3])
    const item = data?.pages[0]?.items[1]
    if (!item) throw new Error('There is no item')
    expect(await client.cars.patch(item, { price: 9 })).toMatchObject({ price: 9 })
    await expect(client.cars.patch(item, { price: 8 })).rejects.toThrow(ConflictError)
  })
})

describe('a cache that travelled', () => {
  const plain = (id: number) => q.cars.read(id).queryOptions()
  test.each([
    ['of an item', plain],
    [
      'of an item with others',
      (id: number) => q.cars.read(id, { include: ['maker'] }).queryOptions(),
    ],
  ] as const)('%s has its versions', async (_title, options) => {
    const { id } = await other.cars.create({ price: 1 })
    await queries.prefetchQuery(options(id) as never)
    moved(queries)
    line.log.length = 0
    const observer = new QueryObserver(queries, options(id) as ReturnType<typeof plain>)
    const item = await see(observer)
    expect(line.log).toEqual([])
    expect(await client.cars.patch(item, { price: 2 })).toMatchObject({ price: 2 })
    await expect(client.cars.buy(item, { offer: 3 })).rejects.toMatchObject({
      name: 'ConflictError',
      theirs: { price: 2 },
    })
  })
})

test('a cache that another address rendered under the same key is used as it is', async () => {
  const { id } = await other.cars.create({ price: 1 })
  const rendering = new QueryClient()
  const rendered = createQueries(other, { key: 'shop' }).cars.read(id)
  await rendering.prefetchQuery(rendered.queryOptions())
  hydrate(queries, JSON.parse(JSON.stringify(dehydrate(rendering))))
  const shop = createQueries(client, { key: 'shop' })
  const options = shop.cars.read(id).queryOptions({ staleTime: 60_000 })
  const item = await see(new QueryObserver(queries, options))
  expect(line.log).toEqual([])
  expect(await client.cars.patch(item, { price: 2 })).toMatchObject({ price: 2 })
  await expect(client.cars.patch(item, { price: 3 })).rejects.toThrow(ConflictError)
})

describe('mutations', () => {
  const run = <V extends readonly unknown[], R>(options: MutationOptions<V, R>, variables: V) =>
    new MutationObserver(queries, options).mutate(variables)

  /** Fills the cache with a list, a count and two items. */
  async function fill() {
    const [one, two] = await other.cars.create([{ price: 1 }, { price: 2 }])
    if (!one || !two) throw new Error('There are no cars')
    const [list, count] = [q.cars.list().queryOptions(), q.cars.count().queryOptions()]
    await queries.fetchQuery(list)
    await queries.fetchQuery(count)
    const { item } = await queries.fetchQuery(q.cars.read(one.id).queryOptions())
    await queries.fetchQuery(q.cars.read(two.id).queryOptions())
    const maker = q.makers.list().queryOptions()
    await queries.fetchQuery(maker)
    const isOld = (key: readonly unknown[]) => queries.getQueryState(key)?.isInvalidated
    const old = () =>
      [
        list.queryKey,
        count.queryKey,
        ...[one, two].map(({ id }) => q.cars.read(id).queryOptions().queryKey),
      ].map(isOld)
    const cached = (id: number) =>
      queries.getQueryData(q.cars.read(id).queryOptions().queryKey)?.item
    expect(isOld(maker.queryKey)).toBe(false)
    return { one: item, two, old, cached }
  }

  test('put the item into its query, and mark the others as old', async () => {
    const { one, two, old, cached } = await fill()
    expect(old()).toEqual([false, false, false, false])
    const patched = await run(q.cars.patch.mutationOptions(), [one, { price: 5 }])
    expectTypeOf(patched.price).toEqualTypeOf<number>()
    expect(cached(one.id)).toBe(patched)
    expect(old()).toEqual([true, true, false, true])
    const bought = await run(q.cars.buy.mutationOptions(), [two.id, { offer: 7 }])
    expect(cached(two.id)).toBe(bought)
    expect(await run(q.cars.honk.mutationOptions(), [bought])).toEqual({ sound: 'honk' })
    expect(old()).toEqual([true, true, true, true])
    const made = await run(q.cars.create.mutationOptions(), [{ price: 8 }])
    expect(cached(made.id)).toBe(made)
    const changed = await run(q.cars.change.mutationOptions(), [
      made.id,
      ({ price }) => ({ price: price + 1 }),
    ])
    expect(cached(made.id)?.price).toBe(changed.price)
    await run(q.cars.sum.mutationOptions(), [{ of: [1] }])
    // @ts-expect-error The price is a number.
    await expect(run(q.cars.patch.mutationOptions(), [one, { price: 'x' }])).rejects.toThrow()
  })

  test('put what is there now into its query on a conflict, of a copy too', async () => {
    const { one, cached } = await fill()
    moved(queries)
    const copy = cached(one.id)
    const { version } = queries.getQueryData(q.cars.read(one.id).queryOptions().queryKey) ?? {}
    if (!copy) throw new Error('There is no copy')
    const theirs = await other.cars.patch(one.id, { price: 5 })
    const lost = run(q.cars.patch.mutationOptions(), [copy, { price: 6 }, { version }])
    await expect(lost).rejects.toThrow(ConflictError)
    expect(cached(one.id)).toEqual(theirs)
    const now = await see(new QueryObserver(queries, q.cars.read(one.id).queryOptions()))
    expect(await run(q.cars.patch.mutationOptions(), [now, { price: 6 }])).toMatchObject({
      price: 6,
    })
  })

  test('of what is gone take it out', async () => {
    const { one, two, old, cached } = await fill()
    await run(q.cars.delete.mutationOptions(), [one])
    expect(cached(one.id)).toBe(undefined)
    expect(old()).toEqual([true, true, undefined, true])
    await other.cars.delete(two.id)
    await expect(run(q.cars.delete.mutationOptions(), [two])).rejects.toThrow(ConflictError)
    expect(cached(two.id)).toBe(undefined)
  })

  test('keep the cache current whatever callbacks a program has', async () => {
    const { one, old, cached } = await fill()
    const heard: unknown[] = []
    const onSuccess = (result: unknown) => heard.push(result)
    const spread = { ...q.cars.patch.mutationOptions(), onSuccess }
    const patched = await run(spread, [one, { price: 5 }])
    expect(cached(one.id)).toBe(patched)
    expect(old()).toEqual([true, true, false, true])
    const given = q.cars.patch.mutationOptions({
      onSuccess: (result, [, { price }]) => heard.push([result.price, price]),
      onError: error => heard.push(error.name),
      onSettled: () => heard.push('settled'),
    })
    await run(given, [patched, { price: 6 }])
    expect(heard).toEqual([patched, [6, 6], 'settled'])
    const theirs = await other.cars.patch(one.id, { price: 7 })
    const onError = (error: Error) => heard.push(error.name)
    const lost = run({ ...q.cars.patch.mutationOptions(), onError }, [patched, { price: 8 }])
    await expect(lost).rejects.toThrow(ConflictError)
    expect(heard.at(-1)).toBe('ConflictError')
    expect(cached(one.id)).toEqual(theirs)
  })

  test('show their changes at once, and take them back', async () => {
    const { one, two, cached } = await fill()
    const infinite = q.cars.list({ sort: 'id' }).infiniteOptions()
    await queries.fetchInfiniteQuery(infinite)
    const shown = () => [
      cached(one.id)?.price,
      ...(queries.getQueryData(q.cars.list().queryOptions().queryKey)?.items ?? []).map(
        ({ price }) => price,
      ),
      queries.getQueryData(infinite.queryKey)?.pages[0]?.items[0]?.price,
    ]
    const before = shown()
    expect(before).toEqual([1, 1, 2, 1])
    const during: unknown[] = []
    const failing = q.cars.patch.optimistic({ onMutate: () => during.push(shown()) })
    await expect(run(failing, [one, { price: 0.5 }])).rejects.toMatchObject({ status: 400 })
    expect(during).toEqual([[0.5, 0.5, 2, 0.5]])
    expect(shown()).toEqual(before)
    const patched = await run(q.cars.patch.optimistic(), [one, { price: 9 }])
    expect(shown()).toEqual([9, 9, 2, 9])
    const theirs = await other.cars.patch(one.id, { price: 10 })
    const lost = run(q.cars.patch.optimistic(), [patched, { price: 11 }])
    await expect(lost).rejects.toThrow(ConflictError)
    expect(cached(one.id)).toEqual(theirs)
    expect(cached(two.id)?.price).toBe(2)
  })

  test('that fail otherwise change nothing', async () => {
    const { one, old } = await fill()
    const failing = run(q.cars.patch.mutationOptions(), [one, { price: 0.5 }])
    await expect(failing).rejects.toMatchObject({ status: 400 })
    expect(old()).toEqual([false, false, false, false])
  })
})

test('there are queries and mutations of what is declared alone', () => {
  const few = defineCollection({
    name: 'few',
    schema: z.object({ price: z.int() }),
    store: memoryStore(),
    operations: ['list', 'create'],
  })
  const small = defineApi({ collections: { few } })
  const { few: of } = createQueries(createClient<typeof small>(line.url))
  expectTypeOf<keyof typeof of>().toEqualTypeOf<'key' | 'list' | 'create'>()
  expectTypeOf(q.cars).not.toHaveProperty('patchMany')
  expectTypeOf(q.cars).toHaveProperty('search')
})

test('keys are plain data that begin with the name of the collection', () => {
  expect(q.cars.key).toEqual(['cars'])
  const { queryKey } = q.cars.list({ price: { gte: 1 } }).infiniteOptions()
  expect(queryKey).toEqual(['cars', 'list', { price: { gte: 1 } }, 'infinite'])
  expect(q.cars.read(7).queryOptions().queryKey).toEqual(['cars', 'read', '7'])
  const versions = defineApi({ versions: [{ version: 1, collections: { makers, cars } }] })
  const first = createClient<typeof versions>(server.url, { version: 1 })
  expect(createQueries(first, { key: 'shop' }).cars.key).toEqual(['shop', 'v1', 'cars'])
})
