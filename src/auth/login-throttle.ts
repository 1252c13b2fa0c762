// Limits the failed logins of an address by the policies of the rate limit.

import type { Awaitable } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import { countLogin, shareFailedLogin } from './count-against-limits.ts'
import type { RateLimit } from './rate-limit.ts'

/**
 * Verifies credentials at most as often as the limit allows failed logins. A login counts as failed
 * until it succeeds, so that logins sent together are limited like logins sent one by one. It counts
 * while it runs, also where the client goes away: it may be guessing. Once it has failed, shared limiters count it too.
 * @param hasCredentials whether the request has a header in which credentials may stand.
 * @param verify returns the principal, `undefined` without credentials; throws HttpError 401 for wrong ones.
 * @throws HttpError 429, and what `verify` throws.
 */
export async function verifyThrottled<T>(
  limit: RateLimit,
  address: string,
  hasCredentials: boolean,
  verify: () => Awaitable<T | undefined>,
): Promise<T | undefined> {
  let login = hasCredentials ? countLogin(limit, address) : undefined
  if (login?.error) throw login.error
  const [outcome] = await Promise.allSettled([Promise.resolve().then(verify)])
  const isRejected = outcome.status === 'rejected'
  const failed = isRejected && isUnauthorized(outcome.reason)
  // Without such a header most requests are anonymous: they count once they are known to be logins.
  if (failed || (!isRejected && outcome.value !== undefined)) login ??= countLogin(limit, address)
  if (login?.error) throw login.error
  if (failed) await shareFailedLogin(limit, address)
  else login?.undo()
  if (isRejected) throw outcome.reason
  return outcome.value
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof HttpError && error.status === 401
}
