// What an operation gave, or what was thrown, as an answer: its headers, and its bytes in the format asked for.
import { createHash, randomUUID } from 'node:crypto'
import { HttpError, internalError } from '../errors.ts'
import type { Format, Representation } from '../formats/format.ts'
import { json } from '../formats/json.ts'
import type { PageView } from '../formats/page-view.ts'
import { isUnmodified, printEntityTag } from '../http/conditional.ts'
import { printCorsHeaders } from '../http/cors.ts'
import { printHttpDate } from '../http/date.ts'
import { type HeaderList, type HttpResponse, isRead, splitTarget } from '../http/message.ts'
import { suppressedStatus } from '../http/method-override.ts'
import type { ApiDefinition } from '../model/definition.ts'
import { printPath } from '../model/routes.ts'
import type { Negotiated } from '../negotiate.ts'
import type { OperationResult } from '../operations/call.ts'
import { printLink } from '../pagination.ts'
import {
  getPreconditions,
  getRequestId,
  negotiate,
  type RequestContext,
  type Runtime,
} from './context.ts'
import { buildView } from './page-view.ts'

export function respond(
  machine: Runtime,
  exchange: RequestContext,
  outcome: OperationResult,
): HttpResponse {
  const { api } = machine
  const { status, representation, validators } = outcome
  const headers = outcome.headers.slice()
  const hashed = isHashed(exchange, outcome)
  if (!hashed) {
    if (validators?.tag !== undefined) headers.push('ETag', printTag(validators.tag))
    if (validators?.lastModified !== undefined)
      headers.push('Last-Modified', printHttpDate(validators.lastModified))
  }
  for (const dialect of api.dialects) headers.push(...(dialect.headers?.(headers) ?? []))
  // A file is what it is, whatever is accepted.
  const chosen = exchange.negotiated !== undefined
  addCommon(headers, api, exchange, chosen, outcome.vary)
  if (exchange.suppressed) headers.push('Cache-Control', 'no-store')
  else if (status === 200 || status === 206 || status === 304)
    headers.push('Cache-Control', cacheControlOf(exchange))
  return withBody(
    machine,
    exchange,
    exchange.suppressed ? suppressedStatus(status) : status,
    headers,
    representation,
    hashed ? validators?.tag : undefined,
  )
}

/** Whether the answer is a read whose tag is of its bytes: its conditions are asked when it is printed. */
export function isHashed(
  { negotiated, method }: RequestContext,
  { status, representation, validators }: OperationResult,
): boolean {
  if (!negotiated?.format.hashed) return false
  const read = isRead(method) && (status === 200 || status === 206)
  return read && representation !== undefined && validators?.tag !== undefined
}

function printTag(opaque: string): string {
  return printEntityTag({ weak: false, opaque })
}

/** @param tag what the tag of the bytes begins with, where the answer has one. */
function withBody(
  machine: Runtime,
  exchange: RequestContext,
  status: number,
  headers: HeaderList,
  representation: Representation | undefined,
  tag?: string,
): HttpResponse {
  const { negotiated, method } = exchange
  if (representation?.kind === 'bytes') {
    const { type, size, data } = representation
    headers.push('Content-Type', type, 'Content-Length', String(size))
    headers.push('X-Content-Type-Options', 'nosniff')
    return method === 'HEAD'
      ? headOnly(exchange, status, headers)
      : { status, headers, body: data, length: size }
  }
  const { format, type } = negotiated ?? { format: json, type: 'application/json' }
  if (!representation) {
    if (method === 'HEAD' && status === 200) {
      headers.push('Content-Type', type, 'X-Content-Type-Options', 'nosniff')
      if (format.headers) headers.push(...format.headers)
    } else if (status !== 204 && status !== 304) headers.push('Content-Length', '0')
    return { status, headers, body: undefined }
  }
  // A page names the version that its forms are to find.
  const known = tag === undefined ? headers : [...headers, 'ETag', printTag(tag)]
  const view = () => buildView(machine, exchange, { status, headers: known, representation })
  const body = print(format, representation, type, view)
  if (tag !== undefined && (typeof body === 'string' || body instanceof Uint8Array)) {
    const own = `${tag}.${digest(body)}`
    headers.push('ETag', printTag(own))
    if (isUnmodified(getPreconditions(exchange), method, { tag: own }))
      return { status: 304, headers, body: undefined }
  }
  headers.push('Content-Type', type, 'X-Content-Type-Options', 'nosniff')
  if (format.headers) headers.push(...format.headers)
  const length = lengthOf(body)
  if (length !== undefined) headers.push('Content-Length', String(length))
  return method === 'HEAD' ? headOnly(exchange, status, headers) : { status, headers, body, length }
}

/** @throws HttpError 413 where the text would be longer than any text can be: half a gigabyte. */
function print(
  format: Format,
  representation: Representation,
  type: string,
  view: () => PageView,
): HttpResponse['body'] {
  try {
    return format.page ? format.page(representation, view()) : format.write?.(representation, type)
  } catch (error) {
    if (!(error instanceof RangeError && error.message === 'Invalid string length')) throw error
    const message = 'This answer is too long to be printed: ask for fewer items by a smaller limit'
    throw new HttpError(413, [{ message, type: 'answer_too_long' }], { cause: error })
  }
}

/** 96 bits of what is sent, as 16 characters. */
function digest(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url').slice(0, 16)
}

function lengthOf(body: HttpResponse['body']): number | undefined {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return body instanceof Uint8Array ? body.length : undefined
}

/** A HEAD's answer; to a POST that stands for one, no length may be told that does not follow. */
function headOnly({ request }: RequestContext, status: number, headers: HeaderList): HttpResponse {
  if (request.method === 'HEAD') return { status, headers, body: undefined }
  const kept = headers.flatMap((value, at) => {
    const name = headers[at - (at % 2)]
    return name === 'Content-Length' ? [] : [value]
  })
  return { status, headers: [...kept, 'Content-Length', '0'], body: undefined }
}

/**
 * Adds what stands on every answer, whatever became of the request.
 * @param chosen whether the format was negotiated.
 * @param vary what else the answer depended on.
 */
function addCommon(
  headers: HeaderList,
  api: ApiDefinition,
  exchange: RequestContext,
  chosen: boolean,
  vary: readonly string[] = [],
): void {
  const { id, sender, timings, request, version, extension } = exchange
  const deprecated = version?.deprecated
  if (deprecated !== undefined) headers.push(...versionHeaders(api, exchange, deprecated))
  headers.push(...printCorsHeaders(api.cors, request.headers.origin))
  const varied = varyOf(api, chosen && extension === undefined, vary)
  if (varied !== '') headers.push('Vary', varied)
  headers.push(...sender.limits)
  // The client's own id, or the one under which a failure was told to `onError`.
  if (id !== undefined) headers.push('X-Request-Id', id)
  if (timings.length > 0) headers.push('Server-Timing', timings.join(', '))
}

/** What the answer depended on, for caches: exactly what was consulted. */
function varyOf(
  { cors, credentialHeaders }: ApiDefinition,
  negotiated: boolean,
  more: readonly string[],
): string {
  const names = negotiated ? ['Accept', ...more] : more.slice()
  if (cors.origins !== '*') names.push('Origin')
  names.push(...credentialHeaders)
  return names.join(', ')
}

const NO_CACHE = 'no-cache, max-age=0'

/** A collection's own word counts for what its operations give. */
function cacheControlOf({ principal, operation, match }: RequestContext): string {
  const target = operation === undefined ? undefined : match?.target
  if (!target || target.kind === 'root') return principal ? `private, ${NO_CACHE}` : NO_CACHE
  const { cacheControl, privateCacheControl } = target.collection
  return principal ? privateCacheControl : cacheControl
}

/** A deprecated version says so (RFC 9745, RFC 8594) and names its successor. */
function versionHeaders(
  { defaultVersion }: ApiDefinition,
  { version, base = '' }: RequestContext,
  deprecated: number,
): HeaderList {
  const headers: HeaderList = ['Deprecation', `@${Math.floor(deprecated / 1000)}`]
  if (version?.sunset !== undefined) headers.push('Sunset', printHttpDate(version.sunset))
  const href = base + printPath({ kind: 'root', version: defaultVersion }, [])
  if (defaultVersion !== version)
    headers.push('Link', printLink([{ rel: 'successor-version', href }]))
  return headers
}

/** What was thrown as a refusal; failures are told to `onError`. */
export function toErrorResponse(
  { api }: Runtime,
  exchange: RequestContext,
  thrown: unknown,
): HttpError {
  if (thrown instanceof HttpError) {
    if (thrown.status >= 500) report(api, exchange, thrown, thrown)
    return thrown
  }
  const reference = randomUUID()
  const error = internalError(thrown, reference)
  // What fails because the client went away is nobody's failure.
  if (!exchange.request.aborted) report(api, exchange, thrown, error, reference)
  return error
}

export function respondWithError(
  machine: Runtime,
  exchange: RequestContext,
  error: HttpError,
): HttpResponse {
  const { api } = machine
  const negotiated = exchange.negotiated ?? errorFormat(machine, exchange)
  exchange.negotiated = negotiated?.errors ?? negotiated
  const headers = error.headers.slice()
  addCommon(headers, api, exchange, true)
  headers.push('Cache-Control', 'no-store')
  const status = exchange.suppressed ? suppressedStatus(error.status) : error.status
  const { errors } = error
  const representation: Representation = { kind: 'errors', status: error.status, errors }
  return withBody(machine, exchange, status, headers, representation)
}

/**
 * Errors are negotiated like anything else, and JSON where nothing fits or nothing can be read. The
 * extension counts before there is a match, and without one.
 */
function errorFormat({ api, router }: Runtime, exchange: RequestContext): Negotiated | undefined {
  exchange.extension ??= router.extensionOf(splitTarget(exchange.request.target).path)
  try {
    return negotiate(api, exchange)
  } catch {
    // The `Accept` itself is refused.
    return undefined
  }
}

function report(
  { onError }: ApiDefinition,
  exchange: RequestContext,
  thrown: unknown,
  error: HttpError,
  reference?: string,
): void {
  const { request } = exchange
  const requestId = getRequestId(exchange)
  const failure = { reference: reference ?? requestId, error, request, requestId }
  const tell = async () => onError(thrown, failure)
  // A failing log may fail neither the answer nor the process.
  tell().catch(() => {})
}
