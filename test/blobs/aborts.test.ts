// Clients that disconnect during an upload leave neither a file nor a descriptor.
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  memoryStore,
} from '../../src/index.ts'
import { HANDLER_NAMES, type HandlerName, listen } from '../handlers.ts'

/** For each body: three make 120. */
const UPLOADS = 40
/** More than any buffer on the way holds. */
const SIZE = 128 * 1024

const TYPE = 'multipart/form-data; boundary=xxx'
const part = (name: string, file = '') =>
  `--xxx\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`
const FILE = `${part('photo', '; filename="a.png"')}${'x'.repeat(SIZE)}`

/** What is sent before the client disconnects, and whether a file is whole by then. */
const BODIES: Readonly<Record<string, { readonly sent: string; readonly whole: boolean }>> = {
  'within a file': { sent: `${part('comment')}a\r\n${FILE}`, whole: false },
  'after a file': { sent: `${FILE}\r\n${part('comment')}a`, whole: true },
  'within the second file': {
    sent: `${FILE}\r\n${part('thumb', '; filename="b.png"')}${'y'.repeat(SIZE)}`,
    whole: true,
  },
}

/** A blob store that tells of its puts, so that a client can hang up in their midst. */
function telling(store: BlobStore) {
  const puts = { begun: 0, done: 0, ended: 0 }
  const blobs: BlobStore = {
    ...store,
    async put(content, options) {
      puts.begun++
      try {
        const kept = await store.put(content, options)
        puts.done++
        return kept
      } finally {
        puts.ended++
      }
    },
  }
  return { blobs, puts }
}

const folders: string[] = []
afterEach(async () => {
  await Promise.all(folders.splice(0).map(folder => rm(folder, { recursive: true })))
})

async function photosApi() {
  const folder = await mkdtemp(join(tmpdir(), 'aborts-'))
  folders.push(folder)
  const { blobs, puts } = telling(fileBlobs(folder))
  const schema = z.object({ comment: z.string(), photo: blob(), thumb: blob().optional() })
  const photos = defineCollection({ name: 'photos', schema, store: memoryStore(), blobs })
  const api = defineApi({ collections: [photos] })
  const files = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries.filter(entry => entry.isFile()).map(({ name }) => name)
  }
  return { api, puts, files }
}

type Served = Awaited<ReturnType<typeof photosApi>>

/** Sends the beginning of a body; gives what hangs up. */
async function opened(handler: HandlerName, { api }: Served, port: number, sent: string) {
  if (handler === 'node:http') {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const length = sent.length + 1000
    socket.write(
      `POST /photos HTTP/1.1\r\nHost: a\r\nContent-Type: ${TYPE}\r\nContent-Length: ${length}\r\n\r\n${sent}`,
    )
    return async () => {
      socket.destroy()
      await once(socket, 'close')
    }
  }
  let fail = (_reason: Error) => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(sent))
      fail = reason => controller.error(reason)
    },
  })
  const gone = new AbortController()
  const { signal } = gone
  const headers = { 'content-type': TYPE }
  // Node wants `duplex` with a stream; the types of TypeScript do not know it yet.
  const init: RequestInit = { method: 'POST', headers, body, signal, ...{ duplex: 'half' } }
  const answer = api.fetch(new Request('http://api.test/photos', init))
  return async () => {
    gone.abort()
    fail(new Error('gone'))
    expect((await answer).status).toBeGreaterThanOrEqual(400)
  }
}

const descriptors = () => readdirSync('/proc/self/fd').length

describe.each(HANDLER_NAMES)('hanging up through %s', handler => {
  test.runIf(existsSync('/proc/self/fd')).each(Object.entries(BODIES))(
    `${UPLOADS} uploads cut %s leave no file and no descriptor`,
    async (_where, { sent, whole }) => {
      const served = await photosApi()
      const { puts, files, api } = served
      const { port, close } = await listen(api.handler)
      const before = descriptors()
      for (let at = 0; at < UPLOADS / 10; at++) {
        const hangUps = await Promise.all(
          Array.from({ length: 10 }, () => opened(handler, served, port, sent)),
        )
        const due = 10 * (at + 1)
        // Each has a file under way, or one that is whole and waits for its item.
        await vi.waitFor(() => expect(whole ? puts.done : puts.begun).toBe(due), 60_000)
        expect((await files()).length).toBeGreaterThan(0)
        await Promise.all(hangUps.map(hangUp => hangUp()))
      }
      await vi.waitFor(async () => {
        expect(puts.ended).toBe(puts.begun)
        expect(await files()).toEqual([])
        expect(descriptors()).toBeLessThanOrEqual(before + 5)
      }, 60_000)

      const body = new FormData()
      body.set('comment', 'a')
      body.set('photo', new Blob(['abc']), 'a.txt')
      const after = await fetch(`http://127.0.0.1:${port}/photos`, { method: 'POST', body })
      expect([after.status, (await files()).length]).toEqual([201, 1])
      await close()
    },
  )
})
