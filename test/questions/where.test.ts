// `where` in a query, in programs and in row policies (conventions, "Filters").
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/client.ts'
import { type Api, defineApi, defineCollection, memoryStore } from '../../src/index.ts'

const Car = z.object({
  code: z.string(),
  color: z.string().optional(),
  price: z.number(),
  model: z.object({ name: z.string() }).optional(),
})

function create() {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: Car.extend({ secret: z.string().optional() }),
    store: memoryStore(),
    indexes: ['price'],
    fields: { secret: 'writeOnly' },
  })
  return { cars, api: defineApi({ collections: { cars } }) }
}

async function filled() {
  const made = create()
  const resource = made.api.collection(made.cars)
  await resource.create({ code: 'A', color: 'red', price: 10, model: { name: 'Clio' } })
  await resource.create({ code: 'B', color: 'blue', price: 20, secret: 'x' })
  await resource.create({ code: 'C', price: 30 })
  return { ...made, resource }
}

async function get(api: Pick<Api, 'fetch'>, where: unknown, rest = '') {
  const text = typeof where === 'string' ? where : JSON.stringify(where)
  const url = `http://localhost/cars?where=${encodeURIComponent(text)}${rest}`
  const response = await api.fetch(new Request(url))
  const body = await jsonOf(response)
  return { status: response.status, body, headers: response.headers }
}

/** What tests read of an answer. */
interface Body extends ReadonlyArray<{ readonly code?: unknown }> {
  readonly errors: readonly { readonly field?: string; readonly message: string }[]
}
const jsonOf = async (response: Response) => (await response.json()) as Body

const codes = (items: readonly { readonly code?: unknown }[]) =>
  items.map(({ code }) => code).join('')

describe('what a filter object finds', () => {
  test.each<[object, string]>([
    [{}, 'ABC'],
    [{ color: 'red' }, 'A'],
    [{ color: ['red', 'blue'], price: { gt: 10 } }, 'B'],
    [{ or: [{ color: 'red' }, { price: 30 }] }, 'AC'],
    [{ or: [{ color: 'red', price: 30 }, { price: { in: [20] } }] }, 'B'],
    [{ not: { color: 'red' } }, 'BC'],
    [{ color: { ne: 'red' } }, 'B'],
    [{ and: [{ or: [{ price: 10 }, { price: 20 }] }, { not: { price: 10 } }] }, 'B'],
    [{ or: [] }, ''],
    [{ and: [] }, 'ABC'],
    [{ color: [] }, ''],
    [{ color: { nin: [] } }, 'ABC'],
    [{ model: { name: { prefix: 'Cl' } } }, 'A'],
    [{ not: { 'model.name': 'Clio' } }, 'BC'],
    [{ model: { exists: false } }, 'BC'],
  ])('%j: %s', async (where, expected) => {
    const { api, resource } = await filled()
    expect(codes((await get(api, where)).body)).toBe(expected)
    expect(codes(await resource.list({ where } as object).toArray())).toBe(expected)
  })

  test('beside other parameters, and links keep it', async () => {
    const { api } = await filled()
    const where = { or: [{ color: 'red' }, { price: { gte: 20 } }] }
    const { body, headers } = await get(api, where, '&sort=-price&limit=1&price[lt]=30')
    expect(codes(body)).toBe('B')
    const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''
    expect(codes(await jsonOf(await api.fetch(new Request(next))))).toBe('A')
  })
})

test.each<[unknown, string, string]>([
  ['{', 'where', 'is not valid JSON'],
  [[], 'where', 'must be an object of filters'],
  [7, 'where', 'must be an object of filters'],
  [{ colour: 'red' }, 'where.colour', 'Unknown field "colour": did you mean color?'],
  [{ secret: 'x' }, 'where.secret', 'Unknown field "secret"'],
  [{ or: [{ not: { secret: { gt: 'a' } } }] }, 'where.or.0.not.secret.gt', 'Unknown field'],
  [{ price: { lt: 'x' } }, 'where.price.lt', 'must be a number, not "x"'],
  [{ price: { lt: [1, 2] } }, 'where.price.lt', 'takes one value, not a list'],
  [{ price: { below: 5 } }, 'where.price', 'Unknown operator "below"'],
  [{ 'price[lt]': 5 }, 'where.price[lt]', 'Operators stand in an object'],
  [{ color: null }, 'where.color', 'write {"exists":false}'],
  [{ color: '\u0000' }, 'where.color', 'U+0000'],
  [{ color: '\ud800' }, 'where.color', 'surrogate'],
  [{ model: { nam: 1 } }, 'where.model.nam', 'did you mean model.name?'],
  [{ or: { color: 'red' } }, 'where.or', 'must be a list of objects'],
  [{ or: ['red'] }, 'where.or.0', 'must be an object'],
  [{ or: [{}] }, 'where.or.0', 'has no filter'],
  [{ not: {} }, 'where.not', 'has no filter'],
  [{ or: Array.from({ length: 51 }, () => ({ price: 1 })) }, '', 'at most 50 filters'],
  [{ or: Array.from({ length: 60 }, () => ({ and: [] })) }, '', 'at most 50 filters'],
  [
    { not: { not: { not: { not: { not: { not: { price: 1 } } } } } } },
    'where.not.not.not.not.not.not',
    'groups may be 5 deep',
  ],
])('%j is a 400 that names %s', async (where, field, message) => {
  const { api } = create()
  const { status, body } = await get(api, where)
  expect(status).toBe(400)
  expect(body.errors).toHaveLength(1)
  expect(body.errors[0]?.field ?? '').toBe(field)
  expect(body.errors[0]?.message).toContain(message)
})

test('all issues of a request are reported together', async () => {
  const { api } = create()
  const { body } = await get(api, { or: [{ a: 1 }, { price: 'x' }] }, '&sort=b&where=1')
  expect(body.errors.map(({ field }) => field)).toEqual([
    'where',
    'where.or.0.a',
    'where.or.1.price',
    'sort',
  ])
})

test('fields with the names of groups stay what they are', async () => {
  const odd = defineCollection({
    name: 'cars',
    schema: z.object({ code: z.string(), or: z.string(), where: z.string() }),
    store: memoryStore(),
  })
  const api = defineApi({ collections: { cars: odd } })
  await api.collection(odd).create({ code: 'A', or: 'x', where: 'y' })
  await api.collection(odd).create({ code: 'B', or: 'z', where: 'y' })
  expect(codes((await get(api, 'y', '&or=x')).body)).toBe('A')
  expect(codes(await api.collection(odd).list({ or: 'x' }).toArray())).toBe('A')
  const found = await api
    .collection(odd)
    .list({ where: { not: { or: 'x' } } })
    .toArray()
  expect(codes(found)).toBe('B')
})

test('a program gets the same, and a TypeError for what is no filter', async () => {
  const { resource } = await filled()
  const either = [{ color: 'red' }, { price: { gte: 30 } }]
  expect(codes(await resource.list({ or: either, sort: '-price' }).toArray())).toBe('CA')
  expect(await resource.count({ or: either, where: { not: { price: 30 } } })).toBe(1)
  for (const wrong of [undefined, null, {}, new Set([1]), Symbol('s')]) {
    const where = { or: [{ color: wrong, price: 10 }] } as object
    await expect(resource.count(where)).rejects.toThrow(TypeError)
  }
  // None is left out silently.
  const many = Array.from({ length: 101 }, () => ({ price: { gte: 0 } }))
  await expect(resource.count({ and: many })).rejects.toMatchObject({
    errors: [{ type: 'too_many_filters' }],
  })
  expect(await resource.count({ and: many.slice(1) })).toBe(3)
})

test('one filter written twice must hold twice, in process and from a client', async () => {
  const { api, resource } = await filled()
  const client = createClient<typeof api>('http://localhost', {
    fetch: (url, init) => api.fetch(new Request(url, init)),
  })
  const twice: [object, string][] = [
    [{ model: { name: 'Clio' }, 'model.name': { prefix: 'Cl' } }, 'A'],
    [{ model: { name: 'Clio' }, 'model.name': 'x' }, ''],
    [{ color: 'red', where: { color: 'red' } }, 'A'],
    [{ color: 'red', where: { color: 'blue' } }, ''],
  ]
  for (const [query, expected] of twice) {
    expect(codes(await resource.list(query).toArray())).toBe(expected)
    expect(codes(await client.cars.list(query).toArray())).toBe(expected)
  }
})

test('half of a surrogate pair is refused in process: no item has it, and databases read it as they like', async () => {
  const { resource } = await filled()
  for (const text of ['\ud83d', 'a\0'])
    for (const color of [text, { prefix: text }, { in: ['red', text] }])
      await expect(resource.count({ color } as object)).rejects.toThrow('half of a surrogate pair')
})

test('the client sends groups as `where`', async () => {
  const { api } = await filled()
  const sent: string[] = []
  const client = createClient<typeof api>('http://localhost', {
    fetch: (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input, init)
      sent.push(decodeURIComponent(new URL(request.url).search))
      return api.fetch(request)
    },
  })
  const or = [{ color: 'red' }, { price: { gte: 30 } }]
  expect(codes(await client.cars.list({ or, price: { lt: 30 } }).toArray())).toBe('A')
  expect(sent).toEqual([
    '?price[lt]=30&limit=100&where={"or":[{"color":"red"},{"price":{"gte":30}}]}',
  ])
  expect(await client.cars.count({ or, where: { or: [{ price: 30 }] } })).toBe(1)
  expect(await client.cars.count({ or: [] })).toBe(0)
  const lost = { or: [{ color: undefined, price: 10 }] }
  await expect(client.cars.count(lost as object)).rejects.toThrow('cars: color must be')
})

test('a row policy may have groups, and no question goes around it', async () => {
  const cars = defineCollection({
    name: 'cars',
    schema: Car,
    store: memoryStore(),
    visible: () => ({ or: [{ color: 'red' }, { price: { lt: 25 } }], not: { code: 'B' } }),
  })
  const api = defineApi({ collections: { cars } })
  const resource = api.collection(cars)
  await resource.create({ code: 'A', color: 'red', price: 10 })
  await expect(resource.create({ code: 'B', color: 'red', price: 20 })).rejects.toThrow(
    'could not see',
  )
  expect(codes((await get(api, { or: [{ price: { gt: 0 } }, { not: { code: 'A' } }] })).body)).toBe(
    'A',
  )
  expect(codes((await get(api, { not: { code: 'A' } })).body)).toBe('')
})
