// Streamed answers, lists and contents: what fails before they begin is answered like any failure, what
// fails later breaks them off; `onError` is told of either.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  type Store,
} from '../src/index.ts'
import { parseLink } from '../src/rules/index.ts'
import { UnavailableError } from '../src/store-authors/index.ts'
import { HANDLER_NAMES, listen, openHandler } from './handlers.ts'

/** Photos, two of them, with contents of five bytes. */
async function photosApi({ stream, get }: { stream?: Store['stream']; get?: BlobStore['get'] }) {
  const failures: unknown[] = []
  const store = memoryStore()
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: { ...store, ...(stream && { stream }) },
    id: 'integer',
    blobs: { ...memoryBlobs(), ...(get && { get }) },
  })
  const api = defineApi({ collections: [photos], onError: error => failures.push(error) })
  for (const data of ['aGVsbG8=', 'd29ybGQ=']) {
    await api.collection(photos).create({ photo: { data } })
  }
  return { api, failures }
}

const lost = new Error('The disk is gone')
const down = new UnavailableError('The database is down')

async function* failing<T>(error: Error, ...first: T[]): AsyncGenerator<T> {
  yield* first
  throw error
}

const HE = Buffer.from('he')
const LIST = '/photos.ndjson'
const CONTENT = '/photos/1/photo'

describe.each(HANDLER_NAMES)('through %s', name => {
  test.each<[string, string, Parameters<typeof photosApi>[0], number, unknown]>([
    ['a list whose store fails', LIST, { stream: () => failing(lost) }, 500, lost],
    [
      'a list whose store is down',
      '/photos.csv',
      { stream: () => failing(down) },
      503,
      expect.objectContaining({ status: 503 }),
    ],
    ['a content that fails', CONTENT, { get: async () => failing(lost) }, 500, lost],
    ['a content that cannot be had', CONTENT, { get: () => Promise.reject(lost) }, 500, lost],
    ['a stream that fails', CONTENT, { get: async () => Readable.from(failing(lost)) }, 500, lost],
    [
      'a content of nothing',
      CONTENT,
      { get: async () => Readable.from([]) },
      500,
      expect.objectContaining({ message: 'A content of 5 bytes came with 0' }),
    ],
    [
      'a content that is longer',
      CONTENT,
      { get: async () => Readable.from([Buffer.from('hello, world')]) },
      500,
      expect.objectContaining({ message: 'A content of 5 bytes came with 12 or more' }),
    ],
  ])('before it begins: %s', async (_, path, broken, status, failure) => {
    const { api, failures } = await photosApi(broken)
    const handler = await openHandler(name, api)
    const answer = await handler.request(path)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      status,
      path.endsWith('.csv') ? 'text/csv; charset=utf-8' : expect.stringContaining('json'),
    ])
    expect(failures).toEqual([failure])
    await handler.close()
  })

  test('a content that is gone is a 404 and not reported as a failure', async () => {
    const { api, failures } = await photosApi({ get: async () => undefined })
    const handler = await openHandler(name, api)
    expect((await handler.request(CONTENT)).status).toBe(404)
    expect(failures).toEqual([])
    await handler.close()
  })

  test.each<[string, string, Parameters<typeof photosApi>[0], unknown]>([
    [
      'a list',
      LIST,
      {
        async *stream() {
          yield [{ id: 1, item: { id: 1 }, version: 'a' }]
          throw lost
        },
      },
      lost,
    ],
    ['a content', CONTENT, { get: async () => failing(lost, HE) }, lost],
    [
      'a content that is shorter',
      CONTENT,
      { get: async () => Readable.from([HE]) },
      expect.objectContaining({ message: 'A content of 5 bytes came with 2' }),
    ],
    [
      'a content that is longer',
      CONTENT,
      { get: async () => Readable.from([HE, Buffer.from('llo, world')]) },
      expect.objectContaining({ message: 'A content of 5 bytes came with 12 or more' }),
    ],
  ])('after it has begun, %s is broken off', async (_, path, broken, failure) => {
    const { api, failures } = await photosApi(broken)
    const handler = await openHandler(name, api)
    await expect(handler.request(path)).rejects.toThrow()
    expect(failures).toEqual([failure])
    await handler.close()
  })
})

test('a content of another length does not put the connection out of step', async () => {
  const { api } = await photosApi({ get: async () => Readable.from([HE]) })
  const { port, close } = await listen(api.handler)
  const socket = connect(port, '127.0.0.1')
  const get = `GET ${CONTENT} HTTP/1.1\r\nHost: a\r\n\r\n`
  socket.write(get + get)
  const answers = await text(socket).catch(() => '')
  expect(answers.match(/HTTP\/1\.1/g) ?? []).not.toHaveLength(2)
  await close()
})

describe('a list that breaks off in HTTP/1.0, where the end of the connection ends the body', () => {
  const request = `GET ${LIST} HTTP/1.0\r\nHost: a\r\n\r\n`
  const broken = () =>
    photosApi({
      async *stream() {
        yield [{ id: 1, item: { id: 1 }, version: 'a' }]
        throw lost
      },
    })

  test('resets the connection, since closing it would make the list look whole', async () => {
    const { api } = await broken()
    const { port, close } = await listen(api.handler)
    const socket = connect(port, '127.0.0.1').end(request)
    await expect(text(socket)).rejects.toThrow('ECONNRESET')
    await close()
  })

  test.skipIf(process.platform === 'win32')('closes what knows no reset', async () => {
    const { api, failures } = await broken()
    const path = join(await mkdtemp(join(tmpdir(), 'streamed-')), 'socket')
    const server = createServer(api.handler).listen(path)
    await once(server, 'listening')
    expect(await text(connect(path).end(request))).toContain('{"id":1}')
    expect(failures).toEqual([lost])
    server.close()
    await rm(dirname(path), { recursive: true })
  })
})

test.each<[string, string, number, string | null]>([
  ['whole where no page is named', '', 250, null],
  ['whole, sorted and filtered', '?sort=-n&n[lt]=240', 240, null],
  ['a page by limit', '?limit=3', 3, '0-2/250'],
  ['a page by offset', '?offset=248&limit=100', 2, '248-249/250'],
  ['no items', '?limit=0', 0, '*/250'],
])('a list of a streaming format is %s', async (_, query, count, range) => {
  const schema = z.object({ n: z.int() })
  const lines = defineCollection({ name: 'lines', schema, store: memoryStore() })
  const api = defineApi({ collections: [lines] })
  for (let n = 0; n < 250; n++) await api.collection(lines).create({ n })
  for (const [extension, head] of [
    ['ndjson', 0],
    ['csv', 1],
  ] as const) {
    const answer = await api.fetch(new Request(`http://api.test/lines.${extension}${query}`))
    expect((await answer.text()).split('\n')).toHaveLength(head + count + 1)
    expect(answer.headers.get('content-range')).toBe(range && `lines ${range}`)
  }
})

test('an opened body is closed if its head cannot be sent', async () => {
  let ended = 0
  const { api } = await photosApi({
    async *stream() {
      try {
        yield [{ id: 1, item: { id: 1 }, version: 'a' }]
        yield []
      } finally {
        ended++
      }
    },
  })
  const { base, close } = await listen((request, response) => {
    // As a host server does whose patience ended.
    setImmediate(() => api.handler(request, response))
    response.writeHead(504).write('too late')
  })
  await fetch(base + LIST)
    .then(answer => answer.text())
    .catch(() => '')
  await vi.waitFor(() => expect(ended).toBe(1), 60_000)
  await close()
})

test('a small content is always closed, read or not', async () => {
  let ended = 0
  const get: BlobStore['get'] = async () =>
    (async function* () {
      try {
        yield Buffer.from('hello')
      } finally {
        ended++
      }
    })()
  const { api } = await photosApi({ get })
  const answer = await api.fetch(new Request(`http://api.test${CONTENT}`))
  expect([answer.status, ended]).toEqual([200, 1])
  expect(await answer.text()).toBe('hello')
})

test('the first page of a streaming format is a page', async () => {
  const schema = z.object({ n: z.int() })
  const lines = defineCollection({ name: 'lines', schema, store: memoryStore(), defaultLimit: 2 })
  const api = defineApi({ collections: [lines] })
  for (const n of [1, 2, 3]) await api.collection(lines).create({ n })
  const json = await api.fetch(new Request('http://api.test/lines'))
  const links = parseLink(json.headers.get('link') ?? '')
  const next = links.find(({ rel }) => rel === 'next')?.href ?? ''
  const csv = await api.fetch(new Request(next, { headers: { accept: 'text/csv' } }))
  const first = parseLink(csv.headers.get('link') ?? '').find(({ rel }) => rel === 'first')
  expect(first?.href).toBe('http://api.test/lines?offset=0')
})

test.each(['csv', 'ndjson'])(
  'a %s stream that waits for its store holds no items',
  async format => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void // the flag has made it
    let ask = () => {}
    let answer = () => {}
    const asked = new Promise<void>(resolve => {
      ask = resolve
    })
    const answered = new Promise<void>(resolve => {
      answer = resolve
    })
    const held: WeakRef<object>[] = []
    const schema = z.object({ n: z.int() })
    const makeBatch = () => {
      const item = { id: '1', n: 1 }
      held.push(new WeakRef(item))
      return [{ id: '1', item, version: 'a' }]
    }
    let batches = 0
    const stream: Store['stream'] = () => ({
      [Symbol.asyncIterator]: () => ({
        async next() {
          if (++batches === 1) return { done: false, value: makeBatch() }
          ask()
          await answered
          return { done: true, value: undefined }
        },
      }),
    })
    const store = { ...memoryStore(), stream }
    const api = defineApi({ collections: [defineCollection({ name: 'lines', schema, store })] })
    const { body } = await api.fetch(new Request(`http://api.test/lines.${format}`))
    const reader = body?.getReader()
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0)
    const end = reader?.read()
    await asked
    await new Promise(resolve => setImmediate(resolve))
    collectGarbage()
    expect(held.map(item => item.deref())).toEqual([undefined])
    answer()
    expect((await end)?.done).toBe(true)
  },
)
