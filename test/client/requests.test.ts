// What goes over the line: new tokens for expired ones, headers of calls, equal reads as one, and lost lines.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  ConnectionError,
  createClient,
  HttpError,
  type ReceivedResponse,
  type SendOptions,
} from '../../src/client/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { serve } from './line.ts'

const cars = defineCollection({
  name: 'cars',
  schema: z.object({ price: z.int() }),
  store: memoryStore(),
  id: 'integer',
  actions: { honk: { on: 'item', run: () => ({}) } },
})
const api = defineApi({ collections: { cars } })

interface Requested {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
}

let answer: (request: IncomingMessage, response: ServerResponse) => unknown
let requests: Requested[]
let server: Awaited<ReturnType<typeof serve>>
beforeEach(async () => {
  requests = []
  answer = (_, response) => response.end('{"id":1,"count":1}')
  server = await serve((request, response) => {
    const { method, url, headers } = request
    requests.push({ method, url, headers })
    answer(request, response)
  })
})
afterEach(() => server.close())
const open = (options: SendOptions = {}) => createClient<typeof api>(server.url, options).cars

const pause = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds))

describe('a token that expired', () => {
  /** A server that takes one token. */
  const takes = (token: () => string) => {
    answer = ({ headers }, response) => {
      const fits = headers.authorization === token()
      response.writeHead(fits ? 200 : 401)
      response.end(fits ? '{"id":1,"count":1}' : '{"errors":[{"message":"No","code":401}]}')
    }
  }
  /** The tokens of a program, which are renewed with a number. */
  function tokens() {
    const state = { token: 'Bearer 0', renewed: 0, onRenewal: () => {} }
    const auth = async ({ retry }: { readonly retry: boolean }) => {
      if (!retry) return state.token
      state.renewed++
      await pause(5)
      state.onRenewal()
      await pause(30)
      state.token = `Bearer ${Number(state.token.slice(7)) + 1}`
      return state.token
    }
    return { state, auth }
  }

  test('is renewed once for all requests that wait, writes included, and each is sent once more', async () => {
    const { state, auth } = tokens()
    takes(() => 'Bearer 1')
    const cars = open({ auth })
    const late = new Promise(resolve => {
      state.onRenewal = () => resolve(cars.read(9))
    })
    await Promise.all([
      ...Array.from({ length: 6 }, (_, id) => cars.read(id)),
      cars.patch(1, { price: 1 }),
      cars.honk(1),
      late,
    ])
    expect(state.renewed).toBe(1)
    const keys = requests.flatMap(({ headers }) => headers['idempotency-key'] ?? [])
    expect([keys.length, new Set(keys).size]).toEqual([4, 2])
    expect(requests.filter(({ url }) => url === '/cars/9')).toHaveLength(1)
    // Later, when the new one has expired as well.
    takes(() => 'Bearer 2')
    await Promise.all([cars.read(1), cars.read(2)])
    expect(state.renewed).toBe(2)
  })

  test('that is refused again, or is the same, is the 401', async () => {
    const { state, auth } = tokens()
    takes(() => 'Bearer never')
    await expect(open({ auth }).read(1)).rejects.toMatchObject({ name: 'HttpError', status: 401 })
    expect([state.renewed, requests.length]).toEqual([1, 2])
    requests = []
    await expect(open({ auth: () => 'Bearer same' }).read(1)).rejects.toMatchObject({ status: 401 })
    await expect(open({ auth: 'Bearer text' }).read(1)).rejects.toMatchObject({ status: 401 })
    await expect(open().read(1)).rejects.toMatchObject({ status: 401 })
    expect(requests).toHaveLength(3)
  })

  test('that cannot be renewed ends the calls with the error of the program, and the next call tries again', async () => {
    takes(() => 'Bearer 1')
    const wrong = new Error('Sign in')
    let token: string | undefined
    const cars = open({
      auth: ({ retry }) => {
        if (!retry) return 'Bearer 0'
        if (token === undefined) throw wrong
        return token
      },
    })
    const calls = await Promise.allSettled([cars.read(1), cars.read(2), cars.patch(1, {})])
    expect(calls.map(each => each.status === 'rejected' && each.reason)).toEqual([
      wrong,
      wrong,
      wrong,
    ])
    token = 'Bearer 1'
    expect(await cars.read(1)).toMatchObject({ id: 1 })
  })
})

describe('headers of a call', () => {
  test('go with it, whatever it is, and keep what the client needs', async () => {
    const headers = { 'Accept-Language': 'fr', Prefer: 'x', 'Idempotency-Key': 'mine' }
    const cars = open({ auth: 'Bearer a' })
    await cars.read(1, { headers })
    await cars.count({}, { headers })
    await cars.create({ price: 1 }, { headers })
    await cars.honk(1, { headers })
    await cars.delete(1, { headers: { authorization: 'Bearer b' } })
    answer = (_, response) => response.end('[]')
    await cars.list({}, { headers }).toArray()
    await cars.list({}, { headers }).page()
    await cars.list({}, { headers }).first()
    expect(requests.map(({ headers }) => headers['accept-language'])).toEqual([
      ...['fr', 'fr', 'fr', 'fr', '*', 'fr', 'fr', 'fr'],
    ])
    expect(requests[2]?.headers).toMatchObject({
      'idempotency-key': 'mine',
      prefer: 'return=representation',
      authorization: 'Bearer a',
    })
    expect(requests[4]?.headers.authorization).toBe('Bearer b')
  })

  test('tell replies in the cache apart', async () => {
    answer = ({ headers }, response) => {
      const language = headers['accept-language']
      response.setHeader('etag', `"${language}"`)
      if (headers['if-none-match'] === `"${language}"`) return response.writeHead(304).end()
      return response.end(JSON.stringify({ id: 1, language }))
    }
    const cars = open()
    for (const language of ['fr', 'de', 'fr']) {
      const read = cars.read(1, { headers: { 'accept-language': language } })
      expect(await read).toMatchObject({ language })
    }
  })
})

test('each response is told of, those of failed attempts too', async () => {
  let count = 0
  answer = (_, response) => response.writeHead(count++ ? 200 : 503, { limit: '7' }).end('{"id":1}')
  const seen: ReceivedResponse[] = []
  const bodies: Promise<string>[] = []
  const cars = open({
    onResponse: received => {
      seen.push(received)
      bodies.push(received.response.clone().text())
    },
  })
  await cars.read(1)
  const url = `${server.url}/cars/1`
  expect(seen.map(({ method, url, response }) => [method, url, response.status])).toEqual([
    ['GET', url, 503],
    ['GET', url, 200],
  ])
  expect(await Promise.all(bodies)).toEqual(['{"id":1}', '{"id":1}'])
})

describe('equal reads at the same moment', () => {
  const slow = () => {
    answer = (_, response) => void setTimeout(() => response.end('{"id":1,"count":1}'), 40)
  }

  test('are one request, with one item', async () => {
    slow()
    const cars = open()
    const [one, two, three] = await Promise.all([cars.read(1), cars.read(1), cars.read(1)])
    expect(one).toBe(two)
    expect(one).toBe(three)
    await Promise.all([cars.count(), cars.count(), cars.read(1)])
    expect(requests).toHaveLength(3)
  })

  test('but not where a token, a header, a format or a query differs, nor of writes', async () => {
    slow()
    let token = 0
    const cars = open({ auth: () => `Bearer ${token}` })
    const calls: Promise<unknown>[] = [cars.read(1)]
    await pause(5)
    token = 1
    calls.push(cars.read(1), cars.read(1, { headers: { a: 'b' } }), cars.read(2))
    calls.push(cars.patch(1, {}), cars.patch(1, {}))
    await Promise.all(calls)
    expect(requests).toHaveLength(6)
  })

  test('nor where a write of the client was answered since the first began', async () => {
    let price = 0
    answer = ({ method }, response) => {
      const text = JSON.stringify({ id: 1, price: method === 'PATCH' ? ++price : price })
      setTimeout(() => response.end(text), method === 'PATCH' ? 20 : 80)
    }
    const cars = open()
    const before = cars.read(1)
    await pause(5)
    const write = cars.patch(1, {})
    const during = cars.read(1)
    await write
    const after = await Promise.all([cars.read(1), cars.read(1)])
    expect([await before, await during, ...after]).toMatchObject([
      ...[{ price: 0 }, { price: 0 }, { price: 1 }, { price: 1 }],
    ])
    expect(requests.map(({ method }) => method)).toEqual(['GET', 'PATCH', 'GET'])
  })

  test('end each by its own signal, and the request with the last', async () => {
    const closed = new Promise<void>(resolve => {
      answer = (_, response) => void response.on('close', resolve).write('{')
    })
    const cars = open()
    const controllers = [new AbortController(), new AbortController()]
    const calls = controllers.map(({ signal }) => cars.read(1, { signal }))
    await pause(30)
    const gone = new Error('gone')
    controllers[0]?.abort(gone)
    await expect(calls[0]).rejects.toBe(gone)
    let isOver = false
    void closed.then(() => {
      isOver = true
    })
    await pause(30)
    expect(isOver).toBe(false)
    controllers[1]?.abort(gone)
    await expect(calls[1]).rejects.toBe(gone)
    await closed
    // It is over: nobody joins it.
    answer = (_, response) => response.end('{"id":1}')
    expect(await cars.read(1)).toEqual({ id: 1 })
    expect(requests).toHaveLength(2)
  })

  test('by a fetch that may tell callers apart are one only if it is said', async () => {
    slow()
    const own: SendOptions = { fetch: (url, init) => fetch(url, init) }
    const [several, one] = [open(own), open({ ...own, join: true })]
    await Promise.all([several.read(1), several.read(1)])
    expect(requests.splice(0)).toHaveLength(2)
    await Promise.all([one.read(1), one.read(1)])
    expect(requests).toHaveLength(1)
  })
})

describe('a lost line', () => {
  test('is a ConnectionError that says so, with what fetch threw', async () => {
    answer = ({ socket }) => socket.destroy()
    for (const call of [
      () => open({ retries: 0 }).read(1),
      () => open({ retries: 0 }).patch(1, {}),
    ]) {
      const error: unknown = await call().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ConnectionError)
      expect(error).not.toBeInstanceOf(HttpError)
      expect(error).toMatchObject({
        name: 'ConnectionError',
        message: expect.stringMatching(/^No response from http:.*: other side closed$/),
        cause: expect.any(TypeError),
      })
    }
  })

  test('in the middle of a body is one too', async () => {
    answer = ({ socket }, response) => {
      response.write('{"id":')
      setTimeout(() => socket.destroy(), 20)
    }
    await expect(open({ retries: 1 }).read(1)).rejects.toThrow(ConnectionError)
    expect(requests).toHaveLength(2)
  })

  test('is no error of a program: what auth and onResponse throw comes out as it is, at once', async () => {
    const own = new TypeError('mine')
    const fail = () => {
      throw own
    }
    await expect(open({ auth: fail }).read(1)).rejects.toBe(own)
    expect(requests).toHaveLength(0)
    await expect(open({ onResponse: fail }).read(1)).rejects.toBe(own)
    expect(requests).toHaveLength(1)
  })
})
