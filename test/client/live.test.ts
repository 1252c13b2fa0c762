import { QueryClient, QueryObserver } from '@tanstack/query-core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { createClient, HttpError } from '../../src/client/index.ts'
import { liveQuery, watch } from '../../src/client/live.ts'
import {
  defineApi,
  defineCollection,
  memoryStore,
  type Principal,
  type Scheme,
} from '../../src/index.ts'

const schema = z.object({ color: z.string() })

function serve(instead?: (url: string, init: RequestInit) => Promise<Response>) {
  const valid = new Set(['one'])
  const scopes = new Set(['cars'])
  const scheme: Scheme = {
    name: 'Bearer',
    challenge: () => 'Bearer',
    async authenticate({ headers: { authorization } }): Promise<Principal | undefined> {
      if (authorization === undefined) return undefined
      if (valid.has(authorization.slice(7))) return { id: 'a', scopes: [...scopes] }
      const { HttpError: Refused } = await import('../../src/index.ts')
      throw new Refused(401, [{ message: 'expired', type: 'unauthenticated' }])
    },
  }
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema,
    store: memoryStore(),
    live: true,
    access: { default: ['cars'] },
  })
  const parts = defineCollection({
    name: 'parts',
    schema,
    store: memoryStore(),
    access: { default: [] },
  })
  const api = defineApi({ collections: { cars, parts }, schemes: [scheme] })
  let token = 'one'
  /** The bodies that are open, to be cut. */
  const open = new Set<AbortController>()
  let requests = 0
  const fetch = async (url: string, init: RequestInit) => {
    requests++
    if (instead) return instead(url, init)
    const cut = new AbortController()
    open.add(cut)
    const response = await api.fetch(new Request(url, init))
    if (!response.body) return response
    const hurry = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const text = Buffer.from(chunk)
          .toString()
          .replace(/retry: \d+/, 'retry: 1')
        controller.enqueue(Buffer.from(text))
      },
    })
    const body = response.body.pipeThrough(hurry, { signal: cut.signal })
    return new Response(body, response)
  }
  const client = createClient<typeof api>('https://api.example', {
    fetch,
    auth: ({ retry }) => {
      if (retry) token = 'two'
      return `Bearer ${token}`
    },
  })
  return {
    client,
    cars: api.asSystem().collection(cars),
    valid,
    scopes,
    cut: () => {
      for (const each of open) each.abort(new Error('cut'))
      open.clear()
    },
    requests: () => requests,
  }
}

test('a list is followed over a lost connection, with a new token', async () => {
  const { client, cars, valid, cut } = serve()
  await cars.create({ color: 'red' })
  await cars.create({ color: 'blue' })
  const list = new Map<number, string>()
  let resets = 0
  let step = 0
  for await (const change of watch(client, 'cars', { color: 'red' })) {
    if (change.reset) {
      resets++
      list.clear()
    }
    for (const { id, color } of change.items) list.set(id, color)
    for (const id of change.removed) list.delete(Number(id))
    if (change.ready && step === 0) {
      step++
      expect([...list.keys()]).toEqual([1])
      cut()
      valid.delete('one')
      valid.add('two')
      await cars.create({ color: 'red' })
      await cars.delete(1)
    } else if (change.ready) {
      expect([...list.keys()]).toEqual([3])
      break
    }
  }
  expect(resets).toBe(1)
})

test('what cannot be followed is an error', async () => {
  const { client } = serve()
  const first = watch(client, 'parts').next()
  await expect(first).rejects.toThrow(HttpError)
  await expect(first).rejects.toMatchObject({ status: 406 })
  expect(() => watch({} as typeof client, 'cars')).toThrow(/watch takes a client first/)
})

test('a signal ends it, before and while it waits', async () => {
  const { client } = serve()
  const controller = new AbortController()
  const changes = watch(client, 'cars', {}, { signal: controller.signal })
  for await (const { ready } of changes) {
    if (!ready) continue
    controller.abort(new RangeError('enough'))
    break
  }
  await expect(watch(client, 'cars', {}, { signal: controller.signal }).next()).rejects.toThrow(
    RangeError,
  )
})

test('a query of TanStack stays current while it is used', async () => {
  const { client, cars } = serve()
  const queries = new QueryClient()
  await cars.create({ color: 'red' })
  const observer = new QueryObserver(queries, liveQuery(client, 'cars', { color: 'red' }))
  const seen: number[] = []
  let wake = () => {}
  const unsubscribe = observer.subscribe(({ data }) => {
    if (data) seen.push(data.length)
    wake()
  })
  const until = async (length: number) => {
    while (seen.at(-1) !== length)
      await new Promise<void>(resolve => {
        wake = resolve
      })
  }
  await until(1)
  await cars.create({ color: 'red' })
  await until(2)
  await cars.patch(1, { color: 'green' })
  await until(1)
  unsubscribe()
  queries.clear()
})

test('a stream that is silent is asked for again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const ids: (string | null)[] = []
  const silent = () =>
    new ReadableStream({
      start: controller =>
        controller.enqueue(new TextEncoder().encode('event: ready\nid: 7\ndata: {}\n\n')),
    })
  const fetch = async (_: string, { headers }: RequestInit) => {
    ids.push(new Headers(headers).get('last-event-id'))
    return new Response(silent(), { headers: { 'content-type': 'text/event-stream' } })
  }
  const { client } = serve(fetch)
  const changes = watch(client, 'cars')
  expect((await changes.next()).value.ready).toBe(true)
  const next = changes.next()
  while (ids.length < 2) await vi.advanceTimersByTimeAsync(5000)
  expect((await next).value.ready).toBe(true)
  expect(ids).toEqual([null, '7'])
  await changes.return(undefined as never)
})

test('a query of TanStack forgets its list with the right, and not with a session', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => void vi.restoreAllMocks())
  const { client, cars, valid, scopes, cut } = serve()
  await cars.create({ color: 'red' })
  const queries = new QueryClient()
  const observer = new QueryObserver(queries, liveQuery(client, 'cars'))
  const until = (status: string, length: number | undefined) =>
    vi.waitUntil(() => {
      const { status: now, data } = observer.getCurrentResult()
      return now === status && data?.length === length
    }, 10_000)
  scopes.clear()
  const unsubscribe = observer.subscribe(() => {})
  await until('error', undefined)
  scopes.add('cars')
  void observer.refetch()
  await until('success', 1)
  valid.clear()
  cut()
  await until('error', 1)
  valid.add('two')
  void observer.refetch()
  await cars.create({ color: 'blue' })
  await until('success', 2)
  scopes.clear()
  cut()
  await until('error', 0)
  unsubscribe()
  queries.clear()
})

test('a list that a cache had is forgotten where it is refused at once', async () => {
  const { client, scopes } = serve()
  scopes.clear()
  const queries = new QueryClient()
  const options = liveQuery(client, 'cars')
  queries.setQueryData(options.queryKey, [{ id: 1, color: 'red' }])
  await expect(queries.fetchQuery({ ...options, staleTime: 0 })).rejects.toThrow(HttpError)
  expect(queries.getQueryData(options.queryKey)).toEqual([])
})
