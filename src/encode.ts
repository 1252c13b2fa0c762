// What an operation gave, or what was thrown, as an answer: its headers, and its bytes in the format asked for.
import { randomUUID } from 'node:crypto'
import { printEntityTag } from './conditional.ts'
import { corsHeaders } from './cors.ts'
import type { ApiDefinition } from './definition.ts'
import { type HttpError, toHttpError } from './errors.ts'
import { type Exchange, idOf, type Machine, negotiate } from './exchange.ts'
import { suppressedStatus } from './fallbacks.ts'
import type { Representation } from './formats/format.ts'
import { json, PROBLEM_TYPE } from './formats/json.ts'
import { type HeaderList, type HttpResponse, printHttpDate } from './http.ts'
import type { Negotiated } from './negotiate.ts'
import type { Outcome } from './operations/call.ts'
import { printLink } from './pagination.ts'
import { pathOf } from './route.ts'
import { viewOf } from './view.ts'

export function encode(machine: Machine, exchange: Exchange, outcome: Outcome): HttpResponse {
  const { api } = machine
  const { status, representation, validators } = outcome
  const { headers: requestHeaders } = exchange.request
  const headers = [...outcome.headers]
  if (validators?.tag !== undefined)
    headers.push('ETag', printEntityTag({ weak: false, opaque: validators.tag }))
  if (validators?.lastModified !== undefined)
    headers.push('Last-Modified', printHttpDate(validators.lastModified))
  for (const dialect of api.dialects) headers.push(...(dialect.headers?.(headers) ?? []))
  headers.push(...versionHeaders(api, exchange), ...corsHeaders(api.cors, requestHeaders.origin))
  // A file is what it is, whatever is accepted.
  const chosen = exchange.negotiated !== undefined
  headers.push(...varyHeader(api, exchange, chosen, outcome.vary), ...commonHeaders(exchange))
  if (exchange.suppressed) headers.push('Cache-Control', 'no-store')
  else if (status === 200 || status === 206 || status === 304)
    headers.push('Cache-Control', cacheControlOf(exchange, outcome))
  return withBody(
    machine,
    exchange,
    exchange.suppressed ? suppressedStatus(status) : status,
    headers,
    representation,
  )
}

function withBody(
  machine: Machine,
  exchange: Exchange,
  status: number,
  headers: HeaderList,
  representation: Representation | undefined,
): HttpResponse {
  const { negotiated, method } = exchange
  if (representation?.kind === 'bytes') {
    const { type, size, data } = representation
    headers.push('Content-Type', type, 'Content-Length', String(size))
    headers.push('X-Content-Type-Options', 'nosniff')
    return method === 'HEAD' ? headOnly(exchange, status, headers) : { status, headers, body: data }
  }
  const { format, type } = negotiated ?? { format: json, type: 'application/json' }
  const shown =
    type === PROBLEM_TYPE && representation?.kind !== 'errors' ? (format.types[0] ?? type) : type
  if (!representation) {
    if (method === 'HEAD' && status === 200)
      headers.push('Content-Type', shown, 'X-Content-Type-Options', 'nosniff')
    else if (status !== 204 && status !== 304) headers.push('Content-Length', '0')
    return { status, headers, body: undefined }
  }
  const view = () => viewOf(machine, exchange, { status, headers, representation })
  const body = format.write?.(representation, shown, view)
  headers.push('Content-Type', shown, 'X-Content-Type-Options', 'nosniff')
  if (format.headers) headers.push(...format.headers)
  if (typeof body === 'string') headers.push('Content-Length', String(Buffer.byteLength(body)))
  else if (body instanceof Uint8Array) headers.push('Content-Length', String(body.length))
  return method === 'HEAD' ? headOnly(exchange, status, headers) : { status, headers, body }
}

/** A HEAD's answer; to a POST that stands for one, no length may be told that does not follow. */
function headOnly({ request }: Exchange, status: number, headers: HeaderList): HttpResponse {
  if (request.method === 'HEAD') return { status, headers, body: undefined }
  const kept = headers.flatMap((value, at) => {
    const name = headers[at - (at % 2)]
    return name === 'Content-Length' ? [] : [value]
  })
  return { status, headers: [...kept, 'Content-Length', '0'], body: undefined }
}

/** What the answer depended on, for caches: exactly what was consulted. */
function varyHeader(
  { cors, schemes }: ApiDefinition,
  { extension }: Exchange,
  chosen: boolean,
  more: readonly string[] = [],
): HeaderList {
  const names = chosen && extension === undefined ? ['Accept', ...more] : [...more]
  if (cors.origins !== '*') names.push('Origin')
  if (schemes.length > 0) names.push('Authorization')
  return names.length > 0 ? ['Vary', names.join(', ')] : []
}

/** What stands on every answer, whatever became of the request. */
function commonHeaders({ id, sender, timings }: Exchange): HeaderList {
  const headers: HeaderList = [...sender.limits]
  // The client's own id, or the one under which a failure was told to `onError`.
  if (id !== undefined) headers.push('X-Request-Id', id)
  if (timings.length > 0) headers.push('Server-Timing', timings.join(', '))
  return headers
}

const NO_CACHE = 'no-cache, max-age=0'

function cacheControlOf({ principal }: Exchange, { cacheControl = NO_CACHE }: Outcome): string {
  return principal ? `private, ${cacheControl}` : cacheControl
}

/** A deprecated version says so (RFC 9745, RFC 8594) and names its successor. */
function versionHeaders(
  { defaultVersion }: ApiDefinition,
  { version, base = '' }: Exchange,
): HeaderList {
  if (version?.deprecated === undefined) return []
  const headers: HeaderList = ['Deprecation', `@${Math.floor(version.deprecated / 1000)}`]
  if (version.sunset !== undefined) headers.push('Sunset', printHttpDate(version.sunset))
  const href = base + pathOf({ kind: 'root', version: defaultVersion }, [])
  if (defaultVersion !== version)
    headers.push('Link', printLink([{ rel: 'successor-version', href }]))
  return headers
}

/** What was thrown as a refusal; failures are told to `onError`. */
export function refusalOf({ api }: Machine, exchange: Exchange, thrown: unknown): HttpError {
  const error = toHttpError(thrown, randomUUID())
  // What fails because the client went away is nobody's failure.
  const gone = exchange.request.signal.aborted && error !== thrown
  if (error.status >= 500 && !gone) report(api, exchange, error, thrown)
  return error
}

export function encodeError(machine: Machine, exchange: Exchange, error: HttpError): HttpResponse {
  const { api } = machine
  const { request } = exchange
  exchange.negotiated ??= errorFormat(api, exchange)
  const headers = [
    ...error.headers,
    ...versionHeaders(api, exchange),
    ...corsHeaders(api.cors, request.headers.origin),
  ]
  headers.push(...varyHeader(api, exchange, true), 'Cache-Control', 'no-store')
  headers.push(...commonHeaders(exchange))
  const status = exchange.suppressed ? suppressedStatus(error.status) : error.status
  const { errors } = error
  const representation: Representation = { kind: 'errors', status: error.status, errors }
  return withBody(machine, exchange, status, headers, representation)
}

/** Errors are negotiated like anything else, and JSON where nothing fits or nothing can be read. */
function errorFormat(api: ApiDefinition, exchange: Exchange): Negotiated | undefined {
  const { accept = '' } = exchange.request.headers
  return accept.length > api.limits.accept ? undefined : negotiate(api, exchange)
}

function report(api: ApiDefinition, exchange: Exchange, error: HttpError, thrown: unknown): void {
  const reference = /[0-9a-f-]{36}$/.exec(error.message)?.[0] ?? ''
  try {
    api.onError(thrown, {
      reference,
      error,
      request: exchange.request,
      requestId: idOf(exchange),
    })
  } catch {
    // A failing log may not fail the answer.
  }
}
