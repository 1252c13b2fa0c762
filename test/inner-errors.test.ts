// Errors of calls within hooks and actions that the program does not catch: what its client hears, and what `onError`.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type Api,
  defineApi,
  defineCollection,
  HttpError,
  type Id,
  memoryStore,
  type OperationEvent,
  type Scheme,
} from '../src/index.ts'
import { defineUntyped } from './untyped.ts'

/** What hooks and actions call. */
type Tools = Pick<OperationEvent, 'collection' | 'transaction'>
type Inner = (tools: Tools, ids: Readonly<Record<string, Id>>) => unknown

/** Opens an api whose `cars` run something in each kind of hook and in actions; it calls `open` and `closed` collections. */
async function openApi(run: Inner, isCaught = false) {
  const heard: unknown[] = []
  const ids: Record<string, Id> = {}
  const attempt = async (tools: Tools) => {
    if (!ids.open) return undefined
    if (!isCaught) return run(tools, ids)
    return Promise.resolve(run(tools, ids)).catch(() => undefined)
  }
  const Thing = z.object({ key: z.string().max(3), of: z.string().optional() })
  const shared = {
    schema: Thing,
    unique: ['key'],
    references: { of: 'things' },
    visible: (principal: unknown) => (principal ? { key: 'nobody' } : {}),
    hooks: {
      before: {
        delete: () => {
          throw new HttpError(409, [{ message: 'It stays', field: 'own', type: 'mine' }])
        },
        read: () => {
          throw new HttpError(400, [{ message: 'Own words', field: 'own', type: 'mine' }])
        },
      },
    },
  } as const
  const things = defineCollection({ name: 'things', schema: z.object({}), store: memoryStore() })
  const open = defineCollection({ ...shared, name: 'open', store: memoryStore() })
  const closed = defineCollection({
    ...shared,
    name: 'closed',
    store: memoryStore(),
    operations: [],
  })
  const car = (name: string, hooks: object, operations?: readonly string[]) =>
    defineUntyped({
      name,
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      hooks,
      ...(operations && { operations: operations as never }),
      actions: {
        act: { on: 'collection', run: attempt as never },
        whole: { on: 'collection', transaction: true, run: attempt as never },
        own: {
          on: 'item',
          run: ({ update }: never) => (update as (_: object) => unknown)({ color: 1 }),
        },
      },
    })
  const api = defineApi({
    batch: true,
    changes: 'representation',
    schemes: [],
    onError: (error, { error: answered }) => void heard.push([error, answered.status]),
    collections: [
      things,
      open,
      closed,
      car('before', { before: attempt }),
      car('within', { transaction: true, before: { create: attempt } }),
      car('after', { transaction: true, after: { create: attempt } }),
      car('error', { error: attempt }),
      car('plain', {}),
    ],
  })
  ids.closed = (await api.collection(closed).create({ key: 'a' })).id
  ids.open = (await api.collection(open).create({ key: 'a' })).id
  return { api, heard }
}

const create =
  (name: string, value: Readonly<Record<string, unknown>> | readonly object[]): Inner =>
  ({ collection }) =>
    collection(name).create(value as never)

interface Expected {
  readonly status: number
  /** Of an action, where it differs. */
  readonly ofAction?: number
  readonly type?: string
}

/** What is called of a collection, and the status that its error gives. */
const INNER: Readonly<Record<string, readonly [(name: string) => Inner, Expected]>> = {
  'an invalid value': [name => create(name, { key: 'long' }), { status: 500, ofAction: 400 }],
  'an unknown property': [
    name => create(name, { key: 'b', kez: 1 }),
    { status: 500, ofAction: 400 },
  ],
  'an invalid filter': [
    name =>
      ({ collection }) =>
        collection(name)
          .list({ sort: 'nothing' } as object)
          .toArray(),
    { status: 500, ofAction: 400 },
  ],
  'an invalid filter of a write': [
    name =>
      ({ collection }) =>
        collection(name).patchMany({ nothing: 'a' }, {}),
    { status: 500, ofAction: 400 },
  ],
  'several invalid items': [
    name => create(name, [{ key: 'long' }, { key: 1 }]),
    { status: 500, ofAction: 400 },
  ],
  'a missing reference': [
    name => create(name, { key: 'b', of: 'nobody' }),
    { status: 400, type: 'unknown_reference' },
  ],
  'a value that is not unique': [
    name => create(name, { key: 'a' }),
    { status: 409, type: 'not_unique' },
  ],
  'a missing item': [
    name =>
      ({ collection }) =>
        collection(name).patch('00000000-0000-4000-8000-000000000000', { key: 'x' }),
    { status: 404, type: 'not_found' },
  ],
  'a lost condition': [
    name =>
      ({ collection }, ids) =>
        collection(name).patch(ids[name] ?? '', { key: 'x' }, { ifMatch: '"none"' }),
    { status: 409 },
  ],
}

interface Errors {
  readonly errors: readonly Record<string, unknown>[]
}

/** Where it runs: the paths of requests. */
const IN_HOOKS = ['before', 'within', 'after', 'error']
const IN_ACTIONS = ['plain/act', 'plain/whole']

const post = async ({ fetch }: Pick<Api, 'fetch'>, path: string, body: unknown) => {
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const { status, text } = await fetch(new Request(`http://api.test/${path}`, init)).then(
    async answer => ({ status: answer.status, text: await answer.text() }),
  )
  return { status, text, json: text === '' ? undefined : JSON.parse(text) }
}

const RED = { color: 'red' }

describe('an error of a call within a hook or an action', () => {
  const ask = async (run: Inner, path: string, body: unknown = RED, isCaught = false) => {
    const { api, heard } = await openApi(run, isCaught)
    return { ...(await post(api, path, body)), heard }
  }

  describe.each(Object.entries(INNER))('%s', (_what, [call, expected]) => {
    it.each(['open', 'closed'])('of a call of %s', async called => {
      for (const path of [...IN_HOOKS, ...IN_ACTIONS]) {
        const isAction = IN_ACTIONS.includes(path)
        const status = (isAction && expected.ofAction) || expected.status
        // An error hook runs after a failure.
        const body = path === 'error' || isAction ? {} : RED
        const answer = await ask(call(called), path, body)
        const { errors } = answer.json as Errors
        expect([path, answer.status]).toEqual([path, status])
        if (expected.type) expect(errors[0]?.type).toBe(expected.type)
        const isReported = status === 500 || (isAction && expected.ofAction === 400)
        expect(answer.heard).toHaveLength(isReported ? 1 : 0)
        if (called === 'open' && status !== 500) continue
        expect(errors.filter(error => 'field' in error)).toEqual([])
        expect(answer.text).not.toMatch(/closed|key|kez|nothing|`message`/)
      }
    })
  })

  it('onError has the cause of a 500', async () => {
    const { heard } = await ask(create('closed', { key: 'long' }), 'before')
    const [[error, status] = []] = heard as [Error, number][]
    expect(status).toBe(500)
    expect(String(error)).toContain('A call of closed failed: ')
    expect(error?.cause).toMatchObject({ status: 400, errors: [{ field: 'key' }] })
  })

  it('onError has the error of an action as it was', async () => {
    const { heard } = await ask(create('closed', { key: 'long' }), 'plain/act', {})
    expect(heard).toMatchObject([[{ status: 400, errors: [{ field: 'key' }] }, 400]])
  })

  it.each([
    ['delete', 409, 'It stays'],
    ['read', 400, 'Own words'],
  ] as const)(
    'what a hook of the inner %s throws goes on as it is',
    async (operation, status, message) => {
      const run: Inner = ({ collection }, ids) => collection('closed')[operation](ids.closed ?? '')
      for (const path of [...IN_HOOKS.slice(0, 3), ...IN_ACTIONS]) {
        const body = IN_ACTIONS.includes(path) ? {} : RED
        const { heard, ...answer } = await ask(run, path, body)
        expect([path, answer.status, heard]).toEqual([path, status, []])
        expect(answer.json).toMatchObject({ errors: [{ message, field: 'own', type: 'mine' }] })
      }
    },
  )

  it('so does an error of the program with that of the call as its cause', async () => {
    const run: Inner = async tools => {
      const cause = await Promise.resolve(create('closed', { key: 'long' })(tools, {})).catch(
        error => error,
      )
      throw new HttpError(400, 'The key is too long', { cause })
    }
    for (const [path, body] of [
      ['before', { color: 'red' }],
      ['before', [{ color: 'red' }, { color: 'blue' }]],
      ['plain/act', {}],
    ] as const) {
      const answer = await ask(run, path, body)
      expect([answer.status, answer.heard]).toEqual([400, []])
      const { errors } = answer.json as Errors
      for (const { message } of errors) expect(message).toBe('The key is too long')
    }
  })

  it('an error that is caught changes nothing', async () => {
    for (const path of IN_HOOKS.slice(0, 3)) {
      const answer = await ask(create('closed', { key: 'long' }), path, RED, true)
      expect([answer.status, answer.heard]).toEqual([201, []])
    }
  })

  it('in arrays and batches each item and step counts', async () => {
    const invalid = create('closed', { key: 'long' })
    const taken = create('closed', { key: 'a' })
    const items = [{ color: 'red' }, { color: 'blue' }]
    const steps = [{ method: 'POST', path: '/within', body: items[0] }]
    const answers = [
      [500, await ask(invalid, 'before', items)],
      [500, await ask(invalid, 'batch', steps)],
      [409, await ask(taken, 'before', items)],
      [409, await ask(taken, 'batch', steps)],
    ] as const
    for (const [status, answer] of answers) {
      expect([answer.status, answer.heard.length]).toEqual([status, status === 409 ? 0 : 1])
      expect(answer.text).not.toMatch(/closed|key/)
    }
  })

  it('a part of a transaction that failed and was caught tells nothing either', async () => {
    const run: Inner = async ({ transaction }) => {
      const part = transaction(tx => tx.collection('closed').create({ key: 'long' }))
      await part.catch(() => undefined)
    }
    const step = [{ method: 'POST', path: '/within', body: { color: 'red' } }]
    for (const [path, body] of [
      ['within', { color: 'red' }],
      ['after', { color: 'red' }],
      ['batch', step],
    ] as const) {
      const answer = await ask(run, path, body)
      expect([path, answer.status, answer.heard.length]).toEqual([path, 500, 1])
    }
  })

  it('an action that a hook calls, and errors of its own item', async () => {
    const nested: Inner = ({ collection }) => Object(collection('plain')).act()
    // `act` of plain runs the same: only its first run goes deeper.
    let depth = 0
    const run: Inner = (tools, ids) =>
      depth++ === 0 ? nested(tools, ids) : create('closed', { key: 'long' })(tools, ids)
    const answer = await ask(run, 'before')
    expect([answer.status, answer.heard.length]).toEqual([500, 1])

    const { api, heard } = await openApi(() => undefined)
    const { json } = await post(api, 'plain', RED)
    const own = await post(api, `plain/${json.id}/own`, {})
    expect([own.status, heard]).toEqual([400, []])
    expect(own.json).toMatchObject({ errors: [{ field: 'color' }] })
  })
})

it('a scheme that asks for what is invalid', async () => {
  const sessions = defineCollection({
    name: 'sessions',
    schema: z.object({ key: z.string() }),
    store: memoryStore(),
    operations: [],
  })
  const scheme: Scheme = {
    name: 'Test',
    challenge: () => 'Test',
    authenticate: async () => {
      await api
        .collection(sessions)
        .list({ sort: 'nothing' } as object)
        .first()
      return undefined
    },
  }
  const heard: string[] = []
  const api = defineApi({
    collections: { sessions },
    schemes: [scheme],
    onError: error => void heard.push(String(error)),
  })
  const answer = await api.fetch(new Request('http://api.test/'))
  expect(answer.status).toBe(500)
  expect(heard).toEqual([expect.stringContaining('A call of sessions failed: ')])
})

it.each([
  [403, 'mine', 'Forbidden'],
  [507, undefined, 'Insufficient Storage'],
] as const)(
  "a store of one's own throws a %d: its words name nothing either",
  async (status, type, phrase) => {
    const write = () => {
      throw new HttpError(status, [{ message: 'My secret', field: 'key', ...(type && { type }) }])
    }
    const secrets = defineCollection({
      name: 'secrets',
      schema: z.object({ key: z.string() }),
      store: { ...memoryStore(), write },
      operations: [],
    })
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      hooks: {
        before: {
          create: async ({ collection }) => {
            await collection(secrets).create({ key: '' })
          },
        },
      },
    })
    const api = defineApi({ collections: { cars, secrets }, onError: () => undefined })
    const answer = await post(api, 'cars', RED)
    expect(answer.json).toEqual({ errors: [{ message: phrase, code: status }] })
  },
)
