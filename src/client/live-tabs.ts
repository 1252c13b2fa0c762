// The entry point `rest-conventions/client/live-tabs`: the tabs of a browser follow a list by one stream.
import type { CallOptions } from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { isLostRight } from './errors.ts'
import { watch } from './live.ts'
import type { LiveChange, LiveFilters, LiveItem } from './live-types.ts'
import { stateOf } from './place.ts'
import { link } from './time.ts'

/** Who shares a stream. */
export interface TabsOptions extends CallOptions {
  /**
   * Who is signed in, such as the id of a user: only tabs of the same one share a stream. Empty if nobody signs in. End the
   * call when somebody signs out.
   */
  readonly user: string
}

/** The locks of a browser (W3C, "Web Locks API"), as far as they are used here. */
interface Locks {
  request(
    name: string,
    options: { readonly signal: AbortSignal },
    lead: () => Promise<unknown>,
  ): Promise<unknown>
}

/** A channel to the other tabs (WHATWG HTML, "Broadcasting to other browsing contexts"). */
interface TabChannel {
  onmessage: ((event: { readonly data: TabMessage }) => void) | null
  postMessage(message: TabMessage): void
  close(): void
}

/** What one tab tells the others. */
interface TabMessage {
  readonly change?: LiveChange<unknown>
  /** The tab that asks for the list, or whose list this is; absent: it is for all. */
  readonly from?: string
  readonly to?: string
}

/** How many changes may wait for a reader, before it gets the whole list in their place. */
const MAX_WAITING = 100

/**
 * Follows a list as `watch` does, by one stream for all tabs that follow it: over HTTP/1.1 a browser opens six connections to
 * an origin. One tab has the stream; if it is closed, another opens one and all begin with `reset`. Without the locks of a
 * browser, as over plain HTTP and in Node, each caller has its own stream.
 * @throws HttpError as `watch` does
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { watchOverTabs } from 'rest-conventions/client/live-tabs'
 * import { z } from 'zod'
 * const schema = z.object({ color: z.string() })
 * const cars = defineCollection({ name: 'cars', schema, store: memoryStore(), live: true })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const list = new Map()
 * for await (const change of watchOverTabs(client, 'cars', { color: 'red' }, { user: 'ann' })) {
 *   if (change.reset) list.clear()
 *   for (const car of change.items) list.set(car.id, car)
 *   for (const id of change.removed) list.delete(id)
 *   if (change.ready) break
 * }
 */
export function watchOverTabs<Named, N extends keyof Named & string>(
  client: ClientOf<Named>,
  name: N,
  filters: LiveFilters<Named, N> | undefined,
  { user, ...options }: TabsOptions,
): AsyncGenerator<LiveChange<LiveItem<Named, N>>, never> {
  const { url, ids } = stateOf(client, 'watchOverTabs')
  const follow = (signal: AbortSignal | undefined) =>
    watch(client, name, filters, { ...options, ...(signal && { signal }) })
  // Of browsers, and of none of the libraries that TypeScript is given here.
  const locks = Reflect.get(Object(Reflect.get(globalThis, 'navigator')), 'locks') as
    | Locks
    | undefined
  if (!locks) return follow(options.signal)
  const key = `rest-conventions ${JSON.stringify([url, name, filters ?? {}, user])}`
  const shared = share(new Tab(key, ids[name] ?? 'id'), locks, follow, options.signal)
  return shared as AsyncGenerator<LiveChange<LiveItem<Named, N>>, never> // of this collection
}

/** What one tab has of a list, and the others hear. */
class Tab {
  readonly key: string
  readonly channel: TabChannel
  /** Changes that the reader has not taken. */
  readonly waiting: LiveChange<unknown>[] = []
  wake = () => {}
  readonly #id: string
  readonly #name = crypto.getRandomValues(new Uint32Array(4)).join('-')
  readonly #list = new Map<unknown, unknown>()
  #isReady = false
  /** Whether it has the list, and so may be told of changes. */
  #isBegun = false
  #leads = false

  constructor(key: string, id: string) {
    this.key = key
    this.#id = id
    // Tabs of this code alone speak there. The types of Node have more of it, and say less of messages.
    this.channel = new BroadcastChannel(key) as unknown as TabChannel
    this.channel.onmessage = ({ data }) => this.#hear(data)
    this.#tell({ from: this.#name })
  }

  /** Has the stream from now on, and tells the others. */
  async lead(changes: AsyncIterable<LiveChange<unknown>>): Promise<void> {
    this.#leads = true
    const spread = (change: LiveChange<unknown>) => {
      this.#apply(change)
      this.#tell({ change })
    }
    try {
      for await (const change of changes) spread(change)
    } catch (error) {
      // The list may be of a stream that another tab had.
      if (this.#list.size > 0 && isLostRight(error))
        spread({ items: [], removed: [], reset: true, ready: false })
      throw error
    }
  }

  #tell(message: TabMessage): void {
    this.channel.postMessage(message)
  }

  #hear({ change, from, to = this.#name }: TabMessage): void {
    if (from !== undefined && this.#leads) this.#tell({ change: this.#whole(), to: from })
    if (change && to === this.#name && !this.#leads && (this.#isBegun || change.reset))
      this.#apply(change)
  }

  /** The whole list as one change. */
  #whole(): LiveChange<unknown> {
    return { items: [...this.#list.values()], removed: [], reset: true, ready: this.#isReady }
  }

  #apply(change: LiveChange<unknown>): void {
    this.#isBegun = true
    if (change.reset) this.#list.clear()
    this.#isReady = change.ready || (this.#isReady && !change.reset)
    for (const item of change.items) this.#list.set(Reflect.get(Object(item), this.#id), item)
    for (const gone of change.removed) this.#list.delete(gone)
    if (this.waiting.push(change) > MAX_WAITING)
      this.waiting.splice(0, this.waiting.length, this.#whole())
    this.wake()
  }
}

async function* share(
  tab: Tab,
  locks: Locks,
  follow: (signal: AbortSignal) => AsyncIterable<LiveChange<unknown>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<LiveChange<unknown>, never> {
  const [end, unlink] = link(signal)
  let failure: { readonly error: unknown } | undefined
  const lead = () => tab.lead(follow(end.signal))
  // A lock is let go when its tab is closed: then the next one leads.
  locks.request(tab.key, { signal: end.signal }, lead).catch(error => {
    failure = { error }
    tab.wake()
  })
  try {
    for (;;) {
      for (let change = tab.waiting.shift(); change; change = tab.waiting.shift()) yield change
      if (failure) throw failure.error
      await new Promise<void>(resolve => {
        tab.wake = resolve
      })
    }
  } finally {
    end.abort()
    unlink()
    tab.channel.close()
  }
}
