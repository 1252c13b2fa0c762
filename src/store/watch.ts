// Ends calls that are aborted, or take too long. One timer asks all that run: most end before it does, so that none
// needs a listener, or a timer of its own.
import { type LiveEntry, LiveList } from '../base/live-list.ts'
import type { StoreOptions } from './store.ts'

/** How often calls are asked, in milliseconds. */
const TICK_MS = 20

/** A call that runs. */
export interface WatchedCall extends LiveEntry {
  readonly options: StoreOptions
  /** By `performance.now()`. */
  readonly until: number
  readonly end: () => void
}

const watched = new LiveList<WatchedCall>()
/** Whether the one timer of all calls runs. */
let ticking = false

/**
 * Calls `end` once, where the signal is aborted or the time is up, some milliseconds later.
 * @param limit in milliseconds; `undefined` for none.
 * @returns what `unwatch` takes.
 */
export function watch(
  options: StoreOptions,
  limit: number | undefined,
  end: () => void,
): WatchedCall {
  const until = limit === undefined ? Number.POSITIVE_INFINITY : performance.now() + limit
  const call = { options, until, end, place: 0 }
  watched.add(call)
  if (!ticking) {
    ticking = true
    setTimeout(tick, TICK_MS)
  }
  return call
}

export function unwatch(call: WatchedCall): void {
  watched.delete(call)
}

/** Whether the work is to end; makes no signal where the options know without. */
export function isAborted(options: StoreOptions): boolean {
  return options.aborted ?? options.signal?.aborted ?? false
}

function tick(): void {
  const now = performance.now()
  for (const call of watched.list()) {
    const isOver = now >= call.until || isAborted(call.options)
    if (isOver && watched.delete(call)) call.end()
  }
  ticking = watched.size > 0
  if (ticking) setTimeout(tick, TICK_MS)
}
