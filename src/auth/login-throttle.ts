// Limits the failed logins of an address by the policies of the rate limit.
import { HttpError } from '../errors.ts'
import type { Awaitable } from '../schema/values.ts'
import { countLogin } from './count-request.ts'
import type { RateLimit } from './rate-limit.ts'

/**
 * Verifies credentials at most as often as the limit allows failed logins. A login counts as failed
 * until it succeeds, so that logins sent together are limited like logins sent one by one. It counts
 * while it runs, also where the client goes away: it may be guessing.
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
  if (!hasCredentials) return verifyUndeclared(limit, address, verify)
  const login = countLogin(limit, address)
  if (login.error) throw login.error
  try {
    const found = await verify()
    login.undo()
    return found
  } catch (error) {
    if (!isUnauthorized(error)) login.undo()
    throw error
  }
}

/** Counts a login only once it is known to be one: most requests without credentials are anonymous. */
async function verifyUndeclared<T>(
  limit: RateLimit,
  address: string,
  verify: () => Awaitable<T | undefined>,
): Promise<T | undefined> {
  try {
    const found = await verify()
    if (found === undefined) return undefined
    const login = countLogin(limit, address)
    if (login.error) throw login.error
    login.undo()
    return found
  } catch (error) {
    throw isUnauthorized(error) ? (countLogin(limit, address).error ?? error) : error
  }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof HttpError && error.status === 401
}
