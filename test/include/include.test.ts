// Related items in lists, items and searches, and filters through them (conventions, "Related items").
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { jsonServer } from '../../src/dialects/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { type OpenHandler, openHandler } from '../handlers.ts'
import type { Part } from '../openapi.ts'
import { usePostgres } from '../stores/postgres.ts'
import { DATABASES, openShop, type Shop } from './shop.ts'

usePostgres()

/** Asks an api in process for JSON. */
async function getJson(api: Pick<Shop, 'fetch'>, path: string, init?: RequestInit): Promise<Part> {
  const answer = await api.fetch(new Request(`http://x/${path}`, init))
  return (await answer.json()) as Part // what JSON holds is made of such parts
}

const where = (filters: object) => `where=${encodeURIComponent(JSON.stringify(filters))}`

/** What `fields` leaves of some requests. */
const INCLUDED: readonly (readonly [path: string, expected: unknown])[] = [
  [
    'cars?include=model&fields=id,model.name',
    [
      { id: 1, model: { name: 'Clio' } },
      { id: 2, model: { name: 'Panda' } },
      { id: 3, model: null },
      { id: 4, model: { name: 'Kit' } },
    ],
  ],
  [
    'cars?include=options&fields=id,options.label',
    [
      { id: 1, options: [{ label: 'AC' }, { label: 'GPS' }] },
      { id: 2, options: [{ label: 'AC' }] },
      { id: 3, options: [] },
      { id: 4, options: [{ label: 'GPS' }, { label: 'roof' }] },
    ],
  ],
  [
    'cars?include=options(1),dealer&fields=options.label,dealer.name&limit=2',
    [
      { options: [{ label: 'AC' }], dealer: { name: 'Fiat' } },
      { options: [{ label: 'AC' }], dealer: null },
    ],
  ],
  [
    'cars?include=model.maker&fields=model.maker.country,model.id&color=red',
    [{ model: { id: 1, maker: { country: 'FR' } } }, { model: { id: 3, maker: null } }],
  ],
  [
    'models/1?include=cars.options&fields=name,cars.options.label,cars.color',
    { name: 'Clio', cars: [{ color: 'red', options: [{ label: 'AC' }, { label: 'GPS' }] }] },
  ],
  [
    'cars?include=cars_features.feature&fields=id,cars_features.feature.name&limit=2',
    [
      { id: 1, cars_features: [{ feature: { name: 'fast' } }, { feature: { name: 'loud' } }] },
      { id: 2, cars_features: [{ feature: { name: 'loud' } }] },
    ],
  ],
  ['cars/3?include=model,options&fields=id,model,options', { id: 3, model: null, options: [] }],
  ['cars/search?q=blue&include=model&fields=model.name', [{ model: { name: 'Panda' } }]],
  ['models/1/cars?include=model&fields=model.name', [{ model: { name: 'Clio' } }]],
  [
    'cars?include[]=model&include[]=dealer&fields=model.name,dealer.name&limit=1',
    [{ model: { name: 'Clio' }, dealer: { name: 'Fiat' } }],
  ],
  [
    'cars?include=model,model,model.maker&fields=model.name,model.maker.name&limit=1',
    [{ model: { name: 'Clio', maker: { name: 'Renault' } } }],
  ],
  [
    'options?include=car.model&fields=car.model.name,label&sort=id&limit=1',
    [{ label: 'GPS', car: { model: { name: 'Clio' } } }],
  ],
]

/** Which cars filters find. */
const FOUND: readonly (readonly [query: string, ids: readonly number[]])[] = [
  ['model.name=Clio', [1]],
  ['model.name=Clio&model.name=Kit', [1, 4]],
  ['model.name[prefix]=P', [2]],
  ['model.maker.country=FR', [1]],
  ['dealer.name=Fiat', [1]],
  ['filter[model.name]=Clio', [1]],
  ['model[exists]=true', [1, 2, 4]],
  ['model[exists]=false', [3]],
  ['model.maker[exists]=false', [4]],
  ['options.label=GPS', [1, 4]],
  ['options.label=AC&color=red', [1]],
  ['options[exists]=false', [3]],
  ['options[exists]=true&color=blue', [2]],
  // Filters through one relation are about the same item.
  ['options.label=GPS&options.price[gt]=10', [4]],
  ['options.label[ne]=AC', [1, 4]],
  ['cars_features.feature.name=loud', [1, 2]],
  ['model.cars.options.label=roof', [4]],
  ['options.label=none', []],
  [where({ model: { name: { prefix: 'Cl' } } }), [1]],
  [where({ not: { model: { name: { prefix: 'Cl' } } } }), [2, 3, 4]],
  [where({ not: { options: { label: 'GPS' } } }), [2, 3]],
  [where({ 'options.label': 'GPS', 'options.price': { gt: 10 } }), [4]],
  [where({ options: { label: 'GPS', price: { gt: 10 } } }), [4]],
  [where({ and: [{ options: { label: 'GPS' } }, { options: { label: 'AC' } }] }), [1]],
  [where({ options: { or: [{ price: { gt: 10 } }, { price: 3 }] } }), [2, 4]],
  [where({ options: { not: { label: 'GPS' } } }), [1, 2, 4]],
  [
    where({ or: [{ model: { maker: { country: 'IT' } } }, { options: { exists: false } }] }),
    [2, 3],
  ],
  [where({ model: { cars: { options: { label: 'roof' } } } }), [4]],
  [where({ options: { label: [] } }), []],
]

/** Requests that are refused: the types of their issues, the first field, and words of the message. */
const REFUSED: readonly (readonly [path: string, type: string, field: string, message: RegExp])[] =
  [
    ['cars?include=modle', 'unknown_include', 'include', /of cars.*model/],
    ['cars?include=model.makr', 'unknown_include', 'include', /of models: did you mean maker\?/],
    ['features?include=car', 'unknown_include', 'include', /features: did you mean cars_features/],
    ['cars?include=', 'invalid_include', 'include', /names nothing.*model/],
    ['cars?include=model(1)', 'invalid_include', 'include', /one model/],
    ['cars?include=options(5)', 'invalid_include', 'include', /from 1 to 4, as in options\(4\)/],
    ['cars?include=options(0)', 'invalid_include', 'include', /from 1/],
    ['cars?include=options(x)', 'invalid_include', 'include', /from 1/],
    ['cars?include=options(1),options(2)', 'invalid_include', 'include', /two numbers/],
    ['cars?include=options.car', 'invalid_include', 'include', /leads back/],
    ['makers?include=models.cars.options.car', 'invalid_include', 'include', /4 levels; at most 3/],
    ['cars?include=model&include=options', 'repeated_parameter', 'include', /send it once/],
    ['cars?fields=id&include=model', 'invalid_fields', 'fields', /nothing of model/],
    ['cars?fields=model.name', 'unknown_field', 'fields', /add include=model/],
    ['cars?fields=model.nme&include=model', 'unknown_field', 'fields', /did you mean name/],
    ['cars?model=1', 'not_filterable', 'model', /model\[exists\]/],
    ['cars?modl.name=1', 'unknown_field', 'modl.name', /did you mean model/],
    ['cars?model.nme=1', 'unknown_field', 'model.nme', /did you mean model.name/],
    ['cars?options.price=x', 'invalid_value', 'options.price', /must be a number/],
    [
      'cars?options.label[gt]=1&options.label[foo]=1',
      'unknown_operator',
      'options.label[foo]',
      /foo/,
    ],
    [
      'cars?model.cars.model.cars.color=red',
      'not_filterable',
      'model.cars.model.cars.color',
      /at most 3/,
    ],
    ['cars?options.car.color=red', 'not_filterable', 'options.car.color', /leads back/],
    ['cars?sort=model.name', 'not_sortable', 'sort', /own fields/],
    [
      `cars?${where({ model: { nme: 1 } })}`,
      'unknown_field',
      'where.model.nme',
      /did you mean name/,
    ],
    [`cars?${where({ model: 5 })}`, 'not_filterable', 'where.model', /exists/],
    [`cars?${where({ options: [] })}`, 'not_filterable', 'where.options', /exists/],
    [`cars?${where({ options: {} })}`, 'not_filterable', 'where.options', /exists/],
    ['cars.csv?include=options', 'invalid_include', 'include', /table/],
    ['cars/1.csv?include=options(1)', 'invalid_include', 'include', /table/],
    ['cars.ndjson?include=options', 'invalid_include', 'include', /limit/],
    ['cars/count?model.nme=1', 'unknown_field', 'model.nme', /did you mean/],
  ]

describe.each(Object.keys(DATABASES))('%s', name => {
  let shop: Shop
  let handler: OpenHandler
  const statements: string[] = []
  const get = async (path: string) => {
    if (!shop) {
      shop = await openShop(await DATABASES[name]?.(text => statements.push(text)))
      handler = await openHandler('fetch', shop)
    }
    return handler.request(`/${path}`)
  }

  test.each(INCLUDED)('%s', async (path, expected) => {
    expect((await get(path)).json).toEqual(expected)
  })

  test.each(FOUND)('cars?%s', async (query, ids) => {
    const { json, headers } = await get(`cars?${query}&fields=id`)
    expect(json).toEqual(ids.map(id => ({ id })))
    expect(headers.get('x-result-count')).toBe(String(ids.length))
    expect((await get(`cars/count?${query}`)).json).toEqual({ count: ids.length })
  })

  test.each(REFUSED)('%s', async (path, type, field, message) => {
    const { status, text } = await get(path)
    expect(status).toBe(400)
    expect(text).toContain(type)
    expect(text).toContain(field)
    expect(text).toMatch(message)
  })

  test('one statement for each relation of a level, and none more for filters through them', async () => {
    if (name === 'memory') return
    const count = async (query: string) => {
      statements.length = 0
      await get(`cars?${query}`)
      return statements.filter(text => text.includes('from "include_')).length
    }
    const filters = 'options.label=GPS&model[exists]=true'
    const include = 'include=model.maker,options,cars_features.feature'
    // Tables are opened, and the totals of these filters counted.
    await get(`cars?${filters}&${include}`)
    const plain = await count(filters)
    expect(plain).toBe(1)
    expect(await count(`${filters}&${include}`)).toBe(plain + 5)
  })
})

test('plain names of parts stand in the JSON as in the items, whole', async () => {
  const { fetch } = await openShop()
  const get = async (path: string) => (await fetch(new Request(`http://x/${path}`))).json()
  const [car] = (await get('cars?include=model,options&limit=1')) as Record<string, unknown>[]
  const { model, options, ...own } = car ?? {}
  expect(own).toEqual(await get('cars/1'))
  expect(model).toEqual(await get('models/1'))
  expect(options).toEqual(await get('cars/1/options'))
  expect(Object.keys(car ?? {}).slice(-2)).toEqual(['model', 'options'])
})

describe('tags', () => {
  test('an item tag covers what is included, is no date, and its version works in If-Match', async () => {
    const shop = await openShop()
    const handler = await openHandler('fetch', shop)
    const first = await handler.request('/cars/1?include=model')
    const plain = await handler.request('/cars/1')
    const tag = first.headers.get('etag') ?? ''
    const [version] = plain.headers.get('etag')?.split('.') ?? []
    expect(tag).toMatch(/^"[^.]+\.[a-z0-9]+\.json"$/)
    expect(tag.split('.')[0]).toBe(version)
    expect(first.headers.has('last-modified')).toBe(false)
    const again = { headers: { 'if-none-match': tag } }
    expect((await handler.request('/cars/1?include=model', again)).status).toBe(304)
    await shop.collection('models').patch(1, { name: 'Clio II' })
    expect((await handler.request('/cars/1?include=model', again)).status).toBe(200)
    const changed = { method: 'PATCH', json: { color: 'black' }, headers: { 'if-match': tag } }
    expect((await handler.request('/cars/1', changed)).status).toBe(200)
    expect((await handler.request('/cars/1', changed)).status).toBe(412)
  })

  test("a list's tag changes with anything that it includes", async () => {
    const shop = await openShop()
    const handler = await openHandler('fetch', shop)
    const tagOf = async () =>
      (await handler.request('/cars?include=options,model.maker')).headers.get('etag')
    const tags = [await tagOf(), await tagOf()]
    expect(tags[0]).toBe(tags[1])
    await shop.collection('options').create({ car_id: 3, label: 'x', price: 1 } as never)
    tags.push(await tagOf())
    await shop.collection('makers').patch(2, { country: 'PL' })
    tags.push(await tagOf())
    await shop.collection('options').delete(3)
    tags.push(await tagOf())
    expect(new Set(tags).size).toBe(4)
  })
})

test('XML and CSV nest what is included', async () => {
  const handler = await openHandler('fetch', await openShop())
  const xml = await handler.request(
    '/cars/1.xml?include=model,options&fields=id,model.name,options.label',
  )
  expect(xml.text).toContain(
    '<car><id>1</id><model><name>Clio</name></model><options><item><label>AC</label></item><item><label>GPS</label></item></options></car>',
  )
  const csv = await handler.request('/cars.csv?include=model&fields=id,model.name')
  expect(csv.text).toBe('id,model.name\r\n1,Clio\r\n2,Panda\r\n3,\r\n4,Kit\r\n')
  const ndjson = await handler.request('/cars.ndjson?include=dealer&fields=id,dealer.name')
  expect(ndjson.text.split('\n')[0]).toBe('{"id":1,"dealer":{"name":"Fiat"}}')
  const page = await handler.request('/cars.ndjson?include=options&fields=id,options.label&limit=1')
  expect(page.text).toBe('{"id":1,"options":[{"label":"AC"},{"label":"GPS"}]}\n')
})

test('QUERY includes and filters as GET does', async () => {
  const shop = await openShop()
  const body = {
    include: ['model', 'options(1)'],
    model: { name: 'Clio' },
    options: { exists: true },
    fields: ['id', 'model.name', 'options.label'],
  }
  const headers = { 'content-type': 'application/json' }
  const answer = await shop.fetch(
    new Request('http://x/cars', { method: 'QUERY', headers, body: JSON.stringify(body) }),
  )
  expect(await answer.json()).toEqual([
    { id: 1, model: { name: 'Clio' }, options: [{ label: 'AC' }] },
  ])
  expect(answer.headers.get('location')).toContain('include=model,options(1)')
})

test('OPTIONS and OpenAPI name what may be included', async () => {
  const shop = await openShop()
  const described = await getJson(shop, 'cars', { method: 'OPTIONS' })
  const parameters = described.get?.parameters as unknown as readonly Part[] // it is a list
  const found = parameters.find(({ name }) => String(name) === 'include')
  const { description, schema } = found ?? {}
  expect(description).toContain('dealer, model, options, cars_features')
  const pattern = new RegExp(String(schema?.items?.pattern))
  for (const name of ['model', 'options(5)', 'model.maker', 'cars_features.feature'])
    expect(name).toMatch(pattern)
  for (const name of ['modl', 'options(0)', 'options(', '.model', ''])
    expect(name).not.toMatch(pattern)
  const document = await getJson(shop, 'openapi.json')
  const { properties } = document.components?.schemas?.Car ?? {}
  expect(properties?.options?.items).toEqual({ $ref: '#/components/schemas/Option' })
  expect(properties?.model?.anyOf).toEqual([
    { $ref: '#/components/schemas/Model' },
    { type: 'null' },
  ])
})

test('a body with what a GET included says where that is written', async () => {
  const handler = await openHandler('fetch', await openShop())
  const send = async (method: string, path: string, json: object) =>
    (await handler.request(path, { method, json })).json as {
      errors: { message: string; field: string }[]
    }
  const model = { name: 'Clio' }
  const { errors } = await send('POST', '/cars', { color: 'red', model_id: 1, model, options: [] })
  expect(errors.map(({ field }) => field)).toEqual(['model', 'options'])
  expect(errors[0]?.message).toMatch(/at \/models, and name it here by model_id/)
  expect(errors[1]?.message).toMatch(/its items at \/options/)
  expect(
    (await send('PUT', '/cars/1', { color: 'red', model_id: 1, model: null })).errors,
  ).toHaveLength(1)
  expect((await send('PATCH', '/cars/1', { options: [] })).errors).toHaveLength(1)
})

describe('names', () => {
  const store = memoryStore()
  const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store })
  const define = (options: object, schema: z.ZodObject = z.object({ car_id: z.string() })) => {
    const parts = defineCollection({ name: 'parts', schema, store: memoryStore(), ...options })
    return defineApi({ collections: [cars, parts] })
  }
  const namesOf = async (api: { fetch(request: Request): Promise<Response> }) => {
    const { errors } = await getJson(api, 'parts?include=zzz')
    return String(errors?.[0]?.message).replace(/^.*zzz" of parts\. /, '')
  }

  test('a name that a property has is no relation, until as gives another', async () => {
    const schema = z.object({ car_id: z.string(), car: z.string() })
    expect(await namesOf(define({ references: { car_id: 'cars' } }, schema))).toBe(
      'Nothing can be included in parts. To add items that refer to it, declare parts in their parents',
    )
    const as = { references: { car_id: { collection: 'cars', as: 'vehicle' } } }
    expect(await namesOf(define(as, schema))).toBe('Use one of: vehicle')
  })

  test('on an open schema a reference has a name by as alone', async () => {
    const open = z.looseObject({ car_id: z.string() })
    expect(await namesOf(define({ references: { car_id: 'cars' } }, open))).toBe(
      'Nothing can be included in parts. To add items that refer to it, declare parts in their parents',
    )
    const as = { references: { car_id: { collection: 'cars', as: 'vehicle' } } }
    expect(await namesOf(define(as, open))).toBe('Use one of: vehicle')
  })

  test('a field without a suffix has no relation', async () => {
    const schema = z.object({ car: z.string() })
    expect(await namesOf(define({ references: { car: 'cars' } }, schema))).toBe(
      'Nothing can be included in parts. To add items that refer to it, declare parts in their parents',
    )
  })

  test.each([
    ['a property', { car_id: { collection: 'cars', as: 'car_id' } }],
    [
      'another relation',
      { car_id: { collection: 'cars', as: 'x' }, other_id: { collection: 'cars', as: 'x' } },
    ],
  ])('as that names %s is a TypeError', (what, references) => {
    const schema = z.object({ car_id: z.string(), other_id: z.string() })
    expect(() => define({ references }, schema)).toThrow(what)
  })

  test('as that is no name is a TypeError', () => {
    expect(() => define({ references: { car_id: { collection: 'cars', as: 'a.b' } } })).toThrow(
      TypeError,
    )
  })

  test('a field called include is the filter that it was, and nothing is included', async () => {
    const schema = z.object({ car_id: z.string().optional(), include: z.string() })
    const api = define({ references: { car_id: 'cars' }, timestamps: false, id: 'integer' }, schema)
    for (const include of ['a', 'b']) await api.collection('parts').create({ include })
    const answer = await api.fetch(new Request('http://x/parts?include=b'))
    expect(await answer.json()).toEqual([{ id: 2, include: 'b' }])
  })
})

test('filters over two databases are refused, and include reads both', async () => {
  const [sqlite, memory] = await Promise.all([DATABASES.SQLite?.(), DATABASES.memory?.()])
  let at = 0
  const shop = await openShop(() => (++at % 2 ? sqlite : memory)?.() ?? memoryStore())
  const get = (path: string) => getJson(shop, path)
  expect(await get('cars/1?include=model,options&fields=model.name,options.label')).toEqual({
    model: { name: 'Clio' },
    options: [{ label: 'AC' }, { label: 'GPS' }],
  })
  const { errors } = await get('cars?model.name=Clio')
  expect(errors?.[0]).toMatchObject({ type: 'not_filterable', field: 'model.name' })
  expect(errors?.[0]?.message).toContain('another database')
  await shop.close()
})

test('a remembered total is that of a version, where another one has other related items', async () => {
  const store = (await DATABASES.SQLite?.()) ?? memoryStore
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ color: z.string() }),
    store: store(),
  })
  const optionsOf = () =>
    defineCollection({
      name: 'options',
      id: 'integer',
      schema: z.object({ car_id: z.int(), label: z.string() }),
      store: store(),
      parents: { car_id: 'cars' },
    })
  const versions = [1, 2].map(version => ({ version, collections: [cars, optionsOf()] }))
  const api = defineApi({ versions })
  const send = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
    return api.fetch(new Request(`http://x/${path}`, init))
  }
  for (const color of ['red', 'blue', 'green']) await send('v1/cars', { color })
  for (const car_id of [1, 2, 3]) await send('v1/options', { car_id, label: 'GPS' })
  await send('v2/options', { car_id: 1, label: 'GPS' })
  const count = async (version: string) => {
    const { headers } = await send(`${version}/cars?options.label=GPS&limit=1`)
    return headers.get('x-result-count')
  }
  expect([await count('v1'), await count('v2'), await count('v1')]).toEqual(['3', '1', '3'])
  await api.close()
})

test("json-server's _embed and _expand include, also in an item", async () => {
  const posts = defineCollection({
    name: 'posts',
    id: 'integer',
    timestamps: false,
    schema: z.object({ title: z.string() }),
    store: memoryStore(),
  })
  const comments = defineCollection({
    name: 'comments',
    id: 'integer',
    timestamps: false,
    schema: z.object({ postId: z.int(), body: z.string() }),
    store: memoryStore(),
    parents: { postId: 'posts' },
  })
  const api = defineApi({ collections: { posts, comments }, dialects: [jsonServer] })
  await api.collection(posts).create({ title: 'a' })
  await api.collection(comments).create({ postId: 1, body: 'x' })
  const get = async (path: string) => (await api.fetch(new Request(`http://x/${path}`))).json()
  const comment = { id: 1, postId: 1, body: 'x' }
  expect(await get('posts?_embed=comments')).toEqual([{ id: 1, title: 'a', comments: [comment] }])
  expect(await get('posts/1?_embed=comments')).toEqual({ id: 1, title: 'a', comments: [comment] })
  expect(await get('comments?_expand=post')).toEqual([{ ...comment, post: { id: 1, title: 'a' } }])
})

describe('programs and the client', () => {
  test('included items have versions: a write with one is conditional', async () => {
    const shop = await openShop()
    const cars = shop.collection('cars')
    const [car] = await cars
      .list({ include: ['model', 'options(1)'], model: { name: 'Clio' } } as never)
      .toArray()
    const { model } = car as unknown as { model: { id: number } }
    expect(await shop.collection('models').patch(model as never, { name: 'A' })).toMatchObject({
      name: 'A',
    })
    await expect(shop.collection('models').patch(model as never, { name: 'B' })).rejects.toThrow(
      'changed',
    )
    expect(await cars.patch(car as never, { color: 'black' })).toMatchObject({ color: 'black' })
    expect(Object.isFrozen(car) && Object.isFrozen(model)).toBe(true)
  })

  test('a list, its pages and its items have what is included', async () => {
    const shop = await openShop()
    const cars = shop.collection('cars')
    const query = { include: ['options'], fields: ['id', 'options.label'], sort: '-id' } as never
    const first = { id: 4, options: [{ label: 'GPS' }, { label: 'roof' }] }
    expect(await cars.list(query).first()).toEqual(first)
    expect((await cars.list(query).page()).items[0]).toEqual(first)
    expect((await cars.list(query).toArray())[0]).toEqual(first)
    expect(await cars.read(4, { include: ['model'] } as never)).toMatchObject({
      model: { name: 'Kit' },
    })
    await expect(cars.read(4, { include: ['x'] } as never)).rejects.toThrow('Unknown relation')
    expect(await cars.count({ options: { or: [{ label: 'GPS' }, { price: 3 }] } } as never)).toBe(3)
    expect(await cars.count({ model: { exists: false } } as never)).toBe(1)
  })

  test('programs include more than a page may', async () => {
    const shop = await openShop()
    const options = shop.collection('options')
    for (let at = 0; at < 30; at++)
      await options.create({ car_id: 3, label: `${at}`, price: 1 } as never)
    const car = await shop.collection('cars').read(3, { include: ['options'] } as never)
    expect((car as unknown as { options: unknown[] }).options).toHaveLength(30)
    const answer = await shop.fetch(new Request('http://x/cars/3?include=options'))
    expect(answer.status).toBe(400)
  })

  test('the client sends the same, and writes with an item that has more than its own', async () => {
    const shop = await openShop()
    const fetch = (url: string, init: RequestInit) => shop.fetch(new Request(url, init))
    const { cars } = createClient<{ collections: { cars: Shop['collections'][string] } }>(
      'http://x',
      {
        fetch,
        ids: {},
      } as never,
    ) as unknown as { cars: ReturnType<Shop['collection']> }
    const query = {
      include: ['model', 'options(1)'],
      options: { or: [{ label: 'roof' }] },
    } as never
    const [car] = await cars.list(query).toArray()
    expect(car).toMatchObject({ id: 4, model: { name: 'Kit' }, options: [{ label: 'GPS' }] })
    expect(await cars.patch(car as never, { color: 'black' })).toMatchObject({
      id: 4,
      color: 'black',
    })
    const again = cars.patch(car as never, { color: 'white' })
    await expect(again).rejects.toMatchObject({ name: 'ConflictError', theirs: { color: 'black' } })
    const read = await cars.read(1, { include: ['model'] } as never)
    expect(read).toMatchObject({ id: 1, model: { name: 'Clio' } })
    expect(await cars.patch(read as never, { color: 'black' })).toMatchObject({ color: 'black' })
    const only = { include: ['model'], fields: ['id', 'model.name'] } as never
    expect(await cars.list(only).first()).toEqual({ id: 1, model: { name: 'Clio' } })
  })
})
