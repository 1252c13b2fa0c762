// Upserts of arrays (conventions, "Several changes as one"): POST with `on_conflict` and `Prefer: resolution=…`.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { upsertMany } from '../../src/client/batch.ts'
import { createClient } from '../../src/client/index.ts'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import type { Store } from '../../src/store/store.ts'
import { openHandler } from '../handlers.ts'
import { scopedScheme } from '../scoped-scheme.ts'
import { usePostgres } from '../stores/postgres.ts'
import { TRANSACTIONAL } from '../stores/transactional.ts'

usePostgres()

/** Cars that are named by a plate, or by a country and a number; their hooks are recorded. */
async function garage(make: () => Store, policies: Policies = {}, transaction = false) {
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
      plate: z.string(),
      country: z.string().nullable().optional(),
      number: z.int().optional(),
      color: z.string().min(2).default('white'),
      owner: z.string().default('anna'),
      maker_id: z.int().optional(),
      note: z.string().optional(),
    }),
    store: make(),
    unique: ['plate', ['country', 'number']],
    references: { maker_id: { collection: 'makers', onDelete: 'restrict' } },
    hooks: {
      transaction,
      before: ({ operation, value }) => {
        if (operation !== 'create' && operation !== 'patch') return
        events.push(`before ${operation} ${Object(value).plate}`)
        if (Object(value).note === 'hook') Object.assign(Object(value), { note: `by ${operation}` })
      },
      after: ({ operation }, item) => {
        if (operation !== 'create' && operation !== 'patch') return
        events.push(`after ${operation} ${Object(item).plate}`)
        if (Object(item).note === 'fail') throw new TypeError('The hook has failed')
      },
    },
    ...(policies.schemes && {
      visible: (principal?: { id: string }) => ({ owner: principal?.id ?? '' }),
      access: { create: ['add'], patch: ['change'] },
    }),
  })
  const api = defineApi({ collections: { makers, cars }, batch: true, ...policies })
  const { request } = await openHandler('fetch', api)
  const send = (
    items: unknown,
    query = '?on_conflict=plate',
    headers: Readonly<Record<string, string>> = {},
    resolution = 'merge-duplicates',
  ) =>
    request(`/cars${query}`, {
      method: 'POST',
      json: items,
      headers: {
        ...headers,
        prefer: [headers.prefer, `resolution=${resolution}`].filter(Boolean).join(),
      },
    })
  const all = async () =>
    (await api.asSystem().collection(cars).list({ sort: 'plate' }).toArray()).map(
      ({ plate, color, note }) => [plate, color, ...(note === undefined ? [] : [note])].join(' '),
    )
  return { api, cars, makers, send, request, events, all }
}

const issuesOf = (json: unknown) =>
  Object(json).errors.map(({ field, type }: Record<string, unknown>) => `${field} ${type}`)

describe.each(Object.entries(TRANSACTIONAL))('on %s', (_name, open) => {
  it('creates the items that no set finds, and merges into the others', async () => {
    const { api, cars, send, all, events } = await garage(await open())
    const old = await api.collection(cars).create({ plate: 'B', color: 'red', note: 'old' })
    events.length = 0
    const answer = await send([
      { plate: 'A', color: 'blue' },
      { plate: 'B', color: 'green' },
      { plate: 'C', note: 'hook' },
    ])
    expect(answer).toMatchObject({
      status: 201,
      json: [
        { plate: 'A', color: 'blue' },
        { id: old.id, plate: 'B', color: 'green', note: 'old' },
        { plate: 'C', color: 'white', note: 'by create' },
      ],
    })
    expect(answer.headers.get('preference-applied')).toBe('resolution=merge-duplicates')
    expect(events).toEqual([
      'before create A',
      'before patch B',
      'before create C',
      'after create A',
      'after patch B',
      'after create C',
    ])
    expect(await all()).toEqual(['A blue', 'B green old', 'C white by create'])
    const again = await send([{ plate: 'B' }, { plate: 'A', note: 'hook' }])
    expect(again).toMatchObject({
      status: 200,
      json: [
        { plate: 'B', color: 'green' },
        { plate: 'A', note: 'by patch' },
      ],
    })
    const minimal = await send([{ plate: 'A' }], '?on_conflict=plate', { prefer: 'return=minimal' })
    expect([minimal.status, minimal.text]).toEqual([204, ''])
    expect(minimal.headers.get('preference-applied')).toBe(
      'return=minimal, resolution=merge-duplicates',
    )
    expect(await send([])).toMatchObject({ status: 200, json: [] })
  })

  it('leaves what exists as it is with ignore-duplicates', async () => {
    const { api, cars, send, all, events } = await garage(await open())
    await api.collection(cars).create({ plate: 'B', color: 'red' })
    events.length = 0
    const items = [{ plate: 'A' }, { plate: 'B', color: 'x' }, { plate: 'C' }]
    const answer = await send(items, undefined, {}, 'ignore-duplicates')
    expect(answer).toMatchObject({
      status: 201,
      json: [{ plate: 'A' }, { plate: 'B', color: 'red' }, { plate: 'C' }],
    })
    expect(events).toEqual(
      ['A', 'C']
        .map(each => `before create ${each}`)
        .concat(['A', 'C'].map(each => `after create ${each}`)),
    )
    expect(await all()).toEqual(['A white', 'B red', 'C white'])
    expect(await send(items, undefined, {}, 'ignore-duplicates')).toMatchObject({ status: 200 })
    // The issue is of the place in the array.
    const wrong = await send(
      [...items, { plate: 'D', color: 'x' }],
      undefined,
      {},
      'ignore-duplicates',
    )
    expect([wrong.status, issuesOf(wrong.json)]).toEqual([400, ['3.color too_small']])
  })

  it('finds items by a set of several properties, named in any order', async () => {
    const { api, cars, send } = await garage(await open())
    await api.collection(cars).create({ plate: 'A', country: 'DE', number: 1 })
    await api.collection(cars).create({ plate: 'B', country: 'DE', number: 2 })
    await api.collection(cars).create({ plate: 'C', country: 'FR', number: 1 })
    const answer = await send(
      [
        { country: 'FR', number: 1, color: 'red' },
        { country: 'FR', number: 2, plate: 'D' },
        { country: 'DE', number: 2, color: 'blue' },
      ],
      '?on_conflict=number,country',
    )
    expect(answer).toMatchObject({
      status: 201,
      json: [
        { plate: 'C', color: 'red' },
        { plate: 'D', color: 'white' },
        { plate: 'B', color: 'blue' },
      ],
    })
  })

  it('does all or nothing, and reports the issues of new and existing items together', async () => {
    const { api, cars, send, all, events } = await garage(await open(), {}, true)
    await api.collection(cars).create({ plate: 'B', color: 'red', country: 'DE', number: 1 })
    const before = await all()
    events.length = 0
    const invalid = await send([
      { plate: 'A', color: 'x' },
      { plate: 'B', number: 'many' },
    ])
    expect([invalid.status, issuesOf(invalid.json)]).toEqual([
      400,
      ['0.color too_small', '1.number invalid_type'],
    ])
    const taken = await send([
      { plate: 'B', color: 'blue' },
      { plate: 'C', country: 'DE', number: 1 },
    ])
    expect([taken.status, issuesOf(taken.json)[0]]).toEqual([409, '1.country not_unique'])
    const twice = await send([{ plate: 'A' }, { plate: 'B' }, { plate: 'A' }])
    expect([twice.status, issuesOf(twice.json)]).toEqual([400, ['2.plate not_unique']])
    expect(Object(twice.json).errors[0].message).toContain('item 0')
    const unnamed = await send([{ color: 'blue' }, { plate: null }])
    expect([unnamed.status, issuesOf(unnamed.json)]).toEqual([
      400,
      ['0.plate required', '1.plate required'],
    ])
    const unknown = await send([
      { plate: 'B', maker_id: 7 },
      { plate: 'C', maker_id: 8 },
    ])
    expect([unknown.status, issuesOf(unknown.json)]).toEqual([
      400,
      ['0.maker_id unknown_reference', '1.maker_id unknown_reference'],
    ])
    const failed = await send([
      { plate: 'B', color: 'blue' },
      { plate: 'C', note: 'fail' },
    ])
    expect(failed.status).toBe(500)
    expect(await all()).toEqual(before)
    // A change may free a value for a new item.
    const freed = await send([
      { plate: 'C', country: 'DE', number: 1 },
      { plate: 'B', number: 2 },
    ])
    expect(freed.status).toBe(201)
  })

  it('is done once for each idempotency key', async () => {
    const { send, all, events } = await garage(await open())
    const key = { 'idempotency-key': 'k1' }
    const items = [{ plate: 'A' }, { plate: 'B' }]
    const first = await send(items, undefined, key)
    await send([{ plate: 'A', color: 'red' }])
    events.length = 0
    const again = await send(items, undefined, key)
    expect([again.status, again.json]).toEqual([first.status, first.json])
    expect(events).toEqual([])
    const next = { 'idempotency-key': 'k2' }
    expect((await send(items, undefined, next)).status).toBe(200)
    expect((await send(items, undefined, next)).status).toBe(200)
    expect(await send(items, undefined, next, 'ignore-duplicates')).toMatchObject({ status: 422 })
    expect(await all()).toEqual(['A red', 'B white'])
  })

  it('needs both rights, and hides what the row policy hides', async () => {
    const { api, cars, send, all } = await garage(await open(), { schemes: [scopedScheme] })
    const as = (authorization: string) => ({ authorization: `Test ${authorization}` })
    await api.asSystem().collection(cars).create({ plate: 'A', owner: 'bert' })
    const items = [{ plate: 'C' }, { plate: 'A', color: 'red', owner: 'anna' }]
    for (const rights of ['anna add', 'anna change', 'anna'])
      expect(await send(items, undefined, as(rights))).toMatchObject({ status: 403 })
    const hidden = await send(items, undefined, as('anna add change'))
    expect([hidden.status, issuesOf(hidden.json)]).toEqual([409, ['1.plate not_unique']])
    const ignored = await send(items, undefined, as('anna add change'), 'ignore-duplicates')
    expect([ignored.status, ignored.json]).toEqual([409, hidden.json])
    const lost = await send([{ plate: 'A', owner: 'anna' }], undefined, as('bert add change'))
    expect(lost.status).toBe(403)
    expect(await all()).toEqual(['A white'])
    expect(await send(items, undefined, as('bert add change'))).toMatchObject({ status: 403 })
  })

  it('lets one of several create each item, and the others merge', async () => {
    const { send, all, events } = await garage(await open(), {}, true)
    const plates = ['A', 'B', 'C', 'D']
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => {
        const own = plates.map(plate => ({ plate, number: undefined, color: `c${at}` }))
        return send(at % 2 === 0 ? own : own.reverse())
      }),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter(status => status === 201).length).toBeGreaterThan(0)
    expect(statuses.every(status => status === 201 || status === 200)).toBe(true)
    expect((await all()).map(each => each.split(' ')[0])).toEqual(plates)
    // All of one array, or none of it.
    expect(new Set((await all()).map(each => each.split(' ')[1])).size).toBe(1)
    expect(events.filter(each => each.startsWith('after create')).length).toBeGreaterThanOrEqual(4)
  })

  it('is tried without doing it, a step of a batch, and called in process', async () => {
    const { api, cars, send, request, all } = await garage(await open())
    await api.collection(cars).create({ plate: 'A', color: 'red' })
    expect(
      await send([{ plate: 'A' }, { plate: 'B' }], undefined, { prefer: 'tx=rollback' }),
    ).toMatchObject({ status: 201 })
    expect(await all()).toEqual(['A red'])
    const step = {
      method: 'POST',
      path: '/cars?on_conflict=plate',
      prefer: 'resolution=merge-duplicates',
      body: [{ plate: 'A', color: 'blue' }, { plate: 'B' }],
    }
    const batch = await request('/batch', {
      method: 'POST',
      json: [step, { ...step, body: [{ plate: 'B', color: 'grey' }] }],
    })
    expect(batch.status).toBe(200)
    expect(await all()).toEqual(['A blue', 'B grey'])
    const own = api.collection(cars)
    const stored = await own.upsertMany([{ plate: 'C' }, { plate: 'A', color: 'pink' }], {
      onConflict: 'plate',
    })
    expect(stored.map(({ plate, color }) => `${plate} ${color}`)).toEqual(['C white', 'A pink'])
    await api.transaction(async tx => {
      const inside = tx.collection(cars)
      await inside.upsertMany([{ plate: 'D' }], { onConflict: ['plate'] })
      await inside.upsertMany(
        [
          { plate: 'D', color: 'red' },
          { plate: 'A', color: 'red' },
        ],
        {
          onConflict: 'plate',
          resolution: 'ignore-duplicates',
        },
      )
    })
    expect(await all()).toEqual(['A pink', 'B grey', 'C white', 'D white'])
    for (const onConflict of [undefined, 'color', ['country']])
      await expect(own.upsertMany([{ plate: 'A' }], { onConflict })).rejects.toThrow(
        'plate, or country and number',
      )
  })
})

it.each([
  ['no resolution', '?on_conflict=plate', '', 'prefer not_supported'],
  ['an unknown resolution', '?on_conflict=plate', 'resolution=replace', 'prefer not_supported'],
  ['no set of several', '', 'resolution=merge-duplicates', 'on_conflict unique_set_required'],
  [
    'half a set',
    '?on_conflict=country',
    'resolution=merge-duplicates',
    'on_conflict unique_set_required',
  ],
  [
    'no set',
    '?on_conflict=color',
    'resolution=merge-duplicates',
    'on_conflict unique_set_required',
  ],
  [
    'two sets',
    '?on_conflict=plate&on_conflict=country,number',
    'resolution=merge-duplicates',
    'on_conflict unique_set_required',
  ],
])('refuses %s', async (_case, query, prefer, issue) => {
  const { request, all } = await garage(memoryStore)
  const answer = await request(`/cars${query}`, {
    method: 'POST',
    json: [{ plate: 'A' }],
    headers: prefer ? { prefer } : {},
  })
  expect([answer.status, issuesOf(answer.json)]).toEqual([400, [issue]])
  expect(await all()).toEqual([])
})

it('takes RFC 7240 preferences, CSV and NDJSON, and names the lines', async () => {
  const { request, all } = await garage(memoryStore)
  const send = (type: string, body: string) =>
    request('/cars?on_conflict=plate', {
      method: 'POST',
      body,
      headers: {
        'content-type': type,
        prefer: 'Resolution="merge-duplicates"; x=1, return=minimal',
      },
    })
  expect((await send('text/csv', 'plate,color\nA,red\nB,blue\n')).status).toBe(201)
  expect(
    (await send('application/x-ndjson', '{"plate":"A","note":"n"}\n{"plate":"C"}\n')).status,
  ).toBe(201)
  expect((await send('text/csv', 'plate,color\nB,grey\n')).status).toBe(204)
  expect(await all()).toEqual(['A red n', 'B grey', 'C white'])
  const twice = await send('text/csv', 'plate,color\nA,red\nB,red\nA,blue\n')
  const [{ message }] = Object(twice.json).errors
  expect([twice.status, message]).toEqual([400, expect.stringMatching(/^Line 4: .*line 2/)])
})

it('finds items by an id that clients choose', async () => {
  const schema = z.object({
    id: z.string(),
    color: z.string().default('white'),
    deleted_at: z.iso.datetime().optional(),
  })
  const cars = defineCollection({ name: 'cars', schema, store: memoryStore(), trash: 'deleted_at' })
  const api = defineApi({ batch: true, collections: { cars } })
  const { request } = await openHandler('fetch', api)
  const send = (items: unknown) =>
    request('/cars', {
      method: 'POST',
      json: items,
      headers: { prefer: 'resolution=merge-duplicates' },
    })
  expect(await send([{ id: 'a' }])).toMatchObject({ status: 201 })
  expect(await send([{ id: 'a', color: 'red' }, { id: 'b' }])).toMatchObject({
    status: 201,
    json: [
      { id: 'a', color: 'red' },
      { id: 'b', color: 'white' },
    ],
  })
  await api.collection(cars).delete('a')
  const deleted = await send([{ id: 'a', color: 'blue' }])
  expect([deleted.status, issuesOf(deleted.json)]).toEqual([409, ['0.id in_trash']])
})

it('needs a precondition where changes do, and merges contents', async () => {
  const schema = z.object({ plate: z.string(), photo: blob().optional() })
  const options = { name: 'cars', schema, unique: ['plate'], blobs: memoryBlobs() } as const
  const cars = defineCollection({ ...options, store: memoryStore() })
  const { request } = await openHandler('fetch', defineApi({ batch: true, collections: { cars } }))
  const send = (items: unknown) =>
    request('/cars', {
      method: 'POST',
      json: items,
      headers: { prefer: 'resolution=merge-duplicates' },
    })
  const data = (text: string) => Buffer.from(text).toString('base64')
  const first = await send([{ plate: 'A', photo_data: data('one') }])
  expect(first.status).toBe(201)
  const second = await send([
    { plate: 'A', photo_data: data('two') },
    { plate: 'B', photo_data: data('three') },
  ])
  const [a] = Object(second.json)
  const photo = await request(new URL(a.photo_url).pathname)
  expect([second.status, photo.text]).toEqual([201, 'two'])
  const strict = defineCollection({ ...options, store: memoryStore(), requirePrecondition: true })
  const guarded = await openHandler(
    'fetch',
    defineApi({ batch: true, collections: { cars: strict } }),
  )
  const merge = {
    method: 'POST',
    json: [{ plate: 'A' }],
    headers: { prefer: 'resolution=merge-duplicates' },
  }
  expect((await guarded.request('/cars', merge)).status).toBe(201)
  expect((await guarded.request('/cars', merge)).status).toBe(428)
})

it.each([
  [true, ['200', '201', '204', '303', 'default']],
  // Types would say that every POST may answer an array.
  [false, ['201', '303', 'default']],
])('is described, with batch: %s', async (batch, responses) => {
  const { request } = await garage(memoryStore, { batch })
  const { post } = Object((await request('/cars', { method: 'OPTIONS' })).json)
  const [named] = post.parameters.filter((each: { in: string }) => each.in === 'query')
  expect(named).toMatchObject({
    name: 'on_conflict',
    schema: { enum: ['plate', 'country,number'] },
  })
  const prefer = post.parameters.find(({ name }: { name: string }) => name === 'Prefer')
  expect(prefer.description).toContain('resolution=merge-duplicates')
  expect(Object.keys(post.responses)).toEqual(responses)
})

it('is called by a client', async () => {
  const { api, all } = await garage(memoryStore)
  const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init))
  const client = createClient<typeof api>('http://api.test', { fetch })
  const options = { onConflict: 'plate' } as const
  const [first] = await upsertMany(client, 'cars', [{ plate: 'A' }, { plate: 'B' }], options)
  expect(first?.color).toBe('white')
  const ignored = { ...options, resolution: 'ignore-duplicates' } as const
  await upsertMany(client, 'cars', [{ plate: 'A', color: 'red' }], ignored)
  const [, again] = await upsertMany(
    client,
    'cars',
    [{ plate: 'C' }, { plate: 'B', color: 'blue' }],
    options,
  )
  // It has the version of what it gave.
  if (again) await client.cars.patch(again, { color: 'green' })
  await upsertMany(client, 'cars', [{ plate: 'A', color: 'red' }], { ...options, dryRun: true })
  expect(await all()).toEqual(['A white', 'B green', 'C white'])
  await expect(upsertMany(client, 'cars', [{ plate: 'A' }])).rejects.toMatchObject({ status: 400 })
})
