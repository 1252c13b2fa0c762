// What the head of a request says, read within the limits: its parameters, its path below the prefix,
// the method it means.

import { HttpError, type Issue } from '../errors.ts'
import { type HttpRequest, type Parameter, parseParameters } from '../http/message.ts'
import { METHOD_HEADER, METHOD_PARAMETER } from '../http/method-override.ts'
import type { ApiDefinition } from '../model/definition.ts'

/**
 * @throws HttpError 431 for more header fields than may be, 400 for a transfer coding besides
 * `chunked`, and for any in HTTP/1.0: a server that leaves one aside reads another body than a proxy that
 * undoes it. RFC 9112 §6.1 suggests 501, but no request makes a 5xx here.
 */
export function checkHeaders({ headers, needsHost }: HttpRequest, { limits }: ApiDefinition): void {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && !(needsHost && coding.trim().toLowerCase() === 'chunked')) {
    const message = `The only transfer coding that is read is chunked${needsHost ? '' : ', and none in HTTP/1.0'}`
    const issue: Issue = { message, field: 'transfer-encoding', type: 'unsupported_coding' }
    throw new HttpError(400, [issue], { headers: ['Connection', 'close'] })
  }
  if (Object.keys(headers).length <= limits.headers) return
  const message = `A request may have at most ${limits.headers} header fields`
  throw new HttpError(431, [{ message, type: 'too_many_headers' }])
}

/** @throws HttpError 414 for a target that is too long, 400 for a query that cannot be read. */
export function readParameters(
  request: HttpRequest,
  query: string,
  { limits }: ApiDefinition,
): Parameter[] {
  if (request.target.length > limits.target) {
    const message = `The request target may have at most ${limits.target} characters`
    throw new HttpError(414, [{ message, type: 'target_too_long' }])
  }
  const parameters = parseParameters(query)
  if (!parameters) {
    const message = 'The query has an escape that is no UTF-8; write a percent sign as %25'
    throw new HttpError(400, [{ message, type: 'invalid_query' }])
  }
  if (parameters.length > limits.parameters) {
    const message = `A query may have at most ${limits.parameters} parameters`
    throw new HttpError(400, [{ message, type: 'too_many_parameters' }])
  }
  if (parameters.some(({ value }) => value.includes('\0'))) {
    throw new HttpError(400, [
      { message: 'The query holds the character U+0000', type: 'invalid_query' },
    ])
  }
  return parameters
}

/** The path below the api's own prefix; `undefined` where it does not begin with it. `OPTIONS *` means the root. */
export function belowPrefix(path: string, prefix: string, method: string): string | undefined {
  if (path === '*' && method === 'OPTIONS') return '/'
  if (prefix === '') return path
  if (path === prefix) return '/'
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
}

/** Every method that the head asks to be taken for: `X-HTTP-Method-Override` and `_method`. */
export function overridesOf({ headers }: HttpRequest, parameters: readonly Parameter[]): string[] {
  const header = headers[METHOD_HEADER]
  const named = parameters.filter(({ name }) => name === METHOD_PARAMETER).map(({ value }) => value)
  return header === undefined ? named : [...named, header]
}

/** A quoted string as the draft has it, or the bare text that clients send. */
export function idempotencyKeyOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (key !== '' && key.length <= 255) return key
  const message = 'Idempotency-Key must have 1 to 255 characters'
  throw new HttpError(400, [{ message, field: 'idempotency-key', type: 'invalid_header' }])
}
