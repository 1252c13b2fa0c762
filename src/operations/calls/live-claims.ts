// Claims of idempotency keys while their work runs. One timer renews them all: most work ends before it does, and has none.
import { type LiveEntry, LiveList } from '../../base/live-list.ts'
import type { Json } from '../../base/values.ts'
import { CLAIM_TTL_MS } from '../../store/idempotency.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { KeepOptions } from '../../store/store.ts'

/** How often claims are looked at, and how long after its claim or renewal one is renewed; milliseconds. */
const TICK_MS = 1000
const RENEW_MS = 3000

/** What is to be done of a claim in a while, by `performance.now()`. */
interface DueTask extends LiveEntry {
  due: number
  run(now: number): void
}

const tasks = new LiveList<DueTask>()
/** Whether the one timer of all claims runs. */
let ticking = false

function add(task: DueTask): void {
  tasks.add(task)
  if (!ticking) startTimer()
}

function startTimer(): void {
  ticking = true
  setTimeout(tick, TICK_MS).unref()
}

function tick(): void {
  const now = performance.now()
  for (const task of tasks.list()) if (now >= task.due) task.run(now)
  ticking = false
  if (tasks.size > 0) startTimer()
}

/** By the call whose work runs. */
const claims = new WeakMap<object, LiveClaim>()

export function findClaim(call: object): LiveClaim | undefined {
  return claims.get(call)
}

/** A claim that is renewed until its work has ended. */
export class LiveClaim implements DueTask {
  place = 0
  due = performance.now() + RENEW_MS
  readonly #store: KeyedStore
  readonly #key: string
  /** By which the store knows whose claim it is; `undefined` where it does not tell. */
  #claim: number | undefined
  #renewal: Promise<void> | undefined

  constructor(store: KeyedStore, key: string, claim: number | undefined, call: object) {
    this.#store = store
    this.#key = key
    this.#claim = claim
    if (claim === undefined || !store.renew) return
    claims.set(call, this)
    add(this)
  }

  run(now: number): void {
    // A renewal that hangs is not followed by others.
    this.#renewal ??= this.#renew(now).finally(() => {
      this.#renewal = undefined
    })
  }

  async #renew(now: number): Promise<void> {
    try {
      const claim = await this.#store.renew?.(this.#key, this.#claim ?? 0)
      this.#claim = claim ?? this.#claim
      this.due = now + RENEW_MS
      // It has expired, or its work has kept the answer.
      if (claim === undefined) tasks.delete(this)
    } catch {
      // The next tick tries it again.
    }
  }

  /**
   * Runs a transaction, which may be about to complete the key: a renewal meanwhile would be a conflict, and have it run again.
   * It has at least 6 s before the claim ends.
   */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    const paused = tasks.delete(this)
    await this.#renewal
    try {
      return await work()
    } finally {
      if (paused) add(this)
    }
  }

  /** Ends the renewals: the work is done. */
  end(): void {
    tasks.delete(this)
  }

  /** Frees the key: the work has failed. */
  async free(): Promise<void> {
    this.end()
    await this.#renewal
    await completeKey(this.#store, this.#key, undefined, { claim: this.#claim })
  }
}

/** Completes a key, now or, while the store cannot be reached, as often as it takes until the claim ends. */
export async function completeKey(
  store: KeyedStore,
  key: string,
  answer: Json | undefined,
  options: KeepOptions,
): Promise<void> {
  const complete = async () => store.complete(key, answer, options)
  const until = performance.now() + CLAIM_TTL_MS
  const task: DueTask = {
    place: 0,
    due: 0,
    run(now) {
      this.due = Number.POSITIVE_INFINITY
      if (now >= until) tasks.delete(task)
      else
        void complete().then(
          () => tasks.delete(task),
          () => (task.due = 0),
        )
    },
  }
  // A key without an owner could be another's by then.
  const repeats = answer !== undefined || options.claim !== undefined
  await complete().catch(() => (repeats ? add(task) : undefined))
}
