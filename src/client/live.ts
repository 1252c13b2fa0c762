// The entry point `rest-conventions/client/live`: follows lists, with the token of a client, over lost connections.
import type { CallOptions } from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { HttpError, isLostRight } from './errors.ts'
import type { LiveChange, LiveFilters, LiveItem } from './live-types.ts'
import { type ClientState, stateOf } from './place.ts'
import { printQuery } from './query-string.ts'
import { receive } from './receive.ts'
import { backOff, limitTime } from './time.ts'

export type { LiveChange } from './live-types.ts'

/** Milliseconds before the stream is asked for again, unless the server says another time; after failures longer. */
const WAIT_MS = 1000

/** How long a stream may be silent, in milliseconds: the server says each 15 s that it is alive. A lost network says nothing. */
const SILENCE_MS = 40_000

/**
 * Follows a list of a collection that is `live`: first the list, then each change, of whatever program. After a lost connection
 * it goes on where it was, with the present token. It ends by `break`, or with the signal.
 * @throws HttpError for a request that is refused: 400, 401, 403, 404, 406
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { watch } from 'rest-conventions/client/live'
 * import { z } from 'zod'
 * const schema = z.object({ color: z.string() })
 * const cars = defineCollection({ name: 'cars', schema, store: memoryStore(), live: true })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const list = new Map()
 * for await (const { items, removed, reset, ready } of watch(client, 'cars', { color: 'red' })) {
 *   if (reset) list.clear()
 *   for (const car of items) list.set(car.id, car)
 *   for (const id of removed) list.delete(id)
 *   if (ready) break
 * }
 */
export function watch<Named, N extends keyof Named & string>(
  client: ClientOf<Named>,
  name: N,
  filters?: LiveFilters<Named, N>,
  options: CallOptions = {},
): AsyncGenerator<LiveChange<LiveItem<Named, N>>, never> {
  const state = stateOf(client, 'watch')
  const path = name + printQuery(filters ?? {}, { name })
  return follow(state, path, options) as AsyncGenerator<LiveChange<LiveItem<Named, N>>, never> // of this collection
}

async function* follow(
  state: ClientState,
  path: string,
  options: CallOptions,
): AsyncGenerator<LiveChange<unknown>, never> {
  const NOTHING = { items: [], removed: [], reset: false, ready: false }
  let last = ''
  let wait = WAIT_MS
  let hasShown = false
  for (let failures = 0; ; failures++) {
    try {
      const { body } = await receive(state, path, options, {
        accept: 'text/event-stream',
        'last-event-id': last || undefined,
      })
      for await (const { event, data, id, retry } of readEvents(body, last)) {
        failures = -1
        last = id
        wait = retry || wait
        // `late` means that changes wait.
        if (!Object.hasOwn(NOTHING, event)) continue
        const isList = event === 'items' || event === 'removed'
        hasShown = true
        yield { ...NOTHING, [event]: isList ? JSON.parse(data) : true }
      }
    } catch (error) {
      options.signal?.throwIfAborted()
      const status = error instanceof HttpError ? error.status : 503
      if (status < 500 && status !== 408 && status !== 429) {
        if (hasShown && isLostRight(error)) yield { ...NOTHING, reset: true }
        throw error
      }
    }
    await backOff(WAIT_MS, failures + 1, options.signal, wait)
  }
}

/** Reads server-sent events (WHATWG HTML, "Interpreting an event stream"). They end where the connection does. */
async function* readEvents(body: ReadableStream<Uint8Array> | null, last: string) {
  if (!body) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let [id, event, data, retry] = [last, '', '', 0]
  try {
    for (;;) {
      const { done, value } = await limitTime(SILENCE_MS, undefined, () => reader.read())
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const [, field = '', text = ''] = /^([^:]*):? ?(.*)/.exec(line) ?? []
        if (field === 'event') event = text
        else if (field === 'data') data += text
        else if (field === 'id') id = text
        else if (field === 'retry') retry = Number(text)
        else if (line === '') {
          if (data) yield { event, data, id, retry }
          ;[event, data] = ['', '']
        }
      }
    }
  } finally {
    // Nobody reads on: the server is told.
    await reader.cancel().catch(() => {})
  }
}

/** What TanStack Query gives a query, as far as a live one uses it. */
interface LiveContext {
  readonly client: { setQueryData(key: readonly unknown[], data: unknown): unknown }
  readonly signal: AbortSignal
}

/** Options for `useQuery`: a query that is current. */
export interface LiveQueryOptions<T> {
  readonly queryKey: readonly unknown[]
  readonly queryFn: (context: LiveContext) => Promise<readonly T[]>
  readonly staleTime: number
  readonly retry: false
}

/**
 * A list that stays current, for TanStack Query: `useQuery(liveQuery(client, 'cars', { color: 'red' }))`. It is being fetched
 * for as long as somebody uses it. The items are in no order.
 */
export function liveQuery<Named, N extends keyof Named & string>(
  client: ClientOf<Named>,
  name: N,
  filters?: LiveFilters<Named, N>,
): LiveQueryOptions<LiveItem<Named, N>> {
  const state = stateOf(client, 'liveQuery')
  const id = state.ids[name] ?? 'id'
  const queryKey = [state.url, name, 'live', filters ?? {}]
  return {
    queryKey,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    async queryFn(context) {
      const list = new Map<unknown, unknown>()
      let isReady = false
      try {
        for await (const change of watch(client, name, filters, { signal: context.signal })) {
          if (change.reset) list.clear()
          isReady = change.ready || (isReady && !change.reset)
          for (const item of change.items) list.set(Reflect.get(Object(item), id), item)
          for (const gone of change.removed) list.delete(gone)
          if (isReady) context.client.setQueryData(queryKey, [...list.values()])
        }
      } catch (error) {
        // A query that fails keeps its data, of an earlier run too.
        if (isLostRight(error)) context.client.setQueryData(queryKey, (data: unknown) => data && [])
        throw error
      }
      return [] // it is never reached: a list is followed until somebody ends that
    },
  }
}
