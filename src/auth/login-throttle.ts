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
export function verifyThrottled<T>(
  limit: RateLimit,
  address: string,
  hasCredentials: boolean,
  verify: () => Awaitable<T | undefined>,
): Awaitable<T | undefined> {
  const login = hasCredentials ? countLogin(limit, address) : undefined
  if (login?.error) throw login.error
  // Without such a header most requests are anonymous: they count once they are known to be logins.
  const succeed = (value: T | undefined) => {
    const counted = login ?? (value === undefined ? undefined : countLogin(limit, address))
    if (counted?.error) throw counted.error
    counted?.undo()
    return value
  }
  const fail = async (reason: unknown): Promise<never> => {
    if (!isUnauthorized(reason)) {
      login?.undo()
      throw reason
    }
    const counted = login ?? countLogin(limit, address)
    if (counted.error) throw counted.error
    await shareFailedLogin(limit, address)
    throw reason
  }
  let verified: Awaitable<T | undefined>
  try {
    verified = verify()
  } catch (error) {
    return fail(error)
  }
  return verified instanceof Promise ? verified.then(succeed, fail) : succeed(verified)
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof HttpError && error.status === 401
}
