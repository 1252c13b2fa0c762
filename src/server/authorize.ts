// Whether a request may go on, before its body is read: who sends it, how much that one may ask for,
// and whether it may do what it asks.

import { addressKey, principalKey } from '../auth/client-key.ts'
import { verifyThrottled } from '../auth/login-throttle.ts'
import { takeRequest } from '../auth/rate-limit.ts'
import {
  type AccessRule,
  type Authenticated,
  authenticate,
  findRule,
  insufficientScope,
  isCrossSite,
  type Principal,
  satisfies,
  unauthorized,
} from '../auth/scheme.ts'
import { HttpError } from '../errors.ts'
import { resolveProxies, splitBase } from '../http/base-url.ts'
import type { HeaderList, HttpRequest } from '../http/message.ts'
import type { ApiDefinition, CollectionDefinition } from '../model/definition.ts'
import type { Match, Target } from '../model/routes.ts'
import { metadataAddress } from './documents.ts'

/** What is known of the sender; each step adds to it. */
export interface Sender {
  authenticated: Authenticated | undefined
  /** The headers that tell of its rate limits. */
  limits: HeaderList
  /** Whether its request was counted. */
  counted: boolean
}

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/**
 * Finds out who sends a request and counts it: for its principal, else for its address.
 * @param base the public address of the api's root.
 * @throws HttpError 401, 403, 429, 503
 */
export function authenticateRequest(
  api: ApiDefinition,
  request: HttpRequest,
  method: string,
  base: string,
  sender: Sender,
): Promise<void> | undefined {
  checkOrigin(api, request, base)
  if (api.schemes.length > 0) return identify(api, request, method, base, sender)
  return api.rateLimit && countRequest(api, request, method, sender)
}

async function identify(
  api: ApiDefinition,
  request: HttpRequest,
  method: string,
  base: string,
  sender: Sender,
): Promise<void> {
  const { schemes, rateLimit, trustProxy, credentialHeaders } = api
  const seen = resolveProxies(request, trustProxy)
  const address = addressKey(seen.address)
  // Without an address all clients look like one: failed logins of one would lock out all.
  const guarded = seen.address === undefined ? undefined : rateLimit
  const hasCredentials = credentialHeaders.some(
    name => request.headers[name.toLowerCase()] !== undefined,
  )
  const look = () => authenticate(schemes, seen, () => metadataAddress(api, base))
  sender.authenticated = await (guarded
    ? verifyThrottled(guarded, address, request, hasCredentials, look)
    : look())
  await countRequest(api, request, method, sender)
}

/**
 * Counts a request, once. A form counts as a write whatever method it names in its body.
 * @throws HttpError 429, 503
 */
export async function countRequest(
  { rateLimit, trustProxy }: ApiDefinition,
  request: HttpRequest,
  method: string,
  sender: Sender,
): Promise<void> {
  if (!rateLimit) return
  sender.counted = true
  const { authenticated } = sender
  const key = authenticated
    ? principalKey(authenticated.principal.id)
    : addressKey(resolveProxies(request, trustProxy).address)
  sender.limits = await takeRequest(rateLimit, key, isSafe(method) ? 'reads' : 'writes')
}

/** @throws HttpError 403 for a write that a page of another origin may have made a browser send. */
function checkOrigin({ cors }: ApiDefinition, request: HttpRequest, base: string): void {
  if (isSafe(request.method)) return
  const allowed = (origin: string) => cors.origins !== '*' && cors.origins.has(origin)
  if (!isCrossSite(request, splitBase(base).origin, allowed)) return
  const message = 'A page of another origin may not write here with the credentials of the browser'
  throw new HttpError(403, [{ message, type: 'cross_origin' }])
}

/** The rule for an operation on a target. */
function ruleFor({ access }: ApiDefinition, target: Target, operation: string): AccessRule {
  if (target.kind === 'root') return findRule(access, 'root')
  return findRule(target.collection.access, operation, findRule(access, 'default'))
}

/** What anybody may do where there are no schemes. */
export function allowAll(): boolean {
  return true
}

/** Whether a sender may do something to a collection. */
export function createCan(
  { schemes, access }: ApiDefinition,
  principal: Principal | undefined,
): (collection: CollectionDefinition, operation: string) => boolean {
  if (schemes.length === 0) return allowAll
  const otherwise = findRule(access, 'default')
  return (collection, operation) =>
    satisfies(findRule(collection.access, operation, otherwise), principal)
}

/**
 * Refuses what the sender may not do. Of several operations, one that it may do is enough: which one
 * is meant stands in a body that is still to be read.
 * @param nothing what is answered where the collection hides what exists.
 * @throws HttpError 401, 403, or `nothing`
 */
export function authorize(
  api: ApiDefinition,
  request: HttpRequest,
  target: Target,
  operations: readonly string[],
  { authenticated }: Sender,
  base: string,
  nothing: () => HttpError,
): void {
  if (api.schemes.length === 0) return
  const rules = operations.map(operation => ruleFor(api, target, operation))
  if (rules.some(rule => satisfies(rule, authenticated?.principal))) return
  // A form may stand for no operation at all here: that is a 405, once it is read.
  const needed = rules.find(rule => rule !== 'public')
  if (!needed) return
  const metadata = metadataAddress(api, base)
  if (!authenticated) {
    const seen = resolveProxies(request, api.trustProxy)
    throw unauthorized(api.schemes, seen, metadata)
  }
  if (target.kind !== 'root' && target.collection.hideExistence) throw nothing()
  throw insufficientScope(authenticated, needed, metadata)
}

/** The methods of a target that a sender may use; all of them where it has not said who it is. */
export function listAuthorizedMethods(
  api: ApiDefinition,
  target: Target,
  methods: ReadonlyMap<string, string>,
  { authenticated }: Sender,
): ReadonlyMap<string, string> {
  if (!authenticated) return methods
  const { principal } = authenticated
  return new Map(
    [...methods].filter(([, operation]) => satisfies(ruleFor(api, target, operation), principal)),
  )
}

/** Whether nothing is here for a sender who may do nothing here. */
export function isHidden(api: ApiDefinition, { target, methods }: Match, sender: Sender): boolean {
  if (target.kind === 'root' || !target.collection.hideExistence) return false
  return listAuthorizedMethods(api, target, methods, sender).size === 0
}
