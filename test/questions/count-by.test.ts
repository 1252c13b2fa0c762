// Counts by groups: `GET /<collection>/count?by=color&sum=price` (conventions, "Counts by groups").
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/client.ts'
import {
  type Api,
  basic,
  defineApi,
  defineCollection,
  memoryStore,
  type Store,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { scanStore } from '../../src/store-authors/index.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'

usePostgres()
let tables = 0

const Car = z.object({
  color: z.string().optional(),
  price: z.number(),
  sold: z.boolean().default(false),
  built: z.iso.date().nullable().default(null),
  model: z.object({ name: z.string(), year: z.int() }).optional(),
  /** Names of parameters. */
  sum: z.number().optional(),
  by: z.string().optional(),
})

async function filled(store: Store = memoryStore({ clock: () => Date.UTC(2026, 10, 7) })) {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: Car,
    store,
    groups: ['color', 'sold', 'built', 'created_at', 'model.name', 'price'],
    visible: principal => (principal?.id === 'all' ? {} : { price: { lt: 1000 } }),
  })
  const api = defineApi({ collections: { cars } })
  const resource = api.collection(cars)
  const all = { principal: { id: 'all' } }
  const model = { name: 'Clio', year: 1990 }
  await resource.create({ color: 'red', price: 10, sum: 1, by: 'ann', model }, all)
  await resource.create({ color: 'red', price: 20.5, sum: 2, built: '2024-02-29', sold: true }, all)
  await resource.create({ price: 30, by: 'bob' }, all)
  await resource.create({ color: 'hidden', price: 5000 }, all)
  const get = async (query: string, init?: RequestInit) => {
    const url = `http://localhost/cars/count?${query}`
    const answer = await api.fetch(new Request(url, init))
    return [answer.status, await answer.text(), answer] as const
  }
  return { cars, api, resource, get }
}

describe('what a count by groups gives', () => {
  test.each<[string, unknown[]]>([
    [
      'by=color',
      [
        { color: null, count: 1 },
        { color: 'red', count: 2 },
      ],
    ],
    [
      'by=sold&sum=price&avg=price',
      [
        { sold: false, count: 2, sum: { price: 40 }, avg: { price: 20 } },
        { sold: true, count: 1, sum: { price: 20.5 }, avg: { price: 20.5 } },
      ],
    ],
    [
      'by=created_at:month&min=built&max=created_at',
      [
        {
          created_at: '2026-11',
          count: 3,
          min: { built: '2024-02-29' },
          max: { created_at: '2026-11-07T00:00:00.000Z' },
        },
      ],
    ],
    [
      'by=built:year',
      [
        { built: null, count: 2 },
        { built: '2024', count: 1 },
      ],
    ],
    [
      'by=model.name&sum=model.year',
      [
        { model: { name: null }, count: 2, sum: { model: { year: 0 } } },
        { model: { name: 'Clio' }, count: 1, sum: { model: { year: 1990 } } },
      ],
    ],
    [
      'by=sold,color&sort=-count,color',
      [
        { sold: false, color: null, count: 1 },
        { sold: false, color: 'red', count: 1 },
        { sold: true, color: 'red', count: 1 },
      ],
    ],
    [
      'by=color&by=sold&color=red&sum=price&sort=-sum.price',
      [
        { color: 'red', sold: true, count: 1, sum: { price: 20.5 } },
        { color: 'red', sold: false, count: 1, sum: { price: 10 } },
      ],
    ],
    ['by=&sum=price&min=price', [{ count: 3, sum: { price: 60.5 }, min: { price: 10 } }]],
    ['by=&sum=price&min=price&price=7', [{ count: 0, sum: { price: 0 }, min: { price: null } }]],
    ['by=color&price=7', []],
    ['by=color&where={"not":{"color":"red"}}', [{ color: null, count: 1 }]],
    ['by=color&filter[sum]=2&sum=sum', [{ color: 'red', count: 1, sum: { sum: 2 } }]],
    ['by=color&filter[by]=bob', [{ color: null, count: 1 }]],
    ['by=color&since_id=1&limit=1', [{ color: null, count: 1 }]],
  ])('%s', async (query, expected) => {
    const { get } = await filled()
    const [status, text] = await get(query)
    expect([status, JSON.parse(text)]).toEqual([200, expected])
  })

  test('its headers: the number of groups, a tag, and no body of a HEAD', async () => {
    const { get } = await filled()
    const [, , answer] = await get('by=color&limit=1')
    expect(answer.headers.get('x-result-count')).toBe('2')
    const etag = answer.headers.get('etag') ?? ''
    const [status] = await get('by=color&limit=1', { headers: { 'if-none-match': etag } })
    expect(status).toBe(304)
    const [, text, head] = await get('by=color&limit=1', { method: 'HEAD' })
    expect([text, head.headers.get('x-result-count')]).toEqual(['', '2'])
    expect((await get('by=color'))[2].headers.get('etag')).not.toBe(etag)
  })

  test('without by a count is what it was, and so are filters with the names of sums', async () => {
    const { get } = await filled()
    expect((await get('sum=2'))[1]).toBe('{"count":1}')
    expect((await get(''))[1]).toBe('{"count":3}')
    expect((await get('max=price')).slice(0, 2)).toEqual([
      400,
      expect.stringContaining('sum, avg, min, max need by'),
    ])
  })

  test.each<[string, string]>([
    [
      'xml',
      '<groups><group><sold>false</sold><count>2</count><sum><price>40</price></sum></group>',
    ],
    ['csv', 'sold,count,sum.price\r\nfalse,2,40\r\n'],
    ['ndjson', '{"sold":false,"count":2,"sum":{"price":40}}\n'],
  ])('as %s', async (extension, expected) => {
    const { api } = await filled()
    const url = `http://localhost/cars/count.${extension}?by=sold&sum=price`
    const answer = await api.fetch(new Request(url))
    expect(await answer.text()).toContain(expected)
  })
})

test.each<[string, string, string]>([
  ['by=colour', 'unknown_group', 'Items are not counted by "colour": did you mean color?'],
  ['by=sum', 'unknown_group', 'Use: color, sold, built, built:day'],
  ['by=color:month', 'unknown_group', 'did you mean color?'],
  ['by=built,built:year', 'invalid_value', 'by names built twice'],
  ['by=color,sold,built,price,model.name', 'too_many_groups', 'by names 5 fields; at most 4'],
  ['by=color&sum=color', 'not_a_number', 'sum is for numbers; color is a string'],
  ['by=color&avg=built', 'not_a_number', 'avg is for numbers; built is a date'],
  ['by=color&max=sold', 'not_a_number', 'max is for numbers and dates; sold is true or false'],
  ['by=color&sum=prize', 'unknown_field', 'did you mean price?'],
  ['by=color&sort=price', 'not_sortable', 'Groups are not sorted by "price". Use: color, count'],
  ['by=color&sort=count&sort=color', 'repeated_parameter', 'sort is sent 2 times'],
  ['by=color&limit=x', 'invalid_number', 'limit must be a whole number'],
  ['by=color&offset=1', 'unknown_parameter', 'offset has no meaning with by'],
  ['by=color&fields=color', 'unknown_parameter', 'fields has no meaning with by'],
  ['by=color&prize=1', 'unknown_field', 'did you mean price?'],
])('%s is a 400 of type %s', async (query, type, message) => {
  const { get } = await filled()
  const [status, text] = await get(query)
  const { errors } = JSON.parse(text)
  expect([status, errors.length, errors[0].type]).toEqual([400, 1, type])
  expect(errors[0].message).toContain(message)
})

test('all issues are reported together', async () => {
  const { get } = await filled()
  const [, text] = await get('by=colour&sum=color&sort=x&price=x&cursor=1')
  const { errors } = JSON.parse(text)
  expect(errors.map(({ field }: { field: string }) => field)).toEqual([
    'cursor',
    'by',
    'sum',
    'sort',
    'price',
  ])
})

describe.each<[string, () => Promise<Store>]>([
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqlStore({ db: await openDatabase(), create: true })],
  [
    'PostgreSQL',
    async () => sqlStore({ db: openPostgres(), create: true, table: `cars_${tables++}` }),
  ],
])('%s', (_name, make) => {
  test('more than 1,000 groups are a 400, and so are long texts and sums that are no number', async () => {
    const { get, resource } = await filled(await make())
    for (let at = 0; at < 1000; at++) await resource.create({ color: `c${at}`, price: at / 2 })
    expect((await get('by=color')).slice(0, 2)).toEqual([
      400,
      expect.stringContaining('There are more than 1000 groups'),
    ])
    expect((await get('by=color&price[gt]=30'))[0]).toBe(200)
    await resource.create({ color: '\u{1F600}'.repeat(257), price: 0, by: 'long' })
    await resource.create({ color: '\u{1F600}'.repeat(256), price: 0, by: 'short' })
    expect((await get('by=color&filter[by]=long'))[1]).toContain(
      'texts of more than 256 characters',
    )
    expect((await get('by=color&filter[by]=short'))[0]).toBe(200)
    for (const price of [-1e308, -1e308]) await resource.create({ price, sold: true })
    for (const word of ['sum', 'avg'])
      expect((await get(`by=sold&${word}=price`)).slice(0, 2)).toEqual([
        400,
        expect.stringContaining('greater than any number'),
      ])
    expect((await get('by=sold&min=price'))[0]).toBe(200)
  })

  test('a transaction counts its own writes', async () => {
    const { api, cars } = await filled(await make())
    const principal = { id: 'all' }
    await api.transaction(
      async tx => {
        const inside = tx.collection(cars)
        await inside.create({ color: 'red', price: 1 })
        await inside.delete((await inside.list({ color: 'hidden' }).first())?.id ?? 0)
        expect(await inside.count({ by: 'color', sum: 'price' })).toEqual([
          { color: null, count: 1, sum: { price: 30 } },
          { color: 'red', count: 3, sum: { price: 31.5 } },
        ])
      },
      { principal },
    )
  })
})

test('a program and a client get the same, with the names of fields in where', async () => {
  const { api, resource } = await filled()
  const client = createClient<typeof api>('http://localhost', {
    fetch: (...input) => api.fetch(new Request(...input)),
  })
  for (const cars of [resource, client.cars]) {
    const groups = await cars.count({
      by: ['color', 'built:year'],
      sum: 'price',
      max: ['price', 'built'],
    })
    expect(groups).toEqual([
      { color: null, built: null, count: 1, sum: { price: 30 }, max: { price: 30, built: null } },
      { color: 'red', built: null, count: 1, sum: { price: 10 }, max: { price: 10, built: null } },
      {
        color: 'red',
        built: '2024',
        count: 1,
        sum: { price: 20.5 },
        max: { price: 20.5, built: '2024-02-29' },
      },
    ])
    const years: (string | null)[] = groups.map(({ built }) => built)
    expect(years).toEqual([null, null, '2024'])
    expect(await cars.count({ by: [], sum: [], price: { gt: 10 } })).toEqual([{ count: 2 }])
    expect(
      await cars.count({
        by: 'color',
        sum: 'sum',
        where: { by: 'ann', sum: 1 },
        sort: '-count',
        limit: 5,
      }),
    ).toEqual([{ color: 'red', count: 1, sum: { sum: 1 } }])
    await expect(cars.count({ by: 'ann' as never })).rejects.toThrow('Items are not counted by')
    expect(await cars.count({ color: 'red' })).toBe(2)
  }
})

test('a QUERY asks the same, and Location names its GET', async () => {
  const { api } = await filled()
  const body = {
    by: ['color', 'sold'],
    sum: ['price'],
    max: [],
    sort: ['-count'],
    where: { price: { gt: 10 } },
  }
  const query = async (given: object) =>
    api.fetch(
      new Request('http://localhost/cars/count', {
        method: 'QUERY',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(given),
      }),
    )
  const answer = await query(body)
  const location = answer.headers.get('location') ?? ''
  expect(decodeURIComponent(location)).toBe(
    'http://localhost/cars/count?by=color,sold&sum=price&max=&sort=-count&where={"price":{"gt":10}}',
  )
  const text = await answer.text()
  expect(await (await api.fetch(new Request(location))).text()).toBe(text)
  expect(JSON.parse(text)).toHaveLength(2)
  expect(await (await query({ by: [] })).text()).toBe('[{"count":3}]')
  // Without `by` a name of a sum is the filter of the field.
  expect(await (await query({ sum: [1, 2] })).text()).toBe('{"count":2}')
})

test('nobody counts by, or sums, what they may not read', async () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      color: z.string(),
      cost: z.number().optional(),
      pin: z.string().optional(),
    }),
    store: memoryStore(),
    groups: ['color', 'cost'],
    fields: { cost: { read: ['boss'] }, pin: 'writeOnly' },
  })
  const schemes = [basic({ verify: id => ({ id, scopes: id === 'boss' ? ['boss'] : [] }) })]
  const api = defineApi({ collections: { cars }, schemes })
  await api.collection(cars).create({ color: 'red', cost: 7 })
  const ask = async (user: string, query: string) => {
    const headers = { authorization: `Basic ${btoa(`${user}:x`)}` }
    const url = `https://localhost/cars/count?${query}`
    return (await api.fetch(new Request(url, { headers }))).text()
  }
  expect(await ask('boss', 'by=cost&sum=cost')).toBe('[{"cost":7,"count":1,"sum":{"cost":7}}]')
  const [known, unknown] = [await ask('ann', 'by=cost'), await ask('ann', 'by=zost')]
  expect(known).toBe(unknown.replace('zost', 'cost'))
  expect(await ask('ann', 'by=color&max=cost')).toContain('Unknown field')
  expect(await ask('ann', 'by=color&sort=-max.cost')).toContain('Groups are not sorted by')
  const principal = { id: 'ann', scopes: [] }
  await expect(api.collection(cars).count({ by: 'cost' }, { principal })).rejects.toThrow(
    'Items are not counted by',
  )
  expect(() =>
    defineCollection({
      name: 'cars',
      schema: z.object({ pin: z.string() }),
      store: memoryStore(),
      groups: ['pin'],
      fields: { pin: 'writeOnly' },
    }),
  ).toThrow('write-only and cannot be in groups')
})

test.each<[string, object, string]>([
  ['nothing', { groups: [] }, 'groups must be'],
  ['colour', { groups: ['colour'] }, 'groups names no field: "colour"; did you mean "color"?'],
  ['tags', { groups: ['tags'] }, '"tags" is a list: no items are counted by it'],
  ['model', { groups: ['model'] }, '"model" is an object'],
  ['count', { groups: ['count'] }, 'would stand beside the count of each group'],
])('a declaration with %s as its groups is a TypeError', (_name, options, message) => {
  const schema = z.object({
    color: z.string(),
    count: z.int(),
    tags: z.array(z.string()),
    model: z.object({ name: z.string() }),
  })
  expect(() =>
    defineCollection({ name: 'cars', schema, store: memoryStore(), ...options }),
  ).toThrow(message)
})

test('groups on a store without countBy are a TypeError, and scanStore has it', async () => {
  const items = new Map<unknown, never>()
  const place = {
    all: () => items.values(),
    put: (item: { id: unknown }) => items.set(item.id, item as never),
    remove: ({ id }: { id: unknown }) => items.delete(id),
  }
  const { countBy: _countBy, ...without } = scanStore(place)
  await expect(filled(without)).rejects.toThrow(
    'cars: groups needs a store that counts by groups, such as memoryStore()',
  )
  expect((await (await filled(scanStore(place))).get('by=color&sum=price'))[1]).toBe(
    '[{"color":null,"count":1,"sum":{"price":30}},{"color":"red","count":2,"sum":{"price":30.5}}]',
  )
})

test('in memory many items are counted in turns, as they were at the start', async () => {
  const store = memoryStore()
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ color: z.string() }),
    store,
    groups: ['color'],
  })
  const api: Api = defineApi({ collections: { cars } })
  for (let at = 0; at < 20_000; at++) await createOne(store, { color: at % 2 ? 'red' : 'blue' })
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const counted = api.fetch(new Request('http://localhost/cars/count?by=color'))
  for (let at = 0; at < 100; at++) void createOne(store, { color: 'green' })
  expect(await (await counted).text()).toMatch(/^\[\{"color":"blue","count":10000\}/)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
})
