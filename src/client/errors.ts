// The errors that the client throws: those of the server with all their issues, and lost conditions.
import type { ErrorEntry } from '../errors.ts'
import type { Conflict } from '../model/conflict-error.ts'

/** An error response. `message` joins the messages of its issues. */
export class HttpError extends Error {
  override readonly name: string = 'HttpError'
  readonly status: number
  /** The issues of the response; of a response that is not the api's one with the status. */
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
 * Thrown where the item of a conditional write has another version by now. Nothing was written. The status
 * is 412; 409 where the work of an action lost.
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
