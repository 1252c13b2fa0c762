// What a server around the api has said, read or set already: headers, bodies, expectations.

import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import express from 'express'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  HttpError,
  memoryBlobs,
  memoryStore,
} from '../src/index.ts'
import { findCollectionDefinition } from '../src/model/definitions.ts'
import { harden } from '../src/node/index.ts'
import { fieldsOf } from '../src/rules/index.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

function photosApi() {
  const failures: unknown[] = []
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ comment: z.string().optional(), photo: blob().optional() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
  })
  const api = defineApi({ collections: [photos], onError: error => failures.push(error) })
  return { api, failures, handler: api.handler as express.RequestHandler }
}

const POST = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }

/** Express with these in their order, hardened. */
async function hosted(...handlers: express.RequestHandler[]) {
  const app = express()
  for (const handler of handlers) app.use(handler)
  const server = harden(createServer(app)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  // A server that listens on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

test('404 shows the path as the client sent it, below a mount prefix too', async () => {
  const { api } = photosApi()
  const router = express.Router().use('/api', (request, response) => {
    void api.handler(request, response)
  })
  const port = await hosted(router)
  const answer = await fetch(`http://127.0.0.1:${port}/api/lorries?x=1`)
  expect(answer.status).toBe(404)
  expect(await answer.text()).toContain('Nothing exists at \\"/api/lorries')
})

test.each([
  [
    'a host that takes its mount away',
    { baseUrl: 'https://a.example/api' },
    '/lorries',
    '/api/lorries',
  ],
  [
    'such a host with a prefix of the api',
    { baseUrl: 'https://a.example/api/v1', prefix: '/v1' },
    '/v1/lorries',
    '/api/v1/lorries',
  ],
  [
    'a host that keeps the path',
    { baseUrl: 'https://a.example/api', prefix: '/api' },
    '/api/lorries',
    '/api/lorries',
  ],
  ['no baseUrl', {}, '/lorries', '/lorries'],
])('404 shows the path as the client sent it, by fetch: %s', async (_, options, path, shown) => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ a: z.string() }),
    store: memoryStore(),
  })
  const api = defineApi({ collections: [cars], ...options })
  const answer = await api.fetch(new Request(`https://a.example${path}?x=1`))
  expect(await answer.text()).toContain(`Nothing exists at \\"${shown}\\"`)
})

describe('a mount that puts its prefix back as soon as the api returns, as koa-mount does', () => {
  const mounted = (waits: boolean) => {
    const { handler } = photosApi().api
    return hosted(async (request, response) => {
      const { url } = request
      if (waits) await null // as any asynchronous middleware before it
      request.url = url.replace('/api', '')
      handler(request, response)
      await null
      request.url = url
    })
  }
  const head =
    'POST /api/photos HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n'

  const get = 'GET /api/photos HTTP/1.1\r\nHost: a\r\n\r\n'

  test.each([
    ['a body that comes later than its head', [`${head}\r\n`, '{}'], true, ['201']],
    ['a request behind another', [`${get}${head}\r\n{}`], false, ['200', '201']],
  ])('%s', async (_, parts, waits, statuses) => {
    const socket = connect(await mounted(waits), '127.0.0.1')
    closing.push(() => socket.destroy())
    let received = ''
    for (const part of parts) {
      socket.write(part)
      await setTimeout(50)
    }
    const find = () => Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)
    while (find().length < statuses.length) received += (await once(socket, 'data'))[0]
    expect(find()).toEqual(statuses)
  })
})

describe('100 Continue is sent where the body is wanted', () => {
  const own: express.RequestHandler = (request, response) => {
    response.json(request.body)
  }
  const reading: express.RequestHandler = async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    response.end(Buffer.concat(chunks))
  }
  const refusing: express.RequestHandler = (_request, response) => {
    response.status(403).end()
  }
  test.each<[string, () => express.RequestHandler[], number, boolean]>([
    ['by the api', () => [photosApi().handler], 201, true],
    ['by a parser of the host server', () => [express.json(), own], 200, true],
    ['by a parser before the api', () => [express.json(), photosApi().handler], 201, true],
    ['by a host server that reads it itself', () => [reading], 200, true],
    ['by nobody', () => [refusing], 403, false],
  ])('%s', async (_, handlers, status, wanted) => {
    const port = await hosted(...handlers())
    const headers = { expect: '100-continue', 'content-type': 'application/json' }
    const outgoing = send({ port, path: '/photos', method: 'POST', headers })
    let continued = false
    outgoing.on('continue', () => {
      continued = true
      outgoing.end('{"comment":"a"}')
    })
    outgoing.flushHeaders()
    const [answer] = await once(outgoing, 'response')
    answer.resume()
    expect([answer.statusCode, continued]).toEqual([status, wanted])
    outgoing.destroy()
  })
})

describe('headers that the host server has set', () => {
  test('its Vary is kept', async () => {
    const port = await hosted((_request, response, next) => {
      response.vary('X-Tenant')
      next()
    }, photosApi().handler)
    const answer = await fetch(`http://127.0.0.1:${port}/photos`)
    expect(answer.headers.get('vary')).toBe('X-Tenant, Accept, Prefer, Range')
  })

  test('its CORS headers win', async () => {
    const port = await hosted((_request, response, next) => {
      response.setHeader('Access-Control-Allow-Origin', 'https://app.example')
      response.setHeader('Access-Control-Allow-Credentials', 'true')
      next()
    }, photosApi().handler)
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await fetch(`http://127.0.0.1:${port}/photos`, { method })
      expect([...headers].filter(([name]) => name.startsWith('access-control-'))).toEqual([
        ['access-control-allow-credentials', 'true'],
        ['access-control-allow-origin', 'https://app.example'],
      ])
    }
  })

  test('a preflight of a path that is not the api’s is left to it', async () => {
    const own: express.RequestHandler = (_request, response) => void response.sendStatus(418)
    const port = await hosted(photosApi().handler, own)
    const preflight = async (path: string) => {
      const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }
      return (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'OPTIONS', headers })).status
    }
    expect([await preflight('/photos'), await preflight('/other')]).toEqual([204, 418])
  })

  test('middleware that replaces writeHead gets headers that all such middleware can read', async () => {
    /** As on-headers 1.0 does, with which compression, express-session and morgan were made. */
    const onHeaders: express.RequestHandler = (_request, response, next) => {
      const { writeHead } = response
      const replaced = (status: number, headers: string[][] | Record<string, string> = {}) => {
        const pairs = Array.isArray(headers) ? headers : Object.entries(headers)
        for (const [name = '', value = ''] of pairs) response.setHeader(name, value)
        response.setHeader('X-Late', '1')
        return writeHead.call(response, status)
      }
      response.writeHead = replaced as typeof writeHead
      next()
    }
    const bare: express.RequestHandler = (_request, response, next) => {
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      next()
    }
    for (const handlers of [[onHeaders], [bare, onHeaders]]) {
      const port = await hosted(...handlers, photosApi().handler)
      const answer = await fetch(`http://127.0.0.1:${port}/photos`)
      expect([answer.status, await answer.text()]).toEqual([200, '[]'])
      expect(answer.headers.get('x-result-count')).toBe('0')
      expect(answer.headers.get('x-late')).toBe('1')
    }
  })

  test.each<[string, number, [string, string][]]>([
    [
      '/v1/cars?limit=1',
      200,
      [
        ['link', 'first'],
        ['link', 'next'],
        ['link', 'successor-version'],
      ],
    ],
    [
      '/v2/cars/refuse',
      401,
      [
        ['www-authenticate', 'One'],
        ['www-authenticate', 'Other'],
      ],
    ],
    [
      '/v2/cars/refuse',
      401,
      [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    ],
  ])('fields that are repeated are all sent: %s, %s, %j', async (path, status, wanted) => {
    const cars = () =>
      defineCollection({
        name: 'cars',
        schema: z.object({}),
        store: memoryStore(),
        actions: {
          refuse: {
            on: 'collection',
            method: 'GET',
            run() {
              const headers = ['WWW-Authenticate', 'One', 'WWW-Authenticate', 'Other']
              throw new HttpError(401, 'no', {
                headers: [...headers, 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'],
              })
            },
          },
        },
      })
    const [old, current] = [cars(), cars()]
    const api = defineApi({
      versions: [
        { version: 1, collections: [old], deprecated: new Date(0) },
        { version: 2, collections: [current] },
      ],
    })
    for (const _ of [1, 2]) await old.fetch(new Request('http://api.test/cars', POST))
    const port = await hosted(api.handler as express.RequestHandler)
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    expect(answer.status).toBe(status)
    for (const [name, value] of wanted) expect(answer.headers.get(name)).toContain(value)
  })
})

describe('a multipart body that was read before', () => {
  /** As multer does it: fields in `body`, files beside it. */
  const multer: express.RequestHandler = (request, _response, next) => {
    request.resume().on('end', () => {
      request.body = { comment: 'a' }
      Object.assign(request, { files: [{ fieldname: 'photo' }] })
      next()
    })
  }
  test.each<[string, express.RequestHandler, number]>([
    ['without its files is a failure of the program', multer, 500],
    ['as text is one too', express.text({ type: '*/*' }), 500],
    ['as bytes is whole', express.raw({ type: '*/*' }), 201],
  ])('%s', async (_, parser, status) => {
    const { handler, failures } = photosApi()
    const port = await hosted(parser, handler)
    const body = new FormData()
    body.set('photo', new Blob([new Uint8Array([0x89, 0xff])]), 'a.bin')
    const answer = await fetch(`http://127.0.0.1:${port}/photos`, { method: 'POST', body })
    expect(answer.status).toBe(status)
    const failure = expect.objectContaining({ message: expect.stringMatching(/^A body parser b/) })
    expect(failures).toEqual(status === 500 ? [failure] : [])
  })
})

test('a form that the host server has parsed names its method', async () => {
  const { api, handler } = photosApi()
  const photo = await api.fetch(new Request('http://api.test/photos', POST))
  const port = await hosted(express.urlencoded(), handler)
  const path = new URL(photo.headers.get('location') ?? '').pathname
  const send = (headers = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ _method: 'DELETE' }),
    })
  expect((await send({ 'x-http-method-override': 'PUT' })).status).toBe(400)
  expect((await send()).status).toBe(200)
})

test('a request whose body the host server has read is a 400', async () => {
  const { api } = photosApi()
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  const request = new Request('http://api.test/photos', init)
  await request.text()
  expect((await api.fetch(request)).status).toBe(400)
})

test('a log that fails later fails nothing', async () => {
  const rejected: unknown[] = []
  const listen = (reason: unknown) => void rejected.push(reason)
  process.on('unhandledRejection', listen)
  closing.push(() => process.off('unhandledRejection', listen))
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({}),
    store: memoryStore(),
    hooks: {
      before() {
        throw new Error('a hiccup')
      },
    },
  })
  const api = defineApi({
    collections: [cars],
    onError: async () => {
      throw new Error('The log is full')
    },
  })
  expect((await api.fetch(new Request('http://api.test/cars'))).status).toBe(500)
  await new Promise(setImmediate)
  expect(rejected).toEqual([])
})

test('schemas of another copy of zod 4 work everywhere', () => {
  // To the types another version is another class: all that counts is what it takes and gives.
  const other: {
    readonly _zod: { readonly output: { n: number }; readonly input: { n: number } }
  } = z.object({ n: z.number() })
  expect([...fieldsOf(other).keys()]).toEqual(['n'])
  const cars = defineCollection({
    name: 'cars',
    schema: other,
    store: memoryStore(),
    actions: { tell: { on: 'collection', output: other, run: () => ({ n: 1 }) } },
  })
  expect(findCollectionDefinition(cars).actions.get('tell')?.outputFields?.has('n')).toBe(true)
})

test('an action calls another collection with the types of its schema', async () => {
  const schema = z.object({ price: z.number() })
  const parts = defineCollection({ name: 'parts', schema, store: memoryStore() })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({}),
    store: memoryStore(),
    actions: {
      worth: {
        on: 'collection',
        run: async ({ collection }) => {
          let sum = 0
          for await (const { price } of collection(parts).list()) sum += price
          return { sum }
        },
      },
    },
  })
  const api = defineApi({ collections: [cars, parts] })
  for (const price of [1, 2]) await api.collection(parts).create({ price })
  expect(await api.collection(cars).worth()).toEqual({ sum: 3 })
})

test.each([
  ['application/json', '{"comment":'],
  ['application/x-www-form-urlencoded', 'comment=a'],
  ['application/xml', '<photo>'],
  [
    'multipart/form-data; boundary=b',
    '--b\r\nContent-Disposition: form-data; name="photo"; filename="a"\r\n\r\na',
  ],
])('a body of %s that breaks off behind the host server fails nothing', async (type, start) => {
  const { api, failures } = photosApi()
  const parts = [new TextEncoder().encode(start)]
  const body = new ReadableStream({
    pull(controller) {
      const part = parts.shift()
      if (part) controller.enqueue(part)
      else controller.error(new TypeError('The connection was lost'))
    },
  })
  const headers = { 'content-type': type, accept: 'application/json' }
  const init = { method: 'POST', headers, body, duplex: 'half' as const }
  const answer = await api.fetch(new Request('http://api.test/photos', init))
  expect(await answer.json()).toEqual({
    errors: [
      { message: 'The body ended before it was complete', code: 400, type: 'incomplete_body' },
    ],
  })
  expect([answer.status, failures]).toEqual([400, []])
})

test('a request whose signal the host server closed still ends in time', async () => {
  let closed = false
  const request = new Request('http://api.test/cars')
  const { signal } = request
  Object.defineProperty(request, 'signal', {
    get() {
      if (!closed) return signal
      closed = false
      throw new Error('Cannot perform I/O on behalf of a different request')
    },
  })
  const list = () => {
    closed = true
    return new Promise<never>(() => undefined)
  }
  const store = { ...memoryStore(), list }
  const cars = defineCollection({ name: 'cars', schema: z.object({}), store })
  const api = defineApi({ collections: [cars], limits: { workTime: 1 }, onError: () => undefined })
  const answer = await api.fetch(request)
  expect([answer.status, closed]).toEqual([503, false])
})
