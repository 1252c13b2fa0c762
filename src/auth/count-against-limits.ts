// Counts requests and failed logins, and reports them in `X-RateLimit-*`, `RateLimit` and `RateLimit-Policy`
// (draft-ietf-httpapi-ratelimit-headers); 429 over the limit (RFC 6585 §4).

import { type Awaitable, andThen } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import type { HeaderList } from '../http/message.ts'
import { Deadlines } from '../http/timeouts.ts'
import { addressKey, principalKey } from './client-key.ts'
import type { Limiter, LimiterResult, Policy, RateLimit } from './rate-limit.ts'
import type { Principal } from './scheme.ts'
import type { CountedWindow } from './window-counter.ts'

interface State {
  readonly policy: Policy
  readonly remaining: number
  /** How long the window still lasts, in milliseconds. */
  readonly left: number
  readonly exceeded: boolean
}

/**
 * Counts one request for its principal, else for its address. Returns a promise only where a policy counts in a shared store.
 * @returns the headers that describe the limits, for every response.
 * @throws HttpError 429 over a limit, 503 where the store is down and the limit is closed then.
 */
export function countAgainstLimits(
  limit: RateLimit,
  principal: Principal | undefined,
  address: string | undefined,
  kind: 'reads' | 'writes',
): Awaitable<HeaderList> {
  const key = principal ? principalKey(principal.id) : addressKey(address)
  return countFrom(0, { limit, policies: limit.policiesOf(principal)[kind], key, states: [] })
}

/** A request that is counted. */
interface Counting {
  readonly limit: RateLimit
  readonly policies: readonly Policy[]
  readonly key: string
  readonly states: State[]
}

/** Counts for the policies from an index on. */
function countFrom(at: number, counting: Counting): Awaitable<HeaderList> {
  const { limit, key, states } = counting
  const policy = counting.policies[at]
  if (!policy) return printRateLimitHeaders(limit, states)
  return andThen(countFor(policy, limit, key), state => {
    if (state) states.push(state)
    if (state?.exceeded) throw tooManyRequests(limit, state, states)
    return countFrom(at + 1, counting)
  })
}

/** @returns `undefined` where the store of a limiter is down, and requests pass then. */
function countFor(policy: Policy, limit: RateLimit, key: string): Awaitable<State | undefined> {
  if (policy.limiter) return askLimiter(limit, policy, policy.limiter, key)
  const now = performance.now()
  const { used, end } = policy.counter.add(key, now)
  return toState(policy, policy.points - used, end - now)
}

/**
 * @param points how many requests are left; below zero where this one is too many.
 * @param milliseconds until the window ends.
 */
function toState(policy: Policy, points: number, milliseconds: number): State {
  const left = Math.max(0, milliseconds)
  return { policy, remaining: Math.max(0, points), left, exceeded: points < 0 }
}

/** The answers of limiters that are awaited: no request waits for ever for a store that hangs. */
const pending = new Deadlines()

async function askLimiter(
  limit: RateLimit,
  policy: Policy,
  limiter: Limiter,
  key: string,
): Promise<State | undefined> {
  try {
    return await consume(limit, policy, limiter, `${policy.name}:${key}`)
  } catch (error) {
    if (limit.whenDown === 'open') return undefined
    throw error
  }
}

/** Counts one in the store of a limiter. @throws HttpError 503 while that is down */
async function consume(
  { timeout }: RateLimit,
  policy: Policy,
  limiter: Limiter,
  key: string,
): Promise<State> {
  const stateOf = (points: number, { msBeforeNext }: LimiterResult) =>
    toState(policy, points, msBeforeNext)
  const toUnavailable = (cause?: unknown) => {
    const message = 'Requests cannot be counted at the moment. Try again later.'
    const headers = ['Retry-After', '5']
    return new HttpError(503, [{ message, type: 'unavailable' }], { headers, cause })
  }
  try {
    const result = await pending.within(limiter.consume(key), timeout, toUnavailable)
    return stateOf(Math.max(0, result.remainingPoints), result)
  } catch (thrown) {
    if (isResult(thrown)) return stateOf(-1, thrown)
    throw toUnavailable(thrown)
  }
}

function isResult(thrown: unknown): thrown is LimiterResult {
  return !(thrown instanceof Error) && 'msBeforeNext' in Object(thrown)
}

/** A login that is counted as failed. */
export interface CountedLogin {
  /** Set where the address has no login left. */
  readonly error: HttpError | undefined
  /** Takes it back. To be called once. */
  undo(): void
}

/** Counts a login of an address as failed. */
export function countLogin(limit: RateLimit, address: string): CountedLogin {
  const windows: CountedWindow[] = []
  let error: HttpError | undefined
  for (const policy of limit.anonymous.policies) {
    const now = performance.now()
    const refused = policy.refusedLogins.find(address, now)
    const window = refused ?? policy.failedLogins.add(address, now)
    if (!refused) windows.push(window)
    if (!refused && window.used <= policy.points) continue
    const state = toState(policy, -1, window.end - now)
    error = tooManyRequests(limit, state, [state])
    break
  }
  const undo = () => {
    for (const window of windows) window.used--
  }
  return { error, undo }
}

/**
 * Counts a failed login in the stores that servers share. An address that has none left there is refused here too, until
 * its window ends. While a store is down, each server counts alone.
 */
export async function shareFailedLogin(limit: RateLimit, address: string): Promise<void> {
  const counts = limit.anonymous.policies.map(async policy => {
    const { limiter, name, refusedLogins } = policy
    if (!limiter) return
    const { remaining, left } = await consume(limit, policy, limiter, `login:${name}:${address}`)
    if (remaining === 0) refusedLogins.set(address, performance.now(), left)
  })
  await Promise.allSettled(counts)
}

function printRateLimitHeaders({ reset }: RateLimit, states: readonly State[]): HeaderList {
  let [tightest] = states
  if (!tightest) return []
  let policies = ''
  let limits = ''
  for (const state of states) {
    // The policy that refuses the request is reported; otherwise the one with the fewest left.
    if (state.exceeded || state.remaining < tightest.remaining) tightest = state
    const { policy, remaining } = state
    policies += policies === '' ? policy.printed : `, ${policy.printed}`
    const printed = `"${policy.name}";r=${remaining};t=${toSeconds(state)}`
    limits += limits === '' ? printed : `, ${printed}`
  }
  const { policy, remaining, left } = tightest
  const time = Date.now() + left
  return [
    'X-RateLimit-Limit',
    String(policy.points),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    reset === 'iso' ? new Date(time).toISOString() : String(Math.ceil(time / 1000)),
    'RateLimit-Policy',
    policies,
    'RateLimit',
    limits,
  ]
}

function toSeconds({ left }: State): number {
  return Math.ceil(left / 1000)
}

function tooManyRequests(limit: RateLimit, exceeded: State, states: readonly State[]): HttpError {
  const { points, duration } = exceeded.policy
  const seconds = Math.max(1, toSeconds(exceeded))
  const message = `Too many requests. Allowed: ${points} in ${duration} s; try again in ${seconds} s.`
  return new HttpError(429, [{ message, type: 'too_many_requests' }], {
    headers: [...printRateLimitHeaders(limit, states), 'Retry-After', String(seconds)],
  })
}
