import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { jsonServer } from '../../src/dialects/index.ts'
import { type Api, defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { harden, shutDown } from '../../src/node/index.ts'
import { Board } from './events.ts'

const schema = z.object({
  color: z.string(),
  price: z.number().default(1),
  note: z.string().optional(),
})

type Options = Partial<Parameters<typeof defineApi>[0]>

function serve(options: object = {}, api: Options = {}) {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema,
    store: memoryStore(),
    live: true,
    ...options,
  })
  const served = defineApi({ collections: { cars }, ...(api as object) })
  const resource = served.asSystem().collection(cars)
  return { served: served as unknown as Api, resource }
}

/** Both ways into an api. */
const WAYS = {
  fetch: async (api: Api) => (path: string, init: RequestInit) =>
    api.fetch(new Request(`http://api.example${path}`, init)),
  'a socket': async (api: Api) => {
    const server = harden(createServer(api.handler))
    await new Promise<void>(resolve => server.listen(0, resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    return (path: string, init: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
  },
}

const opener =
  (ask: (path: string, init: RequestInit) => Promise<Response>, path: string, more = {}) =>
  (headers: Record<string, string>, signal: AbortSignal) =>
    ask(path, { headers: { ...headers, ...more }, signal })

describe.each(Object.keys(WAYS) as (keyof typeof WAYS)[])('by %s', way => {
  test('a list is followed, and goes on where it ended', async () => {
    const { served, resource } = serve()
    const ask = await WAYS[way](served)
    await resource.create({ color: 'red' })
    await resource.create({ color: 'blue' })
    const board = new Board()
    const response = await board.connect(opener(ask, '/cars?color=red&fields=id,color'))
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      incremental: '?1',
    })
    await board.until(() => board.isReady)
    expect(board.events.map(({ event }) => event)).toEqual(['reset', 'items', 'ready'])
    expect([...board.items.values()]).toEqual([{ id: 1, color: 'red' }])
    await resource.create({ color: 'red' })
    await board.until(() => board.items.size === 2)
    await resource.patch(2, { color: 'red' })
    await board.until(() => board.items.size === 3)
    await resource.patch(1, { color: 'green' })
    await board.until(() => board.items.size === 2)
    await resource.delete(3)
    await board.until(() => board.items.size === 1)
    await board.disconnect()
    await resource.create({ color: 'red' })
    await resource.delete(2)
    const seen = board.events.length
    await board.connect(opener(ask, '/cars?color=red&fields=id,color'))
    await board.until(() => board.isReady)
    expect(board.events.slice(seen).map(({ event }) => event)).not.toContain('reset')
    expect([...board.items.values()]).toEqual([{ id: 4, color: 'red' }])
    await board.disconnect()
    await served.close()
  })

  test('an api that closes ends its streams', async () => {
    const { served } = serve()
    const board = new Board()
    await board.connect(opener(await WAYS[way](served), '/cars'))
    await board.until(() => board.isReady)
    await served.close()
    await board.ended
  })
})

test('a server that is shut down ends its streams in time', async () => {
  const { served } = serve()
  const server = harden(createServer(served.handler))
  await new Promise<void>(resolve => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  const board = new Board()
  await board.connect((headers, signal) =>
    fetch(`http://127.0.0.1:${port}/cars`, { headers, signal }),
  )
  await board.until(() => board.isReady)
  await shutDown(server, 60_000)
  await board.ended
  expect(board.events.at(-1)?.event).toBe('ready')
})

test.each([
  ['sort=color', 'sort', 'a live list has no order'],
  ['limit=5', 'limit', 'a live list has no pages'],
  ['offset=5', 'offset', 'a live list has no pages'],
  ['cursor=x', 'cursor', 'a live list has no pages'],
  ['include=maker', 'include', 'a live list has no related items'],
  ['q=red', 'q', 'a live list has no search'],
  ['maker.name=Audi', 'where', 'a live list has no filters through other collections'],
  ['fields=nothing', 'fields', 'Unknown field "nothing"'],
  ['colour=red', 'colour', 'colour'],
  ['price=red', 'price', 'price'],
])('?%s is a 400', async (query, field, why) => {
  const makers = defineCollection({
    name: 'makers',
    id: 'integer',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
  })
  const cars = defineCollection({
    name: 'cars',
    schema: schema.extend({ maker_id: z.int().optional() }),
    store: memoryStore(),
    references: { maker_id: 'makers' },
    search: ['color'],
    live: true,
  })
  const served = defineApi({ collections: { cars, makers }, dialects: [jsonServer] })
  for (const method of ['GET', 'HEAD']) {
    const headers = { Accept: 'text/event-stream' }
    const response = await served.fetch(
      new Request(`http://api.example/cars?${query}`, { method, headers }),
    )
    expect(response.status).toBe(400)
    const message = expect.stringContaining(why)
    if (method === 'GET')
      expect(await response.json()).toMatchObject({ errors: [{ field, message }] })
  }
})

test.each([['x'.repeat(8000)], ['8f2-4711'], ['.'], ['\u00e9'], ['0.0-0']])(
  'Last-Event-ID %j starts with reset',
  async id => {
    const { served } = serve()
    const board = new Board()
    board.last = id
    await board.connect((headers, signal) =>
      served.fetch(new Request('http://api.example/cars', { headers, signal })),
    )
    await board.until(() => board.isReady)
    expect(board.events[0]).toMatchObject({ event: 'reset', id: '' })
    await board.disconnect()
  },
)

test.each([
  ['If-None-Match', '*'],
  ['If-Match', '"x"'],
  ['If-Unmodified-Since', 'Sat, 01 Jan 2000 00:00:00 GMT'],
  ['Range', 'cars=0-1'],
])('%s: %s is nothing for a stream, and none is left open', async (name, value) => {
  const { served } = serve({}, { limits: { watchers: 1 } })
  for (let at = 0; at < 2; at++) {
    const headers = { Accept: 'text/event-stream', [name]: value }
    const response = await served.fetch(new Request('http://api.example/cars', { headers }))
    expect(response.status).toBe(200)
    await response.body?.cancel()
  }
})

test('each stream says when to come again, one that resumes too', async () => {
  const { served } = serve()
  const board = new Board()
  for (let at = 0; at < 2; at++) {
    let told = ''
    await board.connect(async (headers, signal) => {
      const init = { headers, signal }
      const { body } = await served.fetch(new Request('http://api.example/cars', init))
      const look = new TransformStream({
        transform(chunk: Uint8Array, controller) {
          told += Buffer.from(chunk)
          controller.enqueue(chunk)
        },
      })
      return new Response(body?.pipeThrough(look))
    })
    await board.until(() => board.isReady && /^retry: [123]\d{3}\n\n/.test(told))
    await board.disconnect()
  }
})

test('items have their ids, whatever fields names', async () => {
  const { served, resource } = serve()
  await resource.create({ color: 'red' })
  const board = new Board()
  const ask = await WAYS.fetch(served)
  await board.connect(opener(ask, '/cars?fields=color'))
  await board.until(() => board.isReady)
  expect([...board.items.values()]).toEqual([{ id: 1, color: 'red' }])
  await resource.delete(1)
  await board.until(() => board.items.size === 0)
  await board.disconnect()
})

test('suppress_error_codes holds for what is refused before a stream begins', async () => {
  const { served } = serve({}, { limits: { watchers: 1 } })
  const ask = (query: string) =>
    served.fetch(
      new Request(`http://api.example/cars?suppress_error_codes=true${query}`, {
        headers: { Accept: 'text/event-stream' },
      }),
    )
  const open = await ask('')
  expect([open.status, open.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  for (const [query, code] of [
    ['&sort=color', 400],
    ['', 503],
  ] as const) {
    const refused = await ask(query)
    expect(refused.status).toBe(code === 503 ? 500 : 200)
    expect(await refused.json()).toMatchObject({ errors: [{ code }] })
  }
  await open.body?.cancel()
})

test('streams take no place of the requests that run at once', async () => {
  const { served, resource } = serve({}, { limits: { concurrency: 1 } })
  const ask = await WAYS.fetch(served)
  const boards = [new Board(), new Board()]
  for (const board of boards) await board.connect(opener(ask, '/cars'))
  for (const board of boards) await board.until(() => board.isReady)
  expect((await ask('/cars', {})).status).toBe(200)
  await resource.create({ color: 'red' })
  for (const board of boards) {
    await board.until(() => board.items.size === 1)
    await board.disconnect()
  }
})

test('changes are read while somebody follows them, and not otherwise', async () => {
  const store = memoryStore()
  const { changes } = store
  let reads = 0
  const read = changes?.read.bind(changes)
  Object.assign(changes ?? {}, {
    listen: undefined,
    read(after: string, limit: number) {
      reads++
      return read?.(after, limit)
    },
  })
  const { served, resource } = serve({ store })
  const board = new Board()
  await board.connect(opener(await WAYS.fetch(served), '/cars'))
  await board.until(() => board.isReady)
  // Nobody wakes the reader: as if another process had written.
  await resource.create({ color: 'red' })
  await board.until(() => board.items.size === 1)
  await board.disconnect()
  await new Promise(resolve => setTimeout(resolve, 150))
  const before = reads
  await new Promise(resolve => setTimeout(resolve, 250))
  expect(reads).toBe(before)
})

test('middleware that does not say whether a client reads loses nothing', async () => {
  const { served, resource } = serve()
  const server = createServer((request, response) => {
    const write = response.write.bind(response)
    Object.assign(response, { write: (piece: string) => void write(piece) })
    served.handler(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/cars`
  await resource.create([{ color: 'red' }, { color: 'blue', note: 'n'.repeat(100_000) }])
  const board = new Board()
  await board.connect((headers, signal) => fetch(url, { headers, signal }))
  await board.until(() => board.isReady && board.items.size === 2)
  await resource.create({ color: 'red', note: 'n'.repeat(100_000) })
  await board.until(() => board.items.size === 3)
  await resource.delete(1)
  await board.until(() => board.items.size === 2)
  await board.disconnect()
  const rows = await (await fetch(`${url}.ndjson`)).text()
  expect(rows.trim().split('\n')).toHaveLength(2)
})

test('a store that fails once loses no change that it alone can judge', async () => {
  const store = memoryStore()
  Object.assign(store.changes ?? {}, { judges: () => true })
  let failures = 0
  const { served, resource } = serve({ store }, { onError: () => failures++ })
  const board = new Board()
  await board.connect(opener(await WAYS.fetch(served), '/cars?color=red'))
  await board.until(() => board.isReady)
  const { list } = store
  store.list = () => {
    store.list = list
    throw new Error('once')
  }
  await resource.create({ color: 'red' })
  await board.until(() => board.isReady && board.items.size === 1)
  expect(failures).toBe(1)
  await board.disconnect()
})

test('without live: true it is 406, and neither OPTIONS nor OpenAPI name the type', async () => {
  for (const live of [false, true]) {
    const { served } = serve({ live })
    const ask = (path: string, init?: RequestInit) =>
      served.fetch(new Request(`http://api.example${path}`, init))
    const headers = { Accept: 'text/event-stream' }
    const response = await ask('/cars', { headers, signal: AbortSignal.timeout(1000) })
    expect(response.status).toBe(live ? 200 : 406)
    await response.body?.cancel()
    expect((await ask('/cars/1', { headers })).status).toBe(406)
    const options = await (await ask('/cars', { method: 'OPTIONS' })).text()
    expect(options.includes('text/event-stream')).toBe(live)
    const document = await (await ask('/openapi.json')).text()
    expect(document.includes('text/event-stream')).toBe(live)
    expect((await ask('/cars', { method: 'HEAD', headers })).status).toBe(live ? 200 : 406)
  }
})

test('a list that is too long is a 400, and too many streams a 503', async () => {
  const { served, resource } = serve({}, { limits: { maxLive: 2, watchers: 1 } })
  const open = (path = '/cars') =>
    served.fetch(
      new Request(`http://api.example${path}`, { headers: { Accept: 'text/event-stream' } }),
    )
  const first = await open()
  expect(first.status).toBe(200)
  const second = await open()
  expect(second.status).toBe(503)
  expect(second.headers.get('retry-after')).toBe('1')
  await first.body?.cancel()
  for (const color of ['red', 'red', 'blue']) await resource.create({ color })
  const third = await open()
  expect(third.status).toBe(400)
  expect(await third.json()).toMatchObject({ errors: [{ type: 'too_many_live' }] })
  const narrow = await open('/cars?color=red')
  expect(narrow.status).toBe(200)
  await narrow.body?.cancel()
})

test('a client that does not read gets what it missed when it reads, and no list anew', async () => {
  const { served, resource } = serve()
  const response = await served.fetch(
    new Request('http://api.example/cars', { headers: { Accept: 'text/event-stream' } }),
  )
  await new Promise(resolve => setTimeout(resolve, 50))
  for (let at = 0; at < 40; at++) await resource.create({ color: 'red', note: 'n'.repeat(20_000) })
  for (let at = 2; at <= 40; at++) await resource.delete(at)
  await new Promise(resolve => setTimeout(resolve, 100))
  const board = new Board()
  await board.connect(async () => response)
  await board.until(() => board.isReady && board.items.size === 1)
  await resource.create({ color: 'blue' })
  await board.until(() => board.items.size === 2)
  const sent = JSON.stringify(board.events).length
  expect(sent).toBeLessThan(200_000)
  expect(board.events.filter(({ event }) => event === 'reset')).toHaveLength(1)
  await response.body?.cancel().catch(() => {})
})

describe('declarations', () => {
  const define = (options: object) => () =>
    defineCollection({ name: 'cars', schema, store: memoryStore(), live: true, ...options })
  const bare = () => ({ ...memoryStore() })
  test.each([
    [{ store: bare() }, /live: true needs a store that tells its changes/],
    [{ visible: { through: 'color' }, references: { color: 'cars' } }, /cannot follow visible/],
    [{ operations: ['read'] }, /needs the operation list/],
    [{ live: 'yes' }, /live must be/],
  ])('%j is a TypeError', (options, message) => {
    expect(define(options)).toThrow(TypeError)
    expect(define(options)).toThrow(message)
  })
})
