// Operations: events, request ids, Server-Timing, health, graceful shutdown.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  onRequest,
  onResponse,
  type RequestEvent,
  type ResponseEvent,
} from '../../src/index.ts'
import { harden, shutDown } from '../../src/node/index.ts'
import { REQUEST_CHANNEL, RESPONSE_CHANNEL } from '../../src/server/events.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { DiskFullError, UnavailableError } from '../../src/store/errors.ts'
import { Car, type ExampleOptions, example, seed } from '../fixture.ts'
import { fetchChecked } from '../handlers.ts'
import { newFile } from '../stores/sqlite.ts'
import { converse, serve } from './wire.ts'

const ending: (() => void)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

async function make(options: ExampleOptions = {}) {
  const made = example({ baseUrl: 'https://api.example', ...options })
  const [car] = await seed(made, 1)
  const fetch = (path: string, init?: RequestInit) =>
    fetchChecked(made.api, new Request(`https://api.example${path}`, init))
  return { ...made, id: String(car?.id), fetch }
}

describe('events', () => {
  const cases: readonly (readonly [string, string, Partial<ResponseEvent>, RequestInit?])[] = [
    ['GET', '/cars', { route: '/cars', operation: 'list', collection: 'cars', status: 200 }],
    [
      'GET',
      '/cars/{id}?fields=id',
      { route: '/cars/:id', operation: 'read', collection: 'cars', status: 200 },
    ],
    [
      'GET',
      '/cars/{id}/options/count',
      {
        route: '/cars/:parent/options/count',
        operation: 'count',
        collection: 'options',
        status: 200,
      },
    ],
    [
      'POST',
      '/cars/{id}?_method=DELETE',
      { route: '/cars/:id', operation: 'delete', method: 'DELETE', status: 200 },
    ],
    [
      'POST',
      '/cars/{id}/buy',
      { route: '/cars/:id/buy', operation: 'buy', status: 400 },
      { body: '{}', headers: { 'content-type': 'application/json' } },
    ],
    ['GET', '/cars/nobody', { route: '/cars/:id', operation: 'read', status: 404 }],
    ['GET', '/cars/nobody?suppress_error_codes', { route: '/cars/:id', status: 200 }],
    [
      'GET',
      '/secret/path?token=x',
      { route: undefined, operation: undefined, collection: undefined, status: 404 },
    ],
    ['BREW', '/cars', { route: '/cars', operation: undefined, status: 405 }],
    ['OPTIONS', '/cars', { route: '/cars', operation: undefined, status: 200 }],
    ['GET', '/', { route: '/', operation: 'describe', collection: undefined, status: 200 }],
    ['GET', '/health', { route: '/health', operation: undefined, status: 200 }],
  ]
  const every = cases.map(
    ([method, path, wanted, init = {}]) => [method, path, wanted, init] as const,
  )
  test.each(every)('%s %s', async (method, path, wanted, init) => {
    const { fetch, id } = await make({ health: true })
    const received: RequestEvent[] = []
    const answered: ResponseEvent[] = []
    ending.push(
      onRequest(event => received.push(event)),
      onResponse(event => answered.push(event)),
    )
    const answer = await fetch(path.replace('{id}', id), { method, ...init })
    expect(received).toMatchObject([{ method, route: wanted.route }])
    expect(answered).toMatchObject([wanted])
    const [event] = answered
    expect(event?.id).toBe(received[0]?.id)
    expect(event?.id).toMatch(/^[0-9a-f-]{36}$/)
    expect(event?.duration).toBeGreaterThanOrEqual(0)
    expect(event?.error?.status).toBe(
      answer.status >= 400 ? answer.status : path.includes('suppress') ? 404 : undefined,
    )
  })

  test('are published on named channels', async () => {
    const { fetch } = await make()
    const reported: unknown[] = []
    const listen = (_: unknown, name: string | symbol) => reported.push(name)
    for (const name of [REQUEST_CHANNEL, RESPONSE_CHANNEL]) {
      subscribe(name, listen)
      ending.push(() => unsubscribe(name, listen))
    }
    await fetch('/cars')
    expect(reported).toEqual(['rest-conventions:request', 'rest-conventions:response'])
  })

  test.each([
    ['as a trusted proxy tells it', 1, '9.9.9.9, 2.2.2.2', '2.2.2.2'],
    ['as the connection tells it without one', 0, '2.2.2.2', '1.1.1.1'],
    ['as the connection tells it where the proxy says nothing', 1, undefined, '1.1.1.1'],
  ])('name the client, %s', async (_, trustProxy, forwarded, client) => {
    const { fetch } = await make({ trustProxy, clientAddress: () => '1.1.1.1' })
    const clients: unknown[] = []
    ending.push(
      onRequest(event => clients.push(event.client)),
      onResponse(event => clients.push(event.client)),
    )
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    for (const path of ['/cars', '/nothing']) await fetch(path, { headers })
    expect(clients).toEqual(Array(4).fill(client))
  })

  test('do not fail when a listener throws', async () => {
    const { fetch } = await make()
    const complaints = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    ending.push(() => complaints.mockRestore())
    const [thrown, rejected] = [new Error('no metrics'), new Error('no route to metrics')]
    ending.push(
      onRequest(() => {
        throw thrown
      }),
      onResponse(async () => {
        throw rejected
      }),
    )
    expect((await fetch('/cars/count')).status).toBe(200)
    const words = '[rest-conventions] A listener of events failed'
    expect(complaints.mock.calls).toEqual([
      [words, thrown],
      [words, rejected],
    ])
  })

  test('stop when the listener unsubscribes', async () => {
    const { fetch } = await make()
    const answered: ResponseEvent[] = []
    const end = onResponse(event => answered.push(event))
    await fetch('/cars')
    end()
    await fetch('/cars')
    expect(answered).toHaveLength(1)
  })

  test('carry the cause of a failure, which no response does', async () => {
    const cause = new Error('password=x')
    const store = memoryStore()
    const failing = { ...store, list: () => Promise.reject(cause) }
    const cars = defineCollection({ name: 'cars', schema: Car, store: failing })
    const reported: unknown[] = []
    const api = defineApi({
      collections: [cars],
      trustProxy: 1,
      onError: (error, { reference }) => reported.push([error, reference]),
    })
    const answered: ResponseEvent[] = []
    ending.push(onResponse(event => answered.push(event)))
    const answer = await fetchChecked(
      api,
      new Request('http://x/cars', { headers: { 'x-request-id': 'mine' } }),
    )
    const text = await answer.text()
    expect(answer.status).toBe(500)
    expect(text).not.toContain('password')
    expect(answered).toMatchObject([{ status: 500, id: 'mine', error: { cause } }])
    expect(reported).toEqual([[cause, 'mine']])
    expect(text).toContain('under mine.')
  })

  test('an HttpError with a server status is logged under the id of its response', async () => {
    const busy = new HttpError(503, 'Later')
    const { fetch } = await make({
      storeOf: (name, store) =>
        name === 'models' ? { ...store, list: () => Promise.reject(busy) } : store,
    })
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    ending.push(() => log.mockRestore())
    const answer = await fetch('/models')
    const id = answer.headers.get('x-request-id')
    expect([answer.status, id]).toEqual([503, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(log.mock.calls).toEqual([[`[rest-conventions] ${id}`, busy]])
  })
})

describe('request ids', () => {
  test.each([
    ['abc-123', 'abc-123'],
    ['0A.b_c:d', '0A.b_c:d'],
    ['a b', null],
    ['a@b', null],
    ['x'.repeat(129), null],
    ['<script>', null],
  ])('%j comes back as %j', async (sent, expected) => {
    const { fetch } = await make({ trustProxy: 1 })
    for (const path of ['/cars', '/nothing', '/cars?limit=x']) {
      const answer = await fetch(path, { headers: { 'x-request-id': sent } })
      expect(answer.headers.get('x-request-id')).toBe(expected)
    }
  })

  test('are not read without a trusted proxy', async () => {
    const { fetch } = await make()
    const answer = await fetch('/cars', { headers: { 'x-request-id': 'abc-123' } })
    expect(answer.headers.get('x-request-id')).toBeNull()
  })

  test('are generated where an event or a log shows them', async () => {
    const failing = { ...memoryStore(), list: () => Promise.reject(new Error('x')) }
    const told: string[] = []
    const { fetch, api } = await make({
      storeOf: (name, store) => (name === 'models' ? failing : store),
      onError: (_, { reference }) => told.push(reference),
    })
    const idOf = async (path: string) => (await fetch(path)).headers.get('x-request-id')
    expect(await idOf('/cars')).toBeNull()
    expect(await idOf('/nothing')).toBeNull()
    const failed = await fetch('/models')
    const id = failed.headers.get('x-request-id')
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(told).toEqual([id])
    expect(await failed.text()).toContain(id)
    const reported: string[] = []
    ending.push(onResponse(({ id }) => reported.push(id)))
    const ids = [await idOf('/cars'), await idOf('/nothing')]
    await api.close()
    expect(ids).toEqual(reported)
  })

  test.each([
    ['of pino-http', 7, 'abc', 'abc'],
    ['of pino-http', 7, undefined, '7'],
    ['of express-request-id', 'own:1', undefined, 'own:1'],
    ['of an object', {}, undefined, expect.stringMatching(/^[0-9a-f-]{36}$/)],
  ])('of a host: %s %j, behind a proxy that says %j', async (_host, given, sent, expected) => {
    const { api } = await make({ trustProxy: 1 })
    ending.push(onResponse(() => {}))
    const served = await serve((request, response) =>
      api.handler(Object.assign(request, { id: given }), response),
    )
    const answer = await fetch(`http://${served.host}/cars`, {
      headers: sent ? { 'x-request-id': sent } : {},
    })
    expect(answer.headers.get('x-request-id')).toEqual(expected)
    await served.close()
  })

  test('of an after hook that fails in a batch are those of the response', async () => {
    const told: string[] = []
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      hooks: {
        after: { create: () => Promise.reject(new Error('x')) },
      },
    })
    const api = defineApi({
      collections: { cars },
      batch: true,
      onError: (_, { reference }) => told.push(reference),
    })
    const step = { method: 'POST', path: '/cars', body: { color: 'red' } }
    const answer = await api.fetch(
      new Request('https://api.example/batch', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([step, step]),
      }),
    )
    const id = answer.headers.get('x-request-id')
    expect([answer.status, told]).toEqual([200, [id, id]])
  })
})

describe('Server-Timing', () => {
  test('is sent where the api enables it', async () => {
    const { fetch } = await make({ serverTiming: true })
    expect((await fetch('/cars')).headers.get('server-timing')).toMatch(
      /^auth;dur=[\d.]+, work;dur=[\d.]+$/,
    )
    expect((await fetch('/cars?limit=x')).headers.get('server-timing')).toContain('work;dur=')
    expect((await (await make()).fetch('/cars')).headers.get('server-timing')).toBeNull()
  })
})

describe('onError', () => {
  async function fail(error: unknown) {
    const kinds: string[] = []
    const { fetch } = await make({
      onError: (_, { kind }) => kinds.push(kind),
      storeOf: (_, store) => ({ ...store, list: () => Promise.reject(error) }),
    })
    const { status } = await fetch('/cars')
    return [status, kinds]
  }
  test.each([
    ['a bug', new Error('no such column'), 500, 'bug'],
    ['a database that is away', new UnavailableError('gone'), 503, 'dependency'],
    ['a full disk', new DiskFullError(), 503, 'dependency'],
    ['a service behind an action', new HttpError(502, 'The printer is off'), 502, 'dependency'],
    [
      'too much work',
      new HttpError(503, [{ message: 'busy', type: 'overloaded' }]),
      503,
      'overload',
    ],
  ])('is told that %s is a matter of its kind', async (_what, error, status, kind) => {
    expect(await fail(error)).toEqual([status, [kind]])
  })
})

describe('/health', () => {
  test('is served to everyone without counting, where the api enables it', async () => {
    const { fetch } = await make({
      health: true,
      rateLimit: { policies: [{ limit: 1, window: 60 }] },
      schemes: [{ name: 'Never', challenge: () => 'Never', authenticate: async () => undefined }],
    })
    for (let at = 0; at < 3; at++) {
      const answer = await fetch('/health')
      expect([answer.status, await answer.text(), answer.headers.get('content-type')]).toEqual([
        200,
        '{"status":"ok"}',
        'application/json',
      ])
    }
    expect((await fetch('/health', { method: 'DELETE' })).headers.get('allow')).toBe(
      'GET, HEAD, OPTIONS',
    )
    expect((await fetch('/health/')).status).toBe(200)
    expect((await fetch('/health//')).status).toBe(404)
    expect((await (await make()).fetch('/health')).status).toBe(404)
  })

  test('is degraded if a store cannot be reached, told once; only the log says why', async () => {
    const cause = new Error('no such column: price')
    const reported: unknown[] = []
    const { fetch } = await make({
      health: true,
      onError: error => reported.push(error),
      storeOf: (name, store) =>
        name === 'models' ? { ...store, find: () => Promise.reject(cause) } : store,
    })
    for (let at = 0; at < 3; at++) {
      const answer = await fetch('/health')
      expect([answer.status, await answer.json()]).toEqual([
        200,
        { status: 'degraded', unreachable: ['models'] },
      ])
    }
    expect(reported).toMatchObject([{ status: 503, cause: { cause } }])
  })

  test('names no collection that is hidden or has no path', async () => {
    const broken = () => ({ ...memoryStore(), find: () => Promise.reject(new Error('gone')) })
    const schema = z.object({ text: z.string() })
    const hidden = defineCollection({
      name: 'hidden',
      schema,
      store: broken(),
      hideExistence: true,
    })
    const own = defineCollection({ name: 'own', schema, store: broken(), operations: [] })
    const api = defineApi({ collections: [hidden, own], health: true, onError: () => undefined })
    const answer = await api.fetch(new Request('https://api.example/health'))
    expect(await answer.json()).toEqual({ status: 'degraded', unreachable: [] })
  })

  test('is ready from the first time that all stores answer, whatever fails later', async () => {
    let gone = true
    const reported: unknown[] = []
    const { fetch } = await make({
      health: true,
      onError: error => reported.push(error),
      storeOf: (_, store) => ({
        ...store,
        find: async (...parameters) =>
          gone ? Promise.reject(new Error('gone')) : store.find(...parameters),
      }),
    })
    const early = await fetch('/health?ready')
    expect([early.status, early.headers.get('retry-after'), await early.json()]).toMatchObject([
      503,
      '1',
      { errors: [{ code: 503, type: 'not_ready' }] },
    ])
    gone = false
    await vi.waitUntil(async () => (await fetch('/health?ready')).status === 200, 60_000)
    gone = true
    const degraded = async () => (await (await fetch('/health')).text()).includes('degraded')
    await vi.waitUntil(degraded, 60_000)
    expect((await fetch('/health?ready')).status).toBe(200)
    // Each of the two failures once, and no probe.
    expect(reported).toHaveLength(2)
  })

  test('a full disk is a 503 of writes, and degrades the health until there is room', async () => {
    const file = new Database(newFile())
    const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: file }) })
    const store = sqlStore({ db, create: true })
    const notes = defineCollection({ name: 'notes', schema: z.object({ text: z.string() }), store })
    const reported: unknown[] = []
    const onError = (error: unknown) => void reported.push(error)
    const { fetch } = defineApi({ collections: [notes], health: true, onError })
    const ask = (path: string, init = {}) => fetch(new Request(`https://api.example${path}`, init))
    const write = (headers = {}) =>
      ask('/notes', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ text: 'x'.repeat(50_000) }),
      })
    expect((await write()).status).toBe(201)
    expect((await ask('/health')).status).toBe(200)
    file.exec('pragma max_page_count = 1')
    const refused = await write()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60'])
    expect(await refused.json()).toMatchObject({ errors: [{ code: 503, type: 'disk_full' }] })
    expect(reported).toMatchObject([{ status: 503, cause: { code: 'SQLITE_FULL' } }])
    expect((await write({ 'idempotency-key': 'k' })).status).toBe(503)
    expect((await ask('/notes')).status).toBe(200)
    const health = async () => JSON.parse(await (await ask('/health')).text())
    await vi.waitUntil(async () => (await health()).status === 'degraded', 60_000)
    expect(await health()).toEqual({ status: 'degraded', disk: 'full' })
    expect((await ask('/health')).status).toBe(200)
    file.exec('pragma max_page_count = 1000000')
    await vi.waitUntil(async () => (await health()).status === 'ok', 60_000)
    expect((await write({ 'idempotency-key': 'k' })).status).toBe(201)
    await store.close()
  })

  test('asks the stores again after a second, also where the clock was set back', async () => {
    let gone = false
    const { fetch } = await make({
      health: true,
      onError: () => undefined,
      storeOf: (_, store) => ({
        ...store,
        find: async (...parameters) =>
          gone ? Promise.reject(new Error('gone')) : store.find(...parameters),
      }),
    })
    vi.useFakeTimers({ toFake: ['Date'] })
    ending.push(() => vi.useRealTimers())
    expect((await fetch('/health')).status).toBe(200)
    vi.setSystemTime(Date.now() - 3_600_000)
    gone = true
    const isDegraded = async () => (await (await fetch('/health')).text()).includes('degraded')
    await vi.waitUntil(isDegraded, 60_000)
  })
})

/** Clients that connect and send a request, in a thread of their own. */
const CLIENTS = `
const { connect } = require('node:net')
const { parentPort, workerData } = require('node:worker_threads')
const { port, sent, count } = workerData
let left = count
const ask = () => new Promise(resolve => {
  let text = ''
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /cars HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n', () => {
    if (--left > 0) return
    Atomics.store(sent, 0, 1)
    Atomics.notify(sent, 0)
  })
  socket.setEncoding('latin1')
  socket.on('data', part => { text += part })
  socket.on('error', () => {})
  socket.on('close', () => resolve(text.slice(0, 12)))
})
Promise.all(Array.from({ length: count }, ask)).then(texts => parentPort.postMessage(texts))`

describe('shutDown', () => {
  test('lets a proxy notice before it takes no new connections', async () => {
    const { api } = example({ health: true })
    const server = createServer((request, response) => api.handler(request, response))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo // of a TCP server
    const ask = (path: string) => globalThis.fetch(`http://127.0.0.1:${port}${path}`)
    expect((await ask('/health?ready')).status).toBe(200)
    const end = shutDown(server, { drain: 500, handler: api.handler })
    expect((await ask('/health?ready')).status).toBe(503)
    const others = [await ask('/health'), await ask('/cars')]
    // A proxy keeps no connection on which it would send a request at the moment of the end.
    expect(others.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([
      [200, 'close'],
      [200, 'close'],
    ])
    await end
    await expect(ask('/health')).rejects.toThrow('fetch failed')
  })

  test('answers running requests, closes idle connections, takes no new ones', async () => {
    let arrived: () => void = () => undefined
    let open: () => void = () => undefined
    const running = new Promise<void>(resolve => {
      arrived = resolve
    })
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    const { api } = await make({
      storeOf: (name, store) =>
        name === 'options'
          ? {
              ...store,
              list: async (...parameters) => {
                arrived()
                await gate
                return store.list(...parameters)
              },
            }
          : store,
    })
    const served = await serve(api.handler)
    const idle = connect(served.port, '127.0.0.1')
    const closed = new Promise(resolve => idle.once('close', resolve))
    idle.resume().write(`GET /cars HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`)
    await new Promise(resolve => idle.once('data', resolve))
    const slow = converse(served.port, [`GET /options HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`])
    await running
    const end = shutDown(served.server)
    await closed
    open()
    const { answers, ended } = await slow
    expect([answers.map(({ status }) => status), ended]).toEqual([[200], true])
    await end
    expect(served.server.listening).toBe(false)
    await shutDown(served.server)
  })

  test.each(['/texts', '/texts.ndjson'])('lets a slow reader have the whole of %s', async path => {
    const schema = z.object({ text: z.string() })
    const texts = defineCollection({ name: 'texts', schema, store: memoryStore() })
    // One item that no connection takes in at once.
    const api = defineApi({ collections: [texts], limits: { item: 2 ** 25 } })
    await api.collection(texts).create({ text: 'x'.repeat(2 ** 24) })
    const served = await serve(api.handler)
    const reader = connect(served.port, '127.0.0.1')
    reader.write(`GET ${path} HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`)
    await once(reader, 'readable')
    const end = shutDown(served.server)
    // What looks for idle connections has looked a few times.
    await new Promise(resolve => setTimeout(resolve, 200))
    let text = ''
    for await (const chunk of reader.setEncoding('latin1')) text += chunk
    await end
    expect(text).toMatch(/\}\]?\n?(?:\r\n0\r\n\r\n)?$/)
  })

  test.each(['/texts/1', '/texts.ndjson'])(
    'cuts no answer short that waits for a slow reader: %s',
    async path => {
      const schema = z.object({ text: z.string() })
      const texts = defineCollection({ name: 'texts', schema, store: memoryStore(), id: 'integer' })
      const api = defineApi({ collections: [texts] })
      await api.collection(texts).create({ text: 'x'.repeat(10_000) })
      const served = await serve(api.handler)
      const reader = connect(served.port, '127.0.0.1').setEncoding('latin1').pause()
      // More than the connection takes in, each less than Node calls full.
      reader.write(`GET ${path} HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`.repeat(900))
      await new Promise(resolve => setTimeout(resolve, 1000))
      const end = shutDown(served.server)
      await new Promise(resolve => setTimeout(resolve, 200))
      let text = ''
      for await (const chunk of reader) text += chunk
      await end
      expect(text.match(/x{10000}/g)).toHaveLength(900)
    },
  )

  test('answers a request that arrives on an idle connection, then closes it', async () => {
    const { api } = await make()
    const served = await serve(api.handler)
    const request = `GET /cars/count HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`
    let end: Promise<void> | undefined
    const { answers, ended } = await converse(served.port, socket => {
      socket.write(request)
      socket.once('data', () => {
        socket.write(request)
        end = shutDown(served.server)
      })
    })
    const known = answers.map(({ status, headers }) => [status, headers.connection])
    expect([known, ended]).toEqual([
      [
        [200, 'keep-alive'],
        [200, 'close'],
      ],
      true,
    ])
    await end
  })

  test('answers on all connections that wait to be accepted', async () => {
    const { api } = example()
    const server = createServer(api.handler)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo // of a TCP server
    const sent = new Int32Array(new SharedArrayBuffer(4))
    const clients = new Worker(CLIENTS, { eval: true, workerData: { port, sent, count: 20 } })
    const answered = once(clients, 'message')
    // This event loop stands still meanwhile.
    Atomics.wait(sent, 0, 0)
    await shutDown(server)
    expect(await answered).toEqual([Array(20).fill('HTTP/1.1 200')])
  })

  test('does not wait for a TLS handshake', async () => {
    const { api } = await make()
    const server = harden(createTlsServer(api.handler)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const half = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
    await once(server, 'connection')
    await shutDown(server, 50)
    expect(server.listening).toBe(false)
    half.destroy()
  })

  test('cuts off what does not end in time', async () => {
    const { api } = await make({
      storeOf: (_, store) => ({ ...store, list: () => new Promise<never>(() => undefined) }),
    })
    const served = await serve(api.handler)
    const hanging = converse(served.port, [`GET /cars HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`])
    await new Promise(resolve => served.server.once('request', resolve))
    await shutDown(served.server, 50)
    expect(await hanging).toMatchObject({ answers: [], ended: true })
  })
})
