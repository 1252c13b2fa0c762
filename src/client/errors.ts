// The errors that the client throws: error responses with all their issues, conflicts, and lost lines.
import type { ErrorEntry } from '../errors.ts'
import type { Conflict } from '../model/conflict-error.ts'

/** An error response. `message` joins the messages of its issues. */
export class HttpError extends Error {
  override readonly name: string = 'HttpError'
  declare readonly status: number
  /** The issues of the response. A response that is not the api's has one issue, with its status. */
  declare readonly errors: readonly ErrorEntry[]
  /** The headers of the response: `Retry-After`, `WWW-Authenticate` … */
  declare readonly headers: Headers

  constructor(details: Pick<HttpError, 'status' | 'errors' | 'headers'> & Partial<Conflict>) {
    super([...new Set(details.errors.map(({ message }) => message))].join('; '))
    Object.assign(this, details)
  }
}

/**
 * Thrown if the item of a conditional write has changed since it was read. Nothing was written. The status
 * is 412, or 409 if the item changed while an action ran.
 */
export class ConflictError extends HttpError implements Conflict {
  override readonly name = 'ConflictError'
  declare readonly mine: unknown
  declare readonly theirs: unknown
}

/**
 * Thrown if there was no response, after all retries: the line was lost, or the time was over, or the first attempt of a
 * write still runs. Whether its work was done is not known. `cause` is what `fetch` threw, or the 409 `idempotency_key`.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'

  constructor(what: string, cause?: unknown) {
    super(`No response${what}`, { cause })
  }
}

/** Creates the error for what no api of this library answers. It is final: nothing is sent again for it. */
export function notAnAnswer(
  { status, headers, url }: Pick<Response, 'status' | 'headers'> & { readonly url?: string },
  message = `Status ${status}, ${headers.get('content-type')}: ${url || 'this'} is not JSON of this API. Check that URL`,
): HttpError {
  return new HttpError({ status, errors: [{ message, code: status }], headers })
}

/** Whether a client forgets what it was shown, since it is refused by now. After a 401 it may sign in again. */
export function isLostRight(error: unknown): boolean {
  return error instanceof HttpError && error.status !== 401
}
