// The servers of bench/formats.ts: formats-server.ts <what> <folder or file>, answers questions.
import { createWriteStream } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import busboy from 'busboy'
import Database from 'libsql'
import { z } from 'zod'
import type { BlobStore, Store } from '../src/index.ts'
// @ts-expect-error: the contestants and their data are plain JavaScript, as their users write it.
import { makeCars } from './cars.js'
// @ts-expect-error: likewise.
import { serve } from './contestants/ours.js'
import { openKysely } from './databases.ts'
import { published } from './processes.ts'
import { answerQuestions } from './questions.ts'
import { carsOn } from './rows.ts'

const [, , what = '', where = ''] = process.argv
switch (what) {
  case 'lists':
    await lists()
    break
  case 'ours':
    await uploadsOfOurs(where)
    break
  case 'busboy':
    await uploadsOfBusboy(where)
    break
  case 'rows':
    await rows(where)
    break
  default:
    throw new TypeError(`There is no server ${what}`)
}

/** Every convention on, over a store whose items are new each time: no text can be kept beside them. */
async function lists(): Promise<void> {
  const { memoryStore } = await published()
  const copying = (clock: () => number): Store => {
    const store = memoryStore({ clock })
    return {
      ...store,
      async list(...given) {
        const { items, ...page } = await store.list(...given)
        return { ...page, items: items.map(stored => ({ ...stored, item: { ...stored.item } })) }
      },
    }
  }
  const server: Server = await serve(copying, makeCars())
  await answerQuestions(server)
}

/** @param folder where files are kept; empty: nowhere. */
async function uploadsOfOurs(folder: string): Promise<void> {
  const { blob, defineApi, defineCollection, fileBlobs, memoryStore } = await published()
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ comment: z.string(), photo: blob() }),
    store: memoryStore(),
    blobs: folder === '' ? nowhere() : fileBlobs(folder),
  })
  const limits = { upload: Number.MAX_SAFE_INTEGER - 1 }
  const { handler } = defineApi({ collections: [photos], limits })
  await answerQuestions(createServer(handler).listen(0, '127.0.0.1'))
}

/** Reads contents and forgets them. */
function nowhere(): BlobStore {
  let last = 0
  return {
    async put(content) {
      let size = 0
      for await (const chunk of content) size += chunk.length
      return { key: String(++last), size }
    },
    get: async () => undefined,
    delete: async () => {},
    async *keys() {},
  }
}

/** The parser that ours has inside, and nothing else; files reach the disk as ours do. */
async function uploadsOfBusboy(folder: string): Promise<void> {
  let last = 0
  const keep = (file: Readable) =>
    pipeline(file, createWriteStream(join(folder, String(++last)), { flush: true }))
  const server = createServer((request, response) => {
    const parser = busboy({ headers: request.headers })
    let kept: Promise<unknown> | undefined
    parser.on('file', (_name, file) => {
      if (folder === '') file.resume()
      else kept = keep(file)
    })
    parser.on('close', async () => {
      await kept
      response.writeHead(201).end('{}')
    })
    request.pipe(parser)
  })
  await answerQuestions(server.listen(0, '127.0.0.1'))
}

/** A table served, read by the store alone, and by the driver alone. */
async function rows(file: string): Promise<void> {
  const { sqlStore } = await published()
  const store = sqlStore({ db: await openKysely('sqlite', file), create: true })
  const cars = await carsOn(store)
  await store.count({ where: [] }, 'exact')
  const all = new Database(file).prepare('select * from cars order by id')
  const selection = { where: [], sort: [{ path: ['id'], descending: false }] }
  await answerQuestions(createServer(cars.handler).listen(0, '127.0.0.1'), {
    async store() {
      let read = 0
      for await (const batch of store.stream(selection)) read += batch.length
      return { rows: read }
    },
    driver() {
      let read = 0
      for (const _row of all.iterate()) read++
      return { rows: read }
    },
  })
}
