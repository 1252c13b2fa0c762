// The health of an api: what its stores and its disk say, asked at most once a second for all clients.
import { randomBytes, randomUUID } from 'node:crypto'
import type { Awaitable } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import type { ApiDefinition, CollectionDefinition } from '../model/types/definition.ts'
import { DiskFullError } from '../store/errors.ts'

/** How long what was found holds, in milliseconds. */
const HOLDS_MS = 1000
/** How long a store may take to answer: a probe of a proxy waits a second. */
const MAX_MS = 500

/** What `/health` says. Names of collections are those that clients may know. */
export interface HealthState {
  /** `degraded`: the process serves, and something of it fails. */
  readonly status: 'ok' | 'degraded'
  /** The collections whose stores cannot be reached. */
  readonly unreachable?: string[]
  readonly disk?: 'full'
  /** The collections whose tables refuse every create: the warning of `open()` says why. */
  readonly creates_fail?: string[]
  /** For how many seconds a transaction that goes on has held back changes of live lists. */
  readonly live_late?: number
  /** The collections whose lists were slow to count in the last minute: the option `total: { exactUpTo }` helps. It does not change the status. */
  readonly slow_counts?: string[]
}

/** What was found, and why it is not well. */
interface Finding {
  readonly state: HealthState
  readonly cause: unknown
}

export class Health {
  /** Whether every store has answered once. It stays true: a server without its database still answers with errors. */
  hasOpened = false
  readonly #api: ApiDefinition
  readonly #collections: readonly CollectionDefinition[]
  /** When the stores were asked, by `performance.now`: a clock that is set back keeps no old state. */
  #asked = Number.NEGATIVE_INFINITY
  #last: Promise<Finding> | undefined
  /** Whether the failure that lasts was reported. */
  #isReported = false

  constructor(api: ApiDefinition) {
    this.#api = api
    this.#collections = api.versions.flatMap(({ collections }) => [...collections.values()])
  }

  /** @param report is told once why the stores began to fail. */
  async check(report: (error: unknown) => void): Promise<HealthState> {
    const now = performance.now()
    if (!this.#last || now - this.#asked > HOLDS_MS) {
      this.#asked = now
      this.#last = this.#ask()
    }
    const { state, cause } = await this.#last
    if (cause !== undefined && !this.#isReported) report(cause)
    this.#isReported = cause !== undefined
    return state
  }

  async #ask(): Promise<Finding> {
    const signal = AbortSignal.timeout(MAX_MS)
    const late = new Promise<never>((_, reject) => {
      signal.onabort = () => reject(signal.reason)
    })
    late.catch(() => undefined)
    let cause: unknown
    /** Async: what a store throws at once is found too. */
    const fails = async (work: () => Awaitable<unknown>) => {
      try {
        await Promise.race([work(), late])
        return false
      } catch (error) {
        cause ??= error
        return true
      }
    }
    const asked = this.#collections.map(async ({ store, shape }) =>
      fails(async () => store.find([shape.identity.kind === 'integer' ? 0 : '-'], { signal })),
    )
    const [isFull, ...failing] = await Promise.all([
      fails(() => requireDiskSpace(this.#api, { signal })),
      ...asked,
    ])
    const unreachable = this.#collections.filter((_, at) => failing[at])
    if (unreachable.length === 0) this.hasOpened = true
    const unwritable = this.#collections.filter(
      ({ operations, store }) =>
        operations.has('create') && store.facts?.()?.takesCreates === false,
    )
    const held = Math.max(...this.#collections.map(({ store }) => store.changes?.late?.() ?? 0))
    const slow = this.#collections.filter(({ store }) => store.facts?.()?.countsSlowly)
    const isOk = unreachable.length === 0 && !isFull && unwritable.length === 0
    const state: HealthState = {
      status: isOk ? 'ok' : 'degraded',
      ...(unreachable.length > 0 && { unreachable: listNames(unreachable) }),
      ...(isFull && unreachable.length === 0 && { disk: 'full' }),
      ...(unwritable.length > 0 && { creates_fail: listNames(unwritable) }),
      ...(held >= 1000 && { live_late: Math.floor(held / 1000) }),
      ...(slow.length > 0 && { slow_counts: listNames(slow) }),
    }
    return { state, cause }
  }
}

/** Lists the names that every client may know. */
function listNames(collections: readonly CollectionDefinition[]): string[] {
  const known = collections.filter(
    ({ addressable, hideExistence }) => addressable && !hideExistence,
  )
  return [...new Set(known.map(({ name }) => name))]
}

/** A server that starts, or is about to end: another one takes its requests. */
export function notReady(): HttpError {
  const message = 'This server is starting, or about to end. Send requests to another one.'
  return new HttpError(503, [{ message, type: 'not_ready' }], { headers: ['Retry-After', '1'] })
}

/** The apis that have met a full disk. It shows in writes only, so that the check of their health writes too. */
const full = new WeakSet<ApiDefinition>()

/** Remembers that a request has met a full disk. */
export function noteDiskFull(api: ApiDefinition, error: unknown): void {
  if (error instanceof DiskFullError) full.add(api)
}

/** Enough for new pages of a database, and in no form that it could compress. */
const printProbe = () => randomBytes(6144).toString('base64')

/**
 * Writes to each store, and removes it again, after a disk was full.
 * @throws DiskFullError
 */
async function requireDiskSpace(
  api: ApiDefinition,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  if (!full.has(api)) return
  for (const { collections } of api.versions)
    for (const { store, blobs } of collections.values()) {
      const name = randomUUID()
      await store.claim(name, printProbe(), options)
      await store.complete(name, undefined, options)
      if (!blobs) continue
      const { key } = await blobs.put(streamProbe(), options)
      await blobs.delete(key)
    }
  full.delete(api)
}

async function* streamProbe(): AsyncGenerator<Uint8Array> {
  yield Buffer.from(printProbe())
}
