// One request from its plain data to its answer: the order of the steps, and the only place where what
// was thrown becomes an answer.
import { baseOf, throughProxies } from './address.ts'
import { admit, authorize, count, everything, isHidden, mayOf, methodsFor } from './admit.ts'
import { type Decoded, hasBody } from './body.ts'
import { callsOf } from './calls.ts'
import { evaluate, preconditionFailed } from './conditional.ts'
import type { ApiDefinition } from './definition.ts'
import { allowedMethods, describeTarget, methodHeaders } from './describe.ts'
import type { ServedDocument } from './documents.ts'
import { encode, encodeError, isHashed, refusalOf } from './encode.ts'
import { HttpError } from './errors.ts'
import { givenRequestId, type RequestEvent, requests, responses } from './events.ts'
import {
  conditionsOf,
  type Exchange,
  type Machine,
  negotiate,
  requestIdOf,
  standsForRead,
} from './exchange.ts'
import { cannotFollow, effectiveMethod, METHOD_PARAMETER, SUPPRESS_PARAMETER } from './fallbacks.ts'
import { json } from './formats/json.ts'
import {
  type HttpRequest,
  type HttpResponse,
  isStream,
  type Parameter,
  splitTarget,
} from './http.ts'
import { notAcceptable, variantOf } from './negotiate.ts'
import type { Call, Outcome } from './operations/call.ts'
import { root } from './operations/root.ts'
import { perform } from './operations.ts'
import { parsePrefer } from './prefer.ts'
import { isForm, meantBy, readBody, readForm, takesBody, uploadsFor } from './request-body.ts'
import {
  belowPrefix,
  checkHeaders,
  idempotencyKeyOf,
  overridesOf,
  readParameters,
} from './request-head.ts'
import { type CollectionTarget, type Match, pathOf, type Router, type Target } from './route.ts'
import { begin } from './streamed.ts'

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
    id: givenRequestId(request.headers['x-request-id']),
    started: performance.now(),
    sender: { authenticated: undefined, limits: [], counted: false },
    timings: [],
    suppressed: request.target.includes(SUPPRESS_PARAMETER),
    method: request.method,
    match: undefined,
    route: undefined,
    operation: undefined,
    parameters: [],
    sent: undefined,
    may: everything,
    negotiated: undefined,
    extension: undefined,
    version: undefined,
    base: undefined,
    principal: undefined,
    uploads: undefined,
  }
  try {
    const outcome = await answer(machine, exchange, fallThrough)
    if (!outcome) return undefined
    const response = encode(machine, exchange, outcome)
    const { body, length } = response
    if (isStream(body)) response.body = await begin(machine, exchange, body, length)
    tell(machine, exchange, response)
    return response
  } catch (thrown) {
    await exchange.uploads?.discard()
    return refused(machine, exchange, await counted(machine, exchange, thrown))
  }
}

/** A refusal counts like any request, however early it came. */
async function counted({ api }: Machine, exchange: Exchange, thrown: unknown): Promise<unknown> {
  const { request, method, sender } = exchange
  // Who could not be served for lack of time or room is told so.
  const unserved = thrown instanceof HttpError && thrown.status === 503
  if (!api.rateLimit || sender.counted || unserved) return thrown
  try {
    await count(api, request, method, sender)
    return thrown
  } catch (limited) {
    return limited
  }
}

function refused(machine: Machine, exchange: Exchange, thrown: unknown): HttpResponse {
  let error = refusalOf(machine, exchange, thrown)
  let response: HttpResponse
  try {
    response = encodeError(machine, exchange, error)
  } catch (broken) {
    // A format that cannot print even this: JSON can.
    exchange.negotiated = { format: json, type: 'application/json' }
    error = refusalOf(machine, exchange, broken)
    response = encodeError(machine, exchange, error)
  }
  tell(machine, exchange, response, error)
  return response
}

/** What is told of a request, also with its answer. */
function requestEvent({ api }: Machine, exchange: Exchange): RequestEvent {
  const { request, method, route } = exchange
  const client = throughProxies(request, api.trustProxy).address
  return { id: requestIdOf(exchange), request, client, method, route }
}

/** Tells whoever listens what the request was. */
function tell(
  machine: Machine,
  exchange: Exchange,
  { status }: HttpResponse,
  error?: HttpError,
): void {
  if (!responses.hasSubscribers) return
  const { operation, match, principal, started } = exchange
  const target = match?.target
  responses.publish({
    ...requestEvent(machine, exchange),
    status,
    operation,
    collection: target && target.kind !== 'root' ? target.collection.name : undefined,
    principal,
    error,
    duration: performance.now() - started,
  })
}

async function answer(
  machine: Machine,
  exchange: Exchange,
  fallThrough: boolean,
): Promise<Outcome | undefined> {
  const { api, router, documents } = machine
  const { request, sender } = exchange
  const { path, query } = splitTarget(request.target)
  const document = documents.get(path)
  const below = document ? undefined : belowPrefix(path, api.prefix, request.method)
  const match = below === undefined ? undefined : matchOf(router, below, fallThrough)
  if (!match && !document && fallThrough) return undefined
  exchange.match = match
  exchange.route = document?.template ?? (match && api.prefix + match.template)
  // Whoever is told of the answer alone is told an id that the answer carries.
  if (requests.hasSubscribers || responses.hasSubscribers) {
    requests.publish(requestEvent(machine, exchange))
  }
  checkHeaders(request, api)
  const parameters = readParameters(request, query, api)
  exchange.suppressed = parameters.some(({ name }) => name === SUPPRESS_PARAMETER)
  const base = baseOf(api, request, document?.addressed)
  exchange.base = base
  exchange.parameters = parameters
  exchange.version = match?.target.version
  exchange.extension = match?.extension
  const overrides = overridesOf(request, parameters)
  exchange.method = effectiveMethod(request.method, overrides)
  if (document?.uncounted) sender.counted = true
  else {
    // A scheme asks others, whose silence is not waited for longer than for work.
    const admitted =
      api.schemes.length > 0
        ? machine.workload.run(async () => admission(machine, exchange, base), request)
        : admission(machine, exchange, base)
    if (admitted) await admitted
  }
  exchange.principal = sender.authenticated?.principal
  exchange.may = mayOf(api, exchange.principal)
  if (document) return readDocument(exchange, document, base)
  if (!match) throw noSuchPath(path)

  const { target } = match
  const hidden = () => {
    // What is said of a match would tell that there is one: the version's headers, the page around it.
    exchange.match = undefined
    exchange.version = undefined
    return noSuchPath(path)
  }
  if (isHidden(api, match, sender)) throw hidden()
  const allow = (operations: readonly string[]) =>
    authorize(api, request, target, operations, sender, base, hidden)
  if (exchange.method === 'OPTIONS') return describe(api, exchange, match)
  const asked = match.methods.get(exchange.method)
  // Which operation a form means may stand in the form.
  const formed = request.method === 'POST' && isForm(api, request)
  const open = formed && overrides.length === 0
  if (asked === undefined && !open) throw methodNotAllowed(api, exchange, match)
  const meant = open ? meantBy(request, match) : []
  allow(asked === undefined ? meant : [asked, ...meant])
  if (target.kind !== 'blob') {
    exchange.negotiated = negotiate(api, exchange)
    if (!exchange.negotiated) throw notAcceptable(api.formats)
  }

  const form =
    formed && target.kind !== 'root'
      ? await timed(machine, exchange, 'body', () => readForm(api, exchange, target))
      : undefined
  if (form) exchange.method = effectiveMethod(request.method, [...overrides, ...form.overrides])
  const operation = match.methods.get(exchange.method)
  if (operation === undefined) throw methodNotAllowed(api, exchange, match)
  exchange.operation = operation
  if (open) allow([operation])
  const href = (to: Target) => base + pathOf(to, api.formats)
  if (target.kind === 'root') {
    const conditions = { method: exchange.method, preconditions: conditionsOf(exchange) }
    return conditional(conditions, root(api, target.version, href, exchange.may))
  }

  const bare = form !== undefined || !takesBody(operation, exchange.method) || !hasBody(request)
  const body = bare
    ? form
    : await timed(machine, exchange, 'body', () => readBody(api, exchange, target))
  const call = callOf(api, exchange, { target, operation, parameters, body, href, allow })
  const work = () =>
    machine.workload.run(() => {
      // From here on `perform` removes what no item takes, when the work ends: that may be after its time.
      exchange.uploads = undefined
      return perform(call)
    }, request)
  const outcome = await timed(machine, exchange, 'work', work)
  return isHashed(exchange, outcome) ? outcome : conditional(call, outcome)
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

/** Who sends the request, and whether it may go on. */
function admission(machine: Machine, exchange: Exchange, base: string): Promise<void> | void {
  const { request, method, sender } = exchange
  return timed(machine, exchange, 'auth', () => admit(machine.api, request, method, base, sender))
}

/** A step, its time noted where the api tells. */
function timed<T>(
  { api }: Machine,
  { timings }: Exchange,
  name: string,
  step: () => Promise<T> | T,
): Promise<T> | T {
  return api.serverTiming ? noted(timings, name, step) : step()
}

async function noted<T>(timings: string[], name: string, step: () => Promise<T> | T): Promise<T> {
  const started = performance.now()
  try {
    return await step()
  } finally {
    timings.push(`${name};dur=${(performance.now() - started).toFixed(2)}`)
  }
}

function noSuchPath(path: string): HttpError {
  const message = `There is nothing at ${JSON.stringify(path.slice(0, 128))}; the root lists what exists`
  return new HttpError(404, [{ message, type: 'no_such_path' }])
}

function methodNotAllowed(
  api: ApiDefinition,
  { method, sender }: Exchange,
  { target, methods }: Match,
): HttpError {
  const allowed = allowedMethods(methodsFor(api, target, methods, sender))
  const message = `${method.slice(0, 32)} does not exist here; there are ${allowed}`
  return new HttpError(405, [{ message, type: 'method_not_allowed' }], {
    headers: ['Allow', allowed],
  })
}

function callOf(
  api: ApiDefinition,
  exchange: Exchange,
  known: Pick<Call, 'operation' | 'href'> & {
    allow: (operations: readonly string[]) => void
    target: CollectionTarget
    parameters: readonly Parameter[]
    body: Decoded | undefined
  },
): Call {
  const { request, method, principal, suppressed, negotiated } = exchange
  const { target, operation, href, allow, body } = known
  const { headers } = request
  const reads = method === 'GET' || method === 'HEAD'
  const sent = reads ? (body?.parameters ?? []) : []
  const blanks = negotiated?.format.skipsBlanks !== true
  const parameters = known.parameters
    .concat(sent)
    .filter(({ name, value }) => name !== METHOD_PARAMETER && (blanks || value !== ''))
  exchange.parameters = parameters
  const preferences = parsePrefer(headers.prefer)
  const blind = !reads && isBlind(exchange, known)
  return {
    target,
    operation,
    method,
    parameters: rewrite(api, parameters),
    body: takesBody(operation, method) ? body : undefined,
    preconditions: conditionsOf(exchange),
    preferences: blind
      ? { ...preferences, return: 'minimal' }
      : suppressed
        ? { ...preferences, return: 'representation' }
        : preferences,
    noRedirect: !reads && cannotFollow(headers),
    range: standsForRead(exchange) ? undefined : headers.range,
    idempotencyKey: idempotencyKeyOf(headers['idempotency-key']),
    uploads: exchange.uploads ?? uploadsFor(api, request, target),
    variant: negotiated ? variantOf(negotiated) : '',
    streams: negotiated?.format.streams === true,
    principal,
    authorize: other => allow([other]),
    may: exchange.may,
    caller: request,
    limits: api.limits,
    href,
    collection: (name, options) => {
      const defaults = { signal: request.signal, ...(principal && { principal }), ...options }
      return callsOf({ version: target.version, limits: api.limits, href, defaults }, name)
    },
  }
}

/** A change shows an item to nobody who could not read it; who makes one has sent it. */
function isBlind(
  { may }: Exchange,
  { target: { collection }, operation }: Pick<Call, 'target' | 'operation'>,
): boolean {
  return operation !== 'create' && !may(collection, 'read') && !may(collection, 'list')
}

function rewrite(
  { dialects }: ApiDefinition,
  parameters: readonly Parameter[],
): readonly Parameter[] {
  return dialects.reduce((rewritten, dialect) => dialect.rewrite(rewritten), parameters)
}

/** What the sender may do here; all that can be done where it has not said who it is. */
function describe(api: ApiDefinition, exchange: Exchange, match: Match): Outcome {
  exchange.negotiated = negotiate(api, exchange)
  const { target } = match
  const methods = methodsFor(api, target, match.methods, exchange.sender)
  const whole = describeTarget(match, api.formats)
  const lost = [...match.methods.keys()].filter(method => !methods.has(method))
  const data = Object.fromEntries(
    Object.entries(whole).filter(([name]) => !lost.includes(name.toUpperCase())),
  )
  return {
    status: 200,
    headers: [...methodHeaders(methods, api.formats), ...api.cors.preflight],
    representation: { kind: 'document', name: 'description', data },
    result: data,
  }
}

/** `/health` and its kind: JSON, whatever is accepted. */
async function readDocument(
  exchange: Exchange,
  { name, read }: ServedDocument,
  base: string,
): Promise<Outcome> {
  exchange.negotiated = { format: json, type: 'application/json' }
  // Its format is given as if by an extension: nothing else is consulted.
  exchange.extension = 'json'
  const allow = ['Allow', 'GET, HEAD, OPTIONS']
  if (!['GET', 'HEAD', 'OPTIONS'].includes(exchange.method)) {
    const message = `${exchange.method.slice(0, 32)} does not exist here; there are ${allow[1]}`
    throw new HttpError(405, [{ message, type: 'method_not_allowed' }], { headers: allow })
  }
  const data = exchange.method === 'OPTIONS' ? {} : await read(base)
  return {
    status: 200,
    headers: exchange.method === 'OPTIONS' ? allow : [],
    representation: { kind: 'document', name, data },
    result: data,
  }
}

/** The conditions of a read: 304 with the headers of the 200 that it stands for, or 412. */
function conditional(
  { method, preconditions }: Pick<Call, 'method' | 'preconditions'>,
  outcome: Outcome,
): Outcome {
  const read = outcome.status === 200 || outcome.status === 206
  if ((method !== 'GET' && method !== 'HEAD') || !read) return outcome
  const verdict = evaluate(preconditions, method, outcome.validators ?? {})
  if (verdict === 'failed') throw preconditionFailed()
  if (verdict === 'proceed') return outcome
  return { ...outcome, status: 304, representation: undefined }
}
