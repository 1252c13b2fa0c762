// Waits for signals: however many calls share one, it has one listener.

import type { StoreOptions } from './store.ts'

/** The callbacks of a signal that somebody waits for. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls back when the signal is aborted, at once if it is already.
 * @returns a function that stops this.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback()
    return () => {}
  }
  const callbacks = waiting.get(signal) ?? listen(signal)
  // The same function may be given twice.
  const call = () => callback()
  callbacks.add(call)
  return () => {
    callbacks.delete(call)
  }
}

function listen(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>()
  waiting.set(signal, callbacks)
  const abort = () => {
    for (const call of callbacks) call()
  }
  signal.addEventListener('abort', abort, { once: true })
  return callbacks
}

/** One signal for all. */
let never: AbortSignal | undefined

/** Gives a signal that is never aborted. The first call creates it: Workers cannot while they load. */
export function neverAborted(): AbortSignal {
  never ??= new AbortController().signal
  return never
}

/** Waits for a result, but no longer than until the signal is aborted: then throws its reason. */
export function untilAborted<T>(result: Promise<T>, options: StoreOptions = {}): Promise<T> {
  const { signal } = options
  if (!signal) return result
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason))
    result.then(resolve, reject).finally(stop)
  })
}
