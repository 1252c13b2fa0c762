// Sends a request until there is an answer: credentials, time-outs, retries, errors.
import type { ErrorEntry } from '../errors.ts'
import { HttpError } from './errors.ts'

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
  /** How many milliseconds an attempt may take. Default 30,000, with files no limit. */
  readonly timeout?: number | undefined
}

export interface Message {
  readonly method: string
  readonly url: string
  /** The name of the target of a write: either all writes with one method and place accept keys, or none. */
  readonly place?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** A `FormData`, or a value to be sent as JSON. */
  readonly body?: unknown
  readonly signal: AbortSignal | undefined
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** The body, frozen; `undefined` where it is empty. */
  readonly value: unknown
}

/** Milliseconds before the first retry. Each later one waits twice as long, up to the second figure. */
const FIRST_WAIT = 100
const MAX_WAIT = 10_000
/** Milliseconds: with a longer `Retry-After` the error is thrown. */
const MAX_RETRY_AFTER = 60_000

export type Send = (message: Message) => Promise<Reply>

export function createSend({ auth, retries = 5, timeout = 30_000, ...options }: SendOptions): Send {
  /** Whether writes are safe to repeat, by method and place. */
  const takers = new Map<string, boolean>()

  async function attempt(message: Message, body: FormData | string | undefined): Promise<Reply> {
    const { method, url, signal, place } = message
    const isForm = body instanceof FormData
    const sent = {
      accept: 'application/json',
      authorization: typeof auth === 'function' ? await auth() : auth,
      'content-type': isForm || !body ? undefined : 'application/json',
      ...message.headers,
    }
    const response = await (options.fetch ?? fetch)(url, {
      method,
      headers: Object.entries(sent).filter((each): each is [string, string] => !!each[1]),
      body: body ?? null,
      // A redirect may turn a write into a GET, whose answer would look like the item.
      redirect: place ? 'manual' : 'follow',
      signal: anyOf(signal, isForm ? undefined : AbortSignal.timeout(timeout)),
    })
    const { ok, status, headers } = response
    const text = await response.text()
    const value = parse(text)
    if ((ok && (value !== undefined || !text)) || status === 304) return { status, headers, value }
    const { errors } = (value ?? {}) as { errors?: readonly ErrorEntry[] }
    const other = { message: `An answer with status ${status} is not of the api`, code: status }
    throw new HttpError(status, Array.isArray(errors) ? errors : [other], headers)
  }

  async function send(message: Message): Promise<Reply> {
    const { method, place, signal, body, headers } = message
    const keyed = { ...message, headers: { ...headers, 'idempotency-key': place && createKey() } }
    const text = body instanceof FormData ? body : JSON.stringify(body)
    for (let count = 0; ; count++) {
      signal?.throwIfAborted()
      try {
        return await attempt(keyed, text)
      } catch (error) {
        signal?.throwIfAborted()
        const after = findWait(error)
        if (count >= retries || !(after <= MAX_RETRY_AFTER)) throw error
        const isSafe = !place || (await takesKeys(method, place, message.url).catch(() => false))
        signal?.throwIfAborted()
        if (!isSafe) throw error
        await wait(after + Math.random() * Math.min(FIRST_WAIT * 2 ** count, MAX_WAIT), signal)
      }
    }
  }

  /** Sends OPTIONS once for each place: a write is repeated only if the server knows its key. */
  async function takesKeys(method: string, place: string, url: string): Promise<boolean> {
    const name = `${method} ${place}`
    const known = takers.get(name)
    if (known !== undefined) return known
    const { value } = await send({ method: 'OPTIONS', url, signal: undefined })
    const described = (value as Readonly<Record<string, unknown>>)[method.toLowerCase()]
    const takes = /idempotency-?key/i.test(JSON.stringify(described))
    takers.set(name, takes)
    return takes
  }

  return send
}

/** Finds how many milliseconds a retry must wait; `NaN` for an error that is final. */
function findWait(error: unknown): number {
  if (!(error instanceof HttpError)) return 0
  const { status, errors, headers } = error
  const isRunning = status === 409 && errors[0]?.type === 'idempotency_key'
  if (!isRunning && ![408, 429, 502, 503, 504].includes(status)) return Number.NaN
  const after = headers.get('retry-after') ?? '0'
  return Math.max(
    0,
    /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now() || 0,
  )
}

export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter(each => each !== undefined))
}

/** Waits, unless the signal aborts. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop)
  })
}

/** Creates a random key. Not by `randomUUID`: browsers have that over https alone. */
function createKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** Parses and freezes JSON; `undefined` for anything else, such as the page of a proxy. */
function parse(text: string): unknown {
  try {
    return freeze(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Freezes a value and all in it: the cache may return it again. */
function freeze<T>(value: T): T {
  if (typeof value === 'object' && value) for (const each of Object.values(value)) freeze(each)
  return Object.freeze(value)
}
