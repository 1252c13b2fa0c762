// One request from its plain data to its answer: the order of the steps, and the only place where what
// was thrown becomes an answer.

import { HttpError } from '../errors.ts'
import { json } from '../formats/json.ts'
import { resolveBaseUrl, resolveProxies } from '../http/base-url.ts'
import { type HttpRequest, type HttpResponse, isStream, splitTarget } from '../http/message.ts'
import { effectiveMethod, SUPPRESS_PARAMETER } from '../http/method-override.ts'
import { printPath, type Target } from '../model/routes.ts'
import { notAcceptable } from '../negotiate.ts'
import type { OperationResult } from '../operations/call.ts'
import { perform } from '../operations/perform.ts'
import { root } from '../operations/root.ts'
import { allowAll, authorize, countRequest, createCan, isHidden } from './authorize.ts'
import { isForm, meantBy, readBody, readForm, takesBody } from './body.ts'
import {
  getPreconditions,
  getRequestId,
  negotiate,
  type RequestContext,
  type Runtime,
} from './context.ts'
import { hasBody } from './decode-body.ts'
import { givenRequestId, type RequestEvent, requests, responses } from './events.ts'
import { belowPrefix, checkHeaders, overridesOf, readParameters } from './head.ts'
import { primeStream } from './prime-stream.ts'
import { respond, respondWithError, toErrorResponse } from './respond.ts'
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

/**
 * Answers a request; never throws.
 * @returns `undefined` where the path is none of the api's and `fallThrough` asks to leave it then.
 */
export async function handle(
  machine: Runtime,
  request: HttpRequest,
  fallThrough = false,
): Promise<HttpResponse | undefined> {
  const exchange: RequestContext = {
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
    may: allowAll,
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
    const response = respond(machine, exchange, outcome)
    const { body, length } = response
    if (isStream(body)) response.body = await primeStream(machine, exchange, body, length)
    tell(machine, exchange, response)
    return response
  } catch (thrown) {
    await exchange.uploads?.discard()
    return refused(machine, exchange, await counted(machine, exchange, thrown))
  }
}

/** A refusal counts like any request, however early it came. */
async function counted(
  { api }: Runtime,
  exchange: RequestContext,
  thrown: unknown,
): Promise<unknown> {
  const { request, method, sender } = exchange
  // Who could not be served for lack of time or room is told so.
  const unserved = thrown instanceof HttpError && thrown.status === 503
  if (!api.rateLimit || sender.counted || unserved) return thrown
  try {
    await countRequest(api, request, method, sender)
    return thrown
  } catch (limited) {
    return limited
  }
}

function refused(machine: Runtime, exchange: RequestContext, thrown: unknown): HttpResponse {
  let error = toErrorResponse(machine, exchange, thrown)
  let response: HttpResponse
  try {
    response = respondWithError(machine, exchange, error)
  } catch (broken) {
    // A format that cannot print even this: JSON can.
    exchange.negotiated = { format: json, type: 'application/json' }
    error = toErrorResponse(machine, exchange, broken)
    response = respondWithError(machine, exchange, error)
  }
  tell(machine, exchange, response, error)
  return response
}

/** What is told of a request, also with its answer. */
function requestEvent({ api }: Runtime, exchange: RequestContext): RequestEvent {
  const { request, method, route } = exchange
  const client = resolveProxies(request, api.trustProxy).address
  return { id: getRequestId(exchange), request, client, method, route }
}

/** Tells whoever listens what the request was. */
function tell(
  machine: Runtime,
  exchange: RequestContext,
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
  machine: Runtime,
  exchange: RequestContext,
  fallThrough: boolean,
): Promise<OperationResult | undefined> {
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
  const base = resolveBaseUrl(api, request, document?.addressed)
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
  exchange.may = createCan(api, exchange.principal)
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
  const href = (to: Target) => base + printPath(to, api.formats)
  if (target.kind === 'root') {
    const outcome = root(api, target.version, href, exchange.may)
    return conditional(exchange, getPreconditions(exchange), outcome)
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
