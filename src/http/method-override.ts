// Substitutes for clients that cannot send the real thing (specification, "Resource operations" and
// "Suppression of error codes"): `_method`, `X-HTTP-Method-Override`, `_if_match`,
// `_idempotency_key`, `suppress_error_codes`.
import { type ErrorType, HttpError, quote } from '../errors.ts'
import type { RequestHeaders } from './message.ts'

export const METHOD_PARAMETER = '_method'
export const IF_MATCH_PARAMETER = '_if_match'
export const KEY_PARAMETER = '_idempotency_key'
/** The most items that a form for many may affect: `Prefer: max-affected`. */
export const MAX_PARAMETER = '_max_affected'
/** What a form that changes an item was filled from. */
export const FILLED_PARAMETER = '_filled'
export const SUPPRESS_PARAMETER = 'suppress_error_codes'
export const METHOD_HEADER = 'x-http-method-override'

const OVERRIDES = new Set(['PUT', 'PATCH', 'DELETE'])

/**
 * Finds the effective method: a POST may stand for PUT, PATCH or DELETE, in any letter case, or name itself. `overrides`
 * are all places that name one (`_method` in query and form, the header); they must agree. OPTIONS stays
 * what it is: by it a browser asks, at the address of the POST to come, whether it may be sent.
 * @throws HttpError 400 where another method carries one, or where it names anything else.
 */
export function effectiveMethod(method: string, overrides: readonly string[]): string {
  const [first] = overrides
  if (first === undefined || method === 'OPTIONS') return method
  const name = first.toUpperCase()
  const names = new Set(overrides.map(each => each.toUpperCase()))
  if (names.size > 1) {
    const message = `The request names several methods: ${[...names].map(show).join(', ')}. Name one.`
    throw invalidOverride(message, 'conflicting_methods')
  }
  if (method !== 'POST')
    throw invalidOverride(
      `Only a POST can stand for another method. This is ${method} with ${METHOD_PARAMETER}=${show(name)}: leave that out, or send POST.`,
    )
  if (name === 'GET' || name === 'HEAD')
    throw invalidOverride(
      `${METHOD_PARAMETER} may be POST, PUT, PATCH or DELETE. Send a ${name} request for ${name}.`,
    )
  // Not the name in upper case: a long s becomes an S there.
  if (overrides.every(each => /^post$/i.test(each))) return method
  if (!OVERRIDES.has(name))
    throw invalidOverride(
      `${METHOD_PARAMETER} must be one of ${[...OVERRIDES].join(', ')}, not ${show(name)}`,
    )
  return name
}

function invalidOverride(message: string, type: ErrorType = 'invalid_method'): HttpError {
  return new HttpError(400, [{ message, field: METHOD_PARAMETER, type }])
}

function show(name: string): string {
  return quote(name, 32)
}

/** The status under `suppress_error_codes`: 500 for a server error, 200 for all else. */
export function suppressedStatus(status: number): 200 | 500 {
  return status >= 500 ? 500 : 200
}

/**
 * Whether a client that follows a redirect would be refused: clients repeat the headers of a change on the
 * GET, where the tag or the date is an old one, and where no other method may be named.
 */
export function cannotFollow(headers: RequestHeaders): boolean {
  const ifMatch = headers['if-match']
  return (
    (ifMatch !== undefined && ifMatch.trim() !== '*') ||
    headers['if-unmodified-since'] !== undefined ||
    headers[METHOD_HEADER] !== undefined
  )
}

/** The fields of a form that are no properties of an item. Some stand for headers, which a form cannot set. */
export const FORM_PARAMETERS: ReadonlySet<string> = new Set([
  IF_MATCH_PARAMETER,
  KEY_PARAMETER,
  FILLED_PARAMETER,
  MAX_PARAMETER,
])

type SubmittedForm = readonly (readonly [name: string, part: unknown])[]

/** Finds the text of a field of a form. */
export function findText(form: SubmittedForm | undefined, name: string): string | undefined {
  const text = form?.find(each => each[0] === name)?.[1]
  return typeof text === 'string' ? text : undefined
}

/** The headers of a request; a form, which cannot set any, may say `If-Match` in a field. */
export function withIfMatch(headers: RequestHeaders, form?: SubmittedForm): RequestHeaders {
  const field = findText(form, IF_MATCH_PARAMETER)
  if (field === undefined || headers['if-match'] !== undefined) return headers
  return { ...headers, 'if-match': field }
}
