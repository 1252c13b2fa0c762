// Sends a request until there is an answer: credentials, time limits, retries, errors.
import type { CallOptions } from '../model/types/resource.ts'
import { ConnectionError, HttpError } from './errors.ts'
import { createFetchReply, type FetchOptions, type Reply } from './fetch-reply.ts'
import { backOff, limitTime } from './time.ts'

/** How a client sends its requests. */
export interface SendOptions extends FetchOptions {
  /**
   * The value of `Authorization`: `Bearer …`, `Basic …`. A function is called for each attempt. Where it was answered 401
   * it is called again with `retry`, once for all requests that wait, to get a new token; they are sent once more with it.
   * What it throws ends the call. Default: none.
   */
  readonly auth?: string | ((attempt: AuthAttempt) => string | Promise<string>) | undefined
  /**
   * How often a request is sent again that got no answer, or 408, 429, 502, 503 or 504. Writes carry an
   * `Idempotency-Key` for it; they are not sent again where the server does not know that header. Default 5.
   */
  readonly retries?: number | undefined
  /** How many milliseconds an attempt may take, its answer included. Default 30,000, with files no limit. */
  readonly timeout?: number | undefined
  /**
   * Whether equal reads at the same moment are one request. Default true; false with a `fetch` of its own, which may add
   * what tells callers apart.
   */
  readonly join?: boolean | undefined
}

/** Why credentials are asked for. */
export interface AuthAttempt {
  /** Whether those that were given before have been refused. */
  readonly retry: boolean
}

export interface SendDetails {
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** A `FormData`, or a value to be sent as JSON. */
  readonly body?: unknown
  readonly options?: CallOptions | undefined
  /** Fetches it instead. Such a read is joined with no other. */
  readonly through?: FetchOptions['fetch']
}

/** @param path from the root of the api on. */
export type Send = (method: string, path: string, details?: SendDetails) => Promise<Reply>

export function createSend(
  root: string,
  { auth, retries = 5, timeout = 30_000, join, ...options }: SendOptions,
): Send {
  /** Milliseconds before the first retry. Each later one waits twice as long, up to 10 s. */
  const FIRST_WAIT = 100
  /** Milliseconds: with a longer `Retry-After` the error is thrown. */
  const MAX_RETRY_AFTER = 60_000
  const fetchReply = createFetchReply(options)
  const joins = join ?? !options.fetch
  const withToken = createAuthorizer(auth)
  /** Whether writes are safe to repeat, by collection. */
  const takers: Record<string, boolean | undefined> = {}
  const running = new Map<string, SharedRead>()
  /** How many writes were answered, where reads are joined: one that begins then joins none from before. */
  let writes = 0

  const send: Send = async (method, path, { headers, body, options = {}, through } = {}) => {
    const url = `${root}/${path}`
    const { signal } = options
    const isRead = /GET|OPT/.test(method)
    // Not by `randomUUID`: browsers have that over https alone.
    const key = isRead ? undefined : crypto.getRandomValues(new Uint32Array(4)).join('-')
    const isForm = body instanceof FormData
    const text = isForm ? body : JSON.stringify(body)

    /** Sends the request once; once more, with new credentials, if those were refused. */
    const attempt = (inner: AbortSignal) =>
      withToken(token => {
        const all: Record<string, string> = toPlain({
          accept: 'application/json',
          authorization: token,
          'content-type': isForm || !text ? undefined : 'application/json',
          'idempotency-key': key,
          // Those of the call, by names in lower case.
          ...Object.fromEntries(new Headers(options.headers)),
          ...toPlain(headers),
        })
        const start = (signal: AbortSignal) =>
          fetchReply(
            url,
            // Types alone tell a body that is undefined from one that is absent.
            { method, headers: all, body: text as string, redirect: 'manual', signal },
            isRead,
            through,
          )
        return isRead && joins && !through
          ? share(running, JSON.stringify([writes, method, url, all]), inner, start)
          : start(inner).finally(() => writes++)
      })

    for (let count = 0; ; count++) {
      try {
        return await limitTime(isForm ? Infinity : timeout, signal, attempt)
      } catch (error) {
        signal?.throwIfAborted()
        const after = findWait(error)
        if (after === undefined) throw error
        if (count >= retries || after > MAX_RETRY_AFTER || !(isRead || (await takesKeys(path))))
          // Its own first attempt still runs: the write is not refused. A lost connection has no status.
          throw (error as HttpError).status === 409
            ? new ConnectionError(` from ${url}`, error)
            : error
        await backOff(FIRST_WAIT, count, signal, after)
      }
    }
  }

  /** Sends OPTIONS once for each collection: a write is repeated only if its store keeps keys. */
  async function takesKeys(path: string) {
    const name = path.replace(/[/?].*/, '')
    takers[name] ??= await send('OPTIONS', path).then(
      ({ value }) => /idempotency-?key/i.test(JSON.stringify(value)),
      () => undefined,
    )
    return takers[name]
  }

  return send
}

/** Creates what does work with a token: once more, with a new one, if the first was refused. */
function createAuthorizer(auth: SendOptions['auth']) {
  const authorize = typeof auth === 'function' ? auth : () => auth
  let renewal: Promise<string | undefined> | undefined
  return async (work: (token: string | undefined) => Promise<Reply>): Promise<Reply> => {
    const known = renewal
    // It is about to give the token.
    await known?.catch(() => {})
    const token = await authorize({ retry: false })
    try {
      return await work(token)
    } catch (error) {
      if (Object(error).status === 401) {
        // Another request may have been first.
        if (renewal === known) renewal = (async () => authorize({ retry: true }))()
        const renewed = await renewal
        if (renewed !== token) return work(renewed)
      }
      throw error
    }
  }
}

/** Copies an object without what is undefined, as JSON has it. */
export function toPlain<T>(value: unknown): Record<string, T> {
  return JSON.parse(JSON.stringify(value ?? {}))
}

/** A read that runs, for all that wait for it. */
interface SharedRead extends AbortController {
  readonly reply: Promise<Reply>
  waiting: number
}

/** Makes equal reads one while it runs. It ends early when nobody waits for it any more. */
function share(
  running: Map<string, SharedRead>,
  key: string,
  signal: AbortSignal,
  start: (signal: AbortSignal) => Promise<Reply>,
): Promise<Reply> {
  const end = () => running.delete(key)
  const controller = new AbortController()
  const read =
    running.get(key) ??
    Object.assign(controller, { reply: start(controller.signal).finally(end), waiting: 0 })
  running.set(key, read)
  read.waiting++
  signal.addEventListener('abort', () => {
    if (!--read.waiting) {
      end()
      read.abort(signal.reason)
    }
  })
  return read.reply
}

/** Finds how many milliseconds a retry must wait; `undefined` for an error that is final. */
function findWait(error: unknown): number | undefined {
  const after = Object(error).headers?.get?.('retry-after')
  return error instanceof ConnectionError ||
    (error instanceof HttpError &&
      // With 409 `idempotency_key` the first request of its key still runs. A short pattern keeps the bundle small.
      /^(4(08|09 id|29)|50[234])/.test(`${error.status} ${error.errors[0]?.type}`))
    ? Math.max(0, +after * 1000 || Date.parse(after) - Date.now() || 0)
    : undefined
}
