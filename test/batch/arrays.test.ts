// Arrays that are created (conventions, "Several changes as one"): all items or none, on each store with transactions.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import type { Store } from '../../src/store/store.ts'
import { openHandler } from '../handlers.ts'
import { usePostgres } from '../stores/postgres.ts'
import { TRANSACTIONAL } from '../stores/transactional.ts'

usePostgres()

/** Cars with makers; hooks are recorded. */
async function garage(make: () => Store, policies: Policies = {}) {
  const events: string[] = []
  const makers = defineCollection({
    name: 'makers',
    schema: z.object({ name: z.string() }),
    store: make(),
    id: 'integer',
  })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      color: z.string().min(2),
      price: z.number().default(1),
      maker_id: z.int().optional(),
      note: z.string().nullable().optional(),
      tags: z.array(z.string()).optional(),
      size: z.object({ width: z.number().optional(), name: z.string().optional() }).optional(),
      sold: z.boolean().optional(),
    }),
    store: make(),
    unique: ['color'],
    references: { maker_id: { collection: 'makers', onDelete: 'restrict' } },
    hooks: {
      before: ({ operation, value }) => {
        if (operation !== 'create') return
        const car = value as { color: string; note?: string }
        events.push(`before ${car.color}`)
        if (car.color === 'hooked') car.note = 'by the hook'
      },
      after: ({ operation }, item) => {
        if (operation === 'create') events.push(`after ${Object(item).color}`)
      },
    },
  })
  const api = defineApi({ collections: { makers, cars }, batch: true, ...policies })
  const { request } = await openHandler('fetch', api)
  const post = (json: unknown, headers: Record<string, string> = {}) =>
    request('/cars', { method: 'POST', json, headers })
  const send = (type: string, body: string, headers: Record<string, string> = {}) =>
    request('/cars', { method: 'POST', body, headers: { 'content-type': type, ...headers } })
  return { api, cars, makers, post, send, request, events }
}

describe.each(Object.entries(TRANSACTIONAL))('on %s', (_name, open) => {
  it('creates all items in their order', async () => {
    const { api, post, events } = await garage(await open())
    const { id: maker_id } = await api.collection('makers').create({ name: 'Fiat' })
    const answer = await post([
      { color: 'red', maker_id },
      { color: 'hooked', maker_id },
      { color: 'blue', price: 7 },
    ])
    expect(answer.status).toBe(201)
    expect(answer.json).toMatchObject([
      { id: expect.anything(), color: 'red', price: 1, maker_id },
      { color: 'hooked', note: 'by the hook' },
      { color: 'blue', price: 7, created_at: expect.any(String) },
    ])
    expect(answer.headers.get('location')).toBe(null)
    expect(await api.collection('cars').list().toArray()).toEqual(answer.json)
    expect(events).toEqual(
      ['before', 'after'].flatMap(when => ['red', 'hooked', 'blue'].map(name => `${when} ${name}`)),
    )
    expect(await post([])).toMatchObject({ status: 200, json: [] })
    const minimal = await post([{ color: 'grey' }], { prefer: 'return=minimal' })
    expect([minimal.status, minimal.text]).toEqual([201, ''])
  })

  it('creates 1,000 items, and refuses 1,001', async () => {
    const { api, post } = await garage(await open())
    const items = Array.from({ length: 1001 }, (_, at) => ({ color: `color ${at}` }))
    expect(await post(items)).toMatchObject({
      status: 413,
      json: { errors: [{ type: 'too_many_items' }] },
    })
    expect(await api.collection('cars').count()).toBe(0)
    expect((await post(items.slice(1))).status).toBe(201)
    expect(await api.collection('cars').count()).toBe(1000)
  })

  it('reports the issues of all items, and stores none', async () => {
    const { api, post } = await garage(await open())
    await api.collection('cars').create({ color: 'taken' })
    const answer = await post([
      { color: 'red' },
      { color: 'r', price: 'x' },
      7,
      { color: 'blue', colour: 1 },
    ])
    expect(answer.status).toBe(400)
    const { errors } = answer.json as { errors: { field: string; type: string }[] }
    expect(errors.map(({ field, type }) => [field, type])).toEqual([
      ['1.color', 'too_small'],
      ['1.price', 'invalid_type'],
      ['2', 'invalid_type'],
      ['3.colour', 'unknown_field'],
    ])
    const refers = await post([{ color: 'red' }, { color: 'blue', maker_id: 99 }])
    expect(refers.json).toMatchObject({
      errors: [{ field: '1.maker_id', type: 'unknown_reference' }],
    })
    expect((await post([{ color: 'red' }, { color: 'taken' }])).status).toBe(409)
    expect((await post([{ color: 'red' }, { color: 'red' }])).status).toBe(409)
    expect(await api.collection('cars').count()).toBe(1)
  })

  it('does the work of a key once, and answers alike, however large it is', async () => {
    const { api, post } = await garage(await open(), { limits: { keyAnswer: 2000 } })
    for (const count of [2, 30]) {
      const items = Array.from({ length: count }, (_, at) => ({ color: `${count} ${at}` }))
      const headers = { 'idempotency-key': `key ${count}` }
      const first = await post(items, headers)
      const again = await post(items, headers)
      expect(again).toMatchObject({ status: 201, text: first.text })
    }
    expect(await api.collection('cars').count()).toBe(32)
    const most = Array.from({ length: 100 }, (_, at) => ({ color: `most ${at}` }))
    const headers = { 'idempotency-key': 'most' }
    await post(most, headers)
    expect(await post(most, headers)).toMatchObject({ status: 201, text: '' })
    expect(await api.collection('cars').count()).toBe(132)
  })

  it('is tried by a dry run, is a step of a batch, and a call of a program', async () => {
    const { api, post, request } = await garage(await open())
    const cars = api.collection('cars')
    const items = [{ color: 'red' }, { color: 'blue' }]
    const dry = await post(items, { prefer: 'tx=rollback' })
    expect([dry.status, dry.json]).toMatchObject([201, items])
    expect(await cars.create(items, { dryRun: true })).toMatchObject(items)
    expect(await cars.create({ color: 'grey' }, { dryRun: true })).toMatchObject({ color: 'grey' })
    expect(await cars.count()).toBe(0)
    const steps = [
      { method: 'POST', path: '/makers', body: { name: 'Fiat' }, as: 'm' },
      { method: 'POST', path: '/cars', body: items.map(item => ({ ...item, maker_id: '{m}' })) },
    ]
    const batch = await request('/batch', { method: 'POST', json: steps })
    expect(batch.json).toMatchObject([{ status: 201 }, { status: 201, body: items }])
    const [white] = await cars.create([{ color: 'white' }, { color: 'black' }])
    if (!white) throw new Error('Nothing was created')
    expect(await cars.patch(white, { price: 4 }, { dryRun: true })).toMatchObject({ price: 4 })
    expect(await cars.read(white.id)).toMatchObject({ color: 'white', price: 1 })
    expect(await cars.patch(white, { price: 3 })).toMatchObject({ price: 3 })
    await expect(cars.create([{ color: 'x' }, { color: 'yy' }])).rejects.toMatchObject({
      status: 400,
      errors: [{ field: '0.color' }],
    })
    await expect(
      api.transaction(
        async tx => void (await tx.collection('cars').create({ color: 'no' }, { dryRun: true })),
      ),
    ).rejects.toThrow('a dry run is no part of a transaction')
  })
})

it('has no arrays and no dry runs where the store has no transactions', async () => {
  const { transaction: _, database: __, ...store } = memoryStore()
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: { ...store, idempotency: 'process' },
  })
  const api = defineApi({ collections: { cars } })
  const { request } = await openHandler('fetch', api)
  const post = (json: unknown, headers: Record<string, string> = {}) =>
    request('/cars', { method: 'POST', json, headers })
  expect(await post([{ color: 'red' }])).toMatchObject({
    status: 400,
    json: { errors: [{ message: 'The body must be an object' }] },
  })
  expect(await post({ color: 'red' }, { prefer: 'tx=rollback' })).toMatchObject({
    status: 400,
    json: { errors: [{ type: 'no_dry_run', field: 'prefer' }] },
  })
  expect(await api.collection('cars').count()).toBe(0)
})
