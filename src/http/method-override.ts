// What clients that cannot do better send instead (specification, "Resource operations" and
// "Suppression of error codes"): `_method`, `X-HTTP-Method-Override`, `_if_match`,
// `suppress_error_codes`.
import { HttpError } from '../errors.ts'
import type { RequestHeaders } from './message.ts'

export const METHOD_PARAMETER = '_method'
export const IF_MATCH_PARAMETER = '_if_match'
export const SUPPRESS_PARAMETER = 'suppress_error_codes'
export const METHOD_HEADER = 'x-http-method-override'

const OVERRIDES = new Set(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])

/**
 * The method that counts: a POST may say that it stands for PUT, PATCH, DELETE, GET or HEAD, in any
 * letter case. `overrides` are all places where it was said (`_method` in query and form, the
 * header); they must agree. OPTIONS stays what it is: a browser asks by it, at the address of the
 * POST to come, whether that may be sent.
 * @throws HttpError 400 where another method carries one, or where it names anything else.
 */
export function effectiveMethod(method: string, overrides: readonly string[]): string {
  const [first] = overrides
  if (first === undefined || method === 'OPTIONS') return method
  const name = first.toUpperCase()
  const names = new Set(overrides.map(each => each.toUpperCase()))
  if (names.size > 1) {
    throw new HttpError(400, [
      {
        message: `The request names several methods: ${[...names].map(show).join(', ')}`,
        field: METHOD_PARAMETER,
        type: 'conflicting_methods',
      },
    ])
  }
  if (method !== 'POST') {
    throw new HttpError(400, [
      {
        message: `Only a POST may stand for another method; this is ${method} with ${METHOD_PARAMETER}=${show(name)}`,
        field: METHOD_PARAMETER,
        type: 'invalid_method',
      },
    ])
  }
  if (!OVERRIDES.has(name)) {
    const message = `${METHOD_PARAMETER} must be one of ${[...OVERRIDES].join(', ')}, not ${show(name)}`
    throw new HttpError(400, [{ message, field: METHOD_PARAMETER, type: 'invalid_method' }])
  }
  return name
}

function show(name: string): string {
  return JSON.stringify(name.slice(0, 32))
}

/** The status under `suppress_error_codes`: 500 for a server error, 200 for all else. */
export function suppressedStatus(status: number): 200 | 500 {
  return status >= 500 ? 500 : 200
}

/**
 * Whether who follows a redirect would be refused: clients send the headers of a change again with the
 * GET, for which the tag or the date is an old one, and which may not stand for another method.
 */
export function cannotFollow(headers: RequestHeaders): boolean {
  const ifMatch = headers['if-match']
  return (
    (ifMatch !== undefined && ifMatch.trim() !== '*') ||
    headers['if-unmodified-since'] !== undefined ||
    headers[METHOD_HEADER] !== undefined
  )
}

/** The headers of a request; a form, which has none of its own, may say `If-Match` in a field. */
export function withIfMatch(
  headers: RequestHeaders,
  form: readonly (readonly [name: string, part: unknown])[] = [],
): RequestHeaders {
  const field = form.find(([name]) => name === IF_MATCH_PARAMETER)?.[1]
  if (typeof field !== 'string' || headers['if-match'] !== undefined) return headers
  return { ...headers, 'if-match': field }
}
