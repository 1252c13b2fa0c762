// What a sweep lists and deletes, and which contents a deletion removes where versions declare different properties.
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  memoryBlobs,
  memoryStore,
  sweepBlobs,
} from '../../src/index.ts'
import { s3Blobs } from '../../src/s3/index.ts'
import { useBuckets } from './bucket.ts'

const FOREIGN = 'A'.repeat(24)
const OLD = { olderThan: -1000 }

const service = useBuckets('shared', 'whole')

async function* content() {
  yield Buffer.from('content')
}

function definePhotos(blobs: BlobStore) {
  return defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: memoryStore(),
    blobs,
  })
}

describe('a sweep leaves what its store did not make', () => {
  it.each([
    ['shared', 'photos', ['photos2/x', `photos2/${FOREIGN}`, `photos/${FOREIGN}`, 'photos.txt']],
    ['shared', 'v1/', [`v1/a/${FOREIGN}`, `v1/${FOREIGN}.json`, `v2/${FOREIGN}`]],
    ['whole', undefined, ['index.html', `backups/${FOREIGN}`]],
  ])('in the bucket %s with the prefix %s', async (bucket, prefix, others) => {
    const blobs = s3Blobs({ client: service.client, bucket, prefix })
    for (const Key of others)
      await service.client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'other' }))
    const { key } = await blobs.put(content())
    for (const other of others) await blobs.delete(other.slice(prefix?.length ?? 0))
    expect(await sweepBlobs(blobs, [definePhotos(blobs)], OLD)).toBe(1)
    const { Contents = [] } = await service.client.send(
      new ListObjectsV2Command({ Bucket: bucket }),
    )
    const left = Contents.map(({ Key }) => Key)
    expect(left).toEqual(expect.arrayContaining(others))
    expect(left).not.toContain(`${prefix ?? ''}${key}`)
  })

  it('in a folder', async () => {
    const root = join(service.folder, 'files')
    const blobs = fileBlobs(root)
    const { key } = await blobs.put(content())
    const others = [
      'notes.txt',
      FOREIGN,
      'AA/notes.txt',
      'AA/x.part',
      `BB/${FOREIGN}`,
      `deep/AA/${FOREIGN}`,
    ]
    for (const other of others) {
      await mkdir(join(root, other, '..'), { recursive: true })
      await writeFile(join(root, other), 'other')
    }
    const unfinished = `AA/${FOREIGN}.part`
    await writeFile(join(root, unfinished), 'begun')
    expect(await sweepBlobs(blobs, [definePhotos(blobs)], OLD)).toBe(2)
    const left = await readdir(root, { recursive: true })
    expect(left).toEqual(expect.arrayContaining(others))
    for (const gone of [unfinished, join(key.slice(0, 2), key)]) expect(left).not.toContain(gone)
  })
})

describe('versions of one store, of which one declares a file', () => {
  async function countKeys(blobs: BlobStore): Promise<number> {
    let count = 0
    for await (const _ of blobs.keys()) count++
    return count
  }

  function start() {
    const blobs = memoryBlobs()
    const [albums, photos] = [memoryStore(), memoryStore()]
    const title = z.string()
    const album = { name: 'albums', schema: z.object({ title }), store: albums }
    const references = { album_id: { collection: 'albums', onDelete: 'cascade' as const } }
    const Photo = z.object({ album_id: z.string(), title })
    const older = defineCollection({
      name: 'photos',
      schema: Photo.extend({ photo: blob().optional() }),
      store: photos,
      blobs,
      references,
    })
    const newer = defineCollection({
      name: 'photos',
      schema: Photo,
      store: photos,
      operations: ['list', 'read', 'replace', 'patch', 'delete', 'deleteMany'],
    })
    const api = defineApi({
      versions: [
        { version: 1, collections: [defineCollection(album), older] },
        { version: 2, collections: [defineCollection(album), newer] },
      ],
    })
    async function send(method: string, path: string, body?: unknown) {
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      const prefer = 'return=representation, max-affected=9'
      const headers = { 'content-type': 'application/json', prefer }
      const answer = await api.fetch(
        new Request(`http://a.example${path}`, { method, headers, ...init }),
      )
      const text = await answer.text()
      return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
    }
    async function createPhoto() {
      const { json: album } = await send('POST', '/v1/albums', { title: 'A' })
      const body = { album_id: album.id, title: 'B', photo_data: 'YWJj' }
      const { json: photo } = await send('POST', '/v1/photos', body)
      expect(await countKeys(blobs)).toBe(1)
      return { album: album.id, photo: photo.id }
    }
    return { api, blobs, older, newer, send, createPhoto }
  }

  it.each([
    ['an item', ({ photo }: Made) => `/v2/photos/${photo}`],
    ['an item with those that refer to it', ({ album }: Made) => `/v2/albums/${album}`],
    ['all that match', () => '/v2/photos?title=B'],
  ])('a deletion by the other removes it: %s', async (_what, toPath) => {
    const { blobs, send, createPhoto } = start()
    const path = toPath(await createPhoto())
    expect((await send('DELETE', path)).status).toBeLessThan(300)
    expect(await countKeys(blobs)).toBe(0)
  })

  it('a change by the other keeps it', async () => {
    const { blobs, send, createPhoto } = start()
    const { album, photo } = await createPhoto()
    const body = { album_id: album, title: 'C' }
    expect((await send('PUT', `/v2/photos/${photo}`, body)).status).toBe(200)
    expect((await send('PATCH', `/v2/photos/${photo}`, { title: 'D' })).status).toBe(200)
    expect(await countKeys(blobs)).toBe(1)
  })

  it('a sweep that is given the other alone keeps it', async () => {
    const { blobs, newer, createPhoto } = start()
    await createPhoto()
    expect(await sweepBlobs(blobs, [newer], OLD)).toBe(0)
  })
})

interface Made {
  readonly album: string
  readonly photo: string
}
