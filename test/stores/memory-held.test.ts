// Work of many steps within a transaction in memory: others are served meanwhile, and its time ends it.
import { setImmediate as nextPass } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

/** More than one turn looks at. */
const COUNT = 12_000
const TEXT = 'the quick brown fox jumps'

async function createApi(workTime: number) {
  const notes = defineCollection({
    name: 'notes',
    id: 'integer',
    schema: z.object({ text: z.string(), at: z.int().optional() }),
    store: memoryStore(),
    search: ['text'],
    operations: ['list', 'read', 'create', 'count', 'patch', 'patchMany'],
    actions: {
      copyAll: {
        on: 'collection',
        method: 'POST',
        transaction: true,
        run: async ({ collection }) => {
          for (let at = 0; at < 1_000_000; at++) await collection('notes').create({ text: 'copy' })
        },
      },
    },
  })
  const api = defineApi({
    collections: [notes],
    batch: true,
    onError: () => {},
    limits: { workTime },
  })
  const { collection } = api.asSystem()
  for (let at = 0; at < COUNT; at++) await collection(notes).create({ text: TEXT, at })
  return api
}

type Api = Awaited<ReturnType<typeof createApi>>

async function ask(api: Api, method: string, path: string, body?: unknown) {
  const response = await api.fetch(
    new Request(`http://notes.test${path}`, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    }),
  )
  return { status: response.status, text: await response.text() }
}

/** Creates an item and searches 30 times without a match: as much text as one request may compare. */
const BATCH = [
  { method: 'POST', path: '/notes', body: { text: 'of the batch' } },
  ...Array.from({ length: 30 }, (_, at) => ({
    method: 'GET',
    path: `/notes/search?q=missing${at}`,
  })),
]

let plain: Api
beforeAll(async () => {
  plain = await createApi(60_000)
})

test.each<[string, (api: Api) => Promise<{ readonly status: number }>]>([
  ['a batch of searches', api => ask(api, 'POST', '/batch', BATCH)],
  [
    'a change by filter that finds nothing',
    api => ask(api, 'PATCH', '/notes?text[like]=*missing*', { at: 1 }),
  ],
])('others read while %s runs', async (_, work) => {
  let done = false
  const working = work(plain).then(({ status }) => {
    done = true
    return status
  })
  let answered = 0
  while (!done) {
    await nextPass()
    const { status } = await ask(plain, 'GET', '/notes/1')
    expect(status).toBe(200)
    if (!done) answered++
  }
  expect(await working).toBe(200)
  expect(answered).toBeGreaterThan(0)
})

test.each<[string, string, unknown]>([
  ['a batch of searches', '/batch', BATCH],
  ['an action of many writes', '/notes/copyAll', {}],
])('the time of %s ends it, and nothing of it is kept', async (_, path, body) => {
  const api = await createApi(20)
  const { status, text } = await ask(api, 'POST', path, body)
  expect([status, text]).toEqual([503, expect.stringContaining('work_too_slow')])
  expect(JSON.parse((await ask(api, 'GET', '/notes/count')).text)).toMatchObject({ count: COUNT })
  // The store is free again.
  expect((await ask(api, 'POST', '/notes', { text: 'next' })).status).toBe(201)
})
