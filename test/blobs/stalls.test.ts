// Blob stores that do not answer: S3's real protocol behind a line that stalls or is cut, and files that cannot be read.
import { once } from 'node:events'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { S3Client } from '@aws-sdk/client-s3'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  memoryStore,
} from '../../src/index.ts'
import { s3Blobs } from '../../src/s3/index.ts'
import { useBuckets } from './bucket.ts'

const KIB = 1024
const SOCKETS = 4

const service = useBuckets('photos')

/** A line to S3 that passes so many bytes of each answer, and then nothing. */
class Line {
  passed = Number.POSITIVE_INFINITY
  readonly open = new Set<Socket>()
  readonly server: Server = createServer(client => this.#lead(client))

  #lead(client: Socket): void {
    const upstream = connect(service.port, '127.0.0.1')
    this.open.add(client)
    client.on('close', () => {
      this.open.delete(client)
      upstream.destroy()
    })
    client.on('error', () => undefined).pipe(upstream)
    upstream.on('error', () => client.destroy())
    let seen = 0
    upstream.on('data', chunk => {
      const left = Math.max(0, this.passed - seen)
      seen += chunk.length
      if (left > 0) client.write(chunk.subarray(0, left))
    })
  }

  /** Resolves when the program holds no connection to S3 any more. */
  async freed(): Promise<void> {
    for (const socket of [...this.open]) if (!socket.closed) await once(socket, 'close')
  }
}

let line: Line
let client: S3Client

beforeEach(async () => {
  line = new Line()
  line.server.listen(0, '127.0.0.1')
  await once(line.server, 'listening')
  const { port } = line.server.address() as AddressInfo
  client = new S3Client({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${port}`,
    forcePathStyle: true,
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler({ httpAgent: { keepAlive: false, maxSockets: SOCKETS } }),
  })
})

afterEach(async () => {
  client.destroy()
  for (const socket of line.open) socket.destroy()
  line.server.close()
})

function serve(blobs: BlobStore) {
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: memoryStore(),
    blobs,
  })
  const failures: unknown[] = []
  const api = defineApi({
    collections: [photos],
    limits: { workTime: 2000 },
    onError: error => failures.push(error),
  })
  const ask = (path: string, init?: RequestInit) =>
    api.fetch(new Request(`http://api.test${path}`, init))
  async function create(size: number): Promise<string | number> {
    const body = new FormData()
    body.set('photo', new Blob([new Uint8Array(size)]), 'a.bin')
    const made = await ask('/photos', { method: 'POST', body })
    return Object(await made.json()).id ?? made.status
  }
  return { ask, create, failures }
}

const openS3 = () => serve(s3Blobs({ client, bucket: 'photos' }))

async function typeOf(answer: Response): Promise<unknown> {
  return Object(await answer.json()).errors[0].type
}

describe('an S3 that does not answer', () => {
  it('frees the connections of downloads, and later ones are served', async () => {
    const { ask, create } = openS3()
    const id = await create(100)
    line.passed = 0
    const downloads = Array.from({ length: 3 * SOCKETS }, () => ask(`/photos/${id}/photo`))
    for (const answer of await Promise.all(downloads)) expect(answer.status).toBe(503)
    await line.freed()
    line.passed = Number.POSITIVE_INFINITY
    const served = await ask(`/photos/${id}/photo`)
    expect([served.status, (await served.arrayBuffer()).byteLength]).toEqual([200, 100])
  })

  it('frees the connection of a client that goes away', async () => {
    const { ask, create, failures } = openS3()
    const id = await create(100)
    line.passed = 0
    const leaving = new AbortController()
    const answer = ask(`/photos/${id}/photo`, { signal: leaving.signal })
    await once(line.server, 'connection')
    leaving.abort()
    await answer.catch(() => undefined)
    await line.freed()
    expect(failures).toEqual([])
  })

  it.each(['', '.ndjson'])('frees the connections of inline contents: %s', async format => {
    const { ask, create } = openS3()
    const id = await create(100)
    line.passed = 0
    const answer = await ask(
      format ? `/photos${format}?fields=photo_data` : `/photos/${id}?fields=photo_data`,
    )
    expect(answer.status).toBe(503)
    await line.freed()
  })

  it('frees those of uploads and of deletions', async () => {
    const { ask, create } = openS3()
    const id = await create(100)
    line.passed = 0
    expect(await create(100)).toBe(503)
    expect(await create(6 * KIB * KIB)).toBe(503)
    expect((await ask(`/photos/${id}`, { method: 'DELETE' })).status).toBe(200)
    await line.freed()
  })
})

it('a body of S3 that falls silent breaks the download off', async () => {
  const { ask, create, failures } = openS3()
  const id = await create(2 * KIB * KIB)
  line.passed = KIB * KIB
  const answer = await ask(`/photos/${id}/photo`)
  expect(answer.status).toBe(200)
  await expect(answer.arrayBuffer()).rejects.toThrow()
  await line.freed()
  expect(failures).toEqual([expect.objectContaining({ status: 503 })])
})

describe('a store that cannot be reached is a 503, which clients repeat', () => {
  async function expectUnavailable(ask: ReturnType<typeof serve>['ask'], id: string | number) {
    for (const path of [`/photos/${id}/photo`, `/photos/${id}?fields=photo_data`]) {
      const answer = await ask(path)
      expect([answer.status, await typeOf(answer)]).toEqual([503, 'unavailable'])
      expect(answer.headers.has('retry-after')).toBe(true)
    }
  }

  it('S3 that refuses connections', async () => {
    const { ask, create } = openS3()
    const id = await create(100)
    line.server.close()
    await expectUnavailable(ask, id)
    expect(await create(100)).toBe(503)
    expect(await create(6 * KIB * KIB)).toBe(503)
  })

  it('but not S3 that refuses the request', async () => {
    const { ask, create } = serve(s3Blobs({ client, bucket: 'none' }))
    expect(await create(100)).toBe(500)
    expect((await ask('/photos')).status).toBe(200)
  })

  it.each([
    ['leads in a circle', (path: string) => symlink(path, path)],
    ['is a file by now', (path: string) => writeFile(path, '')],
  ])('a folder that %s', async (_what, replace) => {
    const root = join(service.folder, 'files')
    const { ask, create } = serve(fileBlobs(root))
    const id = await create(100)
    await rm(root, { recursive: true })
    await replace(root)
    await expectUnavailable(ask, id)
    expect(await create(100)).toBe(503)
    await rm(root)
  })
})
