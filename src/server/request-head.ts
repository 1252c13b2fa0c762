// The head of a request, read within the limits: its path, parameters and effective method, the address of the api, the
// format of the answer; then, once the operation is known, what that needs of the headers and parameters.

import { memoize } from '../base/memoize.ts'
import { Remembered } from '../base/remembered.ts'
import { type ErrorType, HttpError, type Issue } from '../errors.ts'
import { resolveBaseUrl } from '../http/base-url.ts'
import { readPreconditions, withoutNotModified } from '../http/conditional.ts'
import type { Limits } from '../http/limits.ts'
import type { ReceivedRequest } from '../http/message.ts'
import {
  effectiveMethod,
  findText,
  KEY_PARAMETER,
  MAX_PARAMETER,
  METHOD_HEADER,
  METHOD_PARAMETER,
  SUPPRESS_PARAMETER,
  withIfMatch,
} from '../http/method-override.ts'
import { isConditional, isSafe } from '../http/methods.ts'
import {
  describeEscape,
  type Parameter,
  parseParameters,
  printParameters,
} from '../http/parameters.ts'
import { parseMaxAffected, parsePrefer } from '../http/prefer.ts'
import { splitTarget } from '../http/target.ts'
import type { ApiDefinition, CollectionDefinition } from '../model/types/definition.ts'
import { chooseFormat, type Negotiated, notAcceptable } from '../negotiate.ts'
import { authorize } from '../operations/calls/authorize.ts'
import {
  type CollectionContext,
  type RequestContext,
  type Step,
  toCollectionContext,
} from '../operations/calls/context.ts'
import { chooseWriteResponse } from '../operations/writes/results.ts'
import { INCLUDE } from '../query/include.ts'
import { NAMES } from '../query/list-parameters.ts'
import { step } from './steps.ts'

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

/** @throws HttpError 406 */
export function negotiateFormat(context: RequestContext): void {
  context.negotiated = negotiate(context)
  if (!context.negotiated) throw notAcceptable(context.api.formats)
}

/** Negotiates the format of the answer; `undefined` where no format fits. @throws HttpError 400 */
export function negotiate({ api, extension, request }: RequestContext): Negotiated | undefined {
  const { accept, 'content-type': type } = request.headers
  const content = isSafe(request.method) ? undefined : type
  return chooseFormat(api.formats, { extension, accept, content }, api.limits.accept)
}

/**
 * Negotiates the format of an error; `undefined` where no format fits or `Accept` is malformed. The
 * extension is used without a route too.
 */
export function negotiateError(context: RequestContext): Negotiated | undefined {
  const { runtime, request } = context
  context.extension ??= runtime.router.extensionOf(splitTarget(request.target).path)
  try {
    return negotiate(context)
  } catch {
    // The `Accept` itself is refused.
    return undefined
  }
}

/** The step that says which operation it is, and reads what that needs of the head. */
export function prepareFor(operation: string): Step {
  const prepareOperation: Step = requested => {
    const context = toCollectionContext(requested)
    context.operation = operation
    readOperationHead(context)
  }
  return step(prepareOperation, 400, 401, 403)
}

/** Reads the preconditions from the headers, or `_if_match` from a form. @throws HttpError 400 */
export function readConditions(context: RequestContext): void {
  const { request, method, submitted, suppressed } = context
  const headers = submitted ? withIfMatch(request.headers, submitted) : request.headers
  const preconditions = readPreconditions(headers, method)
  // A client that reads no status cannot understand a 304.
  context.preconditions =
    suppressed && isConditional(method) ? withoutNotModified(preconditions) : preconditions
}

/** Reads the headers and parameters that the operation needs. @throws HttpError 400; of a search 401, 403 */
export function readOperationHead(context: CollectionContext): void {
  readConditions(context)
  const { request, method, suppressed } = context
  const { headers } = request
  if (headers.prefer !== undefined) context.preferences = parsePrefer(headers.prefer)
  const most = findText(context.submitted, MAX_PARAMETER)
  if (most !== undefined)
    context.preferences = { ...context.preferences, 'max-affected': parseMaxAffected(most) }
  if (!isSafe(method)) context.writeResponse = chooseWriteResponse(context)
  else if (suppressed) context.writeResponse = 'representation'
  else context.writeResponse = context.preferences.return ?? 'redirect'
  context.range = headers.range
  if (context.parameters.length > 0) cleanParameters(context)
  const key = headers['idempotency-key'] ?? findText(context.submitted, KEY_PARAMETER)
  if (key === undefined) return
  const parsed = parseIdempotencyKey(key)
  // A later request may have the key of one that is only tried, and do the work.
  if (isSafe(method) || context.preferences.tx === undefined) context.idempotencyKey = parsed
}

/** Takes out `_method` and, of pages, whose forms send every control, empty values; then rewrites dialects. */
function cleanParameters(context: CollectionContext): void {
  const { api, target, negotiated, method, parameters: sent } = context
  // Without an empty filter a write would be of more items.
  const isPage = negotiated?.format.page !== undefined && isSafe(method)
  const given = sent.filter(
    ({ name, value }) => name !== METHOD_PARAMETER && !(isPage && value === ''),
  )
  // Set before a dialect may throw: a page shows them again.
  context.parameters = given
  // Dialects are for lists: the input of an action is its own.
  if (!target.action) {
    const { shape, maxLimit, search } = target.collection
    const list = { id: shape.identity.name, maxLimit }
    context.parameters = api.dialects.reduce(
      (rewritten: readonly Parameter[], dialect) => dialect.rewrite(rewritten, list),
      joinNames(given, target.collection),
    )
    // The rule of a search may be stricter than that of the list.
    if (api.dialects.length > 0 && search && context.parameters.some(({ name }) => name === 'q'))
      authorize(context, ['search'])
  }
  const { parameters } = context
  if (parameters.length !== sent.length || parameters.some((each, at) => each !== sent[at]))
    context.queryKey = undefined
}

/** `fields[]` and `fields[0]`. */
const INDEXED = /^(\w+)\[\d*\]$/

/** Joins `fields[]=a&fields[]=b` or `fields[0]=a&fields[1]=b`, as clients print a list, to `fields=a,b`. */
function joinNames(
  parameters: readonly Parameter[],
  { queryFields }: CollectionDefinition,
): readonly Parameter[] {
  let joined = parameters
  if (!parameters.some(({ name }) => name.endsWith(']'))) return joined
  for (const name of NAMES) {
    const lists = parameters.filter(each => INDEXED.exec(each.name)?.[1] === name)
    // A field of this name is a filter.
    if (lists.length === 0 || (name === INCLUDE && queryFields.has(name))) continue
    const value = lists.map(each => each.value).join(',')
    const others = joined.filter(each => !lists.includes(each))
    joined = [...others, { name, value, raw: printParameters([[name, value]]) }]
  }
  return joined
}

/** A quoted string as the draft has it, or the bare text that clients send. @throws HttpError 400 */
export function parseIdempotencyKey(text: string): string {
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (key !== '' && key.length <= 255) return key
  const message = 'Idempotency-Key must have 1 to 255 characters.'
  throw new HttpError(400, [{ message, field: 'idempotency-key', type: 'invalid_header' }])
}
