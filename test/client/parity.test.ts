// One interface: what a program gets in process, it gets by the client.
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, HttpError, memoryStore } from '../../src/index.ts'
import { serve } from './line.ts'

const Car = z.object({
  color: z.enum(['red', 'blue']),
  price: z.int().min(0),
  model: z.object({ name: z.string() }).optional(),
  tags: z.array(z.string()).default([]),
})

/** An api with two cars; its resource in process. */
function create() {
  const cars = defineCollection({
    name: 'cars',
    schema: Car,
    store: memoryStore({ clock: () => 1_700_000_000_000 }),
    id: 'integer',
    unique: ['model.name'],
    search: ['model.name', 'color'],
    actions: {
      raise: {
        on: 'item',
        input: z.object({ by: z.int() }),
        output: 'item',
        run: ({ item, input, update }) => update({ price: item.price + input.by }),
      },
      sell: {
        on: 'item',
        run: () => {
          throw new HttpError(409, [{ message: 'Sold', type: 'sold' }])
        },
      },
      sum: {
        on: 'collection',
        input: z.object({ of: z.array(z.int()) }),
        run: ({ input }) => input.of,
      },
    },
  })
  return defineApi({ collections: { cars } })
}

const inProcess = create()
const overHttp = create()
const server = await serve(overHttp.handler)
const program = inProcess.collection('cars')
const client = createClient<typeof overHttp>(server.url).cars
afterAll(async () => {
  await server.close()
  await inProcess.close()
  await overHttp.close()
})

type Cars = typeof client
/** In the order of their writes: each goes to both. */
const CALLS: readonly (readonly [title: string, call: (cars: Cars) => Promise<unknown>])[] = [
  ['create', cars => cars.create({ color: 'red', price: 1, model: { name: 'Clio' } })],
  ['create with defaults', cars => cars.create({ color: 'blue', price: 2 })],
  [
    'create what is not unique',
    cars => cars.create({ color: 'red', price: 1, model: { name: 'Clio' } }),
  ],
  // @ts-expect-error Two issues.
  ['create with issues', cars => cars.create({ color: 'pink', prise: 1 })],
  ['read', cars => cars.read(1)],
  ['read what is not there', cars => cars.read(99)],
  ['list', cars => cars.list().toArray()],
  [
    'list by filters',
    cars =>
      cars.list({ color: ['red'], price: { lt: 9 }, model: { name: { prefix: 'C' } } }).toArray(),
  ],
  ['list nothing', cars => cars.list({ color: [] }).toArray()],
  [
    'list in an order',
    cars => cars.list({ sort: ['-price', 'id'], limit: 1, offset: 1 }).toArray(),
  ],
  ['list some fields', cars => cars.list({ fields: ['id', 'model.name'] }).toArray()],
  [
    'list a wrong operator',
    cars => cars.list({ tags: { exists: true }, price: { in: [] } }).toArray(),
  ],
  // @ts-expect-error There is no such field.
  ['list by an unknown field', cars => cars.list({ colour: 'red' }).toArray()],
  ['list too many', cars => cars.list().toArray({ max: 1 })],
  ['first', cars => cars.list({ color: 'blue' }).first()],
  ['first of none', cars => cars.list({ price: 77 }).first()],
  [
    'a page',
    async cars => {
      const page = await cars.list({ limit: 1 }).page()
      const next = await page.next()
      return [
        page.items,
        page.total,
        next?.items,
        await next?.next(),
        (await next?.previous())?.items,
      ]
    },
  ],
  ['count', cars => cars.count({ color: 'red' })],
  ['search', cars => cars.search('clio', { price: 1 }).toArray()],
  ['patch', cars => cars.patch(1, { price: 5, tags: ['a'] })],
  ['patch that removes', cars => cars.patch(1, { model: null })],
  ['patch what is not there', cars => cars.patch(99, {})],
  ['replace', cars => cars.replace(1, { color: 'blue', price: 6 })],
  ['change', cars => cars.change(1, ({ price }) => ({ price: price + 1 }))],
  ['an action', cars => cars.raise(1, { by: 2 })],
  ['an action with issues', cars => cars.raise(1, { by: 0.5 })],
  ['an action that throws', cars => cars.sell(1)],
  ['an action of the collection', cars => cars.sum({ of: [1, 2] })],
  ['a write of an item', async cars => cars.patch(await cars.read(1), { price: 1 })],
  [
    'a write of an item of a list',
    async cars => {
      const [first] = await cars.list().toArray()
      return first && cars.patch(first, { price: 2 })
    },
  ],
  [
    'a lost condition',
    async cars => {
      const item = await cars.read(1)
      await cars.patch(1, { price: 3 })
      return cars.patch(item, { price: 4 })
    },
  ],
  [
    'a lost condition of an item of a list',
    async cars => {
      const [first] = await cars.list().toArray()
      await cars.patch(1, { price: 5 })
      return first && cars.delete(first)
    },
  ],
  [
    'a lost condition of an action',
    async cars => {
      const item = await cars.read(1)
      await cars.patch(1, { price: 6 })
      return cars.raise(item, { by: 1 })
    },
  ],
  [
    'a copy, unconditional',
    async cars => cars.patch({ ...(await cars.read(1)) }, { price: 1 }, { unconditional: true }),
  ],
  ['delete', cars => cars.delete(2)],
  [
    'a write of what is gone',
    async cars => {
      const item = await cars.read(1)
      await cars.delete(1)
      return cars.patch(item, {})
    },
  ],
  ['delete what is not there', cars => cars.delete(2)],
]

/** What came of a call: its value, or what programs compare of an error. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: (await call) ?? null }
  } catch (error) {
    const { name, errors, mine, theirs } = Object(error)
    // A server that was sent a condition says 412 and `precondition_failed`.
    if (theirs || mine) return { mine, theirs }
    return {
      name,
      ...(error instanceof TypeError && { message: error.message }),
      errors: errors?.map(({ field, type }: Record<string, unknown>) => [field, type]),
    }
  }
}

test.each(CALLS)('%s', async (_title, call) => {
  const [here, there] = [await outcome(call(program)), await outcome(call(client))]
  expect(JSON.parse(JSON.stringify(there))).toEqual(JSON.parse(JSON.stringify(here)))
})

/** Every kind of value that a program may give as a filter, right or wrong. */
const VALUES: readonly unknown[] = [
  ...['red', '', 'a, b', '1', '2023-11-14', 1, 0, -0, 2.5, 1e21, Number.NaN, Infinity, true, 1n],
  ...[null, undefined, Symbol('x'), () => 1, /x/, new Map(), new Set(['pink']), {}],
  ...[new Date(1_700_000_000_000), new Date(0), new Date('x'), new URL('https://x.example')],
  ...[[], ['red', 'blue'], [1, 2], [null], [undefined], [['red']], [{}], [new Date(0)]],
  ...[{ gte: new Date(0) }, { gte: undefined }, { gte: null }, { gte: {} }, { gte: [] }],
  ...[{ lt: 2, gt: 0 }, { lt: 2, colour: 1 }, { lt: [1, 2] }, { gte: '' }, { exists: true }],
  ...[{ exists: 'no' }, { in: [] }, { nin: [] }, { ne: [] }, { eq: [] }, { ne: 1 }, { eq: 'red' }],
  ...[{ in: ['a, b', 'red'] }, { in: 'red,blue' }, { in: [null] }, { nin: [1] }, { in: {} }],
  ...[{ like: '*e*' }, { prefix: 'C' }, { name: 'Clio' }, { name: {} }, { name: { in: [] } }],
  ...[{ nmae: 'Clio' }, { constructor: 1 }, Object.assign(Object.create(null), { lt: 2 })],
]
/**
 * Outcomes as they can be compared: the client sends what a parameter can say as one, so an issue of it may be a repeated
 * parameter `price[lt]`, and in process a value of `where.price.lt` that is no list.
 */
function comparable(outcomes: unknown): unknown {
  return JSON.parse(
    JSON.stringify(outcomes, (name, value) => {
      if (name === 'message') return undefined
      if (name !== 'errors' || !Array.isArray(value)) return value
      return [...new Set(value.map(([place]: [string]) => /^(?:where\.)?(\w+)/.exec(place)?.[1]))]
    }),
  )
}

const FILTERED = [
  ...['id', 'color', 'price', 'model', 'model.name', 'tags', 'created_at', 'colour'],
  ...['since', 'until', 'since_id'],
]

describe('a filter, of every kind of value, gives the same', () => {
  const [one, other] = [create(), create()]
  let server: Awaited<ReturnType<typeof serve>>
  let both: readonly Cars[]
  beforeAll(async () => {
    server = await serve(other.handler)
    both = [one.collection('cars'), createClient<typeof other>(server.url).cars]
    for (const cars of both) {
      for (const name of ['Clio', 'a, b'])
        await cars.create({ color: 'red', price: 1, model: { name }, tags: ['red'] })
      await cars.create({ color: 'blue', price: 2 })
    }
  })
  afterAll(async () => {
    await server.close()
    await one.close()
    await other.close()
  })

  test.each(FILTERED)('%s', async field => {
    for (const value of VALUES) {
      const filter: object = { [field]: value } // the types refuse most of these
      const [here, there] = await Promise.all(
        both.map(cars =>
          Promise.all(
            [
              cars.list(filter).toArray(),
              cars.list({ where: filter }).page(),
              cars.search('red', filter).first(),
              cars.count(filter),
            ].map(outcome),
          ),
        ),
      )
      const title = `${field}: ${inspect(value)}`
      expect(comparable(there), title).toEqual(comparable(here))
    }
  })
})
