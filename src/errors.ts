// Errors as the specification prints them ("Error body"), and RFC 9457's other form of the same.
import { STATUS_CODES } from 'node:http'
import { type HeaderList, isHeaderList } from './http/message.ts'

/** One issue. `code` is an HTTP status code; `message` says what was wrong, where, and what would be right. */
export interface ErrorEntry {
  message: string
  code: number
  /** The dotted path of the property or the name of the parameter or header at fault. */
  field?: string
  /** A stable name for the kind of issue, such as `unknown_field`: for programs, never translated. */
  type?: string
}

/** A issue whose status the thrower of the {@link HttpError} decides. */
export type Issue = Omit<ErrorEntry, 'code'>

/**
 * A refusal: a status, one or more entries, and the headers that belong to it (`Allow`, `Retry-After` …).
 * Throw it from a hook or an action to answer with it.
 */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly errors: readonly ErrorEntry[]
  readonly headers: HeaderList

  /**
   * @param status 400 to 599.
   * @param issues a message, or a list of entries; an empty list takes the status's own phrase.
   * @throws TypeError for another status, and for headers that HTTP cannot carry: a name or a value with
   * other characters than it has, a name without a value.
   */
  constructor(
    status: number,
    issues: string | readonly Issue[] = [],
    options: { headers?: HeaderList; cause?: unknown } = {},
  ) {
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new TypeError(`An HttpError needs a status from 400 to 599, not ${status}`)
    }
    const { headers = [], cause } = options
    if (!isHeaderList(headers)) {
      throw new TypeError(`These headers cannot be sent: ${JSON.stringify(headers)}`)
    }
    const list = typeof issues === 'string' ? [{ message: issues }] : issues
    const entries = list.length > 0 ? list : [{ message: STATUS_CODES[status] ?? 'Error' }]
    super(entries.map(entry => entry.message).join('; '), { cause })
    this.status = status
    this.errors = entries.map(({ message, field, type }) => ({
      message,
      code: status,
      ...(field === undefined ? {} : { field }),
      ...(type === undefined ? {} : { type }),
    }))
    this.headers = headers
  }
}

/** The specification's error body: `{ errors: [{ message, code, … }] }`. */
export function errorBody(error: HttpError): { errors: readonly ErrorEntry[] } {
  return { errors: error.errors }
}

/** The same refusal as RFC 9457 problem details (`application/problem+json`); the entries go along. */
export function problemBody(error: HttpError): Record<string, unknown> {
  const title = STATUS_CODES[error.status] ?? 'Error'
  return { title, status: error.status, detail: error.message, errors: error.errors }
}

/**
 * What was thrown and is no refusal, as a 500 that tells the client only `reference`, under which the
 * server's log has the cause.
 */
export function internalError(thrown: unknown, reference: string): HttpError {
  const message = `Something failed on the server; its log has the details under ${reference}`
  return new HttpError(500, [{ message, type: 'internal' }], { cause: thrown })
}

/** The body broke off: its connection ended, or its framing is wrong. */
export function incompleteBody(cause: unknown): HttpError {
  const message = 'The body broke off before its end'
  return new HttpError(400, [{ message, type: 'incomplete_body' }], { cause })
}

/**
 * What was thrown, where it is a refusal.
 * @throws what was thrown, where it is none.
 */
export function toHttpError(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) return thrown
  throw thrown
}

/** How many issues one answer tells. */
export const MAX_ISSUES = 100

/** Throws the issues as one refusal, if there are any; of very many the first. */
export function throwIfAny(issues: readonly Issue[], status = 400): void {
  if (issues.length > 0) throw new HttpError(status, issues.slice(0, MAX_ISSUES))
}

/** `; did you mean "color"?`, or `''` where no name is near. */
export function suggestion(name: string, names: Iterable<string>): string {
  if (name.length > 64) return ''
  let best: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const candidate of names) {
    const steps = distance(name, candidate)
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best === undefined ? '' : `; did you mean "${best}"?`
}

/** The Levenshtein distance of two names; near enough for a suggestion. */
function distance(from: string, to: string): number {
  let row = Array.from(to, (_, at) => at + 1)
  let steps = to.length
  for (let i = 0; i < from.length; i++) {
    let corner = i
    steps = i + 1
    row = row.map((above, j) => {
      const swap = corner + (from[i] === to[j] ? 0 : 1)
      corner = above
      steps = Math.min(above + 1, steps + 1, swap)
      return steps
    })
  }
  return steps
}
