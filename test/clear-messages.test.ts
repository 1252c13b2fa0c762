// Each message names the value that is wrong and what to do: for clients, for those who declare, for those who call.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../src/client/index.ts'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../src/index.ts'
import { alterTableSql, createTableSql } from '../src/sql/index.ts'
import { callUntyped, defineUntyped } from './untyped.ts'

const schema = z.object({ color: z.string(), price: z.number() })
const JSON_TYPE = { 'content-type': 'application/json' }

async function makeApi() {
  const store = memoryStore()
  const cars = defineCollection({ name: 'cars', schema, store, id: 'integer' })
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
  })
  const ofCar = { schema: schema.extend({ car_id: z.int() }), parents: { car_id: 'cars' } } as const
  const options = defineCollection({ name: 'options', ...ofCar, store: memoryStore() })
  const secrets = defineCollection({
    name: 'secrets',
    ...ofCar,
    store: memoryStore(),
    id: 'integer',
    hideExistence: true,
    access: { default: ['spy'] },
  })
  const scheme = {
    name: 'None',
    challenge: () => 'None',
    authenticate: async () => ({ id: 'ann' }),
  }
  const api = defineApi({
    version: 2,
    collections: { cars, options, photos, secrets },
    schemes: [scheme],
  })
  await api.collection(cars).create({ color: 'red', price: 6500 })
  return api
}

/** Sends a request, and gives the first message with its status and type. */
async function ask(path: string, init: RequestInit = {}) {
  const api = await makeApi()
  const response = await api.fetch(new Request(`https://api.example${path}`, init))
  const { errors } = (await response.json()) as { errors: { message: string; type: string }[] }
  return [response.status, errors[0]?.type, errors[0]?.message]
}

describe('a parameter of other libraries names the one that is meant', () => {
  const PAGED = 'Use limit and offset, or follow the Link header.'
  test.each([
    ['page', PAGED],
    ['per_page', PAGED],
    ['pageSize', PAGED],
    ['skip', PAGED],
    ['order', 'Use sort, such as sort=-created_at.'],
    ['q', 'cars has no search. To add one, declare search: [<its fields>]'],
    ['search', 'cars has no search. To add one, declare search: [<its fields>]'],
    ['select', 'Use fields, such as fields=id.'],
    ['expand', 'Use include, such as include=model.'],
    ['populate', 'Use include, such as include=model.'],
    ['filter', 'Filter by a field, such as color=red, or by where.'],
    ['by', 'cars has no groups. To add them, declare groups: [<its fields>]'],
    ['after', 'Follow the Link header: its URLs have the cursor.'],
  ])('%s', async (name, hint) => {
    const message = `Unknown query parameter "${name}". ${hint}`
    expect(await ask(`/v2/cars?${name}=1`)).toEqual([400, 'unknown_field', message])
  })
})

describe('a path below a collection says what is wrong', () => {
  test.each([
    ['/v2/cars.pdf', 'cars has no format "pdf". Use .json, .xml, .csv, .ndjson.'],
    ['/v2/cars/1.pdf', 'cars has no format "pdf". Use .json, .xml, .csv, .ndjson.'],
    ['/v2/cars/0x1', 'No car has the id "0x1": ids are whole numbers.'],
    ['/v2/secrets/0x1', 'Nothing exists at "/v2/secrets/0x1". GET / lists the collections.'],
    ['/v2/secrets.pdf', 'Nothing exists at "/v2/secrets.pdf". GET / lists the collections.'],
    [
      '/v2/cars/1/optoins',
      'Nothing exists at "/v2/cars/1/optoins": did you mean /v2/cars/1/options?',
    ],
    [
      '/v2/cars/1/secrts',
      'Nothing exists at "/v2/cars/1/secrts". Below an item of cars there are: options.',
    ],
    ['/v3/cars', 'Nothing exists at "/v3/cars": did you mean /v2/cars?'],
    ['/v2/cars/search', 'cars has no search. To add one, declare search: [<its fields>].'],
    [
      '/v2/batch',
      'Nothing exists at "/v2/batch". This API takes no batches. To add them, set batch: true in defineApi.',
    ],
    ['/v2/nothing', 'Nothing exists at "/v2/nothing". GET / lists the collections.'],
  ])('%s', async (path, message) => {
    expect(await ask(path)).toEqual([404, 'no_such_path', message])
  })
})

test('an id that is no UUID', async () => {
  expect(await ask('/v2/photos/12')).toEqual([
    404,
    'not_found',
    'No photo has the id "12": ids are UUIDs.',
  ])
})

test.each<[string, string, RequestInit, number, string]>([
  [
    'several values without [in]',
    '/v2/cars?price=1,2',
    {},
    400,
    'price must be a number, not "1,2". For several values send price[in]=1,2,…',
  ],
  [
    'a long value',
    `/v2/cars?price=${'x'.repeat(65)}`,
    {},
    400,
    `price must be a number, not "${'x'.repeat(64)}…"`,
  ],
  [
    'a file in a filter',
    '/v2/photos?photo=x',
    {},
    400,
    'photo is a file. Filter with photo[exists]=true or photo[exists]=false',
  ],
  [
    'a null of what is required',
    '/v2/cars/1',
    { method: 'PATCH', headers: JSON_TYPE, body: '{"color":null}' },
    400,
    'color is required: null would remove it. Send a value, or leave color out',
  ],
  [
    'a file that is no Base64',
    '/v2/photos',
    { method: 'POST', headers: JSON_TYPE, body: '{"photo":{"type":"image/png","data":"%%%"}}' },
    400,
    'photo.data must be Base64, such as "aGk="',
  ],
  [
    'no body',
    '/v2/cars',
    { method: 'POST' },
    400,
    'The request needs a body, such as JSON with Content-Type: application/json.',
  ],
  [
    'a part of an item',
    '/v2/cars/1',
    { method: 'PUT', headers: { ...JSON_TYPE, 'content-range': 'bytes 0-1/2' }, body: '{}' },
    400,
    'A PUT cannot have Content-Range, because it replaces the whole item. Leave the header out, or send PATCH for a part',
  ],
  [
    'a page of another origin',
    '/v2/cars',
    {
      method: 'POST',
      headers: { ...JSON_TYPE, cookie: 'a=b', origin: 'https://evil.example' },
      body: '{}',
    },
    403,
    'A page of the origin "https://evil.example" must not write here with the credentials of the browser. Allow its origin in cors.origins.',
  ],
  [
    'a stale If-Match',
    '/v2/cars/1',
    { method: 'PATCH', headers: { ...JSON_TYPE, 'if-match': '"x.json"' }, body: '{"price":1}' },
    412,
    'The item has changed since you read it. Read it again and repeat your change.',
  ],
  [
    'an old If-Unmodified-Since',
    '/v2/cars/1',
    {
      method: 'PATCH',
      headers: { ...JSON_TYPE, 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' },
      body: '{"price":1}',
    },
    412,
    'The item has changed since you read it. Read it again and repeat your change.',
  ],
  [
    'If-None-Match of what is there',
    '/v2/cars/1',
    {
      method: 'PUT',
      headers: { ...JSON_TYPE, 'if-none-match': '*' },
      body: '{"color":"a","price":1}',
    },
    412,
    'If-None-Match does not hold: the item exists already.',
  ],
  [
    'a foreign URL of a file',
    '/v2/photos',
    { method: 'POST', headers: JSON_TYPE, body: '{"photo_url":"https://evil.example/x"}' },
    400,
    'photo_url must be the URL that this API returned for the photo. The server does not fetch other URLs: upload the file instead.',
  ],
  [
    'a test of a JSON Patch',
    '/v2/cars/1',
    {
      method: 'PATCH',
      headers: { 'content-type': 'application/json-patch+json' },
      body: '[{"op":"test","path":"/price","value":1}]',
    },
    409,
    'Operation 0 (test): the value at "/price" is not the given one. Read the item again.',
  ],
  [
    'a comma too many',
    '/v2/cars',
    { method: 'POST', headers: JSON_TYPE, body: '{"color":"red",\n"price":1,,}' },
    400,
    'The body is not valid JSON at line 2, column 11: "," cannot stand there',
  ],
  [
    'a word that is no JSON',
    '/v2/cars',
    { method: 'POST', headers: JSON_TYPE, body: '{"price":[NaN]}' },
    400,
    'The body is not valid JSON at line 1, column 11: "N" cannot stand there',
  ],
  [
    'a comma at the end of a list',
    '/v2/cars',
    { method: 'POST', headers: JSON_TYPE, body: '{"model":\n["Clio",]}' },
    400,
    'The body is not valid JSON at line 2, column 9: "]" cannot stand there',
  ],
  [
    'a body without its last bracket',
    '/v2/cars',
    { method: 'POST', headers: JSON_TYPE, body: '{"price":1' },
    400,
    'The body is not valid JSON: it ends too early',
  ],
  [
    'a body that ends',
    '/v2/cars',
    { method: 'POST', headers: JSON_TYPE, body: '{"color":' },
    400,
    'The body is not valid JSON: it ends too early',
  ],
  [
    'a number for a string',
    '/v2/cars',
    { method: 'POST', headers: JSON_TYPE, body: '{"color":7,"price":1}' },
    400,
    'color must be a string',
  ],
  [
    'GET by _method',
    '/v2/cars',
    { method: 'POST', body: new URLSearchParams({ _method: 'GET' }) },
    400,
    '_method may be POST, PUT, PATCH or DELETE. Send a GET request for GET.',
  ],
])('%s', async (_, path, init, status, message) => {
  const [answered, , said] = await ask(path, init)
  expect([answered, said]).toEqual([status, message])
})

const declare = (options: object) => () =>
  defineUntyped({ name: 'cars', schema, store: memoryStore(), ...options })
const define = (options: unknown) => () => callUntyped(defineApi, options)
const cars = defineCollection({ name: 'cars', schema, store: memoryStore() })
const vans = defineCollection({ name: 'vans', schema, store: memoryStore() })

test.each<[string, () => unknown, string]>([
  [
    'no options',
    define(undefined),
    'defineApi needs an object of options, such as { collections }, not undefined',
  ],
  [
    'a hook without its time',
    declare({ hooks: { create: () => undefined } }),
    'cars: hooks: "create" is an operation. Say when its hook runs, such as { before: { create: … } }',
  ],
  [
    'a scheme by its name',
    define({ collections: { cars }, schemes: ['bearer'] }),
    'defineApi: schemes[0] must be a scheme, which basic({ … }), bearerJwt({ … }) and introspection({ … }) of rest-conventions return, not "bearer"',
  ],
  [
    'a parent by no field',
    declare({ parents: { model_id: 'models' } }),
    `cars: parents names no field: "model_id"; it takes { <a field of cars>: '<a collection>' }. Add the field to the schema of cars`,
  ],
  [
    'a role that does not exist',
    declare({ fields: { color: 'hidden' } }),
    `cars: fields.color must be "readOnly", "writeOnly" or "immutable", { readOnly: ({ principal }) => … } or { read: ['staff'], write: ['staff'] }, not "hidden"`,
  ],
  [
    'an origin with a slash',
    define({
      collections: { cars },
      cors: { origins: ['https://a.example', 'https://b.example/'] },
    }),
    'cors: origins[1] must be an origin such as https://app.example, without a slash or path at its end, not "https://b.example/"',
  ],
  [
    'an operation that does not exist',
    declare({ operations: ['list', 'update'] }),
    'cars: operations[1] must be',
  ],
  [
    'a client without a URL',
    () => callUntyped(createClient, undefined),
    'createClient needs a whole URL, such as https://api.example, not undefined',
  ],
])('at definition: %s', (_, declared, message) => {
  expect(declared).toThrow(TypeError)
  expect(declared).toThrow(message)
})

test('two collections on one store', () => {
  const store = memoryStore()
  const [one, two] = ['one', 'two'].map(name => defineCollection({ name, schema, store }))
  expect(define({ collections: [one, two] })).toThrow(
    new TypeError('one and two share one store. Create a store for each collection.'),
  )
  expect(vans.name).toBe('vans')
})

test('createTableSql without a shape, and a transaction without work', async () => {
  expect(() => callUntyped(createTableSql)).toThrow(
    new TypeError('createTableSql takes the shape of a collection: cars.shape'),
  )
  const { transaction } = await makeApi()
  await expect(callUntyped(transaction, 'x')).rejects.toThrow(
    new TypeError('transaction needs a function, such as async tx => { … }, not "x"'),
  )
})

test('alterTableSql without a database', async () => {
  await expect(callUntyped(alterTableSql, cars.shape)).rejects.toThrow(
    new TypeError('alterTableSql needs { db }, your Kysely, as its second argument'),
  )
})

describe('in the client', () => {
  test('a relative URL outside a browser', () => {
    expect(() => createClient('/api')).toThrow(
      new TypeError('createClient needs a whole URL, such as https://api.example, not /api'),
    )
  })

  test('a page in place of JSON', async () => {
    const headers = { 'content-type': 'text/html' }
    const client = createClient<Awaited<ReturnType<typeof makeApi>>>('https://api.example', {
      version: 2,
      fetch: async () => new Response('<html>', { headers }),
    })
    await expect(client.cars.read(1)).rejects.toThrow(
      'Status 200, text/html: this is not JSON of this API. Check that URL',
    )
  })
})

test.each([
  ['a query', '/v2/cars?color=r%C3%A9d&price=%E0%A4%A', {}, 'query', '%E0%A4%A'],
  ['a path', '/v2/cars/%ff', {}, 'path', '%ff'],
  [
    'a form',
    '/v2/cars',
    {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'color=%ff',
    },
    'body',
    '%ff',
  ],
])('an escape of %s that is not UTF-8 is shown', async (_what, path, init, where, wrong) => {
  const [status, , message] = await ask(path, init)
  expect([status, message]).toEqual([
    400,
    expect.stringContaining(
      `The ${where} has an escape that is not valid UTF-8: "${wrong}". Encode `,
    ),
  ])
})

test('a null of what is required, where the schema has a message of its own', async () => {
  const schema = z.object({ color: z.string({ error: 'Give a color.' }) })
  const own = defineCollection({ name: 'cars', schema, store: memoryStore(), id: 'integer' })
  const api = defineApi({ collections: [own] })
  await api.collection(own).create({ color: 'red' })
  const init = { method: 'PATCH', headers: JSON_TYPE, body: '{"color":null}' }
  const response = await api.fetch(new Request('https://api.example/cars/1', init))
  const { errors } = Object(await response.json())
  expect(errors[0].message).toBe(
    'Give a color: null would remove it. Send a value, or leave color out',
  )
})
