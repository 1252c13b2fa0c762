// A connection that is lost at the commit: nobody knows whether the item was stored, so its content must stay.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres, postgres, usePostgres } from '../stores/postgres.ts'

usePostgres()

const sockets = new Set<Socket>()
/** The text of a statement after which the client hears nothing any more; the server does what it says. */
let last: RegExp | undefined
const proxy = createServer(client => {
  const { hostname, port } = new URL(postgres().url)
  const backend = connect(Number(port), hostname)
  let isLost = false
  client.on('data', bytes => {
    isLost ||= last?.test(bytes.toString('latin1')) === true
    if (isLost) last = undefined
    backend.write(bytes)
  })
  backend.on('data', bytes => (isLost ? client.destroy() : client.write(bytes)))
  for (const [socket, other] of [
    [client, backend],
    [backend, client],
  ] as const) {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => other.destroy())
  }
})

beforeAll(async () => {
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  proxy.close()
  for (const socket of sockets) socket.destroy()
})

let tables = 0

/** Photos in a database behind the proxy. */
function photos() {
  const url = new URL(postgres().url)
  const address = proxy.address()
  Object.assign(url, { port: typeof address === 'object' && address?.port })
  const blobs = memoryBlobs()
  const db = openPostgres({ connectionString: url.href })
  const api = defineApi({
    onError: () => {},
    collections: {
      photos: defineCollection({
        name: 'photos',
        schema: z.object({ name: z.string(), image: blob() }),
        store: sqlStore({ db, table: `photos_${++tables}`, create: true }),
        blobs,
        id: 'integer',
      }),
    },
  })
  const send = (method: string, path: string, body: object) =>
    api.fetch(
      new Request(`http://photos.example${path}`, {
        method,
        headers: {
          'content-type': 'application/json',
          prefer: 'return=representation',
          'idempotency-key': 'once',
        },
        body: JSON.stringify(body),
      }),
    )
  const contents = async () => {
    let found = 0
    for await (const _ of blobs.keys()) found++
    return found
  }
  return { api, send, contents, db }
}

type Photos = ReturnType<typeof photos>

const photo = (text: string) => ({
  name: text,
  image: { data: Buffer.from(text).toString('base64') },
})

const COMMIT = /Q....commit\0/s
const WRITES: Readonly<Record<string, readonly [RegExp, (made: Photos) => Promise<unknown>]>> = {
  POST: [COMMIT, ({ send }) => send('POST', '/photos', photo('new'))],
  'POST of an array': [COMMIT, ({ send }) => send('POST', '/photos', [photo('new')])],
  PATCH: [COMMIT, ({ send }) => send('PATCH', '/photos/1', photo('new'))],
  PUT: [COMMIT, ({ send }) => send('PUT', '/photos/1', photo('new'))],
  'a call': [/new/, ({ api }) => api.collection('photos').create(photo('new'))],
  'a transaction': [
    COMMIT,
    ({ api }) => api.transaction(tx => tx.collection('photos').create(photo('new'))),
  ],
}

test.each(Object.entries(WRITES))(
  '%s keeps the content of what it may have stored',
  async (_name, [text, write]) => {
    const made = photos()
    const { api, contents } = made
    await api.collection('photos').create(photo('old'))
    last = text
    const [lost] = await Promise.allSettled([write(made)])
    expect(lost.status === 'fulfilled' ? lost.value : lost.reason).toMatchObject({ status: 503 })
    // By the key the client gets the answer of the first; a program looks.
    if (lost.status === 'fulfilled') expect(await write(made)).toHaveProperty('ok', true)
    const items = await api.collection('photos').list({ name: 'new' }).toArray()
    expect(items).toHaveLength(1)
    const image = await api.fetch(new Request(`http://photos.example/photos/${items[0]?.id}/image`))
    expect([image.status, await image.text()]).toEqual([200, 'new'])
    expect(await contents()).toBe(2)
    await api.close()
  },
)

test('a database that takes no connection has nothing stored: the content goes', async () => {
  const { send, contents, api, db } = photos()
  await api.collection('photos').create(photo('old'))
  await db.destroy()
  expect((await send('POST', '/photos', photo('new'))).status).toBe(503)
  expect(await contents()).toBe(1)
})
