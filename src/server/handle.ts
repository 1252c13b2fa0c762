// Handles one request, from plain data to its response: the only place where thrown errors become responses.

import type { Awaitable } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import type { HttpResponse, ReceivedRequest } from '../http/message.ts'
import { SUPPRESS_PARAMETER } from '../http/method-override.ts'
import { belowPrefix, splitTarget } from '../http/target.ts'
import type { Router } from '../model/compile/routes.ts'
import { AS_JSON } from '../negotiate.ts'
import { RequestContext, type Runtime, type Step } from '../operations/calls/context.ts'
import { countRequest } from './admission.ts'
import type { Lifetime } from './documents.ts'
import type { Endpoints, FixedEndpoint } from './endpoint.ts'
import { type RequestEvent, type ResponseEvent, requestChannel, responseChannel } from './events.ts'
import { toReportedError } from './report-error.ts'
import { readHead } from './request-head.ts'
import { respondWithError } from './respond.ts'

/** An api with its compiled endpoints. */
export interface ServerRuntime extends Runtime {
  readonly router: Router<Endpoints>
  /** By their paths. */
  readonly fixed: ReadonlyMap<string, FixedEndpoint>
  readonly lifetime: Lifetime
  readonly notFound: Endpoints
}

/**
 * Answers a request; never throws, and gives no promise where nothing waits.
 * @param fallThrough whether unknown paths are left to the host: then the result is `undefined`.
 */
export function handle(
  runtime: ServerRuntime,
  request: ReceivedRequest,
  fallThrough = false,
): Awaitable<HttpResponse | undefined> {
  return answer(runtime, new RequestContext(runtime, request, '', false), fallThrough)
}

/** Answers the request of a new context, as {@link handle} does: what it was is known afterwards. */
export function answer(
  runtime: ServerRuntime,
  context: RequestContext,
  fallThrough = false,
): Awaitable<HttpResponse | undefined> {
  try {
    const steps = beginRequest(runtime, context, fallThrough)
    if (!steps) return undefined
    const response = run(context, steps)
    if (response instanceof Promise)
      return response.then(
        answered => finish(context, answered),
        error => fail(context, error),
      )
    return publishResponse(context, response)
  } catch (error) {
    return fail(context, error)
  }
}

/** Reads the head of a request and finds its steps; `undefined` where the path is left to the host. */
function beginRequest(
  runtime: ServerRuntime,
  context: RequestContext,
  fallThrough: boolean,
): readonly Step[] | undefined {
  const { api, router, fixed, notFound } = runtime
  const { request } = context
  const { path, query } = splitTarget(request.target)
  // Errors of the head itself are suppressed too.
  context.suppressed = query !== '' && query.includes(SUPPRESS_PARAMETER)
  const below = belowPrefix(path, api.prefix, request.method)
  const match = below === undefined ? undefined : findMatch(router, below, fallThrough)
  const known = match ? undefined : fixed.get(path)
  if (!match && !known && fallThrough) return undefined
  if (match) {
    context.match = match
    context.target = match.target
    context.extension = match.extension
    if (match.target.kind !== 'root') context.collectionName = match.target.collection.name
    context.route = api.prefix + match.pattern
  } else if (known) context.route = known.route
  if (requestChannel.hasSubscribers || responseChannel.hasSubscribers) {
    context.started = performance.now()
    if (requestChannel.hasSubscribers) requestChannel.publish(requestEvent(context))
  }
  readHead(context, query, known?.addressed)
  const { byMethod, otherwise } = match?.compiled ?? known ?? notFound
  return byMethod.get(context.method) ?? otherwise
}

/** Finds the route of a path; a malformed path is left to the host where it may take it. */
function findMatch(router: Router<Endpoints>, path: string, fallThrough: boolean) {
  try {
    return router.match(path)
  } catch (error) {
    if (fallThrough) return undefined
    throw error
  }
}

/** Runs the steps in their order; waits only for those that return a promise. */
function run(context: RequestContext, steps: readonly Step[], from = 0): Awaitable<HttpResponse> {
  for (let at = from; at < steps.length; at++) {
    const others = steps[at]?.(context)
    if (others instanceof Promise)
      return others.then(next => (next ? run(context, next) : run(context, steps, at + 1)))
    if (others) return run(context, others)
  }
  if (!context.response) throw new Error('No step gave a response')
  return context.response
}

/** Answers once the uploads that no item holds are removed: who uploads, waits. */
function finish(context: RequestContext, response: HttpResponse): Awaitable<HttpResponse> {
  const cleaned = context.discardUploads()
  if (cleaned) return cleaned.then(() => publishResponse(context, response))
  return publishResponse(context, response)
}

/** Answers with an error. It counts like any request, however early it came. */
async function fail(context: RequestContext, thrown: unknown): Promise<HttpResponse> {
  // An operation that is out of time goes on: what it writes keeps its uploads.
  const { runningOperation } = context
  if (runningOperation) void runningOperation.then(late => context.discardUploads(late))
  else await context.discardUploads(thrown)
  let error = thrown
  // A 503 for lack of time or capacity is not counted.
  if (!(error instanceof HttpError && error.status === 503)) {
    try {
      await countRequest(context)
    } catch (limited) {
      error = limited
    }
  }
  let reported = toReportedError(context, error)
  let response: HttpResponse
  try {
    response = await respondWithError(context, reported)
  } catch (broken) {
    // Where the format cannot print even the error, JSON can.
    context.negotiated = AS_JSON
    reported = toReportedError(context, broken)
    response = await respondWithError(context, reported)
  }
  return publishResponse(context, response, reported)
}

function requestEvent(context: RequestContext): RequestEvent {
  const { request, method, route } = context
  return { id: request.id, request, client: request.address, method, route }
}

function publishResponse(
  context: RequestContext,
  response: HttpResponse,
  error?: HttpError,
): HttpResponse {
  if (!responseChannel.hasSubscribers) return response
  const { request, operation } = context
  const event: ResponseEvent = {
    id: request.id,
    request,
    client: request.address,
    method: context.method,
    route: context.route,
    status: response.status,
    operation: operation === '' ? undefined : operation,
    collection: context.collectionName,
    principal: context.principal,
    error,
    duration: performance.now() - context.started,
  }
  responseChannel.publish(event)
  return response
}
