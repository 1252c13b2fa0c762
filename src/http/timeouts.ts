// Every request ends: how long a client may take over its body, and how long the work may take.
import { type ErrorType, HttpError, incompleteBody } from '../errors.ts'
import type { Awaitable } from '../schema/values.ts'
import type { Limits } from './limits.ts'
import type { HttpRequest } from './message.ts'

/**
 * The pace at which a body must keep coming: what the server has waited for it may not exceed
 * `bodyTime` by more than the bytes so far excuse at `bodyRate`.
 */
export class BodyTimer {
  readonly #limits: Pick<Limits, 'bodyTime' | 'bodyRate'>
  #bytes = 0
  #waited = 0

  constructor(limits: Pick<Limits, 'bodyTime' | 'bodyRate'>) {
    this.#limits = limits
  }

  /** Says that so many bytes have come. */
  came(bytes: number): void {
    this.#bytes += bytes
  }

  /**
   * Waits for what comes next, no longer than the pace allows.
   * @throws HttpError 408 (RFC 9110 §15.5.9)
   */
  async wait<T>(next: Promise<T>): Promise<T> {
    const { bodyTime, bodyRate } = this.#limits
    const started = performance.now()
    const left = bodyTime + (this.#bytes / bodyRate) * 1000 - this.#waited
    try {
      return await orTooSlow(next, left)
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
      pace.came(value.length)
      yield value
    }
  } finally {
    // Nobody waits for it: a body that hangs would not end either.
    iterator.return?.().catch(() => undefined)
  }
}

function breakOff(cause: unknown): never {
  throw incompleteBody(cause)
}

function orTooSlow<T>(next: Promise<T>, time: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = bodies.add(time, () => reject(bodyTooSlow()))
    const settle = () => bodies.delete(deadline)
    next.then(resolve, reject).then(settle, settle)
  })
}

function bodyTooSlow(): HttpError {
  const message = 'The body came too slowly; send the request again'
  return new HttpError(408, [{ message, type: 'body_too_slow' }], {
    headers: ['Connection', 'close'],
  })
}

interface Deadline {
  /** By `performance.now()`, which no clock that is set moves. */
  readonly until: number
  readonly expire: () => void
}

/** How often deadlines are looked at, in milliseconds: one timer for all costs less than one for each. */
const STEP = 100

class Deadlines {
  readonly #going = new Set<Deadline>()
  #timer: NodeJS.Timeout | undefined

  get size(): number {
    return this.#going.size
  }

  /** @param time until `expire` is called, in milliseconds, unless it is deleted before. */
  add(time: number, expire: () => void): Deadline {
    const deadline = { until: performance.now() + time, expire }
    this.#going.add(deadline)
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.sweep(), STEP)
      // A timer of workerd is a number.
      this.#timer.unref?.()
    }
    return deadline
  }

  delete(deadline: Deadline): void {
    this.#going.delete(deadline)
  }

  /** Ends what is over its time. */
  sweep(): void {
    const now = performance.now()
    for (const deadline of this.#going) {
      if (deadline.until > now) continue
      this.#going.delete(deadline)
      deadline.expire()
    }
    if (this.#going.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Of the bodies that are waited for, and of those who take them. */
const bodies = new Deadlines()

/**
 * Hands a content on to who takes it, and who may take so long for each piece, and for what is done after
 * the last. Nothing of that is the time in which the next piece comes.
 * @param late told once the time is over: what is taken then is for nobody.
 * @throws HttpError 503
 */
export function withinTime<T>(
  content: AsyncIterator<Uint8Array>,
  time: number,
  take: (content: AsyncIterable<Uint8Array>) => Promise<T>,
  late: (error: HttpError) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // Pieces may be asked for ahead of those that have not come.
    let asked = 0
    let over = false
    const expire = () => {
      over = true
      const error = unavailable('The upload took too long to be kept', 'work_too_slow')
      reject(error)
      late(error)
    }
    let deadline = bodies.add(time, expire)
    const settle = () => {
      over = true
      bodies.delete(deadline)
    }

    const pieces: AsyncIterableIterator<Uint8Array> = {
      [Symbol.asyncIterator]: () => pieces,
      async next() {
        bodies.delete(deadline)
        asked++
        try {
          return await content.next()
        } finally {
          asked--
          if (asked === 0 && !over) deadline = bodies.add(time, expire)
        }
      },
      async return(value) {
        await content.return?.()
        return { value, done: true }
      },
    }

    take(pieces).then(resolve, reject).then(settle, settle)
  })
}

/** What is worked on at the moment. */
export interface Workload {
  /**
   * Does one more piece of work; where it does not wait it costs nothing.
   * @param request aborted where the time is over; what the work gives then is dropped.
   * @throws HttpError 503 where too much is going on already, or the time is over.
   */
  run<T>(work: () => Awaitable<T>, request: Pick<HttpRequest, 'abort'>): Awaitable<T>
}

export function createWorkload({
  concurrency,
  workTime,
}: Pick<Limits, 'concurrency' | 'workTime'>): Workload {
  const pending = new Deadlines()

  function limitTime<T>(work: Promise<T>, request: Pick<HttpRequest, 'abort'>): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = pending.add(workTime, () => {
        const error = unavailable('The work took too long. Try again.', 'work_too_slow')
        reject(error)
        request.abort(error)
      })
      work.then(
        result => {
          pending.delete(deadline)
          resolve(result)
        },
        error => {
          pending.delete(deadline)
          reject(error)
        },
      )
    })
  }

  return {
    run(work, request) {
      // Workers end a timer with the request that began it: what was given up there is found here.
      if (pending.size >= concurrency) pending.sweep()
      if (pending.size >= concurrency)
        throw unavailable(
          'Too many requests are being worked on at the moment. Try again.',
          'overloaded',
        )
      const result = work()
      return result instanceof Promise ? limitTime(result, request) : result
    },
  }
}

export function unavailable(message: string, type: ErrorType): HttpError {
  return new HttpError(503, [{ message, type }], { headers: ['Retry-After', '1'] })
}
