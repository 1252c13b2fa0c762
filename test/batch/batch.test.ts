// `POST /batch` (conventions, "Several changes as one"): all steps or none, on each store with transactions.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type Init, openHandler } from '../handlers.ts'
import { scopedScheme } from '../scoped-scheme.ts'
import { openPostgres, usePostgres } from '../stores/postgres.ts'
import { TRANSACTIONAL } from '../stores/transactional.ts'

usePostgres()

const MISSING = '01890000-0000-7000-8000-000000000000'

/** An api for orders; hooks are recorded. */
async function shop(make: () => Store, policies: Policies = {}) {
  const events: string[] = []
  const note = (when: string, { collectionName, operation, dryRun }: Record<string, unknown>) => {
    if (operation === 'count' || operation === 'read') return
    events.push(`${when} ${operation} ${collectionName}${dryRun ? ' dry' : ''}`)
  }
  const products = defineCollection({
    name: 'products',
    schema: z.object({ name: z.string(), stock: z.int().min(0), photo: blob().optional() }),
    store: make(),
    blobs: memoryBlobs(),
    unique: ['name'],
    requirePrecondition: policies.schemes !== undefined,
    actions: {
      take: {
        on: 'item',
        input: z.object({ count: z.int() }),
        transaction: true,
        run: ({ item, input, update }) => update({ stock: item.stock - input.count }),
      },
      mail: { on: 'item', run: () => undefined },
      badge: {
        on: 'item',
        cookies: true,
        transaction: true,
        run: ({ response }) => response.headers.append('Set-Cookie', 'badge=1'),
      },
    },
  })
  const orders = defineCollection({
    name: 'orders',
    schema: z.object({ customer: z.string() }),
    store: make(),
    access: { default: ['write'], read: ['read'], list: ['read'] },
    hooks: {
      before: event => note('before', { ...event }),
      after: event => note('after', { ...event }),
    },
  })
  const lines = defineCollection({
    name: 'lines',
    schema: z.object({ order_id: z.string(), product_id: z.string(), count: z.int().min(1) }),
    store: make(),
    parents: { order_id: { collection: 'orders', onDelete: 'cascade' } },
    references: { product_id: { collection: 'products', onDelete: 'restrict' } },
  })
  const secrets = defineCollection({
    name: 'secrets',
    schema: z.object({ text: z.string() }),
    store: make(),
    hideExistence: true,
    access: { default: ['secret'] },
  })
  const api = defineApi({
    collections: { products, orders, lines, secrets },
    batch: true,
    ...policies,
  })
  const opened = await openHandler('fetch', api)
  const batch = (steps: unknown, init: Init = {}) =>
    opened.request('/batch', { method: 'POST', json: steps, ...init })
  const count = async () =>
    (
      await Promise.all(
        (['products', 'orders', 'lines'] as const).map(name => api.collection(name).count()),
      )
    ).join()
  return { api, batch, count, events, request: opened.request }
}

/** Things whose check takes some turns, and a batch that creates them. */
async function createThings(store: Store) {
  const schema = z.object({ name: z.string(), turns: z.int() }).refine(async ({ turns }) => {
    for (let left = turns; left > 0; left--) await undefined
    return true
  })
  const things = defineCollection({
    name: 'things',
    id: 'integer',
    schema,
    store,
    unique: ['name'],
  })
  const { request } = await openHandler('fetch', defineApi({ collections: [things], batch: true }))
  return async (...names: string[]) => {
    const steps = names.map((name, at) => {
      const body = { name, turns: 20 * (names.length - at) }
      return { method: 'POST', path: '/things', body }
    })
    const { status, json } = await request('/batch', { method: 'POST', json: steps })
    return { status, json: json as Record<string, unknown>[] }
  }
}

describe.each(Object.entries(TRANSACTIONAL))('on %s', (_name, open) => {
  it('stores creates in the order of their steps, and names the first that fails', async () => {
    const make = await open()
    const create = await createThings(make())
    const { json } = await create('a', 'b', 'c', 'd')
    expect(json.map(({ location }) => String(location).split('/').at(-1)).join()).toBe('1,2,3,4')
    const failed = await create('e', 'b', 'f', 'a')
    expect(failed.status).toBe(409)
    expect(failed.json).toMatchObject({ errors: [{ field: 'name', step: 1 }] })
    expect((await create('e', 'f')).status).toBe(200)
  })

  it('creates an order with its lines, and changes the stock', async () => {
    const { api, batch } = await shop(await open())
    const product = await api.collection('products').create({ name: 'tea', stock: 5 })
    const { headers } = await api.fetch(new Request(`http://a/products/${product.id}`))
    const answer = await batch([
      { method: 'POST', path: '/orders', body: { customer: 'Ann' }, as: 'o' },
      { method: 'POST', path: '/orders/{o}/lines', body: { product_id: product.id, count: 2 } },
      {
        method: 'POST',
        path: '/lines',
        body: { order_id: '{o}', product_id: product.id, count: 1 },
      },
      { method: 'GET', path: '/lines?order_id[exists]=true&fields=count&sort=count' },
      {
        method: 'PATCH',
        path: `/products/${product.id}`,
        'if-match': headers.get('etag'),
        body: { stock: 2 },
      },
    ])
    expect(answer.status).toBe(200)
    const done = answer.json as { status: number; location?: string; etag?: string; body: never }[]
    expect(done.map(({ status }) => status)).toEqual([201, 201, 201, 200, 200])
    const [order, line, , list, changed] = done
    expect(order?.location).toMatch(/^http:\/\/api\.test\/orders\/[\w-]+$/)
    expect(order?.etag).toMatch(/^"[^"]+\.json"$/)
    expect(order?.body).toMatchObject({ customer: 'Ann' })
    expect(line?.body).toMatchObject({ order_id: Object(order?.body).id, count: 2 })
    expect(list?.body).toEqual([{ count: 1 }, { count: 2 }])
    expect(changed?.body).toMatchObject({ name: 'tea', stock: 2 })
    expect(await api.collection('products').read(product.id)).toMatchObject({ stock: 2 })
  })

  it('changes nothing where a step fails, and says which', async () => {
    const { api, batch, count } = await shop(await open())
    const tea = await api.collection('products').create({ name: 'tea', stock: 5 })
    const before = await count()
    const order = { method: 'POST', path: '/orders', body: { customer: 'Ann' }, as: 'o' }
    const failing: [unknown, number, object][] = [
      [{ method: 'POST', path: '/orders', body: {} }, 400, { field: 'customer', type: 'required' }],
      [
        { method: 'POST', path: '/products', body: { name: 'tea', stock: 1 } },
        409,
        { type: 'not_unique' },
      ],
      [{ method: 'DELETE', path: '/products/nope' }, 404, { type: 'not_found' }],
      [
        { method: 'PATCH', path: `/products/${tea.id}`, 'if-match': '"other.json"', body: {} },
        412,
        { type: 'precondition_failed' },
      ],
      [
        {
          method: 'POST',
          path: '/lines',
          body: { order_id: '{o}', product_id: MISSING, count: 1 },
        },
        400,
        { field: 'product_id', type: 'unknown_reference' },
      ],
      [
        { method: 'POST', path: `/products/${tea.id}/take`, body: { count: 9 } },
        400,
        { field: 'stock' },
      ],
    ]
    for (const [step, status, issue] of failing) {
      const answer = await batch(
        [order, step, order].map((each, at) => (at < 2 ? each : { ...order, as: 'p' })),
      )
      expect(answer.json).toMatchObject({ errors: [{ ...issue, code: status, step: 1 }] })
      expect(answer.status).toBe(status)
      expect(await count()).toBe(before)
    }
  })

  it('does the work of a key once, and reads again', async () => {
    const { api, batch } = await shop(await open())
    const steps = [
      { method: 'POST', path: '/orders', body: { customer: 'Ann' }, as: 'o' },
      { method: 'GET', path: '/orders/{o}' },
    ]
    const headers = { 'idempotency-key': 'once' }
    const first = await batch(steps, { headers })
    expect(first.status).toBe(200)
    const [{ body }] = first.json as [{ body: { id: string } }]
    await api.collection('orders').patch(body.id, { customer: 'Bob' })
    const again = await batch(steps, { headers })
    expect(again.json).toMatchObject([
      { status: 201, body },
      { status: 200, body: { ...body, customer: 'Bob', updated_at: expect.anything() } },
    ])
    expect(await api.collection('orders').count()).toBe(1)
    const other = await batch(steps.slice(0, 1), { headers })
    expect([other.status, Object(other.json).errors[0].type]).toEqual([422, 'idempotency_key'])
    const failed = [{ method: 'POST', path: '/orders', body: {} }]
    expect((await batch(failed, { headers: { 'idempotency-key': 'two' } })).status).toBe(400)
    expect((await batch(steps, { headers: { 'idempotency-key': 'two' } })).status).toBe(200)
  })

  it('is tried by Prefer: tx=rollback', async () => {
    const { batch, count, events, api, request } = await shop(await open())
    const before = await count()
    const headers = { prefer: 'tx=rollback', 'idempotency-key': 'dry' }
    const steps = [
      { method: 'POST', path: '/orders', body: { customer: 'Ann' }, as: 'o' },
      { method: 'GET', path: '/orders/{o}' },
      { method: 'PATCH', path: '/orders/{o}', body: { customer: 'Bob' } },
    ]
    const answer = await batch(steps, { headers })
    expect(answer.headers.get('preference-applied')).toBe('tx=rollback')
    expect(answer.json).toMatchObject([
      { status: 201, body: { customer: 'Ann' } },
      { status: 200, body: { customer: 'Ann' } },
      { status: 200, body: { customer: 'Bob' } },
    ])
    expect(answer.text).not.toMatch(/etag|location/)
    expect(await count()).toBe(before)
    expect(events).toEqual(['before create orders dry', 'before patch orders dry'])
    const failed = await batch([...steps, { method: 'DELETE', path: '/orders/none' }], { headers })
    expect(failed.json).toMatchObject({ errors: [{ code: 404, step: 3 }] })
    // The key is still new.
    expect((await batch(steps.slice(0, 1), { headers: { 'idempotency-key': 'dry' } })).status).toBe(
      200,
    )

    // Single writes.
    const { id } = await api.collection('orders').create({ customer: 'Ann' })
    const kept = await count()
    const writes: [string, string, unknown, number][] = [
      ['POST', '/orders', { customer: 'Cid' }, 201],
      ['PUT', `/orders/${id}`, { customer: 'Cid' }, 200],
      ['PATCH', `/orders/${id}`, { customer: 'Cid' }, 200],
      ['DELETE', `/orders/${id}`, undefined, 200],
    ]
    for (const [method, path, json, status] of writes) {
      events.length = 0
      const dry = await request(path, { method, headers, ...(json !== undefined && { json }) })
      expect([method, dry.status]).toEqual([method, status])
      expect(dry.json).toMatchObject(json ?? { customer: 'Ann' })
      for (const name of ['etag', 'location', 'content-location', 'last-modified'])
        expect(dry.headers.get(name)).toBe(null)
      expect(dry.headers.get('preference-applied')).toBe('tx=rollback')
      expect(events).toEqual([expect.stringMatching(/^before .* dry$/)])
      expect(await count()).toBe(kept)
      expect(await api.collection('orders').read(id)).toMatchObject({ customer: 'Ann' })
    }
  })
})

describe('refused before anything is done', () => {
  const step = { method: 'POST', path: '/orders', body: { customer: 'Ann' } }
  const cases: Readonly<Record<string, [steps: unknown, message: RegExp]>> = {
    'no list': [{}, /a list of steps/],
    'no steps': [[], /a list of steps/],
    '101 steps': [Array(101).fill(step), /at most 100 steps, not 101/],
    'no object': [[7], /A step is an object/],
    'an unknown member': [[{ ...step, methd: 1 }], /no methd; did you mean "method"/],
    'a key of its own': [[{ ...step, 'idempotency-key': 'x' }], /A step has no idempotency-key/],
    'another method': [[{ ...step, method: 'OPTIONS' }], /one of GET, POST/],
    'a method that is not there': [[{ ...step, method: 'PATCH' }], /Allowed: GET, POST/],
    'no path': [[{ method: 'POST' }], /begins with one slash/],
    'a relative path': [[{ ...step, path: 'orders' }], /begins with one slash/],
    'another host': [[{ ...step, path: '//evil.example/orders' }], /begins with one slash/],
    'an absolute address': [[{ ...step, path: 'http://a/orders' }], /begins with one slash/],
    'dot segments': [[{ ...step, path: '/x/%2e./orders' }], /begins with one slash/],
    'an unknown path': [[{ ...step, path: '/cars' }], /Nothing that a step can use/],
    itself: [[{ ...step, path: '/batch' }], /Nothing that a step can use/],
    documents: [[{ method: 'GET', path: '/openapi.json' }], /no extension|Nothing that a step/],
    'the root': [[{ method: 'GET', path: '/' }], /Nothing that a step can use/],
    'an extension': [[{ method: 'GET', path: '/orders.csv' }], /leave out \.csv/],
    'another method in the query': [[{ ...step, path: '/orders?_method=PUT' }], /by "method"/],
    'a name of no step': [[{ ...step, path: '/orders/{o}/lines' }], /names no earlier step/],
    'a name of a later step': [
      [
        { method: 'GET', path: '/orders/{o}' },
        { ...step, as: 'o' },
      ],
      /names no earlier step/,
    ],
    'its own name': [
      [{ method: 'PATCH', path: '/orders/{o}', body: {}, as: 'o' }],
      /no earlier step/,
    ],
    'two of one name': [
      [
        { ...step, as: 'o' },
        { ...step, as: 'o' },
      ],
      /Two steps have the name o/,
    ],
    'a name of a list': [
      [{ method: 'GET', path: '/orders', as: 'o' }],
      /only where it has one item/,
    ],
    'an item of another collection': [
      [
        { ...step, as: 'o' },
        { method: 'POST', path: '/lines', body: { product_id: '{o}', order_id: '{o}' } },
      ],
      /product_id is the id of an item of products/,
    ],
    'a body of a GET': [[{ method: 'GET', path: '/orders', body: {} }], /GET has no body/],
    'a file': [
      [
        {
          method: 'POST',
          path: '/products',
          body: { name: 'x', stock: 1, photo: { data: 'AAAA' } },
        },
      ],
      /takes no files: send photo alone/,
    ],
    'an action without a transaction': [
      [{ method: 'POST', path: '/products/1/mail' }],
      /mail is not declared with transaction: true/,
    ],
    'an action that sets cookies': [
      [{ method: 'POST', path: '/products/1/badge' }],
      /badge sets cookies\. Send it alone\./,
    ],
    'a dry run of one step': [[{ ...step, prefer: 'tx=rollback' }], /of the whole batch/],
    'a header that is no text': [[{ ...step, 'if-match': 7 }], /if-match is a text/],
  }
  it.each(Object.entries(cases))('%s', async (_name, [steps, message]) => {
    const { batch, count, events } = await shop(memoryStore)
    const answer = await batch(
      Array.isArray(steps) && steps.length < 100 ? [...steps.slice(0, 0), ...steps] : steps,
    )
    expect(answer.json).toMatchObject({ errors: [{ type: 'invalid_batch' }] })
    expect(Object(answer.json).errors[0].message).toMatch(message)
    expect(answer.status).toBe(400)
    expect([await count(), events]).toEqual(['0,0,0', []])
  })

  it('a text in braces is no template elsewhere', async () => {
    const { batch } = await shop(memoryStore)
    const answer = await batch([
      { method: 'POST', path: '/orders', body: { customer: 'Ann' }, as: 'o' },
      { method: 'POST', path: '/orders', body: { customer: '{o}' } },
    ])
    expect(answer.json).toMatchObject([{}, { body: { customer: '{o}' } }])
  })

  it('other types of bodies, other methods, and no body', async () => {
    const { batch, request } = await shop(memoryStore)
    const csv = { 'content-type': 'text/csv' }
    expect((await batch([], { headers: csv, body: 'a' })).status).toBe(415)
    expect((await request('/batch')).status).toBe(405)
    expect((await request('/batch', { method: 'DELETE' })).headers.get('allow')).toBe(
      'POST, OPTIONS',
    )
    expect((await request('/batch', { method: 'OPTIONS' })).headers.get('allow')).toBe(
      'POST, OPTIONS',
    )
    const headers = { 'content-type': 'application/json' }
    expect((await request('/batch', { method: 'POST', headers })).status).toBe(400)
    expect((await batch([], { body: '[', json: undefined, headers })).json).toMatchObject({
      errors: [{ type: 'invalid_json' }],
    })
  })

  it('too large answers, before the commit', async () => {
    const { batch, count } = await shop(memoryStore, { limits: { page: 600 } })
    const answer = await batch(Array(3).fill(step))
    expect(answer.json).toMatchObject({ errors: [{ type: 'batch_too_large', step: 1 }] })
    expect(await count()).toBe('0,0,0')
    const minimal = await batch(Array(3).fill({ ...step, prefer: 'return=minimal' }))
    expect(minimal.json).toEqual(
      Array(3).fill({ status: 201, location: expect.any(String), etag: expect.any(String) }),
    )
  })

  it('what the client may not do, and what it may not know of', async () => {
    const { batch, count } = await shop(memoryStore, {
      schemes: [scopedScheme],
    })
    const read = { method: 'GET', path: '/orders' }
    const as = (authorization: string) => ({ headers: { authorization } })
    expect(await batch([read, step])).toMatchObject({
      status: 401,
      json: { errors: [{ step: 0, type: 'unauthenticated' }] },
    })
    expect(await batch([read, step], as('Test ann read'))).toMatchObject({
      status: 403,
      json: { errors: [{ step: 1, type: 'insufficient_scope' }] },
    })
    const hidden = await batch([{ ...step, path: '/secrets' }], as('Test ann read write'))
    const unknown = await batch([{ ...step, path: '/secretz' }], as('Test ann read write'))
    // Only the path that the client sent differs.
    expect(hidden.text).toBe(unknown.text.replace('secretz', 'secrets'))
    expect(hidden.status).toBe(400)
    expect(await count()).toBe('0,0,0')
    expect((await batch([read, step], as('Test ann read write'))).status).toBe(200)
  })

  it('more steps than the rate limit has left', async () => {
    const { batch, count } = await shop(memoryStore, {
      rateLimit: { policies: [{ limit: 5, window: 60 }] },
    })
    expect((await batch([step, step])).headers.get('x-ratelimit-remaining')).toBe('3')
    expect((await batch([step, step, step, step])).status).toBe(429)
    expect(await count()).toBe('0,2,0')
  })
})

describe('definition', () => {
  const schema = z.object({ a: z.string() })
  it('refuses an api without transactions, and a collection with the name', () => {
    const { transaction: _, database: __, ...plain } = memoryStore()
    const alone = defineCollection({
      name: 'alone',
      schema,
      store: { ...plain, idempotency: 'process' },
    })
    expect(() => defineApi({ collections: { alone }, batch: true })).toThrow(
      'batch: true needs a collection whose store has transactions',
    )
    const batch = defineCollection({ name: 'batch', schema, store: memoryStore() })
    expect(() => defineApi({ collections: { batch }, batch: true })).toThrow(
      /Rename the collection/,
    )
    expect(() => defineApi({ collections: { batch } })).not.toThrow()
  })

  it('has one batch for each version, and none without the option', async () => {
    const cars = defineCollection({ name: 'cars', schema, store: memoryStore() })
    const versions = [{ version: 1, collections: { cars } }]
    const { request } = await openHandler('fetch', defineApi({ versions, batch: true }))
    const json = [{ method: 'POST', path: '/cars', body: { a: 'x' } }]
    const answer = await request('/v1/batch', { method: 'POST', json })
    expect(answer.json).toMatchObject([{ location: expect.stringContaining('/v1/cars/') }])
    expect((await request('/batch', { method: 'POST', json })).status).toBe(404)
    const without = await openHandler('fetch', defineApi({ collections: { cars } }))
    expect((await without.request('/batch', { method: 'POST', json })).status).toBe(404)
  })
})

it('inserts ten items of one collection by one statement', async () => {
  const statements: string[] = []
  const db = openPostgres({}, ({ sql }) => void statements.push(sql))
  const create = await createThings(sqlStore({ db, table: 'ten_things', create: true }))
  await create('first')
  statements.length = 0
  await create(...Array.from({ length: 10 }, (_, at) => `thing ${at}`))
  expect(statements.filter(text => text.includes('insert into "ten_things"'))).toHaveLength(1)
})
