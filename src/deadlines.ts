// Every request ends: how long a client may take over its body, and how long the work may take.
import { HttpError } from './errors.ts'
import type { HttpRequest } from './http.ts'
import type { Limits } from './limits.ts'

/**
 * A body that must keep coming: what the server has waited for it may not exceed `bodyTime` by more
 * than the bytes so far excuse at `bodyRate`.
 * @throws HttpError 408 (RFC 9110 §15.5.9), when read.
 */
export async function* timedBody(
  body: AsyncIterable<Uint8Array>,
  { bodyTime, bodyRate }: Pick<Limits, 'bodyTime' | 'bodyRate'>,
): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]()
  let bytes = 0
  let waited = 0
  try {
    while (true) {
      const started = Date.now()
      const left = bodyTime + (bytes / bodyRate) * 1000 - waited
      const { done, value } = await orTimeout(iterator.next(), left)
      if (done) return
      waited += Date.now() - started
      bytes += value.length
      yield value
    }
  } finally {
    // Nobody waits for it: a body that hangs would not end either.
    iterator.return?.().catch(() => undefined)
  }
}

function orTimeout<T>(next: Promise<T>, time: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(bodyTooSlow()), Math.max(0, time))
    next.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function bodyTooSlow(): HttpError {
  const message = 'The body came too slowly; send the request again'
  return new HttpError(408, [{ message, type: 'body_too_slow' }], {
    headers: ['Connection', 'close'],
  })
}

interface Work {
  readonly until: number
  readonly request: Pick<HttpRequest, 'abort'>
  readonly reject: (error: Error) => void
}

/** What is worked on at the moment. */
export interface Workload {
  /**
   * Does one piece of work more.
   * @param request aborted where the time is over; what the work gives then is dropped.
   * @throws HttpError 503 where too much is going on already, or the time is over.
   */
  run<T>(work: () => Promise<T>, request: Pick<HttpRequest, 'abort'>): Promise<T>
}

/** How often deadlines are looked at, in milliseconds: one timer for all costs less than one for each. */
const STEP = 100

export function workloadOf({
  concurrency,
  workTime,
}: Pick<Limits, 'concurrency' | 'workTime'>): Workload {
  // In the order of beginning, which is the order of the deadlines.
  const going = new Set<Work>()
  let timer: NodeJS.Timeout | undefined

  function sweep(): void {
    const now = Date.now()
    for (const work of going) {
      if (work.until > now) break
      going.delete(work)
      const error = unavailable('The work took too long', 'work_too_slow')
      work.reject(error)
      work.request.abort(error)
    }
    if (going.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    run: (work, request) =>
      new Promise((resolve, reject) => {
        if (going.size >= concurrency) {
          const message = 'Too many requests are being worked on at the moment'
          throw unavailable(message, 'overloaded')
        }
        const entry: Work = { until: Date.now() + workTime, request, reject }
        going.add(entry)
        timer ??= setInterval(sweep, STEP).unref()
        work().then(
          result => {
            going.delete(entry)
            resolve(result)
          },
          error => {
            going.delete(entry)
            reject(error)
          },
        )
      }),
  }
}

function unavailable(message: string, type: string): HttpError {
  return new HttpError(503, [{ message, type }], { headers: ['Retry-After', '1'] })
}
