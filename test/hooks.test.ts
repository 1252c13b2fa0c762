// Hooks around the operations of a collection: what they are told, what they may change, what they refuse.

import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  type Hooks,
  HttpError,
  type Item,
  memoryBlobs,
  memoryStore,
  type OperationEvent,
  type Scheme,
  type Store,
} from '../src/index.ts'
import { findApiDefinition, findCollectionDefinition } from '../src/model/definitions.ts'
import { sqlStore } from '../src/sql/index.ts'
import { findOne } from '../src/store/writes.ts'
import { eachHandler, type Init, listen } from './handlers.ts'
import { openDatabase } from './stores/sqlite.ts'

interface AnyHooks {
  readonly before?: (event: OperationEvent) => unknown
  readonly after?: (event: OperationEvent, result: unknown) => unknown
  readonly error?: (event: OperationEvent, error: unknown) => unknown
}

type Received = Omit<OperationEvent, 'signal' | 'collection' | 'transaction'> & {
  hook: string
  result?: unknown
  error?: unknown
}

const scheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers }) =>
    headers.authorization === 'Test ann' ? { id: 'ann', scopes: ['all'], team: 7 } : undefined,
}

/** One item, and everything that its hooks were told. */
async function watched(hooks: AnyHooks = {}) {
  const received: Received[] = []
  const note = (hook: string, { signal, ...event }: OperationEvent, more: object = {}) => {
    expect(signal).toBeInstanceOf(AbortSignal)
    received.push({ hook, ...event, ...more })
  }
  const things = defineCollection({
    name: 'things',
    schema: z.object({ name: z.string().trim(), size: z.int().default(1) }),
    store: memoryStore(),
    search: ['name'],
    actions: {
      grow: {
        on: 'item',
        input: z.object({ by: z.int() }),
        run: ({ item, input, update }) => update({ size: Number(item?.size) + input.by }),
      },
      report: {
        on: 'collection',
        method: 'GET',
        input: z.object({ of: z.string() }),
        run: ({ input }) => ({ of: input.of }),
      },
      forget: { on: 'collection', run: () => undefined },
    },
    hooks: {
      before: async event => {
        note('before', event)
        return hooks.before?.(event)
      },
      after: async (event, result) => {
        note('after', event, { result })
        return hooks.after?.(event, result)
      },
      error: async (event, error) => {
        note('error', event, { error })
        return hooks.error?.(event, error)
      },
    },
  })
  const failures: unknown[] = []
  const api = defineApi({
    collections: [things],
    schemes: [scheme],
    access: { default: 'public' },
    onError: error => void failures.push(error),
  })
  const item = await api.collection(things).create({ name: 'one' })
  received.length = 0
  return { api, received, item: item as unknown as Item, failures } // an item of the schema is JSON
}

const json = (method: string, value: unknown): Init => ({ method, json: value })

describe('the arguments of hooks', () => {
  const ITEM = Symbol('the item as it was')
  const AFTER = Symbol('the item as it is')
  const cases: readonly [
    name: string,
    target: string,
    init: Init,
    operation: string,
    before: object,
    result: unknown,
  ][] = [
    ['a list', '/things', {}, 'list', {}, [AFTER]],
    ['a HEAD of a list', '/things', { method: 'HEAD' }, 'list', {}, 1],
    ['a count', '/things/count', {}, 'count', {}, 1],
    ['a search', '/things/search?q=one', {}, 'search', {}, [AFTER]],
    ['a read', '/things/:id', {}, 'read', { item: ITEM }, AFTER],
    [
      'a creation',
      '/things',
      json('POST', { name: ' two ' }),
      'create',
      { input: { name: ' two ' }, value: { name: 'two', size: 1 } },
      expect.objectContaining({ name: 'two' }),
    ],
    [
      'a replacement',
      '/things/:id',
      json('PUT', { name: 'two' }),
      'replace',
      { item: ITEM, input: { name: 'two' }, value: { name: 'two', size: 1 } },
      AFTER,
    ],
    [
      'a patch',
      '/things/:id',
      json('PATCH', { size: 2 }),
      'patch',
      { item: ITEM, input: { size: 2 }, value: { name: 'one', size: 2 } },
      AFTER,
    ],
    [
      'a patch that changes nothing',
      '/things/:id',
      json('PATCH', {}),
      'patch',
      { item: ITEM, input: {}, value: { name: 'one', size: 1 } },
      AFTER,
    ],
    ['a deletion', '/things/:id', { method: 'DELETE' }, 'delete', { item: ITEM }, ITEM],
    [
      'an action',
      '/things/:id/grow',
      json('POST', { by: 2 }),
      'grow',
      { item: ITEM, input: { by: 2 }, value: { by: 2 } },
      AFTER,
    ],
    [
      'an action of the collection',
      '/things/report?of=x',
      {},
      'report',
      { input: { of: 'x' }, value: { of: 'x' } },
      { of: 'x' },
    ],
  ]
  eachHandler(watched, (handler, made) => {
    for (const [name, target, init, operation, before, result] of cases) {
      it(`${name}: before and after`, async () => {
        const { received, item } = made()
        const headers = { authorization: 'Test ann' }
        const answer = await handler.request(target.replace(':id', String(item.id)), {
          ...init,
          headers,
        })
        expect(answer.status).toBeLessThan(400)
        const id = target.includes(':id') ? { id: item.id } : {}
        const about = {
          collectionName: 'things',
          operation,
          principal: { id: 'ann', scopes: ['all'], team: 7 },
          state: {},
          ...id,
        }
        const seen = [...received]
        const now =
          operation === 'delete' ? undefined : (await handler.request(`/things/${item.id}`)).json
        const filled = (value: unknown): unknown => {
          if (value === ITEM) return item
          if (value === AFTER) return now
          return Array.isArray(value) ? value.map(filled) : value
        }
        expect(seen).toEqual([
          {
            hook: 'before',
            system: false,
            ...about,
            ...Object.fromEntries(
              Object.entries(before).map(([key, value]) => [key, filled(value)]),
            ),
          },
          // The same, with the state that `before` left.
          { ...seen[0], hook: 'after', result: filled(result) },
        ])
        expect(seen[1]?.state).toBe(seen[0]?.state)
      })
    }

    const refusals: readonly [
      name: string,
      target: string,
      init: Init,
      operation: string,
      status: number,
    ][] = [
      ['an unknown item', '/things/nothing', {}, 'read', 404],
      ['a bad query', '/things?x=1', {}, 'list', 400],
      ['a bad value', '/things', json('POST', { name: 1 }), 'create', 400],
      [
        'a failed precondition',
        '/things/:id',
        { ...json('PATCH', {}), headers: { 'if-match': '"x"' } },
        'patch',
        412,
      ],
      ['a bad input', '/things/:id/grow', json('POST', {}), 'grow', 400],
    ]
    for (const [name, target, init, operation, status] of refusals) {
      it(`${name}: the error hook hears of the ${status}`, async () => {
        const { received, item } = made()
        expect(await handler.request(target.replace(':id', String(item.id)), init)).toMatchObject({
          status,
        })
        expect(received.at(-1)).toMatchObject({
          hook: 'error',
          collectionName: 'things',
          operation,
          error: expect.any(HttpError),
        })
        expect(received.filter(({ hook }) => hook === 'after')).toEqual([])
        expect(received.at(-1)?.error).toHaveProperty('status', status)
      })
    }

    it('do not run for a request without a valid path, method, format or body', async () => {
      const targets: [string, Init][] = [
        ['/nothing', {}],
        ['/things', { method: 'DELETE' }],
        ['/things', { headers: { accept: 'image/png' } }],
        ['/things', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
        ['/things', { method: 'OPTIONS' }],
      ]
      for (const [target, init] of targets) await handler.request(target, init)
      expect(made().received).toEqual([])
    })

    for (const [operation, target, value] of [
      ['create', '/things', { name: 'two' }],
      ['grow', '/things/:id/grow', { by: 1 }],
      ['forget', '/things/forget', {}],
    ] as const) {
      it(`${operation}: hooks do not run for an answer given again by its key`, async () => {
        const { received, item } = made()
        const init = { ...json('POST', value), headers: { 'idempotency-key': 'k' } }
        const answers = []
        for (let times = 0; times < 3; times++) {
          const { status, text } = await handler.request(
            target.replace(':id', String(item.id)),
            init,
          )
          answers.push([status, text])
        }
        expect(answers).toEqual([answers[0], answers[0], answers[0]])
        expect(received.map(({ hook, ...event }) => [hook, event.operation])).toEqual([
          ['before', operation],
          ['after', operation],
        ])
      })
    }

    it('there is no principal without credentials', async () => {
      await handler.request('/things')
      expect(made().received).toMatchObject([{ principal: undefined }, { principal: undefined }])
    })
  })
})

describe('what a before hook returns', () => {
  const replacing = () =>
    watched({
      before: ({ operation, value }) =>
        operation === 'grow'
          ? { by: 10 }
          : value === undefined
            ? { ignored: true }
            : { ...(value as object), name: 'replaced' },
    })
  eachHandler(replacing, (handler, made) => {
    const path = () => `/things/${made().item.id}`

    it('takes the place of the value of a creation, a replacement and a patch', async () => {
      expect(await handler.request('/things', json('POST', { name: 'x', size: 3 }))).toMatchObject({
        status: 201,
        json: { name: 'replaced', size: 3 },
      })
      await handler.request(path(), json('PUT', { name: 'x', size: 4 }))
      expect(await handler.request(path())).toMatchObject({ json: { name: 'replaced', size: 4 } })
      await handler.request(path(), json('PATCH', { size: 5 }))
      expect(await handler.request(path())).toMatchObject({ json: { name: 'replaced', size: 5 } })
    })

    it("takes the place of an action's input", async () => {
      expect(await handler.request(`${path()}/grow`, json('POST', { by: 1 }))).toMatchObject({
        json: { size: 11 },
      })
    })

    it('has no effect on an operation without a value', async () => {
      expect(await handler.request(path())).toMatchObject({ status: 200 })
      expect(await handler.request('/things')).toMatchObject({ status: 200, json: [{}] })
      expect(await handler.request(path(), { method: 'DELETE' })).toMatchObject({ status: 200 })
    })
  })

  const PLAIN = z.object({
    name: z.string(),
    size: z.int().default(1),
    at: z.iso.datetime().optional(),
  })
  const changes: readonly [
    name: string,
    schema: typeof PLAIN,
    before: AnyHooks['before'],
    status: number,
    json: object,
  ][] = [
    [
      'a date is its text',
      PLAIN,
      ({ value }) => ({ ...Object(value), at: new Date(0) }),
      201,
      { name: 'x', at: '1970-01-01T00:00:00.000Z' },
    ],
    [
      'a change in place counts too',
      PLAIN,
      ({ value }) => void Object.assign(Object(value), { size: 2 }),
      201,
      { name: 'x', size: 2 },
    ],
    [
      'what the server adds is its own',
      PLAIN,
      ({ value }) => ({ id: 'mine', created_at: 'then', ...Object(value) }),
      201,
      { name: 'x', created_at: expect.stringMatching(/^20/) },
    ],
    [
      'a member that the schema does not know',
      PLAIN,
      ({ value }) => ({ ...Object(value), colour: 'red' }),
      400,
      { errors: [{ field: 'colour', type: 'unknown_field' }] },
    ],
    [
      'a value of another type',
      PLAIN,
      ({ value }) => ({ ...Object(value), size: 'many' }),
      400,
      { errors: [{ field: 'size' }] },
    ],
    ['a member left out', PLAIN, () => ({ size: 1 }), 400, { errors: [{ field: 'name' }] }],
    [
      'a number that JSON does not have',
      PLAIN,
      ({ value }) => ({ ...Object(value), size: Number.NaN }),
      400,
      { errors: [{ field: 'size' }] },
    ],
  ]
  for (const [name, schema, before, status, expected] of changes) {
    it(`is checked: ${name}`, async () => {
      const hooks: Hooks = { before: event => (event.value ? before?.(event) : undefined) }
      const things = defineCollection({ name: 'things', schema, store: memoryStore(), hooks })
      const api = defineApi({ collections: [things] })
      const made = await api.fetch(
        new Request('http://api.test/things', {
          method: 'POST',
          body: '{"name":"x"}',
          headers: { 'content-type': 'application/json' },
        }),
      )
      expect([made.status, await made.json()]).toMatchObject([status, expected])
      const { items } = await findCollectionDefinition(things).store.list(
        { where: [], sort: [] },
        { limit: 9, offset: 0 },
        'none',
      )
      expect(items).toHaveLength(status === 201 ? 1 : 0)
      if (status === 201) expect(items[0]?.item).toMatchObject(expected)
    })
  }

  it('names a parent that has a UUID in either case', async () => {
    const parents = defineCollection({
      name: 'parents',
      schema: z.object({}),
      store: memoryStore(),
    })
    const things = defineCollection({
      name: 'things',
      schema: z.object({ parent_id: z.string() }),
      store: memoryStore(),
      parents: { parent_id: 'parents' },
      hooks: {
        before: ({ value }) => ({ parent_id: String(Object(value).parent_id).toUpperCase() }),
      },
    })
    const api = defineApi({ collections: [parents, things] })
    const { id } = await api.collection(parents).create({})
    const thing = await api.collection(things).create({ parent_id: id })
    expect(thing.parent_id).toBe(id)
  })

  for (const nothing of [undefined, null, 'text', 7, true, ['list'], new Date(0)]) {
    it(`${JSON.stringify(nothing) ?? 'nothing'} leaves the value as it is`, async () => {
      const { api } = await watched({ before: () => nothing })
      expect(await api.collection('things').create({ name: 'x' })).toMatchObject({
        name: 'x',
        size: 1,
      })
    })
  }
})

describe.each<[string, () => Store | Promise<Store>]>([
  ['memory', () => memoryStore()],
  ['SQLite', async () => sqlStore({ db: await openDatabase(), create: true })],
])('hooks of items in %s', (_, make) => {
  const wrong = new Error('changed')
  /** A hook that changes items, and fails where it has. */
  const changing = (of: (event: OperationEvent, result: unknown) => unknown) => {
    return (event: OperationEvent, result: unknown) => {
      for (const item of [of(event, result)].flat()) {
        for (const part of [item, Object(item).model]) {
          if (part && Reflect.set(Object(part), 'name', 'changed')) throw wrong
        }
      }
    }
  }
  async function served(hooks: Hooks) {
    const things = defineCollection({
      name: 'things',
      schema: z.object({ name: z.string(), model: z.object({ name: z.string() }) }),
      store: await make(),
      hooks,
      actions: {
        look: { on: 'item', method: 'GET', run: ({ item }) => item },
        touch: { on: 'item', run: ({ update }) => update({ model: { name: 'touched' } }) },
        both: {
          on: 'item',
          run: ({ item }) => Reflect.set(Object(item?.model), 'name', 'changed'),
        },
      },
    })
    return defineApi({ collections: [things] }).collection(things)
  }
  const values = () => ({ name: 'a', model: { name: 'b' } })

  it('cannot change an item, before or after', async () => {
    const before = changing(({ item }) => item)
    const after = changing((_event, result) => result)
    const things = await served({ before: event => before(event, undefined), after })
    const { id } = await things.create(values())
    expect(await things.read(id)).toMatchObject(values())
    expect(await things.list().toArray()).toMatchObject([values()])
    expect(await things.replace(id, values())).toMatchObject(values())
    expect(await things.patch(id, { name: 'c' })).toMatchObject({ ...values(), name: 'c' })
    expect(await things.look(id)).toMatchObject({ ...values(), name: 'c' })
    expect(await things.touch(id)).toMatchObject({ name: 'c' })
    expect(await things.delete(id)).toMatchObject({ name: 'c', model: { name: 'touched' } })
  })

  it('cannot change the item of an action, without hooks too', async () => {
    const things = await served({})
    const { id } = await things.create(values())
    expect(await things.both(id)).toBe(false)
  })

  it('can change the whole value, at any depth', async () => {
    const things = await served({
      before: ({ operation, value }) => {
        if (operation === 'patch') Object(value).model.name += '!'
      },
    })
    const { id } = await things.create(values())
    await things.patch(id, {})
    await things.patch(id, { name: 'c' })
    expect(await things.read(id)).toMatchObject({ name: 'c', model: { name: 'b!!' } })
  })

  it('leave the list that a program gets unfrozen', async () => {
    const things = await served({ after: () => undefined })
    await things.create(values())
    expect(Object.isFrozen(await things.list())).toBe(false)
  })
})

describe('what a hook throws', () => {
  const refuse = new HttpError(403, [{ message: 'Not today', type: 'closed' }], {
    headers: ['Retry-After', '60'],
  })
  const refusing = async () => {
    let closed = false
    const made = await watched({
      before: () => {
        if (closed) throw refuse
      },
    })
    closed = true
    return made
  }
  eachHandler(refusing, (handler, made) => {
    const cases: readonly [string, string, Init][] = [
      ['list', '/things', {}],
      ['read', '/things/:id', {}],
      ['create', '/things', json('POST', { name: 'x' })],
      ['replace', '/things/:id', json('PUT', { name: 'x' })],
      ['patch', '/things/:id', json('PATCH', { name: 'x' })],
      ['delete', '/things/:id', { method: 'DELETE' }],
      ['grow', '/things/:id/grow', json('POST', { by: 1 })],
    ]
    for (const [operation, target, init] of cases) {
      it(`before ${operation}: it is answered, and nothing happens`, async () => {
        const { received, item } = made()
        const answer = await handler.request(target.replace(':id', String(item.id)), init)
        expect(answer).toMatchObject({
          status: 403,
          json: { errors: [{ message: 'Not today', code: 403, type: 'closed' }] },
        })
        expect(answer.headers.get('retry-after')).toBe('60')
        expect(received).toMatchObject([
          { hook: 'before', operation },
          { hook: 'error', operation, error: refuse },
        ])
      })
    }
  })

  it('a refused request has changed nothing', async () => {
    const { api, item } = await refusing()
    const request = (method: string, body?: object) =>
      api.fetch(
        new Request(`http://api.test/things/${item.id}`, {
          method,
          ...(body && {
            body: JSON.stringify(body),
            headers: { 'content-type': 'application/json' },
          }),
        }),
      )
    await request('PUT', { name: 'x' })
    await request('DELETE')
    const [collection] = findApiDefinition(api).defaultVersion.collections.values()
    expect((await collection?.store.find([item.id as string]))?.[0]?.item).toEqual(item)
  })

  for (const hook of ['before', 'after', 'error'] as const) {
    it(`an Error in ${hook}: only onError gets it`, async () => {
      const broken = new Error('secret')
      const made = await watched({
        [hook]: ({ operation }: OperationEvent) => {
          if (operation === 'read') throw broken
        },
      })
      const id = hook === 'error' ? 'nothing' : made.item.id
      const answer = await made.api.fetch(new Request(`http://api.test/things/${id}`))
      // What is done is done, whatever `after` says.
      expect(answer.status).toBe(hook === 'after' ? 200 : 500)
      expect(await answer.text()).not.toMatch(/secret/)
      expect(made.failures).toEqual([broken])
    })
  }
})

describe('the signal', () => {
  it('is aborted when the client goes away', async () => {
    let started = () => {}
    const start = new Promise<void>(resolve => {
      started = resolve
    })
    let ended = (_reason: unknown) => {}
    const end = new Promise<unknown>(resolve => {
      ended = resolve
    })
    const { api, item, failures } = await watched({
      before: async ({ operation, signal }) => {
        if (operation !== 'patch') return
        started()
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
        ended(signal.reason)
      },
    })
    const server = await listen(api.handler)
    const controller = new AbortController()
    const request = fetch(`${server.base}/things/${item.id}`, {
      method: 'PATCH',
      body: '{"size":9}',
      headers: { 'content-type': 'application/json' },
      signal: controller.signal,
    })
    await start
    controller.abort()
    await expect(request).rejects.toThrow()
    expect(await end).toBeInstanceOf(Error)
    // A write that its client has given up is not done, and is nobody's failure.
    expect(await (await fetch(`${server.base}/things/${item.id}`)).json()).toMatchObject({
      size: 1,
    })
    expect(failures).toEqual([])
    await server.close()
  })

  it('an action that goes on after it changes nothing', async () => {
    const controller = new AbortController()
    const outcomes: unknown[] = []
    const store = memoryStore()
    const things = defineCollection({
      name: 'things',
      schema: z.object({ size: z.int() }),
      store,
      actions: {
        grow: {
          on: 'item',
          run: ({ update }) => {
            controller.abort(new Error('gone'))
            return update({ size: 9 }).catch((error: unknown) => outcomes.push(error))
          },
        },
      },
    })
    const api = defineApi({ collections: [things] })
    const { id } = await api.collection(things).create({ size: 1 })
    const init = { method: 'POST', signal: controller.signal }
    await api.fetch(new Request(`http://api.test/things/${id}/grow`, init)).catch(() => undefined)
    expect(outcomes).toEqual([new Error('gone')])
    expect((await findOne(store, id))?.item).toMatchObject({ size: 1 })
  })

  it('is the one of the request through fetch', async () => {
    const controller = new AbortController()
    const seen: AbortSignal[] = []
    const { api } = await watched({ before: ({ signal }) => void seen.push(signal) })
    seen.length = 0
    await api.fetch(new Request('http://api.test/things', { signal: controller.signal }))
    expect(seen[0]?.aborted).toBe(false)
    controller.abort()
    expect(seen[0]?.aborted).toBe(true)
  })
})

it('before runs for a download too, and may refuse it', async () => {
  const received: unknown[] = []
  const files = defineCollection({
    name: 'files',
    schema: z.object({ file: blob() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
    hooks: {
      before: ({ operation, item }) => {
        if (operation !== 'download') return
        received.push(item?.id)
        throw new HttpError(403, 'This file is kept back')
      },
    },
  })
  const { fetch } = defineApi({ collections: [files] })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const made = await fetch(
    new Request('http://api.test/files', { ...init, body: '{"file_data":"QQ=="}' }),
  )
  const { id, file_url } = (await made.json()) as { id: string; file_url: string }
  const answer = await fetch(new Request(file_url))
  expect([answer.status, received]).toEqual([403, [id]])
})

it('checks a value again only if a hook has changed it', async () => {
  let checks = 0
  const text = z.string().refine(value => {
    checks++
    return value !== 'bad'
  })
  let hook = (_value: { text: string; tags: string[] }): void => {}
  const things = defineCollection({
    name: 'things',
    schema: z.object({ text, tags: z.array(z.string()) }),
    store: memoryStore(),
    hooks: { before: { create: ({ value }) => hook(value) } },
  })
  const api = defineApi({ collections: [things] })
  const create = () => api.collection(things).create({ text: 'good', tags: ['a'] })
  await create()
  expect(checks).toBe(1)
  hook = value => void Object.assign(value, { text: 'better' })
  expect((await create()).text).toBe('better')
  expect(checks).toBe(3)
  hook = value => void Object.assign(value, { text: 'bad' })
  await expect(create()).rejects.toMatchObject({ status: 400 })
  // A part that a hook changes in place is no part of what was checked.
  hook = value => void value.tags.push('b')
  expect((await create()).tags).toEqual(['a', 'b'])
})
