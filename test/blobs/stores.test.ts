// One contract for every blob store: memory, files in a real folder, a bucket over S3's real protocol.
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  memoryBlobs,
  memoryStore,
} from '../../src/index.ts'
import { s3Blobs } from '../../src/s3/index.ts'
import { useBuckets } from './bucket.ts'

const MIB = 1024 * 1024

const service = useBuckets('photos')

const stores: Record<string, () => BlobStore> = {
  memory: memoryBlobs,
  files: () => fileBlobs(join(service.folder, 'files')),
  s3: () => s3Blobs({ client: service.client, bucket: 'photos', prefix: 'v1/' }),
}

async function* chunks(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

async function* broken(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
  throw new Error('The client hung up')
}

async function bytesOf(content: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of content ?? []) parts.push(part)
  return Buffer.concat(parts)
}

async function keysOf(blobs: BlobStore): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of blobs.keys()) keys.push(key)
  return keys.sort()
}

describe.each(Object.keys(stores))('a blob store: %s', name => {
  const open = () => stores[name]?.() ?? memoryBlobs()

  it('returns a content, whole and in ranges', async () => {
    const blobs = open()
    const { key, size } = await blobs.put(chunks(Buffer.from('hello '), Buffer.from('world')))
    expect(size).toBe(11)
    expect((await bytesOf(await blobs.get(key))).toString()).toBe('hello world')
    expect((await bytesOf(await blobs.get(key, { first: 6, last: 8 }))).toString()).toBe('wor')
    await blobs.delete(key)
  })

  it('stores an empty content', async () => {
    const blobs = open()
    const { key, size } = await blobs.put(chunks())
    expect(size).toBe(0)
    expect(await bytesOf(await blobs.get(key))).toHaveLength(0)
    await blobs.delete(key)
  })

  it('stores a content of several parts', async () => {
    const blobs = open()
    const parts = [1, 2, 3, 4, 5, 6].map(byte => Buffer.alloc(2 * MIB, byte))
    const { key, size } = await blobs.put(chunks(...parts))
    expect(size).toBe(12 * MIB)
    expect((await bytesOf(await blobs.get(key))).equals(Buffer.concat(parts))).toBe(true)
    await blobs.delete(key)
  })

  it.each([
    ['in its first bytes', broken(Buffer.from('begun'))],
    ['in a later part', broken(Buffer.alloc(6 * MIB, 1), Buffer.alloc(MIB, 2))],
  ])('keeps nothing of a content that breaks %s', async (_where, content) => {
    const blobs = open()
    const before = await keysOf(blobs)
    await expect(blobs.put(content)).rejects.toThrow('The client hung up')
    expect(await keysOf(blobs)).toEqual(before)
  })

  it('does not know foreign keys', async () => {
    const blobs = open()
    for (const key of ['nothing', '../../nothing', 'a'.repeat(24), '']) {
      if (key === '' && name === 's3') continue // S3 itself refuses an empty name
      expect(await blobs.get(key)).toBeUndefined()
      await blobs.delete(key)
    }
  })

  it('lists its keys until they are deleted', async () => {
    const blobs = open()
    const made = await Promise.all([1, 2, 3].map(byte => blobs.put(chunks(Buffer.from([byte])))))
    const keys = made.map(({ key }) => key).sort()
    expect(await keysOf(blobs)).toEqual(expect.arrayContaining(keys))
    await Promise.all(keys.map(key => blobs.delete(key)))
    const left = await keysOf(blobs)
    expect(keys.filter(key => left.includes(key))).toEqual([])
  })
})

it('files: no key leads out of the folder', async () => {
  const outside = join(service.folder, 'outside')
  await writeFile(outside, 'not ours')
  const blobs = fileBlobs(join(service.folder, 'inside'))
  await blobs.put(chunks(Buffer.from('ours')))
  for (const key of ['xx/../../../outside', './../../outside', outside]) {
    expect(await blobs.get(key)).toBeUndefined()
    await blobs.delete(key)
  }
  expect(await readFile(outside, 'utf8')).toBe('not ours')
})

it('files: a failed upload leaves no file', async () => {
  const own = join(service.folder, 'own')
  const blobs = fileBlobs(own)
  await blobs.put(chunks(Buffer.from('whole')))
  await blobs.put(broken(Buffer.from('half'))).catch(() => undefined)
  const entries = await readdir(own, { recursive: true, withFileTypes: true })
  expect(entries.filter(entry => entry.isFile()).map(entry => entry.name)).toEqual([
    expect.stringMatching(/^[A-Za-z0-9_-]{24}$/),
  ])
})

it('files: a file that disappears during the listing is left out', async () => {
  const own = join(service.folder, 'gone')
  const names = [
    'aaaaaaaaaaaaaaaaaaaaaaaa',
    'aabbbbbbbbbbbbbbbbbbbbbb',
    'aabbbbbbbbbbbbbbbbbbbbbb.part',
  ]
  await mkdir(join(own, 'aa'), { recursive: true })
  for (const name of names) await writeFile(join(own, 'aa', name), '')
  const seen: string[] = []
  for await (const { key } of fileBlobs(own).keys()) {
    seen.push(key)
    for (const name of names) await rm(join(own, 'aa', name), { force: true })
  }
  expect(seen).toHaveLength(1)
})

it('files: the file of an unfinished upload is listed and can be removed', async () => {
  const own = join(service.folder, 'unfinished')
  const key = 'aaaaaaaaaaaaaaaaaaaaaaaa.part'
  await mkdir(join(own, 'aa'), { recursive: true })
  await writeFile(join(own, 'aa', key), 'half')
  const blobs = fileBlobs(own)
  expect(await keysOf(blobs)).toEqual([key])
  expect(await blobs.get(key)).toBeUndefined()
  await blobs.delete(key)
  expect(await keysOf(blobs)).toEqual([])
})

it.each([
  ['an error of another kind', Object.assign(new Error('x'), { code: 'ECONNRESET' })],
  ['no error', 'x'],
])('files: what a content fails with is told as it is: %s', async (_, reason) => {
  async function* failing() {
    yield Buffer.from('a')
    throw reason
  }
  await expect(fileBlobs(join(service.folder, 'failing')).put(failing())).rejects.toBe(reason)
})

it('files: a new folder and a new file are synced in the folder above them', async () => {
  const own = join(service.folder, 'synced')
  await mkdir(own)
  const opened = await open(own)
  const synced: number[] = []
  const sync = vi.spyOn(Object.getPrototypeOf(opened), 'sync')
  sync.mockImplementation(async function (this: FileHandle) {
    synced.push((await this.stat()).ino)
  })
  try {
    const { key } = await fileBlobs(own).put(chunks(Buffer.from('kept')))
    const inner = join(own, key.slice(0, 2))
    const inodes = await Promise.all([own, join(inner, key), inner].map(path => stat(path)))
    expect(synced).toEqual(inodes.map(({ ino }) => ino))
  } finally {
    sync.mockRestore()
    await opened.close()
  }
})

it.each([
  ['ENOSPC', '60', 'disk_full'],
  ['EMFILE', '5', 'unavailable'],
])(
  'files: where the last step fails (%s) nothing is kept, and the client is asked to retry',
  async (code, seconds, type) => {
    const own = join(service.folder, code)
    await mkdir(own)
    const opened = await open(own)
    const sync = vi.spyOn(Object.getPrototypeOf(opened), 'sync')
    sync.mockImplementation(async function (this: FileHandle) {
      const found = await this.stat()
      const isLast = found.isDirectory() && found.ino !== (await stat(own)).ino
      if (isLast) throw Object.assign(new Error('It cannot be used'), { code })
    })
    try {
      const photos = defineCollection({
        name: 'photos',
        schema: z.object({ photo: blob() }),
        store: memoryStore(),
        blobs: fileBlobs(own),
      })
      const api = defineApi({ collections: [photos], onError: () => undefined })
      const body = new FormData()
      body.set('photo', new Blob(['abc']), 'a.txt')
      const answer = await api.fetch(new Request('http://x/photos', { method: 'POST', body }))
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, seconds])
      expect(await answer.json()).toMatchObject({ errors: [{ type }] })
      const left = await readdir(own, { recursive: true, withFileTypes: true })
      expect(left.filter(each => each.isFile())).toEqual([])
    } finally {
      sync.mockRestore()
      await opened.close()
    }
  },
)
