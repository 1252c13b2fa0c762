// One request and its answer.
import { ConnectionError, HttpError, notAnAnswer } from './errors.ts'

/** How a client fetches. */
export interface FetchOptions {
  /** Sends a request. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** The most bytes of an answer's body. Default 67,108,864 (64 MiB). */
  readonly maxBytes?: number | undefined
  /**
   * Is told of each response, of failed attempts too, before its body is read: for logs, and headers such as `RateLimit`.
   * The body of a `response.clone()` may be read here; that of the response itself may not.
   */
  readonly onResponse?: ((received: ReceivedResponse) => void) | undefined
}

/** A response, and what it answers. */
export interface ReceivedResponse {
  readonly method: string
  readonly url: string
  readonly response: Response
}

export interface Reply<T = unknown> {
  readonly status: number
  readonly headers: Headers
  /** The body, frozen; `undefined` where it is empty. */
  readonly value: T
}

/**
 * Sends a request, and reads its answer. A read follows one redirect, within the origin; a write none: it might become a GET.
 * @param through fetches this request instead: for progress, and for contents.
 */
export type FetchReply = (
  url: string,
  init: RequestInit & { readonly method: string; readonly signal: AbortSignal },
  follows: boolean,
  through?: FetchOptions['fetch'],
) => Promise<Reply>

export function createFetchReply({
  maxBytes = 2 ** 26,
  onResponse,
  fetch: own,
}: FetchOptions): FetchReply {
  const fetchReply: FetchReply = async (url, init, follows, through = own ?? fetch) => {
    const response = await toAnswer(url, async () => through(url, init))
    onResponse?.({ method: init.method, url, response })
    const { ok, status, headers, body } = response
    const location = follows && !ok && headers.get('location')
    if (location) {
      const next = new URL(location, url)
      if (next.origin === new URL(url).origin) return fetchReply(next.href, init, false, through)
    }
    let left = maxBytes
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.length
        if (left < 0) throw notAnAnswer(response, `The response has more than ${maxBytes} bytes`)
        controller.enqueue(chunk)
      },
    })
    const stream = body?.pipeThrough(counter, { signal: init.signal })
    const text = await toAnswer(url, () => new Response(stream).text())
    let value: unknown
    try {
      // Frozen: the cache may return it again.
      value = JSON.parse(text, (_, each) => Object.freeze(each))
    } catch {
      // Such as the page of a proxy.
    }
    if ((ok && (value !== undefined || !text)) || status === 304) return { status, headers, value }
    const { errors } = Object(value)
    // JSON has no function: `every` is that of a list.
    const areErrors = errors?.every?.((each?: { readonly message?: unknown }) => each?.message)
    throw areErrors ? new HttpError({ status, errors, headers }) : notAnAnswer(response)
  }
  return fetchReply
}

/** @throws ConnectionError where the line is lost */
async function toAnswer<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { message, cause } = Object(error)
    throw error instanceof HttpError
      ? error
      : new ConnectionError(` from ${url}: ${cause?.message || message}`, error)
  }
}
