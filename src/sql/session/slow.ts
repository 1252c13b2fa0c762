// Calls that take longer than most: only for these a listener or a timer of their own is worth its price.

/** After how many milliseconds a call is slow; found out up to as many later. */
export const SLOW_MS = 20

/** What to do for calls that began since the last tick, and for those that began before it. */
let young = new Set<() => void>()
let old = new Set<() => void>()
let ticking = false

/**
 * Calls back once if it is not stopped within some milliseconds. One timer serves all, while there are any.
 * @returns a function that stops this.
 */
export function whenSlow(callback: () => void): () => void {
  young.add(callback)
  if (!ticking) {
    ticking = true
    setTimeout(tick, SLOW_MS)
  }
  return () => {
    if (!young.delete(callback)) old.delete(callback)
  }
}

function tick(): void {
  const slow = old
  old = young
  young = new Set()
  for (const callback of slow) callback()
  ticking = old.size > 0 || young.size > 0
  if (ticking) setTimeout(tick, SLOW_MS)
}
