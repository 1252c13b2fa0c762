// The head of a request, read within the limits: its path, its parameters, the effective method, the
// address of the api.

import { memoize } from '../base/memoize.ts'
import { Remembered } from '../base/remembered.ts'
import { type ErrorType, HttpError, type Issue } from '../errors.ts'
import { resolveBaseUrl } from '../http/base-url.ts'
import type { Limits } from '../http/limits.ts'
import type { ReceivedRequest } from '../http/message.ts'
import {
  effectiveMethod,
  METHOD_HEADER,
  METHOD_PARAMETER,
  SUPPRESS_PARAMETER,
} from '../http/method-override.ts'
import { describeEscape, type Parameter, parseParameters } from '../http/parameters.ts'
import type { ApiDefinition } from '../model/types/definition.ts'
import type { RequestContext } from '../operations/calls/context.ts'

/** Removes the api's prefix from a path; `undefined` where the path does not begin with it. `OPTIONS *` means the root. */
export function belowPrefix(path: string, prefix: string, method: string): string | undefined {
  if (path === '*' && method === 'OPTIONS') return '/'
  if (prefix === '') return path
  if (path === prefix) return '/'
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
}

/**
 * Reads the head: parameters, base URL, method override.
 * @param query the raw query.
 * @param addressed whether the answer contains addresses, which need a `Host`.
 * @throws HttpError 400, 414, 431
 */
export function readHead(context: RequestContext, query: string, addressed = true): void {
  const { api, request } = context
  checkHead(request, api.limits)
  if (query !== '') {
    context.parameters = readParameters(query, api.limits)
    context.queryKey = query
    context.suppressed = context.parameters.some(({ name }) => name === SUPPRESS_PARAMETER)
  }
  context.base = findBase(context, addressed)
  // From here on errors too say that a version is deprecated.
  context.version = context.match?.target.version
  context.overrides = listOverrides(request, context.parameters)
  if (context.overrides.length > 0)
    context.method = effectiveMethod(request.method, context.overrides)
}

/**
 * RFC 9112 §6.1 suggests 501 for an unknown transfer coding, but no request makes a 5xx here. In HTTP/1.0
 * there is none: a server that ignores it reads another body than a proxy that undoes it.
 */
function checkHead(
  { headers, headerCount, needsHost, target }: ReceivedRequest,
  limits: Limits,
): void {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && !(needsHost && coding.trim().toLowerCase() === 'chunked')) {
    const message = needsHost
      ? 'The only transfer coding that is read is chunked.'
      : 'HTTP/1.0 has no transfer codings. Use HTTP/1.1.'
    const issue: Issue = { message, field: 'transfer-encoding', type: 'unsupported_coding' }
    throw new HttpError(400, [issue], { headers: ['Connection', 'close'] })
  }
  if (headerCount > limits.headers) {
    const message = `A request must have at most ${limits.headers} header fields.`
    throw new HttpError(431, [{ message, type: 'too_many_headers' }])
  }
  if (target.length > limits.target) {
    const message = `The request target must have at most ${limits.target} characters.`
    throw new HttpError(414, [{ message, type: 'target_too_long' }])
  }
}

function readParameters(query: string, limits: Limits): Parameter[] {
  const invalid = (message: string, type: ErrorType = 'invalid_query') =>
    new HttpError(400, [{ message, type }])
  const parameters = parseParameters(query)
  if (!parameters) throw invalid(describeEscape('query', query))
  if (parameters.length > limits.parameters)
    throw invalid(
      `A query must have at most ${limits.parameters} parameters.`,
      'too_many_parameters',
    )
  if (query.includes('%00') && parameters.some(({ value }) => value.includes('\0')))
    throw invalid('The query must not contain the character U+0000.')
  return parameters
}

/** Lists the methods that the head names besides its own: `X-HTTP-Method-Override` and `_method`. */
function listOverrides(
  { headers }: ReceivedRequest,
  parameters: readonly Parameter[],
): readonly string[] {
  const header = headers[METHOD_HEADER]
  if (header === undefined && parameters.length === 0) return NONE
  const named = parameters.flatMap(({ name, value }) => (name === METHOD_PARAMETER ? [value] : []))
  return header === undefined ? named : [...named, header]
}

const NONE: readonly string[] = []

/** Warns once of proxies that disagree on the public host. */
const warnOfHosts = memoize(({ trustProxy, baseUrl }: ApiDefinition) => {
  const isDoubtful = trustProxy > 0 && baseUrl === undefined
  if (isDoubtful) {
    const message =
      'X-Forwarded-Host has several values, and links have the last one, of the nearest proxy. Set baseUrl to the public address of the api, or have each proxy set the header instead of appending to it.'
    process.emitWarning?.(message, { type: 'RestConventionsWarning', code: 'FORWARDED_HOST' })
  }
  return isDoubtful
})

/** The base URLs of each api by the headers that name them: 100 of at most 300 characters. */
const bases = memoize((_api: ApiDefinition) => new Remembered<string>(100, 300))

/** Resolves the base URL; where only `Host` decides it, once for each host. */
function findBase({ api, request }: RequestContext, addressed: boolean): string {
  const { host } = request.headers
  const plain =
    api.baseUrl === undefined &&
    !api.trustProxy &&
    request.prefix === '' &&
    request.target.startsWith('/')
  if (!plain || host === undefined) {
    if (request.headers['x-forwarded-host']?.includes(',')) warnOfHosts(api)
    return resolveBaseUrl(api, request, addressed)
  }
  const key = request.secure ? `s${host}` : host
  return bases(api).get(key, () => resolveBaseUrl(api, request, addressed))
}
