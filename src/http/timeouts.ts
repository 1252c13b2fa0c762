// The time limits that end every request: for its body and for the work.

import { type LiveEntry, LiveList } from '../base/live-list.ts'
import type { Awaitable } from '../base/values.ts'
import { type ErrorType, HttpError, incompleteBody } from '../errors.ts'
import type { Limits } from './limits.ts'
import type { ReceivedRequest } from './message.ts'

/**
 * Measures the pace of a body: the server waits for it no longer than `bodyTime`, and the time in which
 * the bytes so far arrive at `bodyRate`.
 */
export class BodyTimer {
  readonly #limits: Pick<Limits, 'bodyTime' | 'bodyRate'>
  #bytes = 0
  #waited = 0

  constructor(limits: Pick<Limits, 'bodyTime' | 'bodyRate'>) {
    this.#limits = limits
  }

  /** Counts bytes that have arrived. */
  add(bytes: number): void {
    this.#bytes += bytes
  }

  /**
   * Waits for the next bytes, no longer than the pace allows.
   * @throws HttpError 408 (RFC 9110 §15.5.9)
   */
  async wait<T>(next: Promise<T>): Promise<T> {
    const { bodyTime, bodyRate } = this.#limits
    const started = performance.now()
    const left = bodyTime + (this.#bytes / bodyRate) * 1000 - this.#waited
    try {
      return await bodies.within(next, left, bodyTooSlow)
    } finally {
      this.#waited += performance.now() - started
    }
  }
}

/**
 * A body that must keep its pace.
 * @throws HttpError when read: 408, and 400 where it breaks off.
 */
export async function* limitBodyTime(
  body: AsyncIterable<Uint8Array>,
  limits: Pick<Limits, 'bodyTime' | 'bodyRate'>,
): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]()
  const pace = new BodyTimer(limits)
  try {
    while (true) {
      const { done, value } = await pace.wait(iterator.next().catch(breakOff))
      if (done) return
      pace.add(value.length)
      yield value
    }
  } finally {
    // Not awaited: a body that hangs would not end either.
    iterator.return?.().catch(() => undefined)
  }
}

function breakOff(cause: unknown): never {
  throw incompleteBody(cause)
}

function bodyTooSlow(): HttpError {
  const message = 'The body came too slowly; send the request again'
  return new HttpError(408, [{ message, type: 'body_too_slow' }], {
    headers: ['Connection', 'close'],
  })
}

interface Deadline extends LiveEntry {
  /** By `performance.now()`, which no clock that is set moves. */
  readonly until: number
  readonly expire: () => void
}

/** How often deadlines are checked, in milliseconds: one timer for all costs less than one for each. */
const CHECK_MS = 100

export class Deadlines {
  readonly #pending = new LiveList<Deadline>()
  #timer: NodeJS.Timeout | undefined

  get size(): number {
    return this.#pending.size
  }

  /** @param time until `expire` is called, in milliseconds, unless it is deleted before. */
  add(time: number, expire: () => void): Deadline {
    const deadline = { until: performance.now() + time, expire, place: 0 }
    this.#pending.add(deadline)
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.sweep(), CHECK_MS)
      // A timer of workerd is a number.
      this.#timer.unref?.()
    }
    return deadline
  }

  delete(deadline: Deadline): void {
    this.#pending.delete(deadline)
  }

  /** Rejects where a promise takes longer, with the error that `expire` gives then. */
  within<T>(work: Promise<T>, time: number, expire: () => HttpError): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = this.add(time, () => reject(expire()))
      work.then(
        result => {
          this.delete(deadline)
          resolve(result)
        },
        error => {
          this.delete(deadline)
          reject(error)
        },
      )
    })
  }

  /** Expires the deadlines that are over. */
  sweep(): void {
    const now = performance.now()
    for (const deadline of this.#pending.list()) {
      if (deadline.until <= now && this.#pending.delete(deadline)) deadline.expire()
    }
    if (this.#pending.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** The deadlines of bodies that are awaited. */
const bodies = new Deadlines()

/** Bounds the work of all requests. */
export interface Workload {
  /**
   * Runs one more piece of work; where it does not wait it costs nothing.
   * @param request aborted where the time is over; what the work gives then is dropped.
   * @throws HttpError 503 where too much is in progress already, or the time is over.
   */
  run<T>(work: () => Awaitable<T>, request: Pick<ReceivedRequest, 'abort'>): Awaitable<T>
}

export function createWorkload({
  concurrency,
  workTime,
}: Pick<Limits, 'concurrency' | 'workTime'>): Workload {
  const pending = new Deadlines()
  return {
    run(work, request) {
      // Workers end a timer with the request that began it: its deadlines are found here.
      if (pending.size >= concurrency) pending.sweep()
      if (pending.size >= concurrency) {
        const message = 'Too many requests are being worked on at the moment. Try again.'
        throw unavailable(message, 'overloaded')
      }
      const result = work()
      if (!(result instanceof Promise)) return result
      return pending.within(result, workTime, () => {
        const error = unavailable('The work took too long. Try again.', 'work_too_slow')
        request.abort(error)
        return error
      })
    },
  }
}

export function unavailable(message: string, type: ErrorType): HttpError {
  return new HttpError(503, [{ message, type }], { headers: ['Retry-After', '1'] })
}
