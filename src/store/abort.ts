// Waits for signals: however many calls share one, it has one listener.

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

let never: AbortSignal | undefined

/** Gives a signal that is never aborted. The first call creates it: Workers cannot while they load. */
export function neverAborted(): AbortSignal {
  never ??= new AbortController().signal
  return never
}
