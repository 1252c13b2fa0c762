// Claims of idempotency keys: renewed while their work runs, free soon after a crash, freed as often as it takes.
import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { z } from 'zod'
import {
  ConflictError,
  defineApi,
  defineCollection,
  memoryStore,
  type Store,
} from '../src/index.ts'
import { sqlStore } from '../src/sql/index.ts'
import { openPostgres, usePostgres } from './stores/postgres.ts'
import { openDatabase } from './stores/sqlite.ts'

usePostgres()

afterEach(async () => {
  // So that no timer is lost.
  if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(2 * SLOW_MS)
  vi.useRealTimers()
})

const SLOW_MS = 30_000

/** Not `setImmediate`: writes to SQLite wait for it. */
const FAKED: Parameters<typeof vi.useFakeTimers>[0] = {
  toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'],
}

/** A hook and an action that take 30 s. */
function serve(store: Store, time = SLOW_MS) {
  const runs = { hook: 0, action: 0 }
  const wait = () => new Promise(resolve => setTimeout(resolve, time))
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store,
    hooks: {
      before: {
        async create() {
          runs.hook++
          await wait()
        },
      },
    },
    actions: {
      paint: {
        on: 'collection',
        async run() {
          runs.action++
          await wait()
          return { done: true }
        },
      },
    },
  })
  const api = defineApi({ collections: { cars }, limits: { workTime: 60_000 } })
  return { runs, post: postTo(api) }
}

function postTo(api: { readonly fetch: (request: Request) => Promise<Response> }) {
  return async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': '"k"' }
    const init = { method: 'POST', headers, body: JSON.stringify(body ?? {}) }
    const response = await api.fetch(new Request(`http://a.example${path}`, init))
    return { status: response.status, rest: Number(response.headers.get('retry-after')) }
  }
}

const STORES: Record<string, () => Promise<Store>> = {
  memory: async () => memoryStore({ clock: () => Date.now() }),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true, clock: () => Date.now() }),
}

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  it.each([
    ['a hook', '/cars', { color: 'red' }, 'hook', 201],
    ['an action', '/cars/paint', undefined, 'action', 200],
  ] as const)(
    '%s of 30 s, with its key sent each second, runs once',
    async (_what, path, body, name, done) => {
      const { runs, post } = serve(await open())
      vi.useFakeTimers(FAKED)
      const first = post(path, body)
      // A store of SQLite begins in a later turn.
      await vi.waitFor(() => expect(runs[name]).toBe(1))
      for (let second = 1; second < 30; second++) {
        const { status, rest } = await post(path, body)
        expect(status).toBe(409)
        expect(rest).toBeGreaterThanOrEqual(3)
        expect(rest).toBeLessThanOrEqual(10)
        await vi.advanceTimersByTimeAsync(1000)
      }
      await vi.advanceTimersByTimeAsync(2000)
      expect((await first).status).toBe(done)
      expect((await post(path, body)).status).toBe(done)
      expect(runs[name]).toBe(1)
      // What has ended is renewed no more: nothing is left to be timed.
      await vi.advanceTimersByTimeAsync(2000)
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it('of a server that died the key is free after what Retry-After says', async () => {
    const store = await open()
    vi.useFakeTimers(FAKED)
    // It renews nothing any more, and never ends.
    const { renew: _, ...dead } = store
    void serve(dead, 1e9).post('/cars/paint')
    await vi.advanceTimersByTimeAsync(0)
    const { runs, post } = serve(store, 0)
    const { status, rest } = await post('/cars/paint')
    expect(status).toBe(409)
    await vi.advanceTimersByTimeAsync(rest * 1000)
    const again = post('/cars/paint')
    await vi.waitFor(() => expect(runs.action).toBe(1))
    await vi.advanceTimersByTimeAsync(1)
    expect((await again).status).toBe(200)
  })
})

test('a key that could not be freed is freed when the store is there again', async () => {
  const store = memoryStore({ clock: () => Date.now() })
  let away = true
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: {
      ...store,
      complete: async (...input: Parameters<Required<Store>['complete']>) => {
        if (away) throw new Error('away')
        return store.complete?.(...input)
      },
    },
    hooks: {
      before: {
        create() {
          if (away) throw new Error('away')
        },
      },
    },
  })
  const post = postTo(defineApi({ collections: { cars }, onError: () => {} }))
  vi.useFakeTimers(FAKED)
  expect((await post('/cars', { color: 'red' })).status).toBe(500)
  await vi.advanceTimersByTimeAsync(2000)
  expect((await post('/cars', { color: 'red' })).status).toBe(409)
  away = false
  await vi.advanceTimersByTimeAsync(1000)
  expect((await post('/cars', { color: 'red' })).status).toBe(201)
})

test('a transaction of PostgreSQL that is longer than a renewal runs once', async () => {
  let runs = 0
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: sqlStore({ db: openPostgres(), create: true }),
    actions: {
      paint: {
        on: 'collection',
        transaction: true,
        async run({ collection }) {
          runs++
          await collection('cars').create({ color: 'red' })
          await new Promise(resolve => setTimeout(resolve, 4300))
          return { done: true }
        },
      },
    },
  })
  const api = defineApi({ collections: { cars } })
  await api.open()
  expect((await postTo(api)('/cars/paint')).status).toBe(200)
  expect(runs).toBe(1)
  expect(await api.collection('cars').count()).toBe(1)
})

test('change() gives up after ten attempts, with its ConflictError', async () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
  })
  const api = defineApi({ collections: { cars } }).collection('cars')
  const { id } = await api.create({ color: 'red' })
  let attempts = 0
  const changed = api.change(id, async () => {
    await api.patch(id, { color: `other ${++attempts}` })
    return { color: 'mine' }
  })
  await expect(changed).rejects.toBeInstanceOf(ConflictError)
  expect(attempts).toBe(10)
})
