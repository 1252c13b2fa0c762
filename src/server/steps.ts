// What each step of an answer does, by itself: their order is in handle.ts.

import { HttpError, type Issue } from '../errors.ts'
import { json } from '../formats/json.ts'
import { isUnmodified, type Preconditions } from '../http/conditional.ts'
import { isRead, type Parameter } from '../http/message.ts'
import { cannotFollow, METHOD_PARAMETER } from '../http/method-override.ts'
import { type Preferences, parsePrefer } from '../http/prefer.ts'
import type { ApiDefinition, Operation } from '../model/definition.ts'
import type { CollectionTarget, Match, Router } from '../model/routes.ts'
import { variantOf } from '../negotiate.ts'
import { allowedMethods, describeTarget, methodHeaders } from '../openapi/path-item.ts'
import type { Call, OperationResult } from '../operations/call.ts'
import { createCalls } from '../operations/calls.ts'
import { authenticateRequest, listAuthorizedMethods } from './authorize.ts'
import { takesBody, uploadsFor } from './body.ts'
import {
  getPreconditions,
  negotiate,
  type RequestContext,
  type Runtime,
  standsForRead,
} from './context.ts'
import type { Decoded } from './decode-body.ts'
import type { ServedDocument } from './documents.ts'
import { idempotencyKeyOf } from './head.ts'
import { isHashed } from './respond.ts'

/** The path's target. A path that cannot be read is none of the api's where another may take it. */
export function matchOf(router: Router, path: string, fallThrough: boolean): Match | undefined {
  try {
    return router.match(path)
  } catch (error) {
    if (fallThrough) return undefined
    throw error
  }
}

/** Who sends the request, and whether it may go on. */
export function admission(
  machine: Runtime,
  exchange: RequestContext,
  base: string,
): Promise<void> | void {
  const { request, method, sender } = exchange
  return timed(machine, exchange, 'auth', () =>
    authenticateRequest(machine.api, request, method, base, sender),
  )
}

/** A step, its time noted where the api tells. */
export function timed<T>(
  { api }: Runtime,
  { timings }: RequestContext,
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

export function noSuchPath(path: string): HttpError {
  const message = `There is nothing at ${JSON.stringify(path.slice(0, 128))}; the root lists what exists`
  return new HttpError(404, [{ message, type: 'no_such_path' }])
}

export function methodNotAllowed(
  api: ApiDefinition,
  { method, sender }: RequestContext,
  { target, methods }: Match,
): HttpError {
  const allowed = allowedMethods(listAuthorizedMethods(api, target, methods, sender))
  const message = `${method.slice(0, 32)} does not exist here; there are ${allowed}`
  return new HttpError(405, [{ message, type: 'method_not_allowed' }], {
    headers: ['Allow', allowed],
  })
}

export function callOf(
  api: ApiDefinition,
  exchange: RequestContext,
  known: Pick<Call, 'operation' | 'href'> & {
    allow: (operations: readonly string[]) => void
    target: CollectionTarget
    parameters: readonly Parameter[]
    body: Decoded | undefined
  },
): Call {
  const { request, method, principal, negotiated } = exchange
  const { target, operation, href, allow, body } = known
  const { headers } = request
  const reads = isRead(method)
  const sent = reads ? (body?.parameters ?? []) : []
  const blanks = negotiated?.format.skipsBlanks !== true
  const given = known.parameters
    .concat(sent)
    .filter(({ name, value }) => name !== METHOD_PARAMETER && (blanks || value !== ''))
  exchange.parameters = given
  // Dialects are of lists: the input of an action is its own.
  const parameters = target.action ? given : rewrite(api, given)
  exchange.parameters = parameters
  const preferences = parsePrefer(headers.prefer)
  return {
    target,
    operation,
    method,
    parameters,
    body: takesBody(operation, method) ? body : undefined,
    preconditions: getPreconditions(exchange),
    preferences,
    returns: returnsOf(exchange, known, preferences.return),
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
      return createCalls({ version: target.version, limits: api.limits, href, defaults }, name)
    },
  }
}

/** What a change is answered with; `undefined` is a redirect to the item, or of an action to its collection. */
function returnsOf(
  { request, method, suppressed, may }: RequestContext,
  { target: { collection, id }, operation }: Pick<Call, 'target' | 'operation'>,
  preferred: Preferences['return'],
): Preferences['return'] {
  if (isRead(method)) return suppressed ? 'representation' : preferred
  const gives = (name: Operation) => collection.operations.has(name) && may(collection, name)
  const creates = operation === 'create'
  // A change shows an item to nobody who could not read it; who makes one has sent it.
  if (!creates && !gives('read') && !gives('list')) return 'minimal'
  if (suppressed) return 'representation'
  if (preferred) return preferred
  if (cannotFollow(request.headers)) return 'representation'
  // Nor can a redirect be followed to where nothing is given.
  if (creates || gives(id === undefined ? 'list' : 'read')) return undefined
  return id === undefined ? 'minimal' : 'representation'
}

function rewrite(
  { dialects }: ApiDefinition,
  parameters: readonly Parameter[],
): readonly Parameter[] {
  return dialects.reduce((rewritten, dialect) => dialect.rewrite(rewritten), parameters)
}

/** What the sender may do here; all that can be done where it has not said who it is. */
export function describe(
  api: ApiDefinition,
  exchange: RequestContext,
  match: Match,
): OperationResult {
  exchange.negotiated = negotiate(api, exchange)
  const { target } = match
  const methods = listAuthorizedMethods(api, target, match.methods, exchange.sender)
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
export async function readDocument(
  { cors }: ApiDefinition,
  exchange: RequestContext,
  { name, read }: ServedDocument,
  base: string,
): Promise<OperationResult> {
  exchange.negotiated = { format: json, type: 'application/json' }
  // Its format is given as if by an extension: nothing else is consulted.
  exchange.extension = 'json'
  const methods = 'GET, HEAD, OPTIONS'
  const described = exchange.method === 'OPTIONS'
  if (!described && !isRead(exchange.method)) {
    const message = `${exchange.method.slice(0, 32)} does not exist here; there are ${methods}`
    const issue: Issue = { message, type: 'method_not_allowed' }
    throw new HttpError(405, [issue], { headers: ['Allow', methods] })
  }
  const data = described ? {} : await read(base)
  const allow = ['Allow', methods, 'Access-Control-Allow-Methods', methods, ...cors.preflight]
  return {
    status: 200,
    headers: described ? allow : [],
    representation: { kind: 'document', name, data },
    result: data,
  }
}

/** The conditions of a read: 304 with the headers of the 200 that it stands for, or 412. */
export function conditional(
  exchange: RequestContext,
  preconditions: Preconditions,
  outcome: OperationResult,
): OperationResult {
  const { method } = exchange
  const { status, validators = {} } = outcome
  const read = isRead(method) && (status === 200 || status === 206)
  if (!read || isHashed(exchange, outcome)) return outcome
  if (!isUnmodified(preconditions, method, validators)) return outcome
  return { ...outcome, status: 304, representation: undefined }
}
