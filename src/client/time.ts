// Time limits and waits that end with a signal.
import { ConnectionError } from './errors.ts'

/**
 * Limits the time of work, and ends it with a signal. Not by `AbortSignal.timeout` and `AbortSignal.any`: Node 20
 * may forget both when it collects garbage.
 */
export async function limitTime<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  /** Milliseconds: a timer of more than 2 ** 31 ends at once. */
  const MAX_TIMER = 2e9
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
  const all = linked.get(signal as AbortSignal) ?? new Set() // it has nothing by `undefined`
  all.add(controller)
  if (signal && !linked.has(signal)) {
    linked.set(signal, all)
    signal.addEventListener('abort', () => {
      for (const each of all) each.abort(signal.reason)
    })
  }
  return [controller, () => all.delete(controller)] as const
}

/**
 * Waits for a random time before something is tried again, unless the signal aborts.
 * @param first the longest first wait in milliseconds; each later one is twice as long, up to 100 times the first.
 * @param least milliseconds that are waited in any case.
 */
export function backOff(
  first: number,
  count: number,
  signal: AbortSignal | undefined,
  least = 0,
): Promise<void> {
  const MAX_GROWTH = 100
  const milliseconds = least + Math.random() * first * Math.min(2 ** count, MAX_GROWTH)
  const never = () => new Promise<void>(() => {})
  return limitTime(milliseconds, signal, never).catch(() => signal?.throwIfAborted())
}
