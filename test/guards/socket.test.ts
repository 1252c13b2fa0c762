// What a client can do to the connection itself (promises 2, 3, 10 and 17).
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { simpleRest } from '../../src/dialects/index.ts'
import { type Api, defineApi, defineCollection, memoryStore, type Store } from '../../src/index.ts'
import { harden } from '../../src/node/index.ts'
import type { StoreOptions } from '../../src/store/store.ts'
import { createOne } from '../../src/testing/write-items.ts'
import { type Example, example, seed } from '../fixture.ts'
import { createIdentity } from '../tls.ts'
import { converse, type Served, serve } from './wire.ts'

let served: Served
let made: Example
let id: string
const failures: unknown[] = []

beforeAll(async () => {
  made = example({
    onError: error => failures.push(error),
    limits: { bodyTime: 300, bodyRate: 100_000, body: 600_000 },
  })
  const [car] = await seed(made, 3)
  id = String(car?.id)
  served = await serve(made.api.handler, { headersTimeout: 400 })
})
afterAll(() => served.close())
beforeEach(() => {
  failures.length = 0
})

const get = (target: string, more = '') =>
  `GET ${target} HTTP/1.1\r\nHost: ${served.host}\r\n${more}\r\n`
const post = (more: string, body: string) =>
  `POST /cars HTTP/1.1\r\nHost: ${served.host}\r\nContent-Type: application/json\r\n${more}\r\n\r\n${body}`

async function expectGood(): Promise<void> {
  const { answers } = await converse(served.port, [get(`/cars/${id}`, 'Connection: close\r\n')])
  expect(answers.map(({ status }) => status)).toEqual([200])
  expect(failures).toEqual([])
}

/** Every answer has the error body, its code the status. */
function statusesOf(answers: readonly { status: number; body: string }[]): number[] {
  for (const { status, body } of answers) {
    if (status >= 400) expect(JSON.parse(body).errors[0].code).toBe(status)
  }
  return answers.map(({ status }) => status)
}

const HIDDEN = (host: string) => `GET /cars/count HTTP/1.1\r\nHost: ${host}\r\n\r\n`

describe('smuggling: one request is never taken for two', () => {
  const cases: readonly (readonly [string, (host: string) => string])[] = [
    [
      'TE and CL',
      host => post('Transfer-Encoding: chunked\r\nContent-Length: 4', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'CL and TE',
      host => post('Content-Length: 6\r\nTransfer-Encoding: chunked', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'two TE',
      host =>
        post(
          'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
          `0\r\n\r\n${HIDDEN(host)}`,
        ),
    ],
    ['TE: xchunked', host => post('Transfer-Encoding: xchunked', `0\r\n\r\n${HIDDEN(host)}`)],
    [
      'TE: chunked, gzip',
      host => post('Transfer-Encoding: chunked, gzip', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'TE: gzip, chunked',
      host => post('Transfer-Encoding: gzip, chunked', `2\r\n{}\r\n0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'TE: foo, chunked, and nothing in it',
      host => post('Transfer-Encoding: foo, chunked', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'TE: chunked, chunked',
      host => post('Transfer-Encoding: chunked, chunked', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'two TE, both known',
      host =>
        post('Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'TE with a parameter',
      host => post('Transfer-Encoding: chunked;a=b', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'TE: gzip, chunked, of a GET',
      host =>
        `GET /cars HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${HIDDEN(host)}`,
    ],
    ['TE behind a space', host => post('Transfer-Encoding : chunked', `0\r\n\r\n${HIDDEN(host)}`)],
    [
      'TE after a bare LF',
      host => post('X: y\nTransfer-Encoding: chunked', `0\r\n\r\n${HIDDEN(host)}`),
    ],
    ['two CL', host => post('Content-Length: 0\r\nContent-Length: 40', HIDDEN(host))],
    ['CL with a plus', host => post('Content-Length: +5', `12345${HIDDEN(host)}`)],
    ['CL with a list', host => post('Content-Length: 0, 5', HIDDEN(host))],
    [
      'a chunk size with a sign',
      host => post('Transfer-Encoding: chunked', `+5\r\n{"a":\r\n0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'a chunk size over 64 bits',
      host =>
        post('Transfer-Encoding: chunked', `ffffffffffffffff1\r\nx\r\n0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'a chunk that is longer than it says',
      host => post('Transfer-Encoding: chunked', `1\r\n{}\r\n0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'a chunk size that is no number',
      host => post('Transfer-Encoding: chunked', `zz\r\n{}\r\n0\r\n\r\n${HIDDEN(host)}`),
    ],
    [
      'TE in HTTP/1.0, the connection kept',
      host =>
        post(
          'Connection: keep-alive\r\nTransfer-Encoding: chunked',
          `0\r\n\r\n${HIDDEN(host)}`,
        ).replace('HTTP/1.1', 'HTTP/1.0'),
    ],
    [
      'TE of a GET in HTTP/1.0, the connection kept',
      host =>
        `GET /cars HTTP/1.0\r\nHost: ${host}\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN(host)}`,
    ],
  ]
  test.each(cases)('%s', async (_, bytes) => {
    const { answers, ended } = await converse(served.port, [bytes(served.host)])
    expect(statusesOf(answers)).toEqual([400])
    expect(ended).toBe(true)
    await expectGood()
  })
})

test.each(['chunked', ' Chunked', '\tCHUNKED '])('Transfer-Encoding: %j is read', async coding => {
  const body = JSON.stringify({ immatriculation: 'S-2', color: 'red' })
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const { answers } = await converse(served.port, [
    post(`Transfer-Encoding:${coding}\r\nConnection: close`, chunks),
  ])
  expect(statusesOf(answers)).toEqual([201])
  await made.api.collection(made.cars).delete(JSON.parse(answers[0]?.body ?? '').id)
})

describe('pipelining: one response for each request, in order', () => {
  test('twenty good requests in one packet', async () => {
    const targets = Array.from({ length: 20 }, (_, at) => `/cars?limit=1&offset=${at % 3}`)
    const bytes = targets.map(target => get(target)).join('')
    const { answers, rest } = await converse(served.port, [bytes], {
      enough: all => all.length === 20,
    })
    expect(rest).toBe('')
    expect(answers.map(({ headers }) => headers['content-range'])).toEqual(
      targets.map((_, at) => `cars ${at % 3}-${at % 3}/3`),
    )
  })

  test('a broken request after good ones: their responses come first', async () => {
    const bytes = `${get(`/cars/${id}`)}${get('/cars/count')}GET /x HTTP/9\r\n\r\n`
    const { answers, ended } = await converse(served.port, [bytes])
    expect(statusesOf(answers)).toEqual([200, 200, 400])
    expect(answers[1]?.body).toBe('{"count":3}')
    expect(ended).toBe(true)
  })

  test('a request with a broken body after good ones too', async () => {
    const chunked = 'Transfer-Encoding: chunked'
    const { answers, ended } = await converse(served.port, [
      `${get(`/cars/${id}`)}${get('/cars/count')}${post(chunked, 'zz\r\n')}`,
    ])
    expect(statusesOf(answers)).toEqual([200, 200, 400])
    expect(ended).toBe(true)
    await expectGood()
  })

  test('a CONNECT after good ones too', async () => {
    const connect = 'CONNECT api.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n'
    const { answers, ended } = await converse(served.port, [
      `${get(`/cars/${id}`)}${get('/cars/count')}${connect}`,
    ])
    expect(statusesOf(answers)).toEqual([200, 200, 405])
    expect(ended).toBe(true)
  })

  test('requests are handled one after another', async () => {
    let running = 0
    const together: number[] = []
    const notes = defineCollection({
      name: 'notes',
      schema: z.object({ text: z.string() }),
      store: memoryStore(),
      id: 'integer',
      hooks: {
        async before() {
          together.push(++running)
          await new Promise(resolve => setImmediate(resolve))
        },
        after: () => void running--,
      },
    })
    const own = await serve(defineApi({ collections: [notes] }).handler)
    const body = '{"text":"a"}'
    const head = `POST /notes HTTP/1.1\r\nHost: ${own.host}\r\nContent-Type: application/json`
    const both = `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}GET /notes/count HTTP/1.1\r\nHost: ${own.host}\r\n\r\n`
    const { answers } = await converse(own.port, [both.repeat(10)], {
      enough: all => all.length === 20,
    })
    await own.close()
    expect(answers.map(({ body: text }) => JSON.parse(text).count ?? 0)).toEqual(
      Array.from({ length: 10 }, (_, at) => [0, at + 1]).flat(),
    )
    expect(new Set(together)).toEqual(new Set([1]))
  })

  test('more than a thousand waiting requests end the connection and are not begun', async () => {
    let begun = 0
    let came = 0
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const notes = defineCollection({
      name: 'notes',
      schema: z.object({ text: z.string() }),
      store: memoryStore(),
      hooks: { before: () => (++begun === 1 ? held : undefined) },
    })
    const own = await serve(defineApi({ collections: [notes] }).handler)
    own.server.on('request', () => {
      if (++came === 1002) release()
    })
    const bytes = `GET /notes/count HTTP/1.1\r\nHost: ${own.host}\r\n\r\n`.repeat(1002)
    const { answers, ended } = await converse(own.port, [bytes])
    await own.close()
    expect([answers.length, ended, begun]).toEqual([0, true, 1])
  })

  test('more than a thousand on one connection are answered where few wait at a time', async () => {
    const own = await serve(made.api.handler)
    const batch = get('/cars/count').replace(served.host, own.host).repeat(300)
    let requested = 0
    let ask = () => {}
    const { answers } = await converse(
      own.port,
      socket => {
        ask = () => {
          requested += 300
          socket.write(batch)
        }
        ask()
      },
      {
        enough: ({ length }) => {
          if (length === requested && requested < 1500) ask()
          return length === 1500
        },
      },
    )
    await own.close()
    expect(statusesOf(answers)).toEqual(Array(1500).fill(200))
  })

  test('a body that breaks after its response ends the connection without a second one', async () => {
    const head = post('Transfer-Encoding: chunked', '1\r\n{\r\n').replace('/cars', '/nothing')
    let broken = false
    const { answers, rest, ended } = await converse(served.port, socket => {
      socket.write(head)
      socket.once('data', () => {
        broken = true
        socket.write('no size\r\n')
      })
    })
    expect([broken, statusesOf(answers), rest, ended]).toEqual([true, [404], '', true])
  })

  test('a refused body does not become the next request', async () => {
    const inner = get('/cars/count')
    const refused = `POST /nothing HTTP/1.1\r\nHost: ${served.host}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`
    const { answers } = await converse(served.port, [
      refused,
      get(`/cars/${id}`, 'Connection: close\r\n'),
    ])
    expect(statusesOf(answers)).toEqual([404, 200])
  })
})

describe('errors that Node would answer without a body', () => {
  const cases: readonly (readonly [string, number, (host: string) => string])[] = [
    ['no Host', 400, () => 'GET /cars HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['an unknown method', 405, host => `BREW /cars HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a method in small letters', 405, host => `get /cars HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a method of RTSP', 405, host => `DESCRIBE /cars HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['no such version, no such method', 400, host => `BREW / HTTP/3.7\r\nHost: ${host}\r\n\r\n`],
    ['no HTTP at all', 400, () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['a version that does not exist', 400, host => `GET /cars HTTP/3.7\r\nHost: ${host}\r\n\r\n`],
    ['HTTP/0.9', 400, () => 'GET /cars\r\n\r\n'],
    ['a preface of HTTP/2', 400, () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [
      'headers over 16 KiB',
      431,
      host => `GET /cars HTTP/1.1\r\nHost: ${host}\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    ],
    [
      'an unknown expectation',
      417,
      host => `GET /cars HTTP/1.1\r\nHost: ${host}\r\nExpect: tea\r\n\r\n`,
    ],
    ['CONNECT', 405, () => 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n'],
    [
      'chunk extensions over 16 KiB',
      413,
      () => post('Transfer-Encoding: chunked', `1;${'x'.repeat(20_000)}\r\n{\r\n`),
    ],
    [
      'two hosts',
      400,
      host =>
        `GET /cars HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    ],
    [
      'a host in the target that is none',
      400,
      host => `GET http://[/cars HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    ],
  ]
  test.each(cases)('%s: %d', async (_, status, bytes) => {
    const { answers, ended, rest } = await converse(served.port, [bytes(served.host)])
    expect(statusesOf(answers)).toEqual([status])
    expect(answers[0]?.headers['content-type']).toBe('application/json')
    expect(JSON.parse(answers[0]?.body ?? '').errors[0].type).toMatch(/^[a-z_]+$/)
    expect([ended, rest]).toEqual([true, ''])
    await expectGood()
  })

  test.each([
    ['in a query', '/cars?color=no\xc3\xabl'],
    ['in a path', '/cars/no\xc3\xabl'],
    ['as latin1', '/cars?color=no\xebl'],
  ])('a letter that is not escaped %s: how it is escaped', async (_, target) => {
    const bytes = `GET ${target} HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`
    const { answers } = await converse(served.port, [Buffer.from(bytes, 'latin1')])
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({
      errors: [
        {
          message: 'Escape characters beyond ASCII in the URL, such as ë as %C3%AB',
          code: 400,
          type: 'malformed_request',
        },
      ],
    })
  })

  test('have the message of dialects, and the methods of their path', async () => {
    const define = (name: string, more: object = {}) =>
      defineCollection({ name, schema: z.object({}), store: memoryStore(), ...more })
    const api = defineApi({
      collections: [
        define('cars', { operations: ['list', 'read'] }),
        define('secrets', { hideExistence: true, operations: ['list'] }),
      ],
      dialects: [simpleRest],
      prefix: '/api',
    })
    const own = await serve(api.handler)
    const all = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
    try {
      for (const [target, allow] of [
        ['/api/cars', 'GET, QUERY, HEAD, OPTIONS'],
        ['/api/cars/1?a=b', 'GET, HEAD, OPTIONS'],
        ['/api/secrets', all],
        ['/api/nothing', all],
        ['/cars', all],
        ['/api/%ff', all],
      ]) {
        const { answers } = await converse(own.port, [
          `BREW ${target} HTTP/1.1\r\nHost: ${own.host}\r\n\r\n`,
        ])
        const message = 'The method is unknown'
        const error = { message, code: 405, type: 'method_not_allowed' }
        expect(answers[0]?.headers.allow).toBe(allow)
        expect(JSON.parse(answers[0]?.body ?? '')).toEqual({ message, errors: [error] })
      }
      const { answers } = await converse(own.port, ['no HTTP\r\n\r\n'])
      expect(JSON.parse(answers[0]?.body ?? '').message).toMatch(/well-formed/)
    } finally {
      own.close()
    }
  })

  test('an unknown method: 405 with Allow, also behind another request', async () => {
    const brew = `BREW /cars HTTP/1.1\r\nHost: ${served.host}\r\n\r\n`
    const { answers } = await converse(served.port, [
      `POST /nothing HTTP/1.1\r\nHost: ${served.host}\r\nContent-Length: 2\r\n\r\n{}${brew}`,
    ])
    expect(statusesOf(answers)).toEqual([404, 405])
    expect(answers[1]?.headers.allow).toBe('GET, QUERY, POST, PUT, HEAD, OPTIONS')
  })

  test.each(cases.filter(([name]) => !/^(?:no|HTTP|a preface|two hosts)/.test(name)))(
    '%s, its code suppressed',
    async (_, status, bytes) => {
      const sent = bytes(served.host).replace(/^(\w+ )(\S+)/, '$1$2?suppress_error_codes')
      const { answers } = await converse(served.port, [sent])
      expect(answers.map(answer => answer.status)).toEqual([200])
      expect(JSON.parse(answers[0]?.body ?? '').errors[0].code).toBe(status)
    },
  )
})

describe('slow and broken clients', () => {
  /** Writes a byte now and then, for as long as it is let. */
  function trickle(socket: Socket, bytes: string): void {
    let at = 0
    const timer = setInterval(() => {
      if (at < bytes.length && socket.writable) socket.write(bytes[at++] ?? '')
    }, 40)
    socket.on('close', () => clearInterval(timer))
  }

  test('a head that never ends: 408', async () => {
    const { answers, ended } = await converse(served.port, socket => {
      socket.write(`GET /cars HTTP/1.1\r\nHost: ${served.host}\r\n`)
      trickle(socket, 'X-A: b\r\n'.repeat(1000))
    })
    expect(statusesOf(answers)).toEqual([408])
    expect(ended).toBe(true)
  })

  test('a connection without a request is ended without a response', async () => {
    const { answers, rest, ended } = await converse(served.port, [])
    expect([answers, rest, ended]).toEqual([[], '', true])
  })

  test('a body that never ends: 408', async () => {
    const { answers, ended } = await converse(served.port, socket => {
      socket.write(post('Content-Length: 100000', '{'))
      trickle(socket, ' '.repeat(1000))
    })
    expect(statusesOf(answers)).toEqual([408])
    expect(answers[0]?.headers.connection).toBe('close')
    expect(ended).toBe(true)
    await expectGood()
  })

  test('a body in many small but fast pieces is accepted', async () => {
    const body = JSON.stringify({
      immatriculation: 'S-1',
      color: 'red',
      tags: Array(2000).fill('x'),
    })
    const { answers } = await converse(served.port, socket => {
      socket.write(post(`Connection: close\r\nContent-Length: ${body.length}`, ''))
      for (let at = 0; at < body.length; at += 100) socket.write(body.slice(at, at + 100))
    })
    expect(statusesOf(answers)).toEqual([201])
    await made.api.collection(made.cars).delete(JSON.parse(answers[0]?.body ?? '').id)
  })

  test('300 hanging connections do not delay a good request', async () => {
    const sockets = Array.from({ length: 300 }, (_, at) => {
      const socket = connect(served.port, '127.0.0.1').on('error', () => undefined)
      socket.write(at % 2 ? 'GET /cars HTTP/1.1\r\nX:' : post('Content-Length: 5000', '{'))
      return socket
    })
    try {
      await Promise.all(
        sockets.map(socket => new Promise(resolve => socket.once('connect', resolve))),
      )
      const { answers } = await converse(
        served.port,
        [get(`/cars/${id}`, 'Connection: close\r\n')],
        { enough: all => all.length === 1 },
      )
      expect(statusesOf(answers)).toEqual([200])
      await Promise.all(
        sockets.map(socket => new Promise(resolve => socket.resume().once('close', resolve))),
      )
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })

  test('a client that closes its half within a request: 400', async () => {
    const { answers, ended } = await converse(served.port, socket => {
      socket.write(post('Content-Length: 100', '{"immatriculation":'))
      socket.end()
    })
    expect(statusesOf(answers)).toEqual([400])
    expect(ended).toBe(true)
    await expectGood()
  })

  test('a client that closes its half after a whole request gets its response', async () => {
    const { answers } = await converse(served.port, socket => socket.end(get(`/cars/${id}`)))
    expect(statusesOf(answers)).toEqual([200])
  })

  describe('a client that closes its half while a store works', () => {
    const aborted: boolean[] = []
    const store = memoryStore()
    /** Answers later, unless the client is gone by then. */
    const later = async ({ signal }: StoreOptions = {}) => {
      await new Promise(resolve => setTimeout(resolve, 50))
      aborted.push(signal?.aborted === true)
      signal?.throwIfAborted()
    }
    let slow: Served
    let handler: Api['handler']
    beforeAll(async () => {
      const slowly: Store = {
        ...store,
        find: async (ids, options) => {
          await later(options)
          return store.find(ids, options)
        },
        write: async (changes, options) => {
          await later(options)
          return store.write(changes, options)
        },
      }
      const notes = defineCollection({
        name: 'notes',
        schema: z.object({ id: z.string() }),
        store: slowly,
      })
      handler = defineApi({ collections: [notes], onError: () => undefined }).handler
      slow = await serve(handler)
      await createOne(store, { id: 'a' })
    })
    afterAll(() => slow.close())
    beforeEach(() => {
      aborted.length = 0
    })

    const read = (version: string, more = '') =>
      `GET /notes/a HTTP/${version}\r\nHost: x\r\n${more}\r\n`
    const write = (name: string) => {
      const body = `{"id":"${name}"}`
      return `POST /notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    }

    test.each<[string, string, number[]]>([
      ['a GET with Connection: close', read('1.1', 'Connection: close\r\n'), [200]],
      ['a GET of HTTP/1.0', read('1.0'), [200]],
      ['a POST', write('b'), [201]],
      ['a POST and a GET behind it', write('c') + read('1.1'), [201, 200]],
    ])('%s is answered, and the connection ends', async (_, sent, statuses) => {
      const { answers, ended } = await converse(slow.port, socket => socket.end(sent))
      expect([statusesOf(answers), ended]).toEqual([statuses, true])
      expect(aborted).not.toContain(true)
    })

    test('over TLS too, where the server allows connections that are half open', async () => {
      const options = { ...createIdentity(), allowHalfOpen: true }
      const server = harden(createTlsServer(options, handler)).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      let answer = ''
      socket.on('data', bytes => {
        answer += bytes
      })
      await once(socket, 'secureConnect')
      socket.end(read('1.1', 'Connection: close\r\n'))
      await once(socket, 'close')
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      server.close()
    })

    test('a GET that keeps the connection is ended: it looks like a browser that left', async () => {
      const { answers, ended } = await converse(slow.port, socket => socket.end(read('1.1')))
      expect([answers, ended]).toEqual([[], true])
      await vi.waitUntil(() => aborted.length > 0, 60_000)
      expect(aborted).toEqual([true])
    })

    test('an idle connection is ended', async () => {
      const { answers, ended } = await converse(slow.port, socket => {
        socket.write(read('1.1'))
        socket.once('data', () => socket.end())
      })
      expect([statusesOf(answers), ended]).toEqual([[200], true])
    })
  })

  test('a client that goes away in the middle of a body leaves nothing and fails nothing', async () => {
    for (let round = 0; round < 20; round++) {
      const socket = connect(served.port, '127.0.0.1').on('error', () => undefined)
      const closed = new Promise(resolve =>
        served.server.once('connection', one => one.once('close', resolve)),
      )
      socket.write(post('Content-Length: 100000', '{"immatriculation":"GONE"'))
      await new Promise(resolve => served.server.once('request', resolve))
      socket.resetAndDestroy()
      await closed
    }
    expect(await made.api.collection(made.cars).count()).toBe(3)
    await expectGood()
  })

  test('the error response to a large body can be read, and ends the connection', async () => {
    const { answers, ended } = await converse(served.port, socket => {
      socket.write(post('Content-Length: 50000000', ''))
      const chunk = Buffer.alloc(64 * 1024, 0x20)
      const more = () => {
        while (socket.writable && socket.write(chunk));
      }
      socket.on('drain', more)
      more()
    })
    expect(statusesOf(answers)).toEqual([413])
    expect(ended).toBe(true)
    await expectGood()
  })

  test('a client that waits for 100 Continue gets the error or the 100 before its body', async () => {
    const ask = (length: number, path: string) =>
      new Promise<{ status: number; continued: boolean }>((resolve, reject) => {
        let continued = false
        const sent = httpRequest({
          port: served.port,
          path,
          method: 'POST',
          headers: {
            expect: '100-continue',
            'content-type': 'application/json',
            'content-length': length,
          },
        })
        sent.on('continue', () => {
          continued = true
          sent.end(' '.repeat(length - 2).concat('{}'))
        })
        sent.on('response', response => {
          response.resume()
          sent.destroy()
          resolve({ status: response.statusCode ?? 0, continued })
        })
        sent.on('error', reject)
        sent.flushHeaders()
      })
    expect(await ask(20, '/nothing')).toEqual({ status: 404, continued: false })
    expect(await ask(900_000, '/cars')).toEqual({ status: 413, continued: false })
    expect(await ask(20, '/cars')).toEqual({ status: 400, continued: true })
  })
})

describe('harden', () => {
  test('must come before listen, with valid times', () => {
    expect(() => harden(served.server)).toThrow(TypeError)
    for (const timeout of [0, -1, 1.5, Number.NaN]) {
      expect(() => harden(served.server, { timeout })).toThrow(TypeError)
    }
  })

  test('ends a TLS handshake that does not end, and keeps the connections after theirs', async () => {
    const identity = createIdentity()
    const server = harden(createTlsServer(identity, made.api.handler), { headersTimeout: 100 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // A TCP server's address is an object.
    const good = connectTls({ port, host: '127.0.0.1', ca: identity.cert, servername: 'localhost' })
    await once(good, 'secureConnect')
    const answer = async () => {
      good.write(`GET /cars/${id} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      return String((await once(good, 'data'))[0]).split('\r\n', 1)[0]
    }
    expect(await answer()).toBe('HTTP/1.1 200 OK')
    const slow = await converse(port, socket => {
      // The head of a record of 512 bytes, then byte after byte of it.
      socket.write(Buffer.from([22, 3, 1, 2, 0]))
      const drip = setInterval(() => socket.write('x'), 20)
      socket.on('close', () => clearInterval(drip))
    })
    expect(slow.ended).toBe(true)
    expect(await answer()).toBe('HTTP/1.1 200 OK')
    good.destroy()
    server.close()
  })
})
