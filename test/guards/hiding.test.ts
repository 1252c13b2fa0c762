// Hidden collections and rows in responses, parents and actions; and the throttle of failed logins.
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  type Api,
  basic,
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  onResponse,
  type Principal,
  type Scheme,
} from '../../src/index.ts'

/** Takes any user, with the scopes that the password names. */
const schemes = [
  basic({
    verify: (id, scopes) => ({ id, scopes: scopes.split(' ').filter(text => text !== '') }),
  }),
]

function as(user: string, scopes = ''): Record<string, string> {
  return { authorization: `Basic ${btoa(`${user}:${scopes}`)}` }
}

type Fetch = (request: Request) => Promise<Response>

async function ask(
  fetch: Fetch,
  target: string,
  headers: Record<string, string>,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
) {
  const json = { 'content-type': 'application/json', ...headers }
  const init = { method, headers: json, redirect: 'manual' } as const
  const sent = body === undefined ? init : { ...init, body: JSON.stringify(body) }
  const answer = await fetch(new Request(`https://api.example${target}`, sent))
  return { status: answer.status, text: await answer.text() }
}

describe('a collection with hideExistence', () => {
  const secrets = defineCollection({
    name: 'secrets',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
    id: 'integer',
    operations: ['list', 'read', 'create'],
    access: { default: ['admin'] },
    hideExistence: true,
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ secret_id: z.int(), text: z.string() }),
    store: memoryStore(),
    id: 'integer',
    parents: { secret_id: 'secrets' },
    search: ['text'],
  })
  const { fetch } = defineApi({ collections: [secrets, notes], schemes, pages: html })
  const made = ask(fetch, '/secrets', as('root', 'admin'), { text: 'a' })

  test.each([
    ['GET', '/secrets'],
    ['OPTIONS', '/secrets'],
    ['DELETE', '/secrets'],
    ['PUT', '/secrets'],
    ['PATCH', '/secrets/1'],
    ['POST', '/secrets?_method=x'],
    ['GET', '/secrets?_method=DELETE'],
    ['GET', '/secrets/1/notes'],
  ])('%s %s is to who may do nothing there as where nothing is', async (method, target) => {
    await made
    const nothing = target.replace('secrets', 'nothing')
    const [hidden, none] = await Promise.all(
      [target, nothing].map(each => ask(fetch, each, as('bob'), undefined, method)),
    )
    const shape = (
      { status, text }: { status: number; text: string } = { status: 0, text: '' },
    ) => [status, text.replace(/secrets?\b|nothing/g, '…').replace(/There is .*?"\}?/, '')]
    expect(hidden?.status).toBe(none?.status)
    if (target !== '/secrets/1/notes') expect(shape(hidden)).toEqual(shape(none))
  })

  test.each(['/notes', '/notes/1', '/notes/search?q=b'])(
    'the page %s leads nobody there who may not read it',
    async target => {
      await made
      await ask(fetch, '/notes', as('root', 'admin'), { secret_id: 1, text: 'b' })
      const page = async (who: Record<string, string>) =>
        (await ask(fetch, target, { accept: 'text/html', ...who })).text
      expect(await page(as('bob'))).not.toContain('/secrets')
      expect(await page(as('root', 'admin'))).toContain('href="/secrets/1"')
    },
  )

  test.each([
    ['as JSON', '/secrets', {}],
    ['as XML', '/secrets/1', { accept: 'application/xml' }],
    ['as a page', '/secrets', { accept: 'text/html' }],
    ['as a page of one item', '/secrets/1', { accept: 'text/html' }],
    ['by an extension', '/secrets.xml', {}],
    ['by the extension of an item', '/secrets/1.csv', {}],
    ['by the extension of a count', '/secrets/count.html?suppress_error_codes', {}],
  ])('no answer %s tells it from nothing, header for header', async (_as, target, headers) => {
    const versions = [
      { version: 1, collections: [secrets, notes], deprecated: new Date('2026-01-01') },
      { version: 2, collections: [secrets, notes] },
    ]
    const { fetch } = defineApi({ versions, schemes })
    const answer = async (path: string) => {
      const init = { headers: { ...headers, ...as('bob') } }
      const outcome = await fetch(new Request(`https://api.example${path}`, init))
      return { status: outcome.status, headers: [...outcome.headers], text: await outcome.text() }
    }
    for (const version of ['v1', 'v2']) {
      const hidden = await answer(`/${version}${target}`)
      const none = await answer(`/${version}${target.replace('secrets', 'nothing')}`)
      expect({ ...hidden, text: hidden.text.replaceAll('secrets', 'nothing') }).toEqual(none)
    }
  })

  test('without its version it is suggested to those alone whose root lists it', async () => {
    const versions = [{ version: 2, collections: [secrets, notes] }]
    const { fetch } = defineApi({ versions, schemes, access: { root: ['reader'] } })
    const of = async (path: string, scopes: string) =>
      (await ask(fetch, path, as('bob', scopes))).text
    const nothing = (await of('/nothing', 'reader')).replace('nothing', 'secrets')
    expect(await of('/secrets', 'reader')).toBe(nothing)
    expect(await of('/secrets', 'admin')).toBe(nothing)
    expect(await of('/secrets', 'reader admin')).toContain('did you mean /v2/secrets?')
    expect(await of('/notes', 'reader')).toContain('did you mean /v2/notes?')
  })

  test('events name the collection', async () => {
    const reported: unknown[] = []
    const end = onResponse(({ status, collection, route }) => {
      reported.push([status, collection, route])
    })
    await ask(fetch, '/secrets/1', as('bob'))
    end()
    expect(reported).toEqual([[404, 'secrets', '/secrets/:id']])
  })

  test('is hidden from a principal that lacks the scope of one operation', async () => {
    const lists = defineCollection({
      name: 'lists',
      schema: z.object({ text: z.string() }),
      store: memoryStore(),
      id: 'integer',
      access: { default: ['admin'], list: [] },
      hideExistence: true,
    })
    const api = defineApi({ collections: [lists], schemes })
    await ask(api.fetch, '/lists', as('root', 'admin'), { text: 'a' })
    expect((await ask(api.fetch, '/lists', as('bob'))).status).toBe(200)
    expect((await ask(api.fetch, '/lists/1', as('bob'))).status).toBe(404)
    const refused = await ask(api.fetch, '/lists', as('bob'), { text: 'b' })
    const none = await ask(api.fetch, '/nothing', as('bob'), { text: 'b' })
    expect(refused.status).toBe(404)
    expect(refused.text.replace('/lists', '/nothing')).toBe(none.text)
    expect((await ask(api.fetch, '/lists', {}, { text: 'b' })).status).toBe(401)
  })

  test('is not found as a parent without the scope to read it', async () => {
    await made
    for (const id of [1, 2]) {
      expect((await ask(fetch, `/secrets/${id}/notes`, as('bob'))).status).toBe(404)
      const note = { secret_id: id, text: 'a' }
      expect((await ask(fetch, '/notes', as('bob'), note)).status).toBe(400)
      expect((await ask(fetch, `/secrets/${id}/notes`, as('bob'), note)).status).toBe(404)
    }
    const admin = as('root', 'admin')
    expect((await ask(fetch, '/secrets/1/notes', admin)).status).toBe(200)
    expect((await ask(fetch, '/notes', admin, { secret_id: 1, text: 'a' })).status).toBe(201)
  })
})

describe('a parent that a hook names', () => {
  const users = defineCollection({
    name: 'users',
    schema: z.object({ id: z.string() }),
    store: memoryStore(),
    access: { default: ['admin'] },
    hideExistence: true,
  })
  const posts = defineCollection({
    name: 'posts',
    schema: z.object({ user_id: z.string().optional() }),
    store: memoryStore(),
    id: 'integer',
    parents: { user_id: 'users' },
    hooks: {
      before: ({ operation, value, principal }) =>
        /^(?:create|patch)$/.test(operation) ? { user_id: principal?.id, ...Object(value) } : value,
    },
  })
  const { fetch, collection } = defineApi({
    collections: [users, posts],
    schemes,
    access: { default: [] },
  })

  test('needs no scope; one that the client names does', async () => {
    const ann = await collection(users).create({ id: 'ann' })
    await collection(users).create({ id: 'bob' })
    expect(await ask(fetch, '/posts', as('ann'), {})).toMatchObject({
      status: 201,
      text: expect.stringContaining(`"user_id":"${ann.id}"`),
    })
    const unknown = { status: 400, text: expect.stringContaining('unknown_reference') }
    expect(await ask(fetch, '/posts', as('ann'), { user_id: 'bob' })).toMatchObject(unknown)
    expect(await ask(fetch, '/posts', as('ann', 'admin'), { user_id: 'bob' })).toMatchObject({
      status: 201,
    })
    const cleared = await ask(fetch, '/posts/1', as('bob'), { user_id: null }, 'PATCH')
    expect(cleared.status).toBe(303)
    expect((await ask(fetch, '/posts/1', as('bob'))).text).toContain('"user_id":"bob"')
    const bob = await ask(fetch, '/posts/1', as('bob'), { user_id: 'ann' }, 'PATCH')
    expect(bob).toMatchObject(unknown)
  })

  test('must exist', async () => {
    const unknown = { status: 400, text: expect.stringContaining('unknown_reference') }
    expect(await ask(fetch, '/posts', as('zoe'), {})).toMatchObject(unknown)
  })
})

test('an action that hides an item from its principal does not return it', async () => {
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ owner: z.string(), pin: z.string() }),
    store: memoryStore(),
    id: 'integer',
    visible: principal => (principal?.id === 'system' ? {} : { owner: principal?.id ?? '' }),
    actions: {
      give: {
        on: 'item',
        run: async ({ id = 0 }) => {
          const principal: Principal = { id: 'system' }
          const outcome = { owner: 'bob', pin: 'of bob' }
          await api.collection('notes').patch(id, outcome, { principal })
        },
      },
    },
  })
  const api: Api = defineApi({ collections: [notes], schemes })
  const { fetch } = api
  await ask(fetch, '/notes', as('ann'), { owner: 'ann', pin: 'of ann' })
  const outcome = await ask(
    fetch,
    '/notes/1/give',
    { ...as('ann'), prefer: 'return=representation' },
    {},
  )
  expect([outcome.status, outcome.text]).toEqual([200, '{"url":"https://api.example/notes"}'])
})

describe('failed logins', () => {
  const rateLimit = { policies: [{ limit: 5, window: 60 }] }
  const policies = { rateLimit, clientAddress: () => '192.0.2.1' }
  const cars = () =>
    defineCollection({ name: 'cars', schema: z.object({ a: z.string() }), store: memoryStore() })

  test('sent together are verified at most as often as the limit allows', async () => {
    let verified = 0
    const verify = async (id: string, password: string) => {
      verified++
      await wait(5)
      return password === 'right' ? { id } : undefined
    }
    const { fetch } = defineApi({
      collections: [cars()],
      schemes: [basic({ verify })],
      ...policies,
      // Only logins count here, not the reads that they come with.
      rateLimit: { policies: [{ limit: 5, window: 60, on: 'writes' }] },
    })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        ask(fetch, '/cars', as('ann', at === 40 ? 'right' : `wrong ${at}`)),
      ),
    )
    const count = (status: number) => answers.filter(answer => answer.status === status).length
    expect([verified, count(401), count(429)]).toEqual([5, 5, 45])
  })

  test('of clients that went away stay counted', async () => {
    const { fetch } = defineApi({
      collections: [cars()],
      schemes: [basic({ verify: () => new Promise<undefined>(() => {}) })],
      ...policies,
    })
    const client = new AbortController()
    const init = { headers: as('ann', 'wrong'), signal: client.signal }
    for (let at = 0; at < 5; at++) fetch(new Request('https://api.example/cars', init))
    await wait(1)
    client.abort()
    expect((await ask(fetch, '/cars', as('ann', 'right'))).status).toBe(429)
  })

  const WRONG = ['wrong 1', 'wrong 2', 'wrong 3', 'wrong 4', 'wrong 5'] as const

  test('over the limit are not verified; Retry-After says when to try again', async () => {
    const looked: string[] = []
    const verify = (_id: string, password: string) => {
      looked.push(password)
      return undefined
    }
    const { fetch } = defineApi({
      collections: [cars()],
      schemes: [basic({ verify })],
      ...policies,
      // Reads are not limited, but what is guessed by them is.
      rateLimit: { policies: [{ limit: 5, window: 60, on: 'writes' }] },
    })
    for (const each of WRONG) expect((await ask(fetch, '/cars', as('ann', each))).status).toBe(401)
    const headers = as('ann', 'right')
    const refused = await fetch(new Request('https://api.example/cars', { headers }))
    expect([refused.status, looked]).toEqual([429, [...WRONG]])
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
  })

  test('of a scheme that hangs block nobody once it answers again', async () => {
    let stopped = true
    const verify = (id: string) =>
      stopped ? new Promise<undefined>(() => {}) : Promise.resolve({ id })
    const { fetch } = defineApi({
      collections: [cars()],
      schemes: [basic({ verify })],
      limits: { workTime: 50 },
      onError: () => {},
      ...policies,
    })
    const five = () =>
      Promise.all([1, 2, 3, 4, 5].map(at => ask(fetch, '/cars', as(`u${at}`, 'x'))))
    expect((await five()).map(({ status }) => status)).toEqual([503, 503, 503, 503, 503])
    stopped = false
    expect((await five()).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })

  test('over the concurrency limit cause no unhandled rejection', async () => {
    const rejected: unknown[] = []
    const listen = (reason: unknown) => void rejected.push(reason)
    process.on('unhandledRejection', listen)
    const api = defineApi({
      collections: [cars()],
      schemes: [basic({ verify: () => wait(20).then(() => undefined) })],
      limits: { concurrency: 1 },
      onError: () => {},
    })
    const answers = await Promise.all([1, 2].map(() => ask(api.fetch, '/cars', as('ann', 'x'))))
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 503])
    await wait(30)
    process.off('unhandledRejection', listen)
    expect(rejected).toEqual([])
  })

  test('that succeed do not count', async () => {
    const verify = async (id: string) => {
      await wait(1)
      return { id }
    }
    const { fetch } = defineApi({
      collections: [cars()],
      schemes: [basic({ verify })],
      ...policies,
    })
    const statuses: number[] = []
    for (let at = 0; at < 10; at++) {
      const pair = [`a${at}`, `b${at}`, `c${at}`, `d${at}`, `e${at}`]
      const answers = await Promise.all(pair.map(user => ask(fetch, '/cars', as(user, 'x'))))
      statuses.push(...answers.map(({ status }) => status))
    }
    expect(statuses).toEqual(Array(50).fill(200))
  })

  test('in a header that the scheme does not declare are limited too', async () => {
    const scheme: Scheme = {
      name: 'Key',
      challenge: () => 'Key',
      authenticate: async ({ headers }) => {
        const key = headers['x-api-key']
        if (key === undefined) return undefined
        if (key === 'right') return { id: 'ann' }
        throw new HttpError(401, 'This key is wrong')
      },
    }
    const api = defineApi({
      collections: [cars()],
      schemes: [scheme],
      access: { default: 'public' },
      ...policies,
      rateLimit: { policies: [{ limit: 20, window: 60 }] },
    })
    expect((await ask(api.fetch, '/cars', { 'x-api-key': 'right' })).status).toBe(200)
    const statuses: number[] = []
    for (let at = 0; at < 25; at++) {
      statuses.push((await ask(api.fetch, '/cars', { 'x-api-key': `wrong ${at}` })).status)
    }
    expect(statuses.slice(18, 22)).toEqual([401, 401, 429, 429])
    // Right ones are not told from wrong ones any more.
    expect((await ask(api.fetch, '/cars', { 'x-api-key': 'right' })).status).toBe(429)
  })

  test('that cannot be checked do not count', async () => {
    const verify = () => {
      throw new HttpError(503, 'The directory is down')
    }
    const { fetch } = defineApi({
      collections: [cars()],
      schemes: [basic({ verify })],
      onError: () => {},
      ...policies,
    })
    for (let at = 0; at < 7; at++) {
      expect((await ask(fetch, '/cars', as('ann', 'x'))).status).toBe(503)
    }
  })

  test('a scheme that never answers is cut off', async () => {
    const verify = () => new Promise<undefined>(() => {})
    const api = defineApi({
      collections: [cars()],
      schemes: [basic({ verify })],
      limits: { workTime: 50 },
      onError: () => {},
    })
    expect((await ask(api.fetch, '/cars', as('ann', 'x'))).status).toBe(503)
  })

  test('scopes in one string do not count', async () => {
    // As who writes JavaScript may hand a claim on.
    const principal = { id: 'ann', scopes: 'cars:write-none' } as unknown as Principal
    const api = defineApi({
      collections: [cars()],
      schemes: [basic({ verify: () => principal })],
      access: { default: ['cars:write'] },
    })
    expect((await ask(api.fetch, '/cars', as('ann', 'x'), { a: 'b' })).status).toBe(403)
  })
})
