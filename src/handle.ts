// One request from its plain data to its answer: the order of the steps, and the only `catch`.
import { randomUUID } from 'node:crypto'
import { baseOf } from './address.ts'
import { type Content, contentOf, type Decoded, decodeBody, hasBody } from './body.ts'
import { callsOf } from './calls.ts'
import { evaluate, preconditionFailed, printEntityTag, readPreconditions } from './conditional.ts'
import { corsHeaders } from './cors.ts'
import type { ApiDefinition, Principal, VersionDefinition } from './definition.ts'
import { allowedMethods, describeTarget, methodHeaders } from './describe.ts'
import { HttpError, toHttpError } from './errors.ts'
import {
  effectiveMethod,
  METHOD_PARAMETER,
  SUPPRESS_PARAMETER,
  suppressedStatus,
  withIfMatch,
} from './fallbacks.ts'
import type { Representation } from './formats/format.ts'
import { json, PROBLEM_TYPE } from './formats/json.ts'
import {
  type HeaderList,
  type HttpRequest,
  type HttpResponse,
  type Parameter,
  parseParameters,
  printHttpDate,
  splitTarget,
} from './http.ts'
import { chooseFormat, type Negotiated, notAcceptable } from './negotiate.ts'
import { uploadsOf } from './operations/blobs.ts'
import type { Call, Outcome, Uploads } from './operations/call.ts'
import { root } from './operations/root.ts'
import { perform } from './operations.ts'
import { printLink } from './pagination.ts'
import { parsePrefer } from './prefer.ts'
import { type CollectionTarget, type Match, pathOf, type Router, type Target } from './route.ts'
import { type Asked, viewOf } from './view.ts'

/** An api ready to answer. */
export interface Machine {
  readonly api: ApiDefinition
  readonly router: Router
}

/** What is known of a request while it is answered: each step adds to it. */
interface Exchange extends Asked {
  /** Whether the answer's status may only be 200 or 500. */
  suppressed: boolean
  method: string
  match: Match | undefined
  parameters: readonly Parameter[]
  sent: Asked['sent']
  negotiated: Negotiated | undefined
  extension: string | undefined
  version: VersionDefinition | undefined
  /** The public address of the api's root. */
  base: string | undefined
  principal: Principal | undefined
  uploads: Uploads | undefined
}

/**
 * Answers a request; never throws.
 * @returns `undefined` where the path is none of the api's and `fallThrough` asks to leave it then.
 */
export async function handle(
  machine: Machine,
  request: HttpRequest,
  fallThrough = false,
): Promise<HttpResponse | undefined> {
  const exchange: Exchange = {
    request,
    suppressed: request.target.includes(SUPPRESS_PARAMETER),
    method: request.method,
    match: undefined,
    parameters: [],
    sent: undefined,
    negotiated: undefined,
    extension: undefined,
    version: undefined,
    base: undefined,
    principal: undefined,
    uploads: undefined,
  }
  try {
    const outcome = await answer(machine, exchange, fallThrough)
    return outcome && encode(machine, exchange, outcome)
  } catch (thrown) {
    await exchange.uploads?.discard().catch(() => undefined)
    try {
      return encodeError(machine, exchange, thrown)
    } catch (broken) {
      // A format that cannot print even this: JSON can.
      exchange.negotiated = { format: json, type: 'application/json' }
      return encodeError(machine, exchange, broken)
    }
  }
}

async function answer(
  { api, router }: Machine,
  exchange: Exchange,
  fallThrough: boolean,
): Promise<Outcome | undefined> {
  const { request } = exchange
  const { path, query } = splitTarget(request.target)
  const below = belowPrefix(path, api.prefix, request.method)
  const match = below === undefined ? undefined : matchOf(router, below, fallThrough)
  if (!match && fallThrough) return undefined
  const parameters = readParameters(request, query, api)
  exchange.suppressed = parameters.some(({ name }) => name === SUPPRESS_PARAMETER)
  const base = baseOf(api, request)
  exchange.base = base
  if (!match) throw noSuchPath(path)
  const { target } = match
  exchange.match = match
  exchange.parameters = parameters
  exchange.version = target.version
  exchange.extension = match.extension

  const overrides = overridesOf(request, parameters)
  exchange.method = effectiveMethod(request.method, overrides)
  if (exchange.method === 'OPTIONS') return describe(api, exchange, match)
  if (target.kind !== 'blob') {
    exchange.negotiated = negotiate(api, exchange)
    if (!exchange.negotiated) throw notAcceptable(api.formats)
  }

  const body = await readForm(api, exchange, target)
  if (body) exchange.method = effectiveMethod(request.method, [...overrides, ...body.overrides])
  const operation = match.methods.get(exchange.method)
  if (operation === undefined) throw methodNotAllowed(match, exchange.method)
  const href = (to: Target) => base + pathOf(to, api.formats)
  if (target.kind === 'root') return root(api, target.version, href)

  const call = await callOf(api, exchange, { target, operation, parameters, body, href })
  const outcome = await perform(call)
  return conditional(exchange, call, outcome)
}

// --- Steps, in their order -----------------------------------------------------------------------

/** The path's target. A path that cannot be read is none of the api's where another may take it. */
function matchOf(router: Router, path: string, fallThrough: boolean): Match | undefined {
  try {
    return router.match(path)
  } catch (error) {
    if (fallThrough) return undefined
    throw error
  }
}

function readParameters(
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
function belowPrefix(path: string, prefix: string, method: string): string | undefined {
  if (path === '*' && method === 'OPTIONS') return '/'
  if (prefix === '') return path
  if (path === prefix) return '/'
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
}

function noSuchPath(path: string): HttpError {
  const message = `There is nothing at ${JSON.stringify(path.slice(0, 128))}; the root lists what exists`
  return new HttpError(404, [{ message, type: 'no_such_path' }])
}

function overridesOf({ headers }: HttpRequest, parameters: readonly Parameter[]): string[] {
  const header = headers['x-http-method-override']
  const named = parameters.filter(({ name }) => name === METHOD_PARAMETER).map(({ value }) => value)
  return header === undefined ? named : [...named, header]
}

function negotiate(api: ApiDefinition, { request, extension }: Exchange): Negotiated | undefined {
  return chooseFormat(api.formats, { extension, accept: request.headers.accept }, api.limits.accept)
}

/** Reads the body of a POST that is a form: only then the method is known. */
async function readForm(
  api: ApiDefinition,
  exchange: Exchange,
  target: Target,
): Promise<Decoded | undefined> {
  const { request, method, extension } = exchange
  const type = request.headers['content-type']
  if (request.method !== 'POST' || type === undefined || !hasBody(request)) return undefined
  if (target.kind === 'root') return undefined
  const forms = api.formats.filter(format => format.form)
  if (!forms.some(form => form.types.some(known => type.toLowerCase().includes(known))))
    return undefined
  const content = contentOf(request, api, method, extension)
  return content.format.form ? readContent(api, exchange, content, target) : undefined
}

function readContent(
  { limits }: ApiDefinition,
  exchange: Exchange,
  content: Content,
  { collection, action }: CollectionTarget,
): Promise<Decoded> {
  const { request } = exchange
  const fields = action ? action.inputFields : collection.takenFields
  const uploads = action ? undefined : uploadsOf(collection, limits.upload, request.signal)
  exchange.uploads = uploads
  return decodeBody(request, content, {
    limits,
    fields,
    sent: pairs => {
      exchange.sent = pairs
    },
    ...(uploads && { upload: uploads.put }),
  })
}

function methodNotAllowed({ methods }: Match, method: string): HttpError {
  const allowed = allowedMethods(methods)
  const message = `${method.slice(0, 32)} does not exist here; there are ${allowed}`
  return new HttpError(405, [{ message, type: 'method_not_allowed' }], {
    headers: ['Allow', allowed],
  })
}

/** The operations that take a body; of any other it is ignored. */
function takesBody(operation: string, method: string): boolean {
  return method !== 'GET' && method !== 'HEAD' && operation !== 'delete'
}

async function callOf(
  api: ApiDefinition,
  exchange: Exchange,
  known: Pick<Call, 'operation' | 'href'> & {
    target: CollectionTarget
    parameters: readonly Parameter[]
    body: Decoded | undefined
  },
): Promise<Call> {
  const { request, method, principal, suppressed, extension, negotiated } = exchange
  const { target, operation, href } = known
  const { headers, signal } = request
  let { body } = known
  if (!body && takesBody(operation, method) && hasBody(request)) {
    body = await readContent(api, exchange, contentOf(request, api, method, extension), target)
  }
  const sent = method === 'GET' || method === 'HEAD' ? (body?.parameters ?? []) : []
  const blanks = negotiated?.format.skipsBlanks !== true
  const parameters = [...known.parameters, ...sent].filter(
    ({ name, value }) => name !== METHOD_PARAMETER && (blanks || value !== ''),
  )
  exchange.parameters = parameters
  const preferences = parsePrefer(headers.prefer)
  return {
    target,
    operation,
    method,
    parameters: rewrite(api, parameters),
    body: takesBody(operation, method) ? body : undefined,
    preconditions: readPreconditions(withIfMatch(headers, exchange.sent), method),
    preferences: suppressed ? { ...preferences, return: 'representation' } : preferences,
    range: headers.range,
    idempotencyKey: idempotencyKeyOf(headers['idempotency-key']),
    uploads: exchange.uploads ?? uploadsOf(target.collection, api.limits.upload, signal),
    variant: negotiated?.format.name ?? '',
    streams: negotiated?.format.streams === true,
    principal,
    signal,
    limits: api.limits,
    href,
    collection: (name, options) => {
      const defaults = { signal, ...(principal && { principal }), ...options }
      return callsOf({ version: target.version, limits: api.limits, href, defaults }, name)
    },
  }
}

function rewrite(
  { dialects }: ApiDefinition,
  parameters: readonly Parameter[],
): readonly Parameter[] {
  return dialects.reduce((rewritten, dialect) => dialect.rewrite(rewritten), parameters)
}

/** A quoted string as the draft has it, or the bare text that clients send. */
function idempotencyKeyOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (key !== '' && key.length <= 255) return key
  const message = 'Idempotency-Key must have 1 to 255 characters'
  throw new HttpError(400, [{ message, field: 'idempotency-key', type: 'invalid_header' }])
}

function describe(api: ApiDefinition, exchange: Exchange, match: Match): Outcome {
  exchange.negotiated = negotiate(api, exchange)
  const data = describeTarget(match)
  return {
    status: 200,
    headers: [...methodHeaders(match.methods, api.formats), ...api.cors.preflight],
    representation: { kind: 'document', name: 'description', data },
    result: data,
  }
}

/** The conditions of a read: 304 with the headers of the 200 that it stands for, or 412. */
function conditional({ suppressed }: Exchange, call: Call, outcome: Outcome): Outcome {
  const { method, preconditions } = call
  const read = outcome.status === 200 || outcome.status === 206
  if ((method !== 'GET' && method !== 'HEAD') || !read) return outcome
  const verdict = evaluate(preconditions, method, outcome.validators ?? {})
  if (verdict === 'failed') throw preconditionFailed()
  if (verdict === 'proceed' || suppressed) return outcome
  const { representation: _unchanged, ...rest } = outcome
  return { ...rest, status: 304 }
}

// --- The answer ----------------------------------------------------------------------------------

function encode(machine: Machine, exchange: Exchange, outcome: Outcome): HttpResponse {
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
  headers.push(...varyHeader(api, exchange, outcome.vary))
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
    return { status, headers, body: method === 'HEAD' ? undefined : data }
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
  return { status, headers, body: method === 'HEAD' ? undefined : body }
}

/** What the answer depended on, for caches: exactly what was consulted. */
function varyHeader(
  { cors }: ApiDefinition,
  { extension }: Exchange,
  more: readonly string[] = [],
): HeaderList {
  const names = extension === undefined ? ['Accept', ...more] : [...more]
  if (cors.origins !== '*') names.push('Origin')
  return names.length > 0 ? ['Vary', names.join(', ')] : []
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

function encodeError(machine: Machine, exchange: Exchange, thrown: unknown): HttpResponse {
  const { api } = machine
  const { request } = exchange
  const error = toHttpError(thrown, randomUUID())
  if (error.status >= 500 && !request.signal.aborted) report(api, error, thrown, request)
  exchange.negotiated ??= errorFormat(api, exchange)
  const headers = [
    ...error.headers,
    ...versionHeaders(api, exchange),
    ...corsHeaders(api.cors, request.headers.origin),
  ]
  headers.push(...varyHeader(api, exchange), 'Cache-Control', 'no-store')
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

function report(api: ApiDefinition, error: HttpError, thrown: unknown, request: HttpRequest): void {
  const reference = /[0-9a-f-]{36}$/.exec(error.message)?.[0] ?? ''
  try {
    api.onError(thrown, { reference, error, request })
  } catch {
    // A failing log may not fail the answer.
  }
}
