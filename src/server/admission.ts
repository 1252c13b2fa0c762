// The checks before a request is read further: cross-site requests, credentials, rate limits.

import { addressKey } from '../auth/client-key.ts'
import { countAgainstLimits } from '../auth/count-against-limits.ts'
import { hasAmbientCredentials, isCrossSite } from '../auth/cross-site.ts'
import { verifyThrottled } from '../auth/login-throttle.ts'
import { authenticate } from '../auth/scheme.ts'
import { type Awaitable, andThen } from '../base/values.ts'
import { HttpError, quote } from '../errors.ts'
import { splitBase } from '../http/base-url.ts'
import type { HttpRequest } from '../http/message.ts'
import { isSafe } from '../http/methods.ts'
import type { ActionDefinition, ApiDefinition } from '../model/types/definition.ts'
import { metadataAddress } from '../operations/calls/authorize.ts'
import type { RequestContext, Step } from '../operations/calls/context.ts'
import { step, timed } from './steps.ts'

/**
 * Lists the steps that every request to an api passes first; steps that the api does not need are left out.
 * @param method absent for unknown paths and methods.
 * @param action what is requested, if it is an action.
 */
export function admissionSteps(
  api: ApiDefinition,
  method?: string,
  action?: ActionDefinition,
): Step[] {
  const steps: Step[] = []
  const mayWrite = method === undefined || !isSafe(method)
  if (mayWrite && !action?.crossSite)
    steps.push(step(action?.cookies ? refuseForeignLogin : refuseCrossSite, 403))
  if (api.schemes.length > 0) steps.push(step(authenticateClient, 401, 403, 429, 503))
  if (api.rateLimit) steps.push(step(countRequest, 429, 503))
  return timed(api, 'auth', ...steps)
}

/** Refuses a write that a page of another origin may have made a browser send. @throws HttpError 403 */
function refuseCrossSite(context: RequestContext): void {
  const { request } = context
  if (isSafe(request.method) || !hasAmbientCredentials(request) || !isForeign(context)) return
  throw crossOrigin(
    request,
    'must not write here with the credentials of the browser. Allow its origin in cors.origins.',
  )
}

/** Refuses a page of another origin that makes a browser keep cookies: it would log its reader in. @throws HttpError 403 */
function refuseForeignLogin(context: RequestContext): void {
  if (!isForeign(context, context.api.cors.credentials)) return
  throw crossOrigin(
    context.request,
    'must not make a browser keep cookies of this one. Allow its origin in cors.origins, with credentials: true.',
  )
}

/** @param allowsListed whether pages of the origins that the api lists may send such a request. */
function isForeign({ api: { cors }, request, base }: RequestContext, allowsListed = true): boolean {
  const isListed = (origin: string) => cors.origins !== '*' && cors.origins.has(origin)
  return isCrossSite(request, splitBase(base).origin, origin => allowsListed && isListed(origin))
}

function crossOrigin({ headers: { origin } }: HttpRequest, what: string): HttpError {
  const page = origin === undefined ? 'another origin' : `the origin ${quote(origin, 128)}`
  const message = `A page of ${page} ${what}`
  const field = origin === undefined ? {} : { field: 'origin' }
  return new HttpError(403, [{ message, ...field, type: 'cross_origin' }])
}

/** Finds the principal, within the time for work: a scheme may ask other servers. @throws HttpError 401, 403, 429, 503 */
function authenticateClient(context: RequestContext): Awaitable<void> {
  const { api, request, base, runtime } = context
  const { schemes, baseUrl, rateLimit, credentialHeaders } = api
  const { address } = request
  const verify = () =>
    runtime.workload.run(
      () => authenticate(schemes, request, baseUrl, () => metadataAddress(api, base)),
      request,
    )
  // Without an address all clients look like one: failed logins of one would lock out all.
  const guarded = address === undefined ? undefined : rateLimit
  const hasCredentials = credentialHeaders.some(
    name => request.headers[name.toLowerCase()] !== undefined,
  )
  const verified = guarded
    ? verifyThrottled(guarded, addressKey(address), hasCredentials, verify)
    : verify()
  return andThen(verified, authenticated => {
    context.authenticated = authenticated
    context.principal = authenticated?.principal
  })
}

/**
 * Counts a request for its principal, else for its address, once. A form counts as a write whatever
 * method it names in its body.
 * @throws HttpError 429, 503
 */
export function countRequest(context: RequestContext): Awaitable<void> {
  const { api, request, method, principal } = context
  if (!api.rateLimit || context.counted) return undefined
  context.counted = true
  const kind = isSafe(method) ? 'reads' : 'writes'
  return andThen(countAgainstLimits(api.rateLimit, principal, request.address, kind), headers => {
    context.limitHeaders = headers
  })
}
