// Sends a request until there is an answer: credentials, time-outs, retries, errors.
import type { ErrorEntry } from '../errors.ts'
import { HttpError, notAnAnswer } from './errors.ts'

/** How a client sends its requests. */
export interface SendOptions {
  /**
   * The value of `Authorization`: `Bearer …`, `Basic …`. A function is called for each attempt. Default: none.
   */
  readonly auth?: string | (() => string | Promise<string>) | undefined
  /** Sends a request. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /**
   * How often a request is sent again that got no answer, or 408, 429, 502, 503 or 504. Writes carry an
   * `Idempotency-Key` for it; they are not sent again where the server does not know that header. Default 5.
   */
  readonly retries?: number | undefined
  /** How many milliseconds an attempt may take, its answer included. Default 30,000, with files no limit. */
  readonly timeout?: number | undefined
  /** The most bytes of an answer's body. Default 67,108,864 (64 MiB). */
  readonly maxBytes?: number | undefined
}

export interface SentMessage {
  readonly method: string
  readonly url: string
  /** The name of the target of a write: either all writes with one method and place accept keys, or none. */
  readonly place?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** A `FormData`, or a value to be sent as JSON. */
  readonly body?: unknown
  readonly signal: AbortSignal | undefined
}

export interface Reply<T = unknown> {
  readonly status: number
  readonly headers: Headers
  /** The body, frozen; `undefined` where it is empty. */
  readonly value: T
}

/** Milliseconds before the first retry. Each later one waits twice as long, up to the second figure. */
const FIRST_WAIT = 100
const MAX_WAIT = 10_000
/** Milliseconds: with a longer `Retry-After` the error is thrown. */
const MAX_RETRY_AFTER = 60_000
const MAX_BYTES = 2 ** 26
/** Milliseconds: a timer of more than 2 ** 31 ends at once. */
const MAX_TIMER = 2e9

type Body = FormData | string | undefined

export type Send = (message: SentMessage) => Promise<Reply>

export function createSend({
  auth,
  retries = 5,
  timeout = 30_000,
  maxBytes = MAX_BYTES,
  ...options
}: SendOptions): Send {
  /** Whether writes are safe to repeat, by method and place. */
  const takers: Record<string, boolean> = {}

  /** Sends a request once, and reads its answer. A read follows one redirect, within the origin; a write none: it might become a GET. */
  async function sendOnce(message: SentMessage, body: Body, signal: AbortSignal): Promise<Reply> {
    const { method, place } = message
    const sent = {
      accept: 'application/json',
      authorization: typeof auth === 'function' ? await auth() : auth,
      'content-type': typeof body === 'string' ? 'application/json' : undefined,
      ...message.headers,
    }
    const init: RequestInit = {
      method,
      // Without those that are undefined.
      headers: JSON.parse(JSON.stringify(sent)),
      body: body ?? null,
      redirect: 'manual',
      signal,
    }
    const request = (url: string) => (options.fetch ?? fetch)(url, init)
    let response = await request(message.url)
    const location = !place && !response.ok && response.headers.get('location')
    if (location) {
      const next = new URL(location, message.url)
      if (next.origin === new URL(message.url).origin) response = await request(next.href)
    }
    const { ok, status, headers, body: stream } = response
    let left = maxBytes
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.length
        if (left < 0) throw notAnAnswer(response, `The answer has more than ${maxBytes} bytes`)
        controller.enqueue(chunk)
      },
    })
    const text = await new Response(stream?.pipeThrough(counter, { signal })).text()
    const value = parse(text)
    if ((ok && (value !== undefined || !text)) || status === 304) return { status, headers, value }
    const { errors }: { errors?: readonly ErrorEntry[] } = Object(value)
    const areErrors = Array.isArray(errors) && errors.every(each => each?.message)
    throw areErrors ? new HttpError(status, errors, headers) : notAnAnswer(response)
  }

  async function send(message: SentMessage): Promise<Reply> {
    const { method, place, signal, body, headers } = message
    const keyed = { ...message, headers: { ...headers, 'idempotency-key': place && createKey() } }
    const text = body instanceof FormData ? body : JSON.stringify(body)
    for (let count = 0; ; count++) {
      try {
        return await limitTime(typeof text === 'object' ? MAX_TIMER : timeout, signal, inner =>
          sendOnce(keyed, text, inner),
        )
      } catch (error) {
        signal?.throwIfAborted()
        const after = findWait(error)
        if (count >= retries || after > MAX_RETRY_AFTER) throw error
        const isSafe = !place || (await takesKeys(method, place, message.url).catch(() => false))
        if (!isSafe) throw error
        await wait(after + Math.random() * Math.min(FIRST_WAIT * 2 ** count, MAX_WAIT), signal)
      }
    }
  }

  /** Sends OPTIONS once for each place: a write is repeated only if the server knows its key. */
  async function takesKeys(method: string, place: string, url: string) {
    const describe = async () => {
      const { value } = await send({ method: 'OPTIONS', url, signal: undefined })
      return JSON.stringify((value as Readonly<Record<string, unknown>>)[method.toLowerCase()])
    }
    const name = `${method} ${place}`
    takers[name] ??= /idempotency-?key/i.test(await describe())
    return takers[name]
  }

  return send
}

/** Finds how many milliseconds a retry must wait; more than any for an error that is final. */
function findWait(error: unknown): number {
  if (!(error instanceof HttpError)) return 0
  const { status, errors, headers } = error
  const isRunning = status === 409 && errors[0]?.type === 'idempotency_key'
  if (!isRunning && !/408|429|50[234]/.test(`${status}`)) return Number.MAX_VALUE
  const after = headers.get('retry-after') ?? ''
  return Math.max(0, Number(after) * 1000 || Date.parse(after) - Date.now() || 0)
}

/**
 * Limits the time of work, and ends it with a signal. Not by `AbortSignal.timeout` and `AbortSignal.any`: Node 20
 * may forget both when it collects garbage.
 */
async function limitTime<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [controller, unlink] = link(outer)
  const { signal } = controller
  const timer = setTimeout(
    () => controller.abort(new DOMException(`No answer in ${milliseconds} ms`, 'TimeoutError')),
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

/** Creates a random key. Not by `randomUUID`: browsers have that over https alone. */
function createKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** Parses and freezes JSON: the cache may return it again. `undefined` for anything else, such as the page of a proxy. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_, value) => Object.freeze(value))
  } catch {
    return undefined
  }
}
