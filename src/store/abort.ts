// Ends work early: with the call that it is part of, or when its time is over.

import type { StoreOptions } from './store.ts'
import { isAborted, unwatch, type WatchedCall, watch } from './watch.ts'

/** Options of calls that end with another call, or when their time is over. Most end without a signal: it is made when it is read. */
export class LimitedOptions implements StoreOptions {
  readonly #outer: StoreOptions
  readonly #watched: WatchedCall
  #controller: AbortController | undefined
  /** Why they have ended, in an object: any value may be a reason. */
  #end: { readonly reason: unknown } | undefined

  /**
   * @param time in milliseconds.
   * @param expire gives the reason when the time is over.
   */
  constructor(outer: StoreOptions, time: number, expire: () => Error) {
    this.#outer = outer
    this.#watched = watch(outer, time, () => {
      if (!this.aborted) this.#abort(expire())
    })
  }

  get aborted(): boolean {
    if (!this.#end && isAborted(this.#outer)) this.#follow()
    return this.#end !== undefined
  }

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    const { signal } = this.#outer
    this.#controller = new AbortController()
    if (this.aborted) this.#controller.abort(this.#end?.reason)
    // Not by `AbortSignal.any`: Node 20 keeps what depends on a signal for as long as that lives.
    else signal?.addEventListener('abort', this.#follow, { once: true })
    return this.#controller.signal
  }

  /** Follows the outer call no longer. */
  release(): void {
    unwatch(this.#watched)
    if (this.#controller) this.#outer.signal?.removeEventListener('abort', this.#follow)
  }

  readonly #follow = (): void => this.#abort(this.#outer.signal?.reason)

  #abort(reason: unknown): void {
    this.#end ??= { reason }
    this.#controller?.abort(reason)
  }
}

/** One signal for all. */
let never: AbortSignal | undefined

/** Gives a signal that is never aborted. The first call creates it: Workers cannot while they load. */
export function neverAborted(): AbortSignal {
  never ??= new AbortController().signal
  return never
}

/** Waits for a result, but no longer than until the work is aborted: then throws its reason, and drops a result. */
export function untilAborted<T>(result: Promise<T>, options: StoreOptions = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const watched = watch(options, undefined, () => reject(options.signal?.reason))
    const settle = (value: T) =>
      isAborted(options) ? reject(options.signal?.reason) : resolve(value)
    result.then(settle, reject).then(() => unwatch(watched))
  })
}
