// The resource of a collection: lists that nothing cuts, writes that lose no other write.
import { describe, expect, it, test, vi } from 'vitest'
import { z } from 'zod'
import {
  ConflictError,
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  type Store,
} from '../src/index.ts'
import { listParameters } from '../src/query/list-parameters.ts'
import { sqlStore } from '../src/sql/index.ts'
import { createOne } from '../src/testing/write-items.ts'
import { openDatabase } from './stores/sqlite.ts'
import { defineUntyped } from './untyped.ts'

const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqlStore({ db: await openDatabase(), table: 'products', create: true })],
]

const Product = z.object({
  name: z.string(),
  stock: z.int().min(0).default(1),
  limit: z.int().default(0),
  owner: z.string().default('ann'),
  size: z.object({ width: z.number() }).optional(),
})

const DEFAULTS = { stock: 1, limit: 0, owner: 'ann' }

function shop(store: Store = memoryStore()) {
  const products = defineCollection({
    name: 'products',
    schema: Product,
    store,
    id: 'integer',
    search: ['name'],
    access: { default: ['none'] },
    visible: principal => (principal ? { owner: principal.id } : {}),
    actions: {
      sell: {
        on: 'item',
        output: 'item',
        run({ item, update }) {
          if (item.stock === 0) throw new HttpError(409, 'Sold out')
          return update({ stock: item.stock - 1 })
        },
      },
    },
  })
  const others = defineCollection({ name: 'others', schema: Product, store: memoryStore() })
  const api = defineApi({ collections: { products, others } })
  const fill = async (count: number) => {
    for (let at = 0; at < count; at++) await createOne(store, { ...DEFAULTS, name: `p${at}` })
  }
  return { api, products: api.collection(products), others: api.collection('others'), fill }
}

const settle = async (work: readonly Promise<unknown>[]) => {
  const results = await Promise.allSettled(work)
  const errors = results.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
  return { succeeded: results.length - errors.length, errors: errors as unknown[] }
}
const times = <T>(count: number, work: () => T) => Array.from({ length: count }, work)

describe.each(STORES)('in %s', (_name, open) => {
  describe('ten checkouts of the last one', () => {
    it('by change: one succeeds', async () => {
      const { products } = shop(await open())
      const { id } = await products.create({ name: 'last' })
      const checkout = () =>
        products.change(id, ({ stock }) => {
          if (stock === 0) throw new HttpError(409, 'Sold out')
          return { stock: stock - 1 }
        })
      const { succeeded, errors } = await settle(times(10, checkout))
      expect(succeeded).toBe(1)
      expect(errors.every(error => error instanceof HttpError && error.status === 409)).toBe(true)
      expect((await products.read(id)).stock).toBe(0)
    })

    it('by a patch of what was read, and by an action: one succeeds, others conflict', async () => {
      const { products } = shop(await open())
      const item = await products.create({ name: 'last' })
      const patched = await settle(times(10, () => products.patch(item, { stock: item.stock - 1 })))
      expect(patched.succeeded).toBe(1)
      expect(patched.errors.every(error => error instanceof ConflictError)).toBe(true)
      const { id } = await products.create({ name: 'another' })
      expect((await settle(times(10, () => products.sell(id)))).succeeded).toBe(1)
      expect((await products.read(id)).stock).toBe(0)
    })
  })

  it('fifty changes at once are all kept', async () => {
    const { products } = shop(await open())
    const { id } = await products.create({ name: 'a', stock: 0 })
    const work = times(50, () => products.change(id, async ({ stock }) => ({ stock: stock + 1 })))
    expect((await settle(work)).errors).toEqual([])
    expect((await products.read(id)).stock).toBe(50)
  })

  it('250 items are 250 items, whole or in pages', async () => {
    const { products, fill } = shop(await open())
    await fill(250)
    const names = (await products.list().toArray()).map(({ name }) => name)
    expect(names).toEqual(Array.from({ length: 250 }, (_, at) => `p${at}`))
    const walked: string[] = []
    for await (const { name } of products.list({ limit: 120, offset: 7 })) walked.push(name)
    expect(walked).toEqual(names.slice(7, 127))
    expect(await products.list({ offset: 240 }).toArray()).toHaveLength(10)
    expect(await products.search('p1').toArray()).toHaveLength(111)
    const paged: string[] = []
    let page = await products.list({ limit: 100 }).page()
    const sizes = [page.items.length]
    for (let next: typeof page | undefined = page; next; next = await next.next()) {
      page = next
      expect(next.total).toBe(250)
      paged.push(...next.items.map(({ name }) => name))
      if (next.items.length !== sizes[0]) sizes.push(next.items.length)
    }
    expect([paged, sizes]).toEqual([names, [100, 50]])
    const before = await page.previous()
    expect(before?.items.map(({ name }) => name)).toEqual(names.slice(100, 200))
    expect(await (await before?.previous())?.previous()).toBeUndefined()
    expect((await products.list().page()).items).toHaveLength(25)
    expect(await products.list({ sort: '-created_at' }).first()).toMatchObject({ name: 'p249' })
  })
})

describe('a list', () => {
  it('of 10,000 items is read in batches, and no further than it is walked', async () => {
    const store = memoryStore()
    const stream = vi.spyOn(store, 'stream')
    let batches = 0
    stream.mockImplementation(async function* (this: Store, ...parameters) {
      stream.mockRestore()
      for await (const batch of store.stream(...parameters)) {
        batches++
        expect(batch.length).toBeLessThan(1000)
        yield batch
      }
    })
    const { products, fill } = shop(store)
    await fill(10_001)
    for await (const { id } of products.list()) if (id === 2) break
    expect(batches).toBe(1)
    let count = 0
    for await (const _each of products.list()) count++
    expect(count).toBe(10_001)
    await expect(products.list().toArray()).rejects.toThrow(RangeError)
    expect(await products.list().toArray({ max: 10_001 })).toHaveLength(10_001)
    expect(await products.list({ limit: 10_000 }).toArray()).toHaveLength(10_000)
  })

  it('refuses a list that would be cut, and a limit that is not a number', async () => {
    const { products } = shop()
    await expect(products.list({ limit: 101 }).page()).rejects.toThrow(/at most 100 items/)
    for (const limit of [-1, 1.5, Number.NaN])
      expect(() => products.list({ limit })).toThrow(/limit must be a whole number/)
    expect(await products.list({ limit: 0 }).toArray()).toEqual([])
    expect((await products.list({ limit: 0 }).page()).total).toBe(0)
  })

  it.each([...listParameters('shows', 'orders', 'places', 'sizes', 'bounds')])(
    'refuses a value that %s cannot have',
    async name => {
      const { products } = shop()
      await expect((async () => products.list({ [name]: {} }).page())()).rejects.toThrow()
    },
  )

  it('refuses names that nothing reads, and what is no object', async () => {
    const { products } = shop()
    await expect(products.list({ reverse: true } as object).page()).rejects.toThrow(
      /Unknown query parameter "reverse"/,
    )
    const options: object = { most: 1 }
    await expect(products.list().toArray(options)).rejects.toThrow(
      'products: toArray: unknown option "most". Options: max',
    )
    await expect(products.list().toArray({ max: Number.NaN })).rejects.toThrow(
      'products: toArray: max must be a number from 0, not NaN',
    )
    expect(await products.list().toArray({ max: Number.POSITIVE_INFINITY })).toEqual([])
    for (const query of ['red', 5, null, []]) {
      const given = query as never // as a program without types may
      expect(() => products.list(given)).toThrow('products: list needs an object, not ')
      await expect(products.count(given)).rejects.toThrow('products: count needs an object, not ')
    }
  })

  it('reaches a field with the name of a parameter by `where`', async () => {
    const { products } = shop()
    await products.create({ name: 'a', limit: 7 })
    await products.create({ name: 'b' })
    expect(await products.count({ where: { limit: { gte: 5 } } })).toBe(1)
    expect(await products.list({ where: { limit: 7 }, limit: 1 }).first()).toMatchObject({
      name: 'a',
    })
    await expect(products.count({ limit: 7 })).rejects.toThrow(/write \{ where: \{ limit: … \} \}/)
  })

  it.each([
    [{ name: null }, /\{ exists: false \}/],
    [{ name: undefined }, /Leave it out/],
    [{ name: [null] }, /name must be a value, list or object of filters, not null/],
    [{ name: {} }, /name must be a value/],
    [{ name: new Set(['a']) }, /not \[object Set\]/],
    [{ created_at: new Date('x') }, /not Invalid Date/],
    [{ 'stock[gte]': 1 }, /Operators stand in an object/],
    [{ size: { gt: 1 } }, /size is an object/],
    [{ size: { gt: 1, width: 2 } }, /Unknown query parameter "size\.gt"/],
  ])('refuses the filter %j', async (filters, message) => {
    const { products } = shop()
    await expect(products.list(filters as object).first()).rejects.toThrow(message)
  })

  it('returns the requested fields, of items that can be written', async () => {
    const { products } = shop()
    await products.create({ name: 'a', size: { width: 1 } })
    const fields = ['id', 'name', 'size.width'] as const
    const item = await products.list({ fields, size: { exists: true } }).first()
    expect(item).toEqual({ id: item?.id, name: 'a', size: { width: 1 } })
    if (item) expect(await products.patch(item, { stock: 3 })).toMatchObject({ stock: 3 })
  })
})

describe('a write', () => {
  it('of an item is conditional, wherever it came from; of an id it is not', async () => {
    const { products } = shop()
    const made = await products.create({ name: 'a', stock: 9 })
    const { id } = made
    const [listed] = await products.list().toArray()
    const [paged] = (await products.list().page()).items
    const read = await products.read(id)
    const sold = await products.sell(made)
    for (const stale of [made, listed, paged, read]) {
      const write = products.patch(stale ?? id, { name: 'b' })
      await expect(write).rejects.toBeInstanceOf(ConflictError)
      await expect(products.delete(stale ?? id)).rejects.toBeInstanceOf(ConflictError)
      await expect(products.sell(stale ?? id)).rejects.toBeInstanceOf(ConflictError)
    }
    const patched = await products.patch(sold, { name: 'c' })
    const replaced = await products.replace(patched, { ...patched, name: 'd' })
    expect(await products.patch(id, { name: 'e' })).toMatchObject({ name: 'e', stock: 8 })
    await expect(products.replace(replaced, { name: 'f' })).rejects.toThrow(/has changed since/)
    expect(await products.patch(replaced, { name: 'g' }, { unconditional: true })).toBeDefined()
    expect((await products.delete(await products.read(id))).name).toBe('g')
  })

  it('reports both sides of a conflict, and theirs can be written', async () => {
    const { products } = shop()
    const mine = await products.create({ name: 'a' })
    const theirs = await products.patch(mine.id, { name: 'b' })
    const error = await products.patch(mine, { name: 'c' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 409, mine: { name: 'c' }, theirs })
    expect(error).toBeInstanceOf(HttpError)
    const { theirs: current } = error as ConflictError
    expect(await products.patch(current as typeof theirs, { name: 'c' })).toMatchObject({
      name: 'c',
    })
    const hidden = { principal: { id: 'bob' } }
    const out = { mine: { name: 'd' }, theirs: undefined }
    await expect(products.patch(mine, { name: 'd' }, hidden)).rejects.toMatchObject(out)
    await products.delete(mine.id)
    await expect(products.patch(mine, { name: 'd' })).rejects.toMatchObject(out)
    await expect(products.delete(theirs)).rejects.toMatchObject({ mine: undefined })
    await expect(products.delete(mine.id)).rejects.toMatchObject({ status: 404 })
  })

  it('accepts the entity tag of an answer as ifMatch', async () => {
    const { api, products } = shop()
    const { id } = await products.create({ name: 'a' })
    const tag = async () =>
      (await api.fetch(new Request(`http://a.example/products/${id}`))).headers.get('etag') ?? ''
    const ifMatch = await tag()
    await products.patch(id, { name: 'b' }, { ifMatch })
    await expect(products.patch(id, { name: 'c' }, { ifMatch })).rejects.toThrow(ConflictError)
    await products.patch({ id }, { name: 'c' }, { ifMatch: '*' })
    expect(await products.read(id)).toMatchObject({ name: 'c' })
  })

  it('refuses what it cannot compare, before anything is written', async () => {
    const { products, others } = shop()
    const item = await products.create({ name: 'a' })
    const other = await others.create({ name: 'a' })
    const wrong: readonly (readonly [unknown, object, RegExp])[] = [
      [{ ...item }, {}, /versionOf.*unconditional: true/],
      [JSON.parse(JSON.stringify(item)), {}, /this object was not read here/],
      [other, {}, /an item of others/],
      [{}, { unconditional: true }, /needs an id or an item/],
      [undefined, {}, /needs an id or an item/],
      [item, { ifMatch: 'abc' }, /with its quotes/],
      [item, { ifMatch: '"abc"', unconditional: true }, /leave one out/],
      [item, { ifmatch: '"abc"' }, /unknown option "ifmatch"/],
    ]
    for (const [target, options, message] of wrong) {
      const write = products.patch(target as number, { name: 'b' }, options)
      await expect(write).rejects.toThrow(TypeError)
      await expect(write).rejects.toThrow(message)
    }
    const { created_at: _date, ...copy } = item
    const options = { unconditional: true }
    expect(await products.patch(copy, { name: 'b' }, options)).toMatchObject({ name: 'b' })
  })

  it('checks what the function of change returns, and gives up in the end', async () => {
    const { products } = shop()
    const { id } = await products.create({ name: 'a' })
    const misspelt = products.change(id, item => JSON.parse(`{"nmae":"${item.name}"}`))
    await expect(misspelt).rejects.toMatchObject({ status: 400, errors: [{ field: 'nmae' }] })
    await expect(products.change(99, () => ({}))).rejects.toMatchObject({ status: 404 })
    let tries = 0
    const lost = products.change(id, async item => {
      await products.patch(id, { stock: ++tries + 1 })
      return { name: item.name }
    })
    await expect(lost).rejects.toBeInstanceOf(ConflictError)
    expect(tries).toBe(10)
  })

  it('returns frozen items from every store', async () => {
    for (const [, open] of STORES) {
      const { products } = shop(await open())
      const item = await products.create({ name: 'a', size: { width: 1 } })
      expect([Object.isFrozen(item), Object.isFrozen(item.size)]).toEqual([true, true])
    }
  })
})

test('row policies apply to the principal of the call, scopes do not', async () => {
  const { products } = shop()
  await products.create({ name: 'a' })
  expect(await products.count({}, { principal: { id: 'ann' } })).toBe(1)
  expect(await products.count({}, { principal: { id: 'bob' } })).toBe(0)
})

describe('an api by name', () => {
  const schema = z.object({ n: z.int() })
  const base = { name: 'users', schema, store: memoryStore() } as const
  const twice = { twice: { on: 'item', output: z.object({ n: z.int() }) } } as const
  const posts = () => defineCollection({ name: 'posts', schema, store: memoryStore() })

  it('has hooks and actions of collections that need each other', async () => {
    const seen: string[] = []
    const api = defineApi({
      collections: { posts: posts(), users: defineCollection({ ...base, actions: twice }) },
      hooks: {
        posts: {
          before: {
            async create({ value, collection }) {
              const { id } = await collection('users').create({ n: value.n })
              return { n: (await collection('users').twice(id)).n }
            },
          },
          after: { create: ({ collection }, { n }) => void seen.push(typeof collection, `${n}`) },
        },
      },
      actions: {
        users: {
          twice: async ({ item, collection }) => ({
            n: item.n * 2 + (await collection('posts').count()),
          }),
        },
      },
    })
    expect(await api.collection('posts').create({ n: 2 })).toMatchObject({ n: 4 })
    expect(await api.collection('posts').create({ n: 2 })).toMatchObject({ n: 5 })
    expect(seen).toEqual(['function', '4', 'function', '5'])
  })

  it.each<[string, () => unknown, RegExp]>([
    ['another key', () => defineApi({ collections: { post: posts() } }), /Use its name as the key/],
    [
      'an action that nothing runs',
      () => defineApi({ collections: { users: defineUntyped({ ...base, actions: twice }) } }),
      /the action twice has no run/,
    ],
    [
      'an unknown collection',
      () => defineApi({ collections: { posts: posts() }, hooks: JSON.parse('{"psts":{}}') }),
      /no collection "psts"; did you mean "posts"/,
    ],
    [
      'an unknown action',
      () =>
        defineApi({
          collections: { posts: posts() },
          actions: { posts: { x: () => 1 } } as object,
        }),
      /^defineApi: actions: posts: unknown option "x"/,
    ],
    [
      'an unknown operation of a hook',
      () => defineUntyped({ ...base, hooks: { before: JSON.parse('{"creat":1}') } }),
      /unknown option "creat"; did you mean "create"/,
    ],
    [
      'a property called like an operator',
      () =>
        defineUntyped({ ...base, schema: z.object({ phone: z.object({ prefix: z.string() }) }) }),
      /"phone\.prefix" has the name of a filter's operator/,
    ],
  ])('refuses %s', (_what, make, message) => {
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
  })

  it('calls each of its versions', async () => {
    const api = defineApi({
      versions: [
        { version: 1, collections: { posts: posts() }, deprecated: new Date() },
        { version: 2, collections: { posts: posts() } },
      ],
    })
    await api.versions.v1.collection('posts').create({ n: 1 })
    const counts = [api.versions.v1, api.versions.v2].map(each => each.collection('posts').count())
    expect(await Promise.all(counts)).toEqual([1, 0])
  })
})

test('hooks by operation: a search is a list, a download a read', async () => {
  const seen: string[] = []
  const note = (name: string) => () => void seen.push(name)
  const things = defineCollection({
    name: 'things',
    schema: z.object({ n: z.string() }),
    store: memoryStore(),
    search: ['n'],
    hooks: { before: { list: note('list'), count: note('count'), create: note('create') } },
  })
  const calls = defineApi({ collections: { things } }).collection('things')
  const { id } = await calls.create({ n: 'a' })
  await calls.search('a').first()
  await calls.list().first()
  await calls.count()
  await calls.read(id)
  expect(seen).toEqual(['create', 'list', 'list', 'count'])
})
