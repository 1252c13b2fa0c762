// PATCH and DELETE of a collection by a filter (conventions, "Several changes as one"): all that match, or none.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  HttpError,
  memoryBlobs,
  memoryStore,
  onResponse,
} from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import type { Store } from '../../src/store/store.ts'
import { type Init, openHandler } from '../handlers.ts'
import { scopedScheme } from '../scoped-scheme.ts'
import { usePostgres } from '../stores/postgres.ts'
import { TRANSACTIONAL } from '../stores/transactional.ts'

usePostgres()

const as = (authorization: string) => ({ headers: { authorization } })

interface Options {
  readonly policies?: Policies
  readonly transaction?: boolean
  readonly requirePrecondition?: boolean
  readonly idle?: boolean
}

/** Cars with makers and options; hooks are recorded. */
async function garage(make: () => Store, { policies = {}, idle, ...more }: Options = {}) {
  const { transaction = false, requirePrecondition = false } = more
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
      code: z.string().optional(),
      sold: z.boolean().default(false),
      price: z.number().default(1),
      note: z.string().optional(),
      serial: z.string().optional(),
      secret: z.string().optional(),
      maker_id: z.int().optional(),
    }),
    store: make(),
    id: 'integer',
    unique: ['code'],
    fields: { serial: 'immutable', secret: 'writeOnly' },
    references: { maker_id: { collection: 'makers', onDelete: 'restrict' } },
    operations: ['list', 'count', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
    requirePrecondition,
    hooks: idle
      ? {}
      : {
          transaction,
          before: ({ operation, id, value, dryRun }) => {
            if (operation !== 'patch' && operation !== 'delete') return
            events.push(
              `before ${operation}${id === undefined ? '' : ` ${id}`}${dryRun ? ' dry' : ''}`,
            )
            const car = value as { note?: string; color?: string } | undefined
            if (operation === 'patch' && car?.color === 'hooked') car.note = `by the hook ${id}`
            if (operation === 'delete' && id === 3) throw new HttpError(403, 'Not this one')
          },
          after: ({ operation, id }) => {
            if (operation === 'patch' || operation === 'delete')
              events.push(`after ${operation} ${id}`)
          },
        },
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int() }),
    store: make(),
    parents: { car_id: { collection: 'cars', onDelete: 'cascade' } },
  })
  const api = defineApi({ collections: { makers, cars, options }, batch: true, ...policies })
  const { request } = await openHandler('fetch', api)
  const all = api.collection('cars')
  await all.create(['red', 'red', 'blue', 'red'].map(color => ({ color })))
  events.length = 0
  const patch = (query: string, json: unknown, init: Init = {}) =>
    request(`/cars${query}`, { method: 'PATCH', json, ...init })
  const remove = (query: string, max: number | string | undefined, init: Init = {}) => {
    const { headers = {} } = init
    const prefer = max === undefined ? {} : { prefer: `max-affected=${max}` }
    return request(`/cars${query}`, {
      method: 'DELETE',
      ...init,
      headers: { ...prefer, ...headers },
    })
  }
  const show = async () =>
    (await all.list({ sort: 'id' }).toArray())
      .map(({ id, color, sold }) => `${id} ${color}${sold ? ' sold' : ''}`)
      .join()
  return { api, all, patch, remove, show, request, events }
}

const START = '1 red,2 red,3 blue,4 red'

describe.each(Object.entries(TRANSACTIONAL))('on %s', (_name, open) => {
  it('changes all items that match, with one event each', async () => {
    const { api, all, patch, show, events } = await garage(await open())
    const before = await all.list({ sort: 'id' }).toArray()
    const answer = await patch('?color=red', { sold: true })
    expect([answer.status, answer.json]).toEqual([200, { count: 3 }])
    expect(await show()).toBe('1 red sold,2 red sold,3 blue,4 red sold')
    expect(events).toEqual(
      ['before', 'after'].flatMap(when => [1, 2, 4].map(id => `${when} patch ${id}`)),
    )
    const after = await all.list({ sort: 'id' }).toArray()
    expect(after.map(({ created_at }) => created_at)).toEqual(before.map(each => each.created_at))
    expect(after[2]).toEqual(before[2])
    // What has the values already stays as it is, and counts.
    expect((await patch('?sold=true', { sold: true })).json).toEqual({ count: 3 })
    expect(await all.list({ sort: 'id' }).toArray()).toEqual(after)
    expect((await patch('?color=green', { sold: true })).json).toEqual({ count: 0 })
    const minimal = await patch(
      '?id[in]=1,3',
      { color: 'hooked' },
      { headers: { prefer: 'return=minimal, max-affected=2' } },
    )
    expect([minimal.status, minimal.text]).toEqual([204, ''])
    expect(minimal.headers.get('preference-applied')).toBe('return=minimal, max-affected=2')
    expect((await all.read(3)).note).toBe('by the hook 3')
    const json = [{ op: 'replace', path: '/price', value: 9 }]
    const type = { 'content-type': 'application/json-patch+json' }
    expect((await patch('?price[lt]=5&color[ne]=red', json, { headers: type })).json).toEqual({
      count: 2,
    })
    expect(await all.count({ price: 9 })).toBe(2)
    const makers = api.collection('makers')
    const [{ id: maker_id } = { id: 0 }] = await makers.create([{ name: 'Fiat' }])
    expect((await patch('?id[in]=1,3', { maker_id })).json).toEqual({ count: 2 })
    expect((await patch('?maker.name=Fiat', { price: 8 })).json).toEqual({ count: 2 })
    expect(await all.patchMany({ maker: { name: 'Fiat' } } as never, { price: 8.5 })).toBe(2)
    const where = encodeURIComponent('{"or":[{"id":1},{"id":4}]}')
    expect((await patch(`?where=${where}`, { price: 7 })).json).toEqual({ count: 2 })
    expect(await all.count({ price: 7 })).toBe(2)
  })

  it('deletes all items that match, and what refers to them', async () => {
    const { api, all, remove, show, events } = await garage(await open())
    for (const car_id of [1, 1, 2, 3]) await api.collection('options').create({ car_id })
    const answer = await remove('?color=red', 3)
    expect([answer.status, answer.json]).toEqual([200, { count: 3 }])
    expect(answer.headers.get('preference-applied')).toBe('max-affected=3')
    expect(await show()).toBe('3 blue')
    expect(await api.collection('options').count()).toBe(1)
    expect(events).toEqual(
      ['before', 'after'].flatMap(when => [1, 2, 4].map(id => `${when} delete ${id}`)),
    )
    // A hook that refuses one of them keeps all.
    await all.create([{ color: 'red' }, { color: 'red' }])
    const refused = await remove('?id[gte]=3', 9)
    expect(refused.json).toMatchObject({
      errors: [{ code: 403, message: 'Not this one (car 3)' }],
    })
    expect(await show()).toBe('3 blue,5 red,6 red')
  })

  it('is judged within the transaction: hooks that fail late undo all', async () => {
    const { api, patch, show } = await garage(await open(), { transaction: true })
    const { id: maker_id } = await api.collection('makers').create({ name: 'Fiat' })
    expect((await patch('?color=red', { maker_id })).json).toEqual({ count: 3 })
    const restricted = await api.fetch(new Request('http://a/makers/1', { method: 'DELETE' }))
    expect(restricted.status).toBe(409)
    expect(await show()).toBe(START)
  })

  it('reports the issues of all items, by their ids, and changes nothing', async () => {
    const { all, patch, show, events } = await garage(await open())
    await all.create({ color: 'serial', serial: 'a' })
    await all.patch(2, { code: 'taken' })
    events.length = 0
    const wrong = await patch('?id[gte]=1', { color: 'x', price: 'much', colour: 1 })
    expect(wrong.json).toMatchObject({
      errors: [
        { field: 'colour', type: 'unknown_field' },
        { field: 'color', message: expect.stringMatching(/\(cars 1, 2, 3 and 2 more\)$/) },
        { field: 'price', type: 'invalid_type' },
      ],
    })
    expect(wrong.status).toBe(400)
    expect((await patch('?id[ne]=3', { serial: 'b' })).json).toMatchObject({
      errors: [
        {
          field: 'serial',
          message: 'serial is null and cannot be changed. Leave it out (cars 1, 2, 4)',
        },
        {
          field: 'serial',
          type: 'immutable_field',
          message: 'serial is "a" and cannot be changed. Leave it out (car 5)',
        },
      ],
    })
    expect((await patch('?color=red', { id: 2 })).json).toMatchObject({
      errors: [
        { field: 'id', message: 'id is 1 and cannot be changed. Leave it out (car 1)' },
        { field: 'id', message: 'id is 4 and cannot be changed. Leave it out (car 4)' },
      ],
    })
    expect((await patch('?color=red', { maker_id: 9 })).json).toMatchObject({
      errors: [
        {
          field: 'maker_id',
          type: 'unknown_reference',
          message: expect.stringContaining('(cars 1, 2, 4)'),
        },
      ],
    })
    const unique = await patch('?id[ne]=2', { code: 'taken' })
    expect([unique.status, unique.json]).toMatchObject([
      409,
      { errors: [{ field: 'code', message: 'Another item has the same code (car 1)' }] },
    ])
    const twice = await patch('?color=red', { code: 'new' })
    expect(twice.json).toMatchObject({
      errors: [{ code: 409, message: 'Another item has the same code (car 2)' }],
    })
    expect(events.filter(event => event.startsWith('after'))).toEqual([])
    expect(await show()).toBe(`${START},5 serial`)
    expect(await all.count({ code: { exists: true } })).toBe(1)
  })

  it('does the work of a key once', async () => {
    const { all, patch, remove } = await garage(await open())
    const headers = { 'idempotency-key': 'once' }
    expect((await patch('?sold=false', { sold: true }, { headers })).json).toEqual({ count: 4 })
    await all.create({ color: 'late' })
    expect((await patch('?sold=false', { sold: true }, { headers })).json).toEqual({ count: 4 })
    expect(await all.count({ sold: false })).toBe(1)
    const other = await patch('?sold=true', { sold: true }, { headers })
    expect([other.status, other.json]).toMatchObject([
      422,
      { errors: [{ type: 'idempotency_key' }] },
    ])
    const removed = await remove('?color=red', 5, { headers })
    expect(removed.json).toEqual({ count: 3 })
    await all.create({ color: 'red' })
    expect((await remove('?color=red', 5, { headers })).json).toEqual({ count: 3 })
    expect(await all.count({ color: 'red' })).toBe(1)
    expect(
      (await patch('?color=red', { color: 'x' }, { headers: { 'idempotency-key': 'two' } })).status,
    ).toBe(400)
    expect(
      (await patch('?color=red', { color: 'xx' }, { headers: { 'idempotency-key': 'two' } })).json,
    ).toEqual({ count: 1 })
  })

  it('is tried by Prefer: tx=rollback, is a step of a batch, and a call of a program', async () => {
    const { api, all, patch, remove, show, request, events } = await garage(await open())
    const headers = { prefer: 'tx=rollback, max-affected=3', 'idempotency-key': 'dry' }
    const dry = await patch('?color=red', { sold: true }, { headers })
    expect([dry.status, dry.json]).toEqual([200, { count: 3 }])
    expect(dry.headers.get('preference-applied')).toBe('max-affected=3, tx=rollback')
    expect((await remove('?color=red', 3, { headers })).json).toEqual({ count: 3 })
    expect(events).toEqual(
      ['patch', 'delete'].flatMap(name => [1, 2, 4].map(id => `before ${name} ${id} dry`)),
    )
    expect(await all.patchMany({ color: 'red' }, { sold: true }, { dryRun: true })).toBe(3)
    expect(await show()).toBe(START)

    const steps = [
      { method: 'PATCH', path: '/cars?color=red', body: { sold: true } },
      { method: 'DELETE', path: '/cars?sold=true&id[gt]=1', prefer: 'max-affected=2' },
    ]
    const batch = await request('/batch', { method: 'POST', json: steps })
    expect(batch.json).toEqual([
      { status: 200, body: { count: 3 } },
      { status: 200, body: { count: 2 } },
    ])
    expect(await show()).toBe('1 red sold,3 blue')
    const failing = [steps[0], { ...steps[1], path: '/cars?id=1', prefer: 'max-affected=0' }]
    const failed = await request('/batch', { method: 'POST', json: failing })
    expect(failed.json).toMatchObject({ errors: [{ type: 'too_many_affected', step: 1 }] })

    expect(await all.patchMany({ color: ['red', 'blue'] }, { price: 5 }, { maxAffected: 2 })).toBe(
      2,
    )
    await expect(all.patchMany({ price: 5 }, { color: 'x' })).rejects.toMatchObject({
      status: 400,
      errors: [{ field: 'color' }],
    })
    await api.transaction(async tx => {
      const inside = tx.collection('cars')
      await inside.create({ color: 'new', price: 5 })
      expect(await inside.patchMany({ price: 5 }, { sold: true })).toBe(3)
      expect(await inside.deleteMany({ color: 'blue', price: 9 }, { maxAffected: 0 })).toBe(0)
    })
    expect(await all.count({ sold: true })).toBe(3)
  })

  it('changes 1,000 items, and refuses 1,001', async () => {
    const { all, patch, remove } = await garage(await open(), { idle: true })
    await all.create(Array.from({ length: 997 }, () => ({ color: 'red' })))
    expect(await patch('?id[gte]=1', { sold: true })).toMatchObject({
      status: 400,
      json: {
        errors: [
          {
            type: 'too_many_affected',
            message: expect.stringMatching(/^1001 cars match, and at most 1000 /),
          },
        ],
      },
    })
    expect(await all.count({ sold: true })).toBe(0)
    expect((await patch('?color=red', { sold: true })).json).toEqual({ count: 1000 })
    expect(await all.count({ sold: true })).toBe(1000)
    expect((await remove('?sold=true', 1000)).json).toEqual({ count: 1000 })
    expect(await all.count()).toBe(1)
  })

  it('meets writers of single items: nothing is lost', async () => {
    const { all, patch } = await garage(await open(), { idle: true })
    const raise = (id: number) => all.change(id, ({ price }) => ({ price: price + 1 }))
    const work = Array.from({ length: 8 }, (_, at) => [
      raise(1 + (at % 4)),
      patch('?color[exists]=true', { note: `note ${at}` }),
    ]).flat()
    for (const done of await Promise.all(work)) if ('status' in done) expect(done.status).toBe(200)
    expect((await all.list({ sort: 'id' }).toArray()).map(({ price }) => price)).toEqual([
      3, 3, 3, 3,
    ])
    const notes = new Set((await all.list().toArray()).map(({ note }) => note))
    expect(notes.size).toBe(1)
  })
})

describe('If-Match with the tag of the list', () => {
  const read = async (
    request: Awaited<ReturnType<typeof garage>>['request'],
    query: string,
    headers = {},
  ) => (await request(`/cars${query}`, { headers })).headers.get('etag') ?? ''

  it('holds while no item of the filter has changed, in any format', async () => {
    const { all, patch, remove, request, show } = await garage(memoryStore, {
      requirePrecondition: true,
    })
    const without = await patch('?color=red', { sold: true })
    expect([without.status, without.json]).toMatchObject([
      428,
      { errors: [{ type: 'precondition_required', field: 'if-match' }] },
    ])
    expect((await remove('?color=red', 9)).status).toBe(428)
    const tag = await read(request, '?color=red')
    await all.patch(3, { price: 3 }, { unconditional: true })
    expect(
      (await patch('?color=red', { sold: true }, { headers: { 'if-match': tag } })).json,
    ).toEqual({ count: 3 })
    const stale = await patch('?color=red', { price: 2 }, { headers: { 'if-match': tag } })
    expect([stale.status, stale.json]).toMatchObject([
      412,
      { errors: [{ type: 'precondition_failed' }] },
    ])
    // One more that matches is a change of the list.
    const xml = await read(request, '?color=red', { accept: 'application/xml' })
    await all.create({ color: 'red' })
    expect((await patch('?color=red', { price: 2 }, { headers: { 'if-match': xml } })).status).toBe(
      412,
    )
    const now = await read(request, '?color=red', { accept: 'application/xml' })
    expect(now).not.toBe(xml)
    expect((await remove('?color=red', 4, { headers: { 'if-match': now } })).json).toEqual({
      count: 4,
    })
    expect(await show()).toBe('3 blue')
    // The tag of another filter is none of this one.
    const blue = await read(request, '?color=blue')
    expect((await patch('?id=3', { price: 8 }, { headers: { 'if-match': blue } })).json).toEqual({
      count: 1,
    })
    expect(
      (await patch('?color=green', { price: 8 }, { headers: { 'if-match': blue } })).status,
    ).toBe(412)
    expect((await patch('?id=3', { price: 8 }, { headers: { 'if-match': '*' } })).status).toBe(200)
    expect(
      (await patch('?id=3', { price: 9 }, { headers: { 'if-match': '*', 'if-none-match': '*' } }))
        .status,
    ).toBe(412)
  })

  it('is of the whole list: the tag of a part does not hold', async () => {
    const { all, patch, request } = await garage(memoryStore, { idle: true })
    await all.create(Array.from({ length: 40 }, () => ({ color: 'red' })))
    const part = await read(request, '?color=red')
    const stale = await patch('?color=red', { price: 2 }, { headers: { 'if-match': part } })
    expect(stale.json).toMatchObject({
      errors: [{ message: expect.stringContaining('limit=100') }],
    })
    const whole = await read(request, '?color=red&limit=100')
    expect(
      (await patch('?color=red', { price: 2 }, { headers: { 'if-match': whole } })).json,
    ).toEqual({ count: 43 })
    await all.create(Array.from({ length: 80 }, () => ({ color: 'red' })))
    const many = await read(request, '?color=red&limit=100')
    expect(
      (await patch('?color=red', { price: 3 }, { headers: { 'if-match': many } })).status,
    ).toBe(412)
  })
})

describe('refused before anything is done', () => {
  const cases: Readonly<
    Record<string, [query: string, json: unknown, issue: object, init?: Init]>
  > = {
    'no filter': ['', { sold: true }, { type: 'filter_required' }],
    'an empty object': ['?where={}', { sold: true }, { type: 'filter_required' }],
    'groups of none': [
      '?where={"and":[{"or":[{"and":[]}]}],"not":{"or":[]}}',
      { sold: true },
      { type: 'filter_required' },
    ],
    'a parameter against caches alone': ['?_=1', { sold: true }, { type: 'filter_required' }],
    'an unknown filter': [
      '?colour=red',
      { sold: true },
      { type: 'unknown_field', field: 'colour' },
    ],
    'an unknown operator': ['?color[near]=red', { sold: true }, { type: 'unknown_operator' }],
    'a wrong value': ['?price=much', { sold: true }, { type: 'invalid_value', field: 'price' }],
    'a hidden field': ['?secret=x', { sold: true }, { type: 'unknown_field' }],
    'a limit': [
      '?color=red&limit=1',
      { sold: true },
      { type: 'unknown_parameter', field: 'limit' },
    ],
    'a sort': ['?color=red&sort=id', { sold: true }, { type: 'unknown_parameter', field: 'sort' }],
    'an offset': [
      '?color=red&offset=1',
      { sold: true },
      { type: 'unknown_parameter', field: 'offset' },
    ],
    'a cursor': [
      '?color=red&cursor=x',
      { sold: true },
      { type: 'unknown_parameter', field: 'cursor' },
    ],
    'properties to return': [
      '?color=red&fields=id',
      { sold: true },
      { type: 'unknown_parameter', field: 'fields' },
    ],
    'related items': [
      '?color=red&include=maker',
      { sold: true },
      { type: 'unknown_parameter', field: 'include' },
    ],
    'a list as a patch': ['?color=red', [{ sold: true }], { type: 'invalid_type' }],
    'a text as a patch, though nothing matches': ['?color=green', 'sold', { type: 'invalid_type' }],
    'no body': ['?color=red', undefined, { type: 'missing_body' }],
    'a maximum that is no number': [
      '?color=red',
      { sold: true },
      { type: 'invalid_header', field: 'prefer' },
      { headers: { prefer: 'max-affected=few' } },
    ],
    'more than the maximum': [
      '?color=red',
      { sold: true },
      {
        type: 'too_many_affected',
        message: '3 cars match, and at most 2 may be affected. Narrow the filter.',
      },
      { headers: { prefer: 'max-affected=2' } },
    ],
    'one, where none may be': [
      '?id=1',
      { sold: true },
      { type: 'too_many_affected' },
      { headers: { prefer: 'max-affected=0' } },
    ],
  }
  it.each(Object.entries(cases))('%s', async (_name, [query, json, issue, init = {}]) => {
    const { patch, show, events } = await garage(memoryStore)
    const answer = await patch(query, json, init)
    expect(answer.json).toMatchObject({ errors: [issue] })
    expect(answer.status).toBe(400)
    expect(await show()).toBe(START)
    expect(events).toEqual([])
  })

  it('all issues of the query and of the preference together', async () => {
    const { remove, show } = await garage(memoryStore)
    expect((await remove('?colour=red&limit=1', undefined)).json).toMatchObject({
      errors: [
        { field: 'limit', type: 'unknown_parameter' },
        { field: 'prefer', type: 'max_affected_required' },
        { field: 'colour', type: 'unknown_field' },
      ],
    })
    expect((await remove('', 5)).json).toMatchObject({ errors: [{ type: 'filter_required' }] })
    expect((await remove('', undefined)).json).toMatchObject({
      errors: [{ type: 'max_affected_required' }, { type: 'filter_required' }],
    })
    expect(await show()).toBe(START)
  })

  it('no filter, to who reads no status', async () => {
    const { patch, show } = await garage(memoryStore)
    const answer = await patch('?_=1&suppress_error_codes=true', { sold: true })
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { errors: [{ type: 'filter_required', code: 400 }] },
    ])
    expect(await show()).toBe(START)
  })

  it('items that are too large together', async () => {
    const { all, patch } = await garage(memoryStore, { policies: { limits: { page: 2000 } } })
    await all.create(Array.from({ length: 5 }, () => ({ color: 'long', note: 'x'.repeat(900) })))
    expect(await patch('?color=long', { sold: true })).toMatchObject({
      status: 413,
      json: { errors: [{ type: 'affected_too_large' }] },
    })
    expect(await all.count({ sold: true })).toBe(0)
  })

  it('calls of programs without a filter or a maximum', async () => {
    const { all, show } = await garage(memoryStore)
    await expect(all.patchMany({ color: undefined } as never, { sold: true })).rejects.toThrow(
      'cars: color must be',
    )
    await expect(
      all.deleteMany({ color: 'red', limit: 1 } as never, { maxAffected: 1 }),
    ).rejects.toThrow('deleteMany takes no limit')
    await expect(
      all.patchMany({ color: 'red', include: ['maker'] } as never, { sold: true }),
    ).rejects.toThrow('patchMany takes no include')
    await expect(all.deleteMany({ color: 'red' }, {} as never)).rejects.toThrow(
      'deleteMany needs { maxAffected }',
    )
    await expect(all.deleteMany({ color: 'red' }, { maxAffected: -1 })).rejects.toThrow(TypeError)
    await expect(all.deleteMany({ color: 'red' }, { maxAffected: 2 })).rejects.toMatchObject({
      status: 400,
    })
    expect(await show()).toBe(START)
  })
})

describe('who may do it', () => {
  /** Notes of owners, of whom each sees those of its team. */
  async function notes(access: object = {}) {
    const collection = defineCollection({
      name: 'notes',
      schema: z.object({ team: z.string(), text: z.string(), owner_id: z.string() }),
      store: memoryStore(),
      id: 'integer',
      owner: { field: 'owner_id', except: ['admin'] },
      visible: principal => ({ team: principal?.id.slice(0, 1) ?? '' }),
      operations: ['list', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
      access: { list: ['read'], patch: ['write'], delete: ['remove'], ...access },
    })
    const api = defineApi({ collections: { notes: collection }, schemes: [scopedScheme] })
    const { request } = await openHandler('fetch', api)
    const all = api.asSystem().collection('notes')
    for (const owner_id of ['a1', 'a2', 'b1'])
      await all.create({ team: owner_id.slice(0, 1), text: 'x', owner_id })
    const patch = (query: string, json: object, authorization: string) =>
      request(`/notes${query}`, { method: 'PATCH', json, ...as(authorization) })
    const texts = async () =>
      (await all.list({ sort: 'id' }).toArray()).map(({ text }) => text).join()
    return { request, patch, texts, all }
  }

  it('who may list and patch, or list and delete', async () => {
    const { request, patch } = await notes()
    const anonymous = await request('/notes?text=x', { method: 'PATCH', json: {} })
    expect(anonymous.status).toBe(401)
    for (const scopes of ['read', 'write', 'read remove']) {
      const answer = await patch('?owner_id=a1', { text: 'y' }, `Test a1 ${scopes}`)
      expect([answer.status, answer.json]).toMatchObject([
        403,
        { errors: [{ type: 'insufficient_scope' }] },
      ])
    }
    expect((await patch('?owner_id=a1', { text: 'y' }, 'Test a1 read write')).json).toEqual({
      count: 1,
    })
    const remove = (authorization: string) =>
      request('/notes?owner_id=a1', {
        method: 'DELETE',
        headers: { authorization, prefer: 'max-affected=1' },
      })
    expect((await remove('Test a1 read write')).status).toBe(403)
    expect((await remove('Test a1 read remove')).json).toEqual({ count: 1 })
    const options = await request('/notes', { method: 'OPTIONS', ...as('Test a1 read write') })
    expect(options.headers.get('allow')).toBe('GET, QUERY, POST, PATCH, HEAD, OPTIONS')
  })

  it('one more rule narrows it', async () => {
    const { patch } = await notes({ patchMany: ['bulk'] })
    expect((await patch('?owner_id=a1', { text: 'y' }, 'Test a1 read write')).status).toBe(403)
    expect((await patch('?owner_id=a1', { text: 'y' }, 'Test a1 read write bulk')).status).toBe(200)
    expect((await patch('?owner_id=a1', { text: 'y' }, 'Test a1 bulk')).status).toBe(403)
  })

  it('it is of what the list shows; one item of another owner is a 403, and nothing changes', async () => {
    const { patch, texts } = await notes()
    const all = await patch('?text=x', { text: 'y' }, 'Test a1 read write')
    expect([all.status, all.json]).toMatchObject([
      403,
      { errors: [{ type: 'not_owner', message: 'Only its owner may change this note. (note 2)' }] },
    ])
    expect(await texts()).toBe('x,x,x')
    const admin = await patch('?text=x', { text: 'y' }, 'Test a9 read write admin')
    expect(admin.json).toEqual({ count: 2 })
    expect(await texts()).toBe('y,y,x')
    // None may be moved out of sight.
    const moved = await patch('?owner_id=a1', { team: 'b' }, 'Test a1 read write')
    expect([moved.status, moved.json]).toMatchObject([403, { errors: [{ type: 'forbidden_row' }] }])
  })

  it('counts once for rate limits, and has its own name in logs, also by an override', async () => {
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      id: 'integer',
      operations: ['list', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
    })
    const api = defineApi({
      collections: { cars },
      rateLimit: { policies: [{ limit: 5, window: 60 }] },
    })
    await api.collection(cars).create([{ color: 'red' }, { color: 'red' }])
    const { request } = await openHandler('fetch', api)
    const seen: string[] = []
    const stop = onResponse(({ method, operation, status }) =>
      seen.push(`${method} ${operation} ${status}`),
    )
    const post = (init: Init) => request('/cars?color=red', { method: 'POST', ...init })
    const patched = await post({
      json: { color: 'blue' },
      headers: { 'x-http-method-override': 'PATCH' },
    })
    expect(patched.json).toEqual({ count: 2 })
    expect(patched.headers.get('x-ratelimit-remaining')).toBe('4')
    const formed = await api.fetch(
      new Request('http://api.test/cars?color=blue', {
        method: 'POST',
        body: new URLSearchParams({ _method: 'PATCH', color: 'red' }),
      }),
    )
    expect(await formed.json()).toEqual({ count: 2 })
    const removed = await request('/cars?color=red&_method=DELETE', {
      method: 'POST',
      headers: { prefer: 'max-affected=2' },
    })
    expect(removed.json).toEqual({ count: 2 })
    const forged = await post({
      json: { color: 'x' },
      headers: { 'x-http-method-override': 'PATCH', cookie: 'a=b', origin: 'https://evil.example' },
    })
    expect(forged.status).toBe(403)
    stop()
    expect(seen).toEqual([
      'PATCH patchMany 200',
      'PATCH patchMany 200',
      'DELETE deleteMany 200',
      'PATCH undefined 403',
    ])
  })
})

it('works below a parent, for its items alone', async () => {
  const { api, request } = await garage(memoryStore)
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int(), price: z.number() }),
    store: memoryStore(),
    id: 'integer',
    parents: { car_id: 'cars' },
    operations: ['list', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
  })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({}),
    store: memoryStore(),
    id: 'integer',
  })
  const shop = defineApi({ collections: { cars, options } })
  await shop.collection('cars').create([{}, {}])
  await shop.collection('options').create([1, 1, 2].map(car_id => ({ car_id, price: 1 })))
  const { request: send } = await openHandler('fetch', shop)
  expect(
    (await send('/cars/1/options?price=1', { method: 'PATCH', json: { price: 2 } })).json,
  ).toEqual({ count: 2 })
  expect(
    (await send('/cars/9/options?price=1', { method: 'PATCH', json: { price: 2 } })).status,
  ).toBe(404)
  expect((await send('/cars/1/options', { method: 'PATCH', json: { price: 2 } })).status).toBe(400)
  const moved = await send('/cars/1/options?price=2', { method: 'PATCH', json: { car_id: 2 } })
  expect(moved.json).toMatchObject({ errors: [{ type: 'conflicting_parent' }] })
  expect(await shop.collection('options').count({ price: 2 })).toBe(2)
  expect((await request('/makers?name=x', { method: 'PATCH', json: {} })).status).toBe(405)
  expect(await api.collection('cars').count()).toBe(4)
})

it('removes the contents of deleted and changed items, once it is done', async () => {
  const blobs = memoryBlobs()
  const files = defineCollection({
    name: 'files',
    schema: z.object({ name: z.string(), content: blob().nullable().optional() }),
    store: memoryStore(),
    id: 'integer',
    blobs,
    operations: ['list', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
  })
  const api = defineApi({ collections: { files } })
  const { request } = await openHandler('fetch', api)
  const data = Buffer.from('text').toString('base64')
  for (const name of ['a', 'b', 'c'])
    await request('/files', { method: 'POST', json: { name, content_data: data } })
  const keys = (await api.collection('files').list({ sort: 'id' }).toArray()).map(
    ({ content }) => content?.key ?? '',
  )
  const kept = async () =>
    (await Promise.all(keys.map(key => blobs.get(key)))).map(found => found !== undefined).join()
  const patch = (json: object, init: Init = {}) =>
    request('/files?name[in]=a,b', { method: 'PATCH', json, ...init })
  expect((await patch({ content: null }, { headers: { prefer: 'tx=rollback' } })).json).toEqual({
    count: 2,
  })
  expect(await kept()).toBe('true,true,true')
  expect((await patch({ content_data: data })).json).toMatchObject({
    errors: [{ type: 'unexpected_file' }],
  })
  expect((await patch({ name: 'a', content: null })).json).toEqual({ count: 2 })
  expect(await kept()).toBe('false,false,true')
  const headers = { prefer: 'max-affected=5' }
  expect((await request('/files?id[gt]=0', { method: 'DELETE', headers })).json).toEqual({
    count: 3,
  })
  expect(await kept()).toBe('false,false,false')
})

describe('definition', () => {
  const schema = z.object({ a: z.string() })
  it('refuses what cannot be', () => {
    const { transaction: _, database: __, ...plain } = memoryStore()
    const define = (
      operations: readonly never[] | readonly string[],
      store: Store = memoryStore(),
    ) => defineCollection({ name: 'cars', schema, store, operations: operations as never })
    expect(() => define(['list', 'patchMany'])).toThrow(
      'cars: the operation patchMany needs patch beside it',
    )
    expect(() => define(['delete', 'deleteMany'])).toThrow('needs list beside it')
    expect(() =>
      define(['list', 'patch', 'patchMany'], { ...plain, idempotency: 'process' }),
    ).toThrow('cars: the operation patchMany needs a store with transactions')
    expect(() =>
      defineCollection({
        name: 'cars',
        schema,
        store: memoryStore(),
        actions: { patchMany: { on: 'item' } as never },
      }),
    ).toThrow('an action may not be called "patchMany"')
  })

  it('is left out where it is not named: 405, and not in OPTIONS', async () => {
    const cars = defineCollection({ name: 'cars', schema, store: memoryStore() })
    const { request } = await openHandler('fetch', defineApi({ collections: { cars } }))
    for (const method of ['PATCH', 'DELETE']) {
      const answer = await request('/cars?a=x', { method, json: {} })
      expect([answer.status, answer.headers.get('allow')]).toEqual([
        405,
        'GET, QUERY, POST, HEAD, OPTIONS',
      ])
    }
  })
})
