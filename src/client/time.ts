// Time limits and waits that end with a signal.
import { ConnectionError } from './errors.ts'

/** Milliseconds: a timer of more than 2 ** 31 ends at once. */
export const MAX_TIMER = 2e9

/**
 * Limits the time of work, and ends it with a signal. Not by `AbortSignal.timeout` and `AbortSignal.any`: Node 20
 * may forget both when it collects garbage.
 */
export async function limitTime<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [controller, unlink] = link(outer)
  const { signal } = controller
  const timer = setTimeout(
    () => controller.abort(new ConnectionError(` in ${milliseconds} ms`)),
    Math.min(milliseconds, MAX_TIMER),
  )
  try {
    return await new Promise((resolve, reject) => {
      signal.onabort = () => reject(signal.reason)
      work(signal).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    unlink()
    // A `fetch` may keep the signal, and with it the answer.
    signal.onabort = null
  }
}

/** What aborts with each signal: it has one listener, since Node warns of more than ten. */
const linked = new WeakMap<AbortSignal, Set<AbortController>>()

/** Creates a controller that aborts with a signal, until `unlink` is called. @throws its reason where it has aborted */
export function link(signal: AbortSignal | undefined) {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const all = (signal && linked.get(signal)) ?? new Set()
  all.add(controller)
  if (signal && !linked.has(signal)) {
    linked.set(signal, all)
    signal.addEventListener('abort', () => {
      for (const each of all) each.abort(signal.reason)
    })
  }
  return [controller, () => all.delete(controller)] as const
}

/** Waits, unless the signal aborts. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const never = () => new Promise<void>(() => {})
  return limitTime(milliseconds, signal, never).catch(() => signal?.throwIfAborted())
}
