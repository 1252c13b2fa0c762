// Fair turns: between queued requests, and between the pieces of streams, others are answered. Passes of
// the event loop are counted, not time.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'
import { converse, type Served, serve } from './wire.ts'

let served: Served
/** How often the event loop was passed. */
let passes = 0
/** In which pass each request or piece began. */
let begun: number[] = []
let ticking = false

const PIECES = 40

async function* pieces<T>(piece: T): AsyncGenerator<T> {
  for (let n = 0; n < PIECES; n++) {
    begun.push(passes)
    yield piece
  }
}

beforeEach(async () => {
  const store = memoryStore()
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: {
      ...store,
      async *stream(query, options) {
        for await (const batch of store.stream(query, options)) yield* pieces(batch)
      },
    },
    id: 'integer',
    blobs: { ...memoryBlobs(), get: async () => pieces(Buffer.from('x')) },
    hooks: { before: ({ operation }) => void (operation === 'count' && begun.push(passes)) },
  })
  const api = defineApi({ collections: [photos] })
  const data = Buffer.from('x'.repeat(PIECES)).toString('base64')
  await api.collection(photos).create({ photo: { data } })
  served = await serve(api.handler)
  begun = []
  ticking = true
  const tick = () => {
    passes++
    if (ticking) setImmediate(tick)
  }
  tick()
})
afterEach(() => {
  ticking = false
  return served.close()
})

const get = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: ${served.host}\r\n${more}\r\n`
const last = (path: string) => get(path, 'Connection: close\r\n')

test('each queued request of all connections has a pass of its own', async () => {
  const request = '/photos/count'
  const all = await Promise.all(
    [1, 2, 3].map(() => converse(served.port, [get(request).repeat(39) + last(request)])),
  )
  expect(all.map(({ answers }) => answers.length)).toEqual([40, 40, 40])
  // The first of a connection waits for nobody, and one more finds nobody in the line.
  expect(new Set(begun).size).toBeGreaterThanOrEqual(3 * 39 - 1)
})

test.each([
  ['NDJSON', '/photos.ndjson'],
  ['CSV', '/photos.csv'],
  ['a content', '/photos/1/photo'],
])('each piece of all streams has a pass of its own: %s', async (_, path) => {
  const all = await Promise.all([1, 2, 3].map(() => converse(served.port, [last(path)])))
  for (const { answers } of all) expect(answers.map(({ status }) => status)).toEqual([200])
  expect(begun.length).toBe(3 * PIECES)
  // The first two of a stream share a pass; one finds nobody in the line, and two passes may meet.
  expect(new Set(begun).size).toBeGreaterThanOrEqual(3 * (PIECES - 1) - 2)
})

test('new connections come before the next queued request of an old one', async () => {
  const queued = converse(served.port, [get('/photos/count').repeat(499) + last('/photos/count')])
  while (begun.length < 10) await new Promise(resolve => setImmediate(resolve))
  const before = begun.length
  const others = await Promise.all(
    Array.from({ length: 50 }, () => converse(served.port, [last('/photos')])),
  )
  for (const { answers } of others) expect(answers.map(({ status }) => status)).toEqual([200])
  // In a pass of its own each accepts one, and would have come behind a request of the old one.
  expect(begun.length - before).toBeLessThan(40)
  expect((await queued).answers.length).toBe(500)
})

test('others are answered one after another while requests are queued', async () => {
  const queued = converse(served.port, [get('/photos/count').repeat(499) + last('/photos/count')])
  let done = false
  queued.finally(() => {
    done = true
  })
  let others = 0
  while (!done) {
    const { answers } = await converse(served.port, [last('/photos')])
    expect(answers.map(({ status }) => status)).toEqual([200])
    others++
  }
  expect((await queued).answers.length).toBe(500)
  expect(others).toBeGreaterThan(10)
})
