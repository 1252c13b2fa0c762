// Servers that are silent, endless, or no api at all: each call of the client ends, with an error that says so.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { batch } from '../../src/client/batch.ts'
import { createClient, HttpError, type SendOptions } from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { serve } from './line.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void // the flag has made it

const cars = defineCollection({
  name: 'cars',
  schema: z.object({ price: z.int(), name: z.string().optional() }),
  store: memoryStore(),
  search: ['name'],
  actions: {
    honk: { on: 'item', run: () => ({}) },
    total: { on: 'collection', method: 'GET', run: () => undefined },
  },
})
const api = defineApi({ collections: { cars }, batch: true })

let answer: RequestListener
let requests: string[]
let server: Awaited<ReturnType<typeof serve>>
beforeEach(async () => {
  requests = []
  server = await serve((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
})
afterEach(() => server.close())
const connect = (options: SendOptions = {}) =>
  createClient<typeof api>(server.url, { methods: { cars: { total: 'GET' } }, ...options })
const open = (options?: SendOptions) => connect(options).cars

/** A page of a list; `rest` is what follows it. */
const page =
  (items: readonly unknown[], link?: (request: IncomingMessage) => string) =>
  (request: IncomingMessage, response: ServerResponse) => {
    if (link) response.setHeader('link', `<https://elsewhere.example${link(request)}>; rel="next"`)
    response.end(JSON.stringify(items))
  }

describe('within its time, whatever the garbage collector does, ends', () => {
  let collecting: NodeJS.Timeout
  beforeEach(() => {
    collecting = setInterval(collectGarbage, 20)
  })
  afterEach(() => clearInterval(collecting))

  test.each<[string, RequestListener]>([
    ['without an answer', () => {}],
    ['with a head alone', (_, response) => void response.writeHead(200).flushHeaders()],
    ['with half a body', (_, response) => void response.write('[{"id":')],
    [
      'with a body that drips',
      (_, response) => {
        const drip = setInterval(() => response.write(' '), 10)
        response.on('close', () => clearInterval(drip))
      },
    ],
  ])('an attempt %s', async (_title, listener) => {
    answer = listener
    const cars = open({ timeout: 200, retries: 0 })
    const calls = Array.from({ length: 8 }, () => cars.count())
    const ended = await Promise.allSettled(calls)
    expect(ended.map(each => each.status === 'rejected' && each.reason.name)).toEqual(
      Array(8).fill('ConnectionError'),
    )
  })

  test.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
    ['a call', signal => open().count({}, { signal })],
    ['a walk', signal => open().list({}, { signal }).toArray()],
  ])('%s whose signal aborts in the body', async (_title, call) => {
    answer = (_, response) => void response.write('[')
    const controller = new AbortController()
    const gone = new Error('gone')
    setTimeout(() => controller.abort(gone), 200)
    await expect(call(controller.signal)).rejects.toBe(gone)
  })

  test('no time limit at all is none', async () => {
    answer = (_, response) => void setTimeout(() => response.end('{"count":1}'), 100)
    expect(await open({ timeout: Number.POSITIVE_INFINITY }).count()).toBe(1)
  })
})

test.each([
  ['that is too long', 1_000],
  ['that never ends', undefined],
])('a body %s ends at maxBytes, and its connection with it', async (_title, left = Infinity) => {
  let sent = 0
  const closed = new Promise<void>(resolve => {
    answer = (_, response) => {
      response.on('close', resolve)
      const send = () => {
        while (sent < left && !response.destroyed && response.write('x'.repeat(100))) sent += 100
        if (sent >= left) response.end()
      }
      response.on('drain', send)
      send()
    }
  })
  const error = await open({ maxBytes: 500 })
    .count()
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HttpError)
  expect(error).toMatchObject({ message: 'The response has more than 500 bytes', status: 200 })
  await closed
  expect(requests).toHaveLength(1)
})

test('a body of just maxBytes, of several bytes for a letter, is read', async () => {
  const body = JSON.stringify({ count: 1, text: 'é💶'.repeat(20_000) })
  answer = (_, response) => {
    for (const byte of Buffer.from(body.slice(0, 100))) response.write(Buffer.of(byte))
    response.end(body.slice(100))
  }
  expect(await open({ maxBytes: Buffer.byteLength(body) }).count()).toBe(1)
})

test.each(['.', '..', ''])('the id %j, which a URL cannot have, is a TypeError', async id => {
  answer = (_, response) => void response.end('{}')
  const cars = open()
  const calls = [
    cars.read(id),
    cars.patch(id, {}),
    cars.replace(id, { price: 1 }),
    cars.delete(id),
    cars.honk(id),
    cars.change(id, () => ({})),
    batch(connect(), steps => [steps.cars.read(id)]),
  ]
  const message = `cars: the id must be a number or a string for URLs, not "${id}"`
  for (const call of calls) await expect(call).rejects.toThrow(new TypeError(message))
  expect(requests).toEqual([])
  for (const near of ['...', '.x', 'a..']) await cars.read(near)
  expect(requests).toEqual(['GET /cars/%2E%2E%2E', 'GET /cars/%2Ex', 'GET /cars/a%2E%2E'])
})

describe('pages that may never end, end', () => {
  test.each<[string, RequestListener]>([
    ['an empty one that leads on', page([], ({ url }) => `${url}0`)],
    ['one that leads to itself', page([{ id: 'a' }], ({ url = '' }) => url)],
  ])('%s', async (_title, listener) => {
    answer = listener
    const walk = open().list().toArray()
    await expect(walk).rejects.toThrow('JSON of this API')
    const first = await open().list().page()
    await expect(first.next()).rejects.toThrow('JSON of this API')
    expect(requests).toHaveLength(2)
  })

  test('but not within the limit', async () => {
    answer = page([{ id: 'a' }], ({ url = '' }) => url)
    expect(await open().list({ limit: 1 }).toArray()).toHaveLength(1)
  })
})

describe('what no api of this library answers is said to be so, and not asked again', () => {
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    read: () => open().read('a'),
    list: () => open().list().toArray(),
    page: () => open().list().page(),
    first: () => open().search('a').first(),
    count: () => open().count(),
    create: () => open().create({ price: 1 }),
    delete: () => open().delete('a'),
    batch: () => batch(connect(), steps => [steps.cars.delete('a')]),
  }
  test.each<[body: string, status: number, names: readonly string[]]>([
    ['{"errors":[null]}', 400, Object.keys(calls)],
    ['{"errors":["x"]}', 500, Object.keys(calls)],
    ['{"errors":[{}]}', 404, Object.keys(calls)],
    ['{"errors":{"price":"x"}}', 422, Object.keys(calls)],
    ['null', 500, Object.keys(calls)],
    ['<p>Welcome</p>', 200, Object.keys(calls)],
    ['null', 200, Object.keys(calls)],
    ['"text"', 200, Object.keys(calls)],
    ['', 200, Object.keys(calls)],
    ['{"items":[]}', 200, ['list', 'page', 'first', 'count']],
    ['[1]', 200, Object.keys(calls)],
    ['[null]', 200, Object.keys(calls)],
    ['[[]]', 200, Object.keys(calls)],
    ['[{"body":{}},{"body":{}}]', 200, ['batch']],
    ['[{"status":200}]', 200, ['batch']],
    ['', 304, ['read', 'list', 'page', 'first', 'count']],
    ['', 307, Object.keys(calls)],
  ])('%s with status %i', async (body, status, names) => {
    answer = (_, response) => void response.writeHead(status).end(status === 304 ? undefined : body)
    for (const name of names) {
      requests = []
      const error = await calls[name]?.().catch((thrown: unknown) => thrown)
      expect(error, name).toBeInstanceOf(HttpError)
      expect(error, name).toMatchObject({
        status,
        message: expect.stringMatching(`^Status ${status}, .*: .* is not JSON of this API`),
        errors: [{ code: status }],
      })
      expect(requests, name).toHaveLength(1)
    }
  })

  test('an action may answer anything', async () => {
    answer = (_, response) => void response.end('[1]')
    expect([await open().honk('a'), await open().total()]).toEqual([[1], [1]])
  })
})

describe('a redirect', () => {
  test('to another origin is not followed', async () => {
    const asked: unknown[] = []
    const other = await serve(({ headers }, response) => {
      asked.push(headers)
      response.end('{"count":1}')
    })
    for (const status of [301, 302, 303, 307, 308]) {
      answer = (_, response) => void response.writeHead(status, { location: other.url }).end()
      const count = open({ auth: 'Bearer secret' }).count()
      await expect(count).rejects.toMatchObject({ name: 'HttpError', status })
    }
    expect(asked).toEqual([])
    await other.close()
  })

  test('within the origin is followed by a read, and not without end', async () => {
    answer = ({ url }, response) => {
      if (url === '/cars/count') response.writeHead(308, { location: '/new/count?a=1' }).end()
      else response.end('{"count":1}')
    }
    expect(await open().count()).toBe(1)
    expect(requests).toEqual(['GET /cars/count', 'GET /new/count?a=1'])
    answer = ({ url }, response) => void response.writeHead(302, { location: `${url}0` }).end()
    await expect(open().count()).rejects.toMatchObject({ status: 302 })
    expect(requests.length).toBeLessThan(30)
  })
})
