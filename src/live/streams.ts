// All streams of an api: how many there are, when they say that they are alive, when their rights are checked, when they end.

import { takeTurnIfDue } from '../base/turns.ts'
import { Deadlines, unavailable } from '../http/timeouts.ts'
import type { StoreChanges } from '../store/changes.ts'
import { Hub } from './hub.ts'
import type { Shown } from './shown.ts'
import { Watcher } from './watcher.ts'

const TICK_MS = 1000
const BEAT_MS = 15_000
const CHECK_MS = 30_000
const LONGEST_MS = 15 * 60_000

/** How many rights are checked at the same time. */
const MAX_CHECKS = 8

/** What has become of the rights of a stream: what it shows now, or that it has ended; `lost` has the client forget all. */
export type CheckedRights = Shown | 'lost' | 'ended'

/** A stream that a request asks for. */
export interface OpenStream {
  readonly shown: Shown
  readonly changes: StoreChanges
  /** The `Last-Event-ID`. */
  readonly last: string | undefined
  /** When its credentials expire, in milliseconds since 1970. */
  readonly expiresAt: number
  check(): Promise<CheckedRights>
  /** Called with failures of the store. */
  report(error: unknown): void
}

export class LiveStreams {
  readonly #most: number
  readonly #watchers = new Map<Watcher, OpenStream['check']>()
  readonly #hubs = new Map<StoreChanges, Hub>()
  readonly #deadlines = new Deadlines()
  /** How many checks run. */
  #checking = 0
  #timer: NodeJS.Timeout | undefined

  /** @param most how many streams there may be at the same time. */
  constructor(most: number) {
    this.#most = most
  }

  /** @throws HttpError 503 */
  open({ shown, changes, last = '', expiresAt, check, report }: OpenStream): Watcher {
    if (this.#watchers.size >= this.#most)
      throw unavailable('Too many lists are watched at the moment. Try again.', 'overloaded')
    const hub = this.#hubs.get(changes) ?? new Hub(changes, report)
    this.#hubs.set(changes, hub)
    const now = performance.now()
    const endAt = now + Math.min(LONGEST_MS, Math.max(0, expiresAt - Date.now()))
    // Not all at once: streams of one server that ends would come again together.
    const retry = 1000 + Math.round(Math.random() * 2000)
    const watcher = new Watcher(shown, hub, { endAt, retry, onEnd: each => this.#end(each) })
    watcher.checkAt = now + CHECK_MS
    this.#watchers.set(watcher, check)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref?.()
    const key = `${shown.key}.`
    watcher.begin(last.startsWith(key) && last.length < 200 ? last.slice(key.length) : undefined)
    return watcher
  }

  /** Ends all of them. */
  end(): void {
    for (const watcher of this.#watchers.keys()) watcher.end()
  }

  #end(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.#watchers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#hubs.clear()
  }

  #tick(): void {
    const now = performance.now()
    for (const watcher of this.#watchers.keys()) {
      if (now >= watcher.endAt) watcher.end()
      else if (now >= watcher.beatAt + BEAT_MS) watcher.beat()
    }
    const due = [...this.#watchers].filter(([{ checkAt }]) => now >= checkAt).values()
    for (let free = MAX_CHECKS - this.#checking; free > 0; free--) void this.#checkAll(due)
  }

  /** Checks the rights of streams one after another; several of these share what is due. */
  async #checkAll(due: Iterable<[Watcher, OpenStream['check']]>): Promise<void> {
    this.#checking++
    for (const [watcher, check] of due) {
      // An earlier tick may have come to it.
      if (!watcher.ended && performance.now() >= watcher.checkAt) await this.#check(watcher, check)
      await takeTurnIfDue()
    }
    this.#checking--
  }

  async #check(watcher: Watcher, check: OpenStream['check']): Promise<void> {
    watcher.checkAt = performance.now() + CHECK_MS
    const tooSlow = () => unavailable('The rights took too long to find', 'work_too_slow')
    // One that hangs must not hold up the others.
    const checked = await this.#deadlines.within(check(), CHECK_MS, tooSlow).catch(() => 'ended')
    if (typeof checked === 'string') watcher.end(checked === 'lost')
    else if (checked.key !== watcher.shown.key) {
      watcher.shown = checked
      watcher.begin()
    }
  }
}
