// What whole changes refuse, where it takes more than one collection in memory to see it.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { simpleRest } from '../../src/dialects/index.ts'
import { html } from '../../src/html/index.ts'
import { defineApi, defineCollection, HttpError, memoryStore } from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { type Init, openHandler } from '../handlers.ts'
import { openDatabase } from '../stores/sqlite.ts'

const ALL = ['list', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'] as const

/** Cars in memory, notes in SQLite, and plain items in a store without transactions. */
async function open(policies: Policies = {}) {
  const { transaction: _, database: __, ...plain } = memoryStore()
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
    id: 'integer',
    operations: ALL,
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store: sqlStore({ db: await openDatabase(), create: true }),
    id: 'integer',
  })
  const alone = defineCollection({
    name: 'alone',
    schema: z.object({ text: z.string() }),
    store: { ...plain, idempotency: 'process' },
  })
  const collections = { cars, notes, alone }
  const api = defineApi({ collections, batch: true, ...policies })
  const { request } = await openHandler('fetch', api)
  const batch = (steps: unknown, init: Init = {}, query = '') =>
    request(`/batch${query}`, { method: 'POST', json: steps, ...init })
  const count = async () =>
    (
      await Promise.all(
        (['cars', 'notes', 'alone'] as const).map(name => api.collection(name).count()),
      )
    ).join()
  return { api, request, batch, count }
}

const CAR = { method: 'POST', path: '/cars', body: { color: 'red' } }
const NOTE = { method: 'POST', path: '/notes', body: { text: 'x' } }

describe('a batch', () => {
  it('is in one database, and in a store with transactions', async () => {
    const { batch, count } = await open()
    expect((await batch([CAR, NOTE])).json).toMatchObject({
      errors: [
        {
          step: 1,
          code: 400,
          type: 'invalid_batch',
          message: 'A batch is in one database, and notes is in another than the first step',
        },
      ],
    })
    const alone = { method: 'POST', path: '/alone', body: { text: 'x' } }
    expect((await batch([CAR, alone])).json).toMatchObject({
      errors: [{ step: 1, message: 'The store of alone has no transactions' }],
    })
    expect(await count()).toBe('0,0,0')
    expect((await batch([NOTE, NOTE])).status).toBe(200)
    // The key is that of a batch, whatever its collections are.
    const headers = { 'idempotency-key': 'one' }
    expect((await batch([NOTE], { headers })).status).toBe(200)
    expect((await batch([NOTE], { headers })).status).toBe(200)
    expect(await count()).toBe('0,3,0')
  })

  it('takes no parameters of a dialect, and no issue of a hook without its number', async () => {
    const { batch, count } = await open({
      dialects: [simpleRest()],
      hooks: {
        cars: {
          before: {
            create: ({ value }: { value: { color: string } }) => {
              if (value.color === 'no') throw new HttpError(418, 'Not this one')
            },
          },
        },
      },
    } as Policies)
    const read = { method: 'GET', path: `/cars?filter=${encodeURIComponent('{"color":"red"}')}` }
    expect((await batch([CAR, read])).json).toMatchObject({
      errors: [{ step: 1, message: expect.stringMatching(/no parameters of a dialect/) }],
    })
    const refused = await batch([CAR, { ...CAR, body: { color: 'no' } }])
    expect([refused.status, refused.json]).toMatchObject([
      418,
      { errors: [{ message: 'Not this one', code: 418, step: 1 }] },
    ])
    expect(await count()).toBe('0,0,0')
  })

  it('is a write: cross-site requests are refused, and errors have the status that a client can read', async () => {
    const { batch, count } = await open()
    const forged = { cookie: 'a=b', origin: 'https://evil.example' }
    expect((await batch([CAR], { headers: forged })).status).toBe(403)
    const suppressed = await batch([CAR, { ...CAR, body: {} }], {}, '?suppress_error_codes=true')
    expect([suppressed.status, suppressed.json]).toMatchObject([
      200,
      { errors: [{ code: 400, step: 1 }] },
    ])
    expect((await batch([CAR], {}, '?suppress_error_codes=true')).json).toMatchObject([
      { status: 201 },
    ])
    expect(await count()).toBe('1,0,0')
  })

  it('has what arrays and filters refuse as its own error', async () => {
    const { batch, count } = await open({ limits: { arrayItems: 2, affected: 1 } })
    const three = { ...CAR, body: [{ color: 'a' }, { color: 'b' }, { color: 'c' }] }
    const two = { ...CAR, body: [{ color: 'a' }, { color: 'b' }] }
    const failing: [unknown, number, object][] = [
      [three, 413, { type: 'too_many_items' }],
      [{ ...CAR, body: [{ color: 'a' }, { color: 7 }] }, 400, { field: '1.color' }],
      [{ method: 'PATCH', path: '/cars', body: { color: 'x' } }, 400, { type: 'filter_required' }],
      [
        { method: 'PATCH', path: '/cars?color[exists]=true', body: { color: 'x' } },
        400,
        { type: 'too_many_affected' },
      ],
      [{ method: 'DELETE', path: '/cars?color=a' }, 400, { type: 'max_affected_required' }],
      [{ method: 'PATCH', path: '/cars?colour=a', body: {} }, 400, { field: 'colour' }],
      [{ method: 'PATCH', path: '/cars?color=a&limit=1', body: {} }, 400, { field: 'limit' }],
    ]
    for (const [step, code, issue] of failing) {
      const answer = await batch([two, step])
      expect([answer.status, answer.json]).toMatchObject([
        code,
        { errors: [{ ...issue, code, step: 1 }] },
      ])
      expect(await count()).toBe('0,0,0')
    }
    const named = { ...two, as: 'c' }
    expect((await batch([named])).json).toMatchObject({ errors: [{ field: 'as' }] })
    const filtered = { method: 'PATCH', path: '/cars?color=a', body: {}, as: 'c' }
    expect((await batch([filtered])).json).toMatchObject({ errors: [{ field: 'as' }] })
  })
})

describe('a dry run', () => {
  it('is refused where it could not be undone, and writes nothing', async () => {
    const { request, count } = await open()
    const headers = { prefer: 'tx=rollback' }
    const alone = { method: 'POST', headers, json: { text: 'x' } }
    expect((await request('/alone', alone)).json).toMatchObject({
      errors: [{ code: 400, type: 'no_dry_run', field: 'prefer' }],
    })
    for (const path of ['/cars', '/notes']) {
      const json = path === '/cars' ? { color: 'red' } : { text: 'x' }
      expect((await request(path, { method: 'POST', headers, json })).status).toBe(201)
    }
    expect(await count()).toBe('0,0,0')
  })
})

describe('a write by filter', () => {
  it('reads the filters of a dialect as a list does', async () => {
    const { api, request } = await open({ dialects: [simpleRest()] })
    await api.collection('cars').create([{ color: 'red' }, { color: 'blue' }])
    const filter = (value: object) => `filter=${encodeURIComponent(JSON.stringify(value))}`
    const patch = (query: string) =>
      request(`/cars?${query}`, { method: 'PATCH', json: { color: 'new' } })
    expect((await patch(filter({}))).json).toMatchObject({ errors: [{ type: 'filter_required' }] })
    expect((await patch(`${filter({ color: 'red' })}&range=[0,9]`)).status).toBe(400)
    expect((await patch(filter({ color: 'red' }))).json).toEqual({ count: 1 })
    expect(await api.collection('cars').count({ color: 'new' })).toBe(1)
  })

  it('keeps an empty filter of a browser, which would widen it', async () => {
    const { api, request } = await open({ pages: html } as Policies)
    await api.collection('cars').create([{ color: '' }, { color: 'red' }])
    const page = await request('/cars', { headers: { accept: 'text/html' } })
    expect(page.text.match(/<form[^>]*method="post"/g)).toHaveLength(1)
    const headers = { accept: 'text/html', prefer: 'max-affected=9' }
    const answer = await request('/cars?color=&id[gt]=0', { method: 'DELETE', headers })
    expect(answer.status).toBe(200)
    expect((await api.collection('cars').list().toArray()).map(({ color }) => color)).toEqual([
      'red',
    ])
  })

  it('passes the hooks of a list first: who may not list learns nothing', async () => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      operations: ALL,
      hooks: {
        before: {
          list: () => {
            throw new HttpError(403, 'No lists today')
          },
        },
      },
    })
    const { request } = await openHandler('fetch', defineApi({ collections: { cars } }))
    const json = { color: 'x' }
    expect((await request('/cars?color=red', { method: 'PATCH', json })).json).toMatchObject({
      errors: [{ code: 403, message: 'No lists today' }],
    })
  })

  it('filters by what its client may read alone', async () => {
    const scheme = {
      name: 'Test',
      challenge: () => 'Test',
      authenticate: async ({ headers }: { headers: Record<string, string | undefined> }) => ({
        id: 'a',
        scopes: (headers.authorization ?? '').split(' ').slice(1),
      }),
    }
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string(), cost: z.number().default(7) }),
      store: memoryStore(),
      id: 'integer',
      operations: ALL,
      fields: { cost: { read: ['staff'], write: ['staff'] } },
    })
    const api = defineApi({ collections: { cars }, schemes: [scheme] })
    await api.collection(cars).create([{ color: 'red', cost: 5 }, { color: 'red' }])
    const { request } = await openHandler('fetch', api)
    const patch = (query: string, json: object, scopes = '') =>
      request(`/cars${query}`, {
        method: 'PATCH',
        json,
        headers: { authorization: `Test ${scopes}` },
      })
    const unknown = await patch('?cost=5', { color: 'x' })
    const never = await patch('?costs=5', { color: 'x' })
    expect([unknown.status, unknown.text.replaceAll('cost', 'costs')]).toEqual([400, never.text])
    expect((await patch('?color=red', { cost: 1 })).json).toMatchObject({
      errors: [{ type: 'unknown_field', field: 'cost' }],
    })
    expect((await patch('?cost=5', { cost: 6 }, 'staff')).json).toEqual({ count: 1 })
    expect((await patch('?color=red', { color: 'blue' })).json).toEqual({ count: 2 })
    expect(await api.collection(cars).count({ color: 'blue', cost: [6, 7] })).toBe(2)
  })

  it('deletes trees whose items match in part, and circles', async () => {
    const nodes = defineCollection({
      name: 'nodes',
      schema: z.object({ name: z.string(), node_id: z.int().optional() }),
      store: sqlStore({ db: await openDatabase(), create: true }),
      id: 'integer',
      references: { node_id: { collection: 'nodes', onDelete: 'cascade' } },
      operations: ALL,
    })
    const api = defineApi({ collections: { nodes } })
    const all = api.collection(nodes)
    // 1 ← 2 ← 3, 4 ⇄ 5, 6, 7 ← 8
    for (const node_id of [undefined, 1, 2, undefined, 4, undefined, undefined, 7])
      await all.create({ name: 'node', ...(node_id !== undefined && { node_id }) })
    await all.patch(4, { node_id: 5 })
    expect(await all.deleteMany({ id: [3, 1, 4, 7] }, { maxAffected: 4 })).toBe(4)
    expect((await all.list().toArray()).map(({ id }) => id)).toEqual([6])
  })

  it('names the item to which others refer', async () => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      id: 'integer',
      operations: ALL,
    })
    const options = defineCollection({
      name: 'options',
      schema: z.object({ car_id: z.int() }),
      store: memoryStore(),
      references: { car_id: { collection: 'cars', onDelete: 'restrict' } },
    })
    const api = defineApi({ collections: { cars, options } })
    const all = api.collection(cars)
    await all.create([{ color: 'red' }, { color: 'red' }, { color: 'red' }])
    await api.collection(options).create({ car_id: 2 })
    await expect(all.deleteMany({ color: 'red' }, { maxAffected: 3 })).rejects.toMatchObject({
      status: 409,
      errors: [
        {
          type: 'referenced',
          message:
            'The car 2 cannot be deleted: options refer to it. Delete or change those first.',
        },
      ],
    })
    expect(await all.count()).toBe(3)
    expect(await all.deleteMany({ id: [1, 3] }, { maxAffected: 3 })).toBe(2)
  })
})
