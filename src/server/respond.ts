// The result of an operation, or an error, as an answer: its status, its headers, and its bytes in the
// negotiated format.

import { createHash } from 'node:crypto'
import { memoize } from '../base/memoize.ts'
import { type Awaitable, andThen } from '../base/values.ts'
import { type HttpError, internalError } from '../errors.ts'
import type { Format, LiveRepresentation, Representation } from '../formats/format.ts'
import { evaluateRead, type Validators } from '../http/conditional.ts'
import { printCorsHeaders } from '../http/cors.ts'
import { printHttpDate } from '../http/date.ts'
import { printLink } from '../http/link.ts'
import {
  addHeaders,
  type HeaderList,
  type HttpResponse,
  isStream,
  NOSNIFF,
} from '../http/message.ts'
import { suppressedStatus } from '../http/method-override.ts'
import { isConditional, isSafe } from '../http/methods.ts'
import { unavailable } from '../http/timeouts.ts'
import { printPath } from '../model/compile/routes.ts'
import type { ApiDefinition, VersionDefinition } from '../model/types/definition.ts'
import { AS_JSON, type Negotiated } from '../negotiate.ts'
import type { RequestContext } from '../operations/calls/context.ts'
import { reportFailure } from '../operations/calls/report-failure.ts'
import type { PrintedStored } from '../store/printed.ts'
import { primeStream } from './prime-stream.ts'
import { negotiateError } from './request-head.ts'

/** Turns the context's result into a response: 304 where the client has the current representation. @throws HttpError 412 */
export function respond(context: RequestContext): Awaitable<void> {
  const { api, result, suppressed, negotiated, method, preconditions } = context
  if (!result) throw new Error('No step gave a result')
  const { validators, headers } = result
  const isReading = isConditional(method) && (result.status === 200 || result.status === 206)
  const { representation } = result
  // The tag of an HTML page covers its text: it is known once that is printed.
  const isHtmlPage =
    isReading && negotiated?.format.page !== undefined && representation !== undefined
  const unmodified = isReading && !isHtmlPage && evaluateRead(preconditions, method, validators)
  const status = unmodified ? 304 : result.status
  if (validators && !isHtmlPage) addValidators(headers, validators, representation)
  for (const dialect of api.dialects) addHeaders(headers, dialect.headers?.(headers) ?? [])
  addCommon(headers, context, result.vary)
  const isStream = result.isPrivate === 'stream'
  if (suppressed || result.isPrivate)
    headers.push('Cache-Control', isStream ? 'no-store, no-transform' : 'no-store')
  else if (status === 200 || status === 206 || status === 304)
    headers.push('Cache-Control', cacheControlOf(context))
  const response = withBody(
    context,
    suppressed ? suppressedStatus(status) : status,
    headers,
    unmodified ? undefined : representation,
    isHtmlPage ? validators?.tag : undefined,
  )
  return andThen(response, printed => complete(context, printed))
}

/** Sets the response of the request: a stream once its first piece is read, a large body if it may be sent. @throws HttpError 503 */
function complete(context: RequestContext, response: HttpResponse): Awaitable<void> {
  const { body, length } = response
  if (!isStream(body)) {
    if (length !== undefined && length > SMALL) requireSendable(context, length)
    context.response = response
    return undefined
  }
  return andThen(primeStream(context, body, length), primed => {
    response.body = primed
    context.response = response
  })
}

/** Answers up to so many bytes are sent however much slow clients leave unread. */
const SMALL = 64 * 1024

/** Refuses a large read where clients have left too much unread; writes are always answered. @throws HttpError 503 */
function requireSendable({ api, request, method }: RequestContext, length: number): void {
  const { unsent = 0 } = request
  if (!isSafe(method) || unsent + length <= api.limits.unsent) return
  const message = 'Too many clients do not read their answers. Try again, or ask for less.'
  throw unavailable(message, 'overloaded')
}

function addValidators(
  headers: HeaderList,
  { tag, lastModified }: Validators,
  representation: Representation | LiveRepresentation | undefined,
): void {
  if (tag !== undefined) headers.push('ETag', `"${tag}"`)
  if (lastModified === undefined) return
  const stored = representation?.kind === 'item' ? representation.stored : undefined
  headers.push('Last-Modified', printLastModified(lastModified, stored))
}

/** Printing a date takes as long as printing a small item: it is kept beside the item. */
function printLastModified(time: number, stored: PrintedStored | undefined): string {
  const printed = stored?.printed
  if (!printed) return printHttpDate(time)
  printed.lastModified ??= printHttpDate(time)
  return printed.lastModified
}

/** @param tag of the item or the list that an HTML page shows. */
function withBody(
  context: RequestContext,
  status: number,
  headers: HeaderList,
  representation: Representation | LiveRepresentation | undefined,
  tag?: string,
): Awaitable<HttpResponse> {
  const { negotiated = AS_JSON, method } = context
  const { pages } = context.runtime
  const isHead = method === 'HEAD'
  if (representation?.kind === 'bytes') {
    const { type, size, data } = representation
    headers.push('Content-Type', type, 'Content-Length', String(size))
    addHeaders(headers, NOSNIFF)
    return isHead
      ? { status, headers, body: undefined }
      : { status, headers, body: data, length: size }
  }
  const { format, type } = negotiated
  if (!representation) {
    if (isHead && status === 200) addContent(headers, context)
    else if (status !== 204 && status !== 304) headers.push('Content-Length', '0')
    return { status, headers, body: undefined }
  }
  if (representation.kind === 'live') {
    addContent(headers, context)
    return { status, headers, body: representation.body }
  }
  if (pages && format === pages.format) {
    // The forms of an HTML page send the tag as `_if_match`.
    const known = tag === undefined ? headers : [...headers, 'ETag', `"${tag}"`]
    return andThen(pages.print(representation, { headers: known, context }), text =>
      withHtmlPage(context, { status, headers, body: text }, tag),
    )
  }
  const { body, length } = print(format, representation, type)
  addContent(headers, context, length)
  return { status, headers, body: isHead ? undefined : body, length }
}

interface HtmlResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly body: string
}

/** Answers with an HTML page: 304 where the client has the same text. @throws HttpError 412 */
function withHtmlPage(
  context: RequestContext,
  { status, headers, body }: HtmlResponse,
  tag: string | undefined,
): HttpResponse {
  const { preconditions, method } = context
  if (tag !== undefined) {
    // 96 bits of a hash of what is sent.
    const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16)
    headers.push('ETag', `"${tag}.${hash}"`)
    if (evaluateRead(preconditions, method, { tag: `${tag}.${hash}` }))
      return { status: 304, headers, body: undefined }
  }
  const length = Buffer.byteLength(body)
  addContent(headers, context, length)
  return { status, headers, body: method === 'HEAD' ? undefined : body, length }
}

function addContent(
  headers: HeaderList,
  { negotiated = AS_JSON, target, runtime }: RequestContext,
  length?: number | undefined,
): void {
  const { contentType, format } = negotiated
  const isLive = format.page && target?.kind === 'collection' && target.collection.live
  const own = isLive ? runtime.pages?.liveHeaders : format.headers
  headers.push('Content-Type', contentType)
  addHeaders(headers, NOSNIFF)
  if (own) addHeaders(headers, own)
  if (length !== undefined) headers.push('Content-Length', String(length))
}

function print(
  format: Format,
  representation: Representation,
  type: string,
): Pick<HttpResponse, 'body' | 'length'> {
  if (format.printStored && 'stored' in representation && representation.stored)
    return format.printStored(representation.stored)
  if (format.printNested && 'nested' in representation && representation.nested)
    return format.printNested(representation.nested)
  const body = format.write?.(representation, type)
  if (typeof body === 'string') return { body, length: Buffer.byteLength(body) }
  return { body, length: body instanceof Uint8Array ? body.length : undefined }
}

/** Adds the headers of every answer, errors included. */
function addCommon(
  headers: HeaderList,
  context: RequestContext,
  vary: readonly string[] | undefined,
): void {
  const { api, version, request, negotiated, extension, limitHeaders, timings } = context
  if (version?.deprecated !== undefined)
    addDeprecation(headers, context, version, version.deprecated)
  addHeaders(headers, printCorsHeaders(api.cors, request.headers.origin))
  // A file does not depend on `Accept`.
  const varied = printVary(api, extension === undefined ? negotiated : undefined, vary)
  if (varied !== '') headers.push('Vary', varied)
  if (limitHeaders) addHeaders(headers, limitHeaders)
  // The id from a trusted proxy, or the id that an event or a failure was reported with.
  // Listeners get the same id as the response.
  const knownId = context.started > 0 ? request.id : request.knownId
  if (knownId !== undefined) headers.push('X-Request-Id', knownId)
  if (timings) headers.push('Server-Timing', timings.join(', '))
}

const NO_NAMES: readonly string[] = []
/** What `Vary` says by the list of names, for at most 100 of them. */
const varies = memoize(
  (_api: ApiDefinition) => new Map<readonly string[], readonly [string, string, string]>(),
)

/** Prints `Vary`: the request headers that were consulted. */
function printVary(
  api: ApiDefinition,
  negotiated: Negotiated | undefined,
  vary = NO_NAMES,
): string {
  const known = varies(api)
  let printed = known.get(vary)
  if (!printed) {
    const always = [...(api.cors.origins === '*' ? [] : ['Origin']), ...api.credentialHeaders]
    const print = (names: readonly string[]) => [...names, ...vary, ...always].join(', ')
    printed = [print([]), print(['Accept']), print(['Accept', 'Content-Type'])]
    // Operations pass constant lists; a list made for each request would add an entry each time.
    if (known.size < 100) known.set(vary, printed)
  }
  if (!negotiated) return printed[0]
  return printed[negotiated.inKind ? 2 : 1]
}

const NO_CACHE = 'no-cache, max-age=0'

/** Finds the value of `Cache-Control`: the collection's own for its operations. */
function cacheControlOf({ principal, operation, target }: RequestContext): string {
  if (operation === '' || !target || target.kind === 'root')
    return principal ? `private, ${NO_CACHE}` : NO_CACHE
  const { cacheControl, privateCacheControl } = target.collection
  return principal ? privateCacheControl : cacheControl
}

/** A deprecated version says so (RFC 9745, RFC 8594) and names its successor. */
function addDeprecation(
  headers: HeaderList,
  { api: { defaultVersion }, base }: RequestContext,
  version: VersionDefinition,
  deprecated: number,
): void {
  headers.push('Deprecation', `@${Math.floor(deprecated / 1000)}`)
  if (version.sunset !== undefined) headers.push('Sunset', printHttpDate(version.sunset))
  if (defaultVersion === version) return
  const href = base + printPath({ kind: 'root', version: defaultVersion }, [])
  headers.push('Link', printLink([{ rel: 'successor-version', href }]))
}

export function respondWithError(
  context: RequestContext,
  error: HttpError,
): Awaitable<HttpResponse> {
  const negotiated = context.negotiated ?? negotiateError(context)
  context.negotiated = negotiated?.errors ?? negotiated ?? AS_JSON
  const { status } = error
  const errors = replaceMessages(context, error)
  const headers = error.headers.slice()
  addCommon(headers, context, undefined)
  headers.push('Cache-Control', 'no-store')
  const sent = context.suppressed ? suppressedStatus(status) : status
  const { dialects } = context.api
  const message = dialects.length > 0 ? errors[0]?.message : undefined
  const theirs = dialects.find(dialect => dialect.errors)?.errors
  const printed = theirs?.print(errors, context.body?.value)
  return withBody(context, sent, headers, { kind: 'errors', status, errors, message, printed })
}

/** Replaces the messages of an error by those of the api. Where a function of the api throws, the message stays. */
function replaceMessages(context: RequestContext, error: HttpError): HttpError['errors'] {
  const { messages } = context.api
  if (!messages) return error.errors
  return error.errors.map(entry => {
    const { type = '' } = entry
    const wanted = Object.hasOwn(messages, type) ? messages[type] : undefined
    try {
      const message = typeof wanted === 'function' ? wanted(entry, context.request) : wanted
      return typeof message === 'string' ? { ...entry, message } : entry
    } catch (thrown) {
      reportFailure(context, thrown, internalError(thrown, context.request.id))
      return entry
    }
  })
}
