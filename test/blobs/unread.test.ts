// Answers that send no content, or whose client goes away: nothing of the content stays open.
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  type Hooks,
  memoryBlobs,
  memoryStore,
  type Store,
} from '../../src/index.ts'
import { UnavailableError } from '../../src/store-authors/index.ts'
import { HANDLER_NAMES, type Init, listen, openHandler } from '../handlers.ts'

const folders: string[] = []
afterEach(async () => {
  await Promise.all(folders.splice(0).map(folder => rm(folder, { recursive: true })))
})

async function folderBlobs(): Promise<BlobStore> {
  const folder = await mkdtemp(join(tmpdir(), 'unread-'))
  folders.push(folder)
  return fileBlobs(folder)
}

const SIZE = 512 * 1024

/** An api of one photo, its content at `/photos/1/photo`. */
async function photosApi(blobs: BlobStore, hooks: Hooks = {}, limits = { workTime: 60_000 }) {
  const schema = z.object({ photo: blob() })
  const photos = defineCollection({
    name: 'photos',
    schema,
    store: memoryStore(),
    id: 'integer',
    blobs,
    hooks,
  })
  const api = defineApi({ collections: [photos], limits, onError: () => {} })
  const body = new FormData()
  body.set('photo', new Blob(['x'.repeat(SIZE)]), 'a.txt')
  const made = await api.fetch(new Request('http://api.test/photos', { method: 'POST', body }))
  expect(made.status).toBe(201)
  return api
}

const PATH = '/photos/1/photo'
const descriptors = () => readdirSync('/proc/self/fd').length
const TIMES = 15

const UNSENT: [string, string, (tag: string) => Init, number][] = [
  ['HEAD', PATH, () => ({ method: 'HEAD' }), 200],
  ['304', PATH, tag => ({ headers: { 'if-none-match': tag } }), 304],
  ['304 to a range', PATH, tag => ({ headers: { 'if-none-match': tag, range: 'bytes=0-9' } }), 304],
  [
    '304 to a range behind the end',
    PATH,
    tag => ({ headers: { 'if-none-match': tag, range: 'bytes=9999999-' } }),
    304,
  ],
  [
    '412 to a range behind the end',
    PATH,
    () => ({ headers: { 'if-match': '"other"', range: 'bytes=9999999-' } }),
    412,
  ],
  ['412', PATH, () => ({ headers: { 'if-match': '"other"' } }), 412],
]

describe.each(HANDLER_NAMES)('through %s', name => {
  describe.runIf(existsSync('/proc/self/fd'))(`${TIMES} times`, () => {
    test.each(UNSENT)('%s leaves no descriptor', async (_what, path, init, status) => {
      const handler = await openHandler(name, await photosApi(await folderBlobs()))
      const whole = await handler.request(PATH)
      expect(whole.text).toHaveLength(SIZE)
      const tag = whole.headers.get('etag') ?? ''
      const before = descriptors()
      for (let time = 0; time < TIMES; time++) {
        expect((await handler.request(path, init(tag))).status).toBe(status)
      }
      await vi.waitFor(() => expect(descriptors()).toBeLessThanOrEqual(before + 5), 60_000)
      await handler.close()
    })

    test('a client that goes away leaves no descriptor', async () => {
      const api = await photosApi(await folderBlobs())
      const { port, close } = await listen(api.handler)
      const before = descriptors()
      for (let time = 0; time < TIMES; time++) {
        if (name === 'fetch') {
          const { body } = await api.fetch(new Request(`http://api.test${PATH}`))
          await body?.cancel()
          continue
        }
        const socket = connect(port, '127.0.0.1')
        await once(socket, 'connect')
        socket.write(`GET ${PATH} HTTP/1.1\r\nHost: a\r\n\r\n`)
        // Some go before the answer begins, some after.
        if (time % 2 === 0) await once(socket, 'data')
        socket.destroy()
      }
      await vi.waitFor(() => expect(descriptors()).toBeLessThanOrEqual(before + 5), 60_000)
      await close()
    })
  })

  test('a store’s own stream is destroyed where its client goes away, begun or not', async () => {
    const streams: Readable[] = []
    const kept = memoryBlobs()
    const get: BlobStore['get'] = async (key, range) => {
      const content = await kept.get(key, range)
      const stream = content && Readable.from(content)
      if (stream) streams.push(stream)
      return stream
    }
    const api = await photosApi({ ...kept, get }, { after: () => wait(20) })
    const { port, close } = await listen(api.handler)
    for (const begun of [true, false]) {
      if (name === 'fetch') {
        const { body } = await api.fetch(new Request(`http://api.test${PATH}`))
        if (begun) await body?.getReader().cancel()
        else await body?.cancel()
        continue
      }
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(`GET ${PATH} HTTP/1.1\r\nHost: a\r\n\r\n`)
      const count = streams.length
      if (begun) await once(socket, 'data')
      else await vi.waitFor(() => expect(streams.length).toBeGreaterThan(count), 60_000)
      socket.destroy()
    }
    await vi.waitFor(
      () => expect(streams.map(each => each.destroyed)).toEqual([true, true]),
      60_000,
    )
    await close()
  })
})

test('a write that outlasts its time keeps the content of what it stores', async () => {
  const blobs = memoryBlobs()
  const store = memoryStore()
  // As in a pool: what is under way comes to its end.
  const write: Store['write'] = async changes => {
    await wait(100)
    return store.write(changes)
  }
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: { ...store, write },
    id: 'integer',
    blobs,
  })
  const api = defineApi({ collections: [photos], limits: { workTime: 50 }, onError: () => {} })
  const body = new FormData()
  body.set('photo', new Blob(['abc']), 'a.txt')
  const late = await api.fetch(new Request('http://api.test/photos', { method: 'POST', body }))
  expect(late.status).toBe(503)
  await vi.waitFor(async () => {
    const answer = await api.fetch(new Request(`http://api.test${PATH}`))
    expect([answer.status, await answer.text()]).toEqual([200, 'abc'])
  }, 60_000)
})

test('a blob store that hangs while it removes keeps no answer waiting', async () => {
  const kept = memoryBlobs()
  const { fetch } = await photosApi({ ...kept, delete: () => new Promise(() => {}) })
  const body = new FormData()
  body.append('photo', new Blob(['abc']), 'a.txt')
  body.append('other', new Blob(['abc']), 'a.txt')
  const item = 'http://api.test/photos/1'
  const [refused, removed] = await Promise.all([
    fetch(new Request('http://api.test/photos', { method: 'POST', body })),
    fetch(new Request(item, { method: 'DELETE' })),
  ])
  expect([refused.status, removed.status]).toEqual([400, 200])
  expect((await fetch(new Request(item))).status).toBe(404)
})

describe('a blob store that stops reading an upload', () => {
  const upload = async (put: BlobStore['put']) => {
    const kept = memoryBlobs()
    const photos = defineCollection({
      name: 'photos',
      schema: z.object({ photo: blob() }),
      store: memoryStore(),
      blobs: { ...kept, put: (content, options) => put.call(kept, content, options) },
    })
    const api = defineApi({ collections: [photos], limits: { workTime: 50 }, onError: () => {} })
    const body = new FormData()
    body.set('photo', new Blob(['x'.repeat(SIZE)]), 'a.txt')
    const answer = await api.fetch(new Request('http://api.test/photos', { method: 'POST', body }))
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { errors: [expect.objectContaining({ type: 'work_too_slow' })] },
    ])
    return kept
  }

  test('before the first piece', async () => {
    let signal: AbortSignal | undefined
    await upload((_content, options) => {
      signal = options?.signal
      return new Promise(() => {})
    })
    expect(signal?.aborted).toBe(true)
  })

  test('after the first piece', async () => {
    await upload(async content => {
      for await (const _piece of content) await new Promise(() => {})
      throw new Error('There is a piece')
    })
  })

  test('and stores it later all the same: the content is removed', async () => {
    let done = false
    const blobs: BlobStore = await upload(async function (this: BlobStore, content) {
      const made = await this.put(content)
      await wait(200)
      done = true
      return made
    })
    await vi.waitFor(() => expect(done).toBe(true), 60_000)
    const keys: string[] = []
    for await (const { key } of blobs.keys()) keys.push(key)
    expect(keys).toEqual([])
  })
})

test('a blob store gets the signal of a program that has given up before the call', async () => {
  const wasAborted: (boolean | undefined)[] = []
  const kept = memoryBlobs()
  const put: BlobStore['put'] = (content, options) => {
    wasAborted.push(options?.signal?.aborted)
    return kept.put(content, options)
  }
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: memoryStore(),
    blobs: { ...kept, put },
  })
  const calls = defineApi({ collections: [photos] }).collection('photos')
  const controller = new AbortController()
  const making = calls.create({ photo_data: 'YWJj' }, { signal: controller.signal })
  controller.abort(new Error('Given up'))
  await expect(making).rejects.toThrow('Given up')
  expect(wasAborted).toEqual([true])
  for await (const { key } of kept.keys()) throw new Error(`${key} was left`)
})

type Pieces = AsyncIterator<Uint8Array>

test.each<[string, (pieces: Pieces) => AsyncGenerator<Uint8Array>]>([
  [
    'pieces two by two',
    async function* (pieces) {
      while (true) {
        for (const { done, value } of await Promise.all([pieces.next(), pieces.next()])) {
          if (done) return
          yield value
        }
      }
    },
  ],
  [
    'one piece ahead, and leave one unread',
    async function* (pieces) {
      let next = pieces.next()
      while (true) {
        const after = pieces.next()
        const { done, value } = await next
        if (done) return
        yield value
        next = after
      }
    },
  ],
])('a blob store may ask an upload that comes slowly for %s', async (_, read) => {
  const kept = memoryBlobs()
  let signal: AbortSignal | undefined
  const ahead: BlobStore['put'] = (content, options) => {
    signal = options?.signal
    return kept.put(read(content[Symbol.asyncIterator]()), options)
  }
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: memoryStore(),
    blobs: { ...kept, put: ahead },
  })
  const api = defineApi({ collections: [photos], limits: { workTime: 50 }, onError: () => {} })
  const head = '--x\r\nContent-Disposition: form-data; name="photo"; filename="a.txt"\r\n\r\n'
  const body = async function* () {
    yield Buffer.from(head)
    for (let piece = 0; piece < 6; piece++) {
      yield Buffer.alloc(8192, 'x')
      await wait(20)
    }
    yield Buffer.from('\r\n--x--\r\n')
  }
  const answer = await api.fetch(
    new Request('http://api.test/photos', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: Readable.toWeb(Readable.from(body())) as ReadableStream, // one of two types of Node
      duplex: 'half',
    }),
  )
  expect(answer.status).toBe(201)
  await wait(100)
  expect(signal?.aborted).toBe(false)
})

test('a content that comes after the time of its request is destroyed', async () => {
  const late = Readable.from(['abc'])
  let release = (_content: Readable) => {}
  const content = new Promise<Readable>(resolve => {
    release = resolve
  })
  const { fetch } = await photosApi({ ...memoryBlobs(), get: () => content }, {}, { workTime: 50 })
  expect((await fetch(new Request(`http://api.test${PATH}`))).status).toBe(503)
  release(late)
  await vi.waitFor(() => expect(late.destroyed).toBe(true), 60_000)
})

test('a content that is removed before it is read fails with an UnavailableError', async () => {
  const blobs = await folderBlobs()
  const { key } = await blobs.put(Readable.from([Buffer.from('abc')]))
  const content = await blobs.get(key)
  await blobs.delete(key)
  await expect(Readable.from(content ?? []).toArray()).rejects.toThrow(UnavailableError)
})
