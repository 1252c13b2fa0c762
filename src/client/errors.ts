// The errors that the client throws: error responses with all their issues, and conflicts.
import type { ErrorEntry } from '../errors.ts'
import type { Conflict } from '../model/conflict-error.ts'

/** An error response. `message` joins the messages of its issues. */
export class HttpError extends Error {
  override readonly name: string = 'HttpError'
  readonly status: number
  /** The issues of the response. A response that is not the api's has one issue, with its status. */
  readonly errors: readonly ErrorEntry[]
  /** The headers of the response: `Retry-After`, `WWW-Authenticate` … */
  readonly headers: Headers

  constructor(status: number, errors: readonly ErrorEntry[], headers: Headers) {
    super([...new Set(errors.map(({ message }) => message))].join('; '))
    this.status = status
    this.errors = errors
    this.headers = headers
  }
}

/**
 * Thrown if the item of a conditional write has changed since it was read. Nothing was written. The status
 * is 412, or 409 if the item changed while an action ran.
 */
export class ConflictError extends HttpError implements Conflict {
  override readonly name = 'ConflictError'
  readonly mine: unknown
  readonly theirs: unknown

  constructor({ status, errors, headers }: HttpError, { mine, theirs }: Conflict) {
    super(status, errors, headers)
    this.mine = mine
    this.theirs = theirs
  }
}
