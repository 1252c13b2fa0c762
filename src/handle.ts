// One request from its plain data to its answer: the order of the steps, and the only place where what
// was thrown becomes an answer.
import { baseOf, throughProxies } from './address.ts'
import { authorize, count, everything, isHidden, mayOf } from './admit.ts'
import { hasBody } from './body.ts'
import { encode, encodeError, refusalOf } from './encode.ts'
import { HttpError } from './errors.ts'
import { givenRequestId, type RequestEvent, requests, responses } from './events.ts'
import { conditionsOf, type Exchange, type Machine, negotiate, requestIdOf } from './exchange.ts'
import { effectiveMethod, SUPPRESS_PARAMETER } from './fallbacks.ts'
import { json } from './formats/json.ts'
import { type HttpRequest, type HttpResponse, isStream, splitTarget } from './http.ts'
import { notAcceptable } from './negotiate.ts'
import type { Outcome } from './operations/call.ts'
import { root } from './operations/root.ts'
import { perform } from './operations.ts'
import { isForm, meantBy, readBody, readForm, takesBody } from './request-body.ts'
import { belowPrefix, checkHeaders, overridesOf, readParameters } from './request-head.ts'
import { pathOf, type Target } from './route.ts'
import {
  admission,
  callOf,
  conditional,
  describe,
  matchOf,
  methodNotAllowed,
  noSuchPath,
  readDocument,
  timed,
} from './steps.ts'
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
    collection: undefined,
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
  const { operation, collection, principal, started } = exchange
  responses.publish({
    ...requestEvent(machine, exchange),
    status,
    operation,
    collection,
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
  exchange.collection =
    match && match.target.kind !== 'root' ? match.target.collection.name : undefined
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
  if (document) return readDocument(api, exchange, document, base)
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
    const outcome = root(api, target.version, href, exchange.may)
    return conditional(exchange, conditionsOf(exchange), outcome)
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
  return conditional(exchange, call.preconditions, outcome)
}
