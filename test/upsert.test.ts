// PUT of a collection by a unique set (conventions, "Upsert"): it creates the item, or replaces it.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createClient } from '../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import type { Policies } from '../src/model/types/policies.ts'
import type { Store } from '../src/store/store.ts'
import { scopedScheme } from './scoped-scheme.ts'
import { usePostgres } from './stores/postgres.ts'
import { TRANSACTIONAL } from './stores/transactional.ts'

usePostgres()

/** Cars that are named by a plate, or by a country and a number; their hooks are recorded. */
function garage(store: Store, policies: Policies = {}, transaction = false) {
  const events: string[] = []
  const note = (name: string) => (event: unknown) => {
    events.push(name + (Object(event).item ? ' of one' : ''))
  }
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      plate: z.string(),
      country: z.string().optional(),
      number: z.int().optional(),
      color: z.string().default('white'),
      owner: z.string().default('anna'),
      writes: z.int().default(0),
    }),
    store,
    unique: ['plate', ['country', 'number']],
    hooks: {
      transaction,
      before: { create: note('before create'), replace: note('before replace') },
      after: { create: note('after create'), replace: note('after replace') },
      error: ({ operation }) => {
        events.push(`error of ${operation}`)
      },
    },
    ...(policies.schemes && {
      visible: (principal?: { id: string }) => ({ owner: principal?.id ?? '' }),
      access: { create: ['add'], replace: ['change'] },
    }),
  })
  const api = defineApi({ collections: { cars }, ...policies })
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const init = { method, body: body === undefined ? null : JSON.stringify(body) }
    const all = { 'content-type': 'application/json', prefer: 'return=representation', ...headers }
    const response = await api.fetch(new Request(`http://test${path}`, { ...init, headers: all }))
    const text = await response.text()
    const json: unknown = text === '' ? undefined : JSON.parse(text)
    const { message, type, field } = Object(Object(json).errors?.[0])
    return { status: response.status, json, message, type, field, headers: response.headers }
  }
  return { cars, api, send, events }
}

const BLUE = { plate: 'AB-123', color: 'blue' }
const RED = { plate: 'AB-123', color: 'red' }
const PLATE = '/cars?plate=AB-123'

describe.each(Object.entries(TRANSACTIONAL))('on %s', (_name, open) => {
  it('creates an item, then replaces it', async () => {
    const { send, events } = garage((await open())())
    const created = await send('PUT', PLATE, { ...BLUE, writes: 1 })
    expect(created).toMatchObject({ status: 201, json: { ...BLUE, writes: 1 } })
    const { id } = Object(created.json)
    expect(created.headers.get('location')).toBe(`http://test/cars/${id}`)
    const replaced = await send('PUT', PLATE, RED)
    expect(replaced).toMatchObject({ status: 200, json: { ...RED, id, writes: 0 } })
    expect(replaced.headers.get('content-location')).toBe(`http://test/cars/${id}`)
    expect(await send('PUT', PLATE, RED, { prefer: '' })).toMatchObject({ status: 303 })
    expect(events).toEqual(
      ['before create', 'after create'].concat(
        ...['', ''].map(() => ['before replace of one', 'after replace of one']),
      ),
    )
    expect(await send('GET', '/cars/count')).toMatchObject({ json: { count: 1 } })
  })

  it('takes each set, and puts its values into a body that lacks them', async () => {
    const { send } = garage((await open())())
    const path = '/cars?number=7&country=DE'
    const body = { plate: 'AB-123' }
    const values = { plate: 'AB-123', country: 'DE', number: 7 }
    expect(await send('PUT', path, body)).toMatchObject({ status: 201, json: values })
    expect(await send('PUT', path, { ...values, color: 'red' })).toMatchObject({
      status: 200,
      json: { ...values, color: 'red' },
    })
    expect(await send('PUT', '/cars?country=DE&number=8', body)).toMatchObject({
      status: 409,
      type: 'not_unique',
      field: 'plate',
    })
  })

  it('evaluates the conditions', async () => {
    const { send } = garage((await open())())
    const only = { 'if-none-match': '*' }
    expect(await send('PUT', PLATE, BLUE, { 'if-match': '*' })).toMatchObject({
      status: 412,
      message: 'If-Match does not hold: the item does not exist.',
    })
    const created = await send('PUT', PLATE, BLUE, only)
    expect(created.status).toBe(201)
    expect(await send('PUT', PLATE, RED, only)).toMatchObject({ status: 412 })
    const tag = created.headers.get('etag') ?? ''
    const replaced = await send('PUT', PLATE, RED, { 'if-match': tag })
    expect(replaced.status).toBe(200)
    expect(await send('PUT', PLATE, BLUE, { 'if-match': tag })).toMatchObject({ status: 412 })
    expect(await send('GET', PLATE)).toMatchObject({ json: [RED] })
  })

  it('reports the issues of the values with that of the set', async () => {
    const { send } = garage((await open())())
    const { status, json } = await send('PUT', PLATE, { plate: 'x', color: 5 })
    const fields = Object(json).errors.map(({ field }: { field: string }) => field)
    expect([status, fields]).toEqual([400, ['plate', 'color']])
  })

  it('lets one of several create at once, and the others replace', async () => {
    const { send, events } = garage((await open())(), {}, true)
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, writes) => send('PUT', PLATE, { ...BLUE, writes })),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(15).fill(200), 201])
    expect(new Set(answers.map(({ json }) => Object(json).id)).size).toBe(1)
    expect(await send('GET', '/cars/count')).toMatchObject({ json: { count: 1 } })
    // The hooks of attempts that were undone are seen again.
    expect(events.filter(each => each === 'after create')).toHaveLength(1)
    expect(events.filter(each => each.startsWith('error'))).toEqual([])
  })

  it('is done once for each idempotency key', async () => {
    const { send, events } = garage((await open())())
    const key = { 'idempotency-key': 'k1' }
    const first = await send('PUT', PLATE, BLUE, key)
    const again = await send('PUT', PLATE, BLUE, key)
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.json).toEqual(first.json)
    expect(events).toEqual(['before create', 'after create'])
    expect(await send('PUT', PLATE, RED, key)).toMatchObject({ status: 422 })
    expect(await send('PUT', '/cars?plate=x', { color: 'blue' }, key)).toMatchObject({
      status: 422,
    })
    const next = { 'idempotency-key': 'k2' }
    const replaced = await send('PUT', PLATE, RED, next)
    await send('PUT', PLATE, BLUE)
    expect(await send('PUT', PLATE, RED, next)).toMatchObject({ status: 200, json: replaced.json })
    expect(await send('GET', PLATE)).toMatchObject({ json: [BLUE] })
  })

  it('needs the right of what it does, and hides what the row policy hides', async () => {
    const { send } = garage((await open())(), { schemes: [scopedScheme] })
    const as = (authorization: string) => ({ authorization: `Test ${authorization}` })
    expect(await send('PUT', PLATE, BLUE)).toMatchObject({ status: 401 })
    expect(await send('PUT', PLATE, BLUE, as('anna'))).toMatchObject({ status: 403 })
    expect(await send('PUT', PLATE, BLUE, as('anna change'))).toMatchObject({ status: 403 })
    expect(await send('PUT', PLATE, BLUE, as('anna add'))).toMatchObject({ status: 201 })
    // Without a right the answer does not tell that it exists by now.
    expect(await send('PUT', PLATE, BLUE)).toMatchObject({ status: 401 })
    expect(await send('PUT', PLATE, BLUE, as('anna'))).toMatchObject({ status: 403 })
    expect(await send('PUT', PLATE, RED, as('anna add'))).toMatchObject({ status: 403 })
    expect(await send('PUT', PLATE, RED, as('anna change'))).toMatchObject({ status: 200 })
    const own = { ...BLUE, owner: 'bert' }
    const put = await send('PUT', PLATE, own, as('bert add change'))
    const posted = await send('POST', '/cars', own, as('bert add change'))
    expect([put.status, put.json]).toEqual([409, posted.json])
    expect(await send('PUT', PLATE, own, as('anna change'))).toMatchObject({ status: 403 })
    expect((await send('OPTIONS', '/cars', undefined, as('anna'))).headers.get('allow')).toBe(
      'GET, QUERY, HEAD, OPTIONS',
    )
  })

  it('is tried without doing it', async () => {
    const { send } = garage((await open())())
    const tried = { prefer: 'tx=rollback, return=representation' }
    expect(await send('PUT', PLATE, BLUE, tried)).toMatchObject({ status: 201 })
    expect(await send('GET', '/cars/count')).toMatchObject({ json: { count: 0 } })
  })

  it('is called in process, and in a transaction', async () => {
    const { api, cars } = garage((await open())(), {}, true)
    const own = api.collection(cars)
    const blue = await own.upsert({ plate: 'AB-123' }, BLUE)
    const red = await own.upsert({ plate: 'AB-123' }, RED)
    expect([blue.color, red.color, red.id]).toEqual(['blue', 'red', blue.id])
    await api.transaction(async tx => {
      const all = tx.collection(cars)
      await all.upsert({ plate: 'AB-123' }, BLUE)
      await all.upsert({ plate: 'CD-456' }, { plate: 'CD-456' })
      await all.upsert({ plate: 'CD-456' }, { plate: 'CD-456', color: 'green' })
    })
    const found = await own.list({ sort: 'plate' }).toArray()
    expect(found.map(({ plate, color }) => `${plate} ${color}`)).toEqual([
      'AB-123 blue',
      'CD-456 green',
    ])
    const refused = [{}, { color: 'red' }, { country: 'DE' }]
    for (const key of refused) await expect(own.upsert(key, BLUE)).rejects.toBeInstanceOf(TypeError)
    await expect(own.upsert({ plate: 'x' }, BLUE)).rejects.toMatchObject({ status: 400 })
  })

  it('is called by a client', async () => {
    const { api } = garage((await open())())
    const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init))
    const client = createClient<typeof api>('http://test', { fetch })
    const blue = await client.cars.upsert(
      { country: 'DE', number: 7 },
      { ...BLUE, country: 'DE', number: 7 },
    )
    const red = await client.cars.upsert({ plate: 'AB-123' }, RED)
    expect([blue.color, red.color, red.id]).toEqual(['blue', 'red', blue.id])
    // It has the version of what it gave.
    await client.cars.patch(red, { color: 'green' })
    await expect(client.cars.patch(red, { color: 'black' })).rejects.toMatchObject({ status: 412 })
  })
})

it.each([
  ['no set', '/cars', BLUE, 'unique_set_required'],
  ['half a set', '/cars?country=DE', BLUE, 'unique_set_required'],
  ['two sets', `${PLATE}&country=DE&number=7`, BLUE, 'unique_set_required'],
  ['a field that is in no set', '/cars?color=blue', BLUE, 'unique_set_required'],
  ['a parameter of lists', `${PLATE}&limit=1`, BLUE, 'unique_set_required'],
  ['an operator', '/cars?plate[prefix]=AB', BLUE, 'unique_set_required'],
  ['several values', '/cars?plate=AB-123&plate=CD-456', BLUE, 'unique_set_required'],
  ['no field', `${PLATE}&wings=2`, BLUE, 'unknown_field'],
  ['an invalid value', '/cars?country=DE&number=many', BLUE, 'invalid_value'],
  ['another value in the body', PLATE, { ...BLUE, plate: 'CD-456' }, 'immutable_field'],
  ['null in the body', PLATE, { ...BLUE, plate: null }, 'immutable_field'],
  ['an array', PLATE, [BLUE], 'invalid_type'],
])('refuses %s', async (_case, path, body, type) => {
  const { send } = garage(memoryStore())
  const { status, ...error } = await send('PUT', path, body)
  expect([status, error.type]).toEqual([400, type])
  if (type === 'unique_set_required')
    expect(error.message).toContain('PUT cars?plate=… or PUT cars?country=…&number=…')
  expect(await send('GET', '/cars/count')).toMatchObject({ json: { count: 0 } })
})

it.each([
  ['/cars?on_conflict=plate', {}, 'on_conflict'],
  ['/cars', { prefer: 'resolution=merge-duplicates' }, 'prefer'],
  ['/cars', { prefer: 'return=minimal, resolution=ignore-duplicates' }, 'prefer'],
])('refuses a POST of one item to %s with %j', async (path, headers, field) => {
  const { send } = garage(memoryStore())
  expect(await send('POST', path, BLUE, headers)).toMatchObject({ status: 400, field })
  expect(await send('GET', '/cars/count')).toMatchObject({ json: { count: 0 } })
})

it('is described where the collection has both operations and a set', async () => {
  const { send } = garage(memoryStore())
  const options = await send('OPTIONS', '/cars')
  expect(options.headers.get('allow')).toContain('PUT')
  const { put } = Object(options.json)
  const query = put.parameters.filter((each: { in: string }) => each.in === 'query')
  expect(query.map(({ name, required }: Record<string, unknown>) => [name, required])).toEqual([
    ['plate', false],
    ['country', false],
    ['number', false],
  ])
  expect(Object.keys(put.responses)).toEqual(['200', '201', '204', '303', 'default'])
  const store = memoryStore
  const schema = z.object({ plate: z.string() })
  for (const cars of [
    defineCollection({ name: 'cars', schema, store: store() }),
    defineCollection({
      name: 'cars',
      schema,
      store: store(),
      unique: ['plate'],
      operations: ['create', 'list'],
    }),
  ]) {
    const response = await cars.fetch(
      new Request('http://test/cars?plate=1', { method: 'PUT', body: '{}' }),
    )
    expect(response.status).toBe(405)
  }
  const none = defineCollection({ name: 'cars', schema, store: store() })
  const api = defineApi({ collections: { cars: none } })
  await expect(api.collection(none).upsert({ plate: '1' }, { plate: '1' })).rejects.toThrow(
    'Declare one by the option unique',
  )
})
