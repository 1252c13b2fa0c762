// Rate limits: how many requests a client may send in a window, reported in `X-RateLimit-*`, `RateLimit`
// and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers); 429 over the limit (RFC 6585 §4).
import { HttpError } from '../errors.ts'
import type { HeaderList } from '../http/message.ts'
import {
  checkOptions,
  having,
  listOf,
  needed,
  OBJECT,
  oneOf,
  type Rules,
  TEXT,
  wholeFrom,
} from '../options.ts'
import type { Awaitable } from '../schema/values.ts'
import { type CountedWindow, WindowCounter } from './window-counter.ts'

/** The state of a key in a limiter. */
export interface LimiterResult {
  readonly remainingPoints: number
  /** Milliseconds until the window ends. */
  readonly msBeforeNext: number
}

/** A limiter of rate-limiter-flexible, or anything that behaves like one. */
export interface Limiter {
  /** Requests per window. */
  readonly points: number
  /** The window, in seconds. */
  readonly duration: number
  /** Counts one request. Rejects with a {@link LimiterResult} over the limit, with an `Error` where its store is down. */
  consume(key: string): Promise<LimiterResult>
}

/** One limit of several; every request counts for each, unless `on` says which. */
export type RateLimitPolicy = {
  /** Its name in `RateLimit-Policy`. Default: `<limit>/<window>`, with `on` in front. */
  readonly name?: string | undefined
  /** Only requests that read (GET, HEAD, OPTIONS), or only those that write. Default: all. */
  readonly on?: 'reads' | 'writes' | undefined
} & (
  | {
      /** Requests per window: a whole number from 1. */
      readonly limit: number
      /** Seconds: a whole number from 1. */
      readonly window: number
    }
  /** Counts in a store that several nodes share: `new RateLimiterRedis({ storeClient, points, duration })`. */
  | { readonly limiter: Limiter }
)

export interface RateLimitOptions {
  readonly policies: readonly RateLimitPolicy[]
  /** While the limiter's store is down: `closed` (default) answers 503, `open` lets requests pass uncounted. */
  readonly whenDown?: 'open' | 'closed' | undefined
  /** Milliseconds that a {@link Limiter} of yours may take; then its store counts as down. Default 1,000. */
  readonly timeout?: number | undefined
  /** How `X-RateLimit-Reset` is printed: seconds since 1970 (default), or ISO 8601. */
  readonly reset?: 'epoch' | 'iso' | undefined
}

interface Policy {
  readonly name: string
  /** As it stands in `RateLimit-Policy`. */
  readonly printed: string
  readonly on: 'reads' | 'writes' | undefined
  readonly points: number
  readonly duration: number
  /** Counts the requests in a shared store; without one `counter` counts them here. */
  readonly limiter: Limiter | undefined
  readonly counter: WindowCounter
  /** Counts failed logins by address, always in this process. */
  readonly failedLogins: WindowCounter
}

/** The options checked, the counters created. */
export interface RateLimit {
  /** The shortest window first: what it refuses does not use up the longer ones. */
  readonly policies: readonly Policy[]
  /** Those that count reads, and those that count writes. */
  readonly reads: readonly Policy[]
  readonly writes: readonly Policy[]
  readonly whenDown: 'open' | 'closed'
  readonly timeout: number
  readonly reset: 'epoch' | 'iso'
}

const RULES: Rules<RateLimitOptions> = {
  policies: needed(listOf(OBJECT, 1)),
  whenDown: oneOf('open', 'closed'),
  timeout: wholeFrom(1),
  reset: oneOf('epoch', 'iso'),
}

const POLICY_RULES: Rules<RateLimitPolicy> &
  Rules<{ limit: number; window: number; limiter: Limiter }> = {
  name: TEXT,
  on: oneOf('reads', 'writes'),
  limit: wholeFrom(1),
  window: wholeFrom(1),
  limiter: having('a limiter of rate-limiter-flexible', 'consume'),
}

/** @throws TypeError for a limit or window that is no whole number from 1, and for two policies of one name. */
export function buildRateLimit(options: RateLimitOptions): RateLimit {
  checkOptions('rateLimit', options, RULES)
  const { whenDown = 'closed', timeout = 1000, reset = 'epoch' } = options
  const policies = options.policies
    .map(buildPolicy)
    .sort((one, other) => one.duration - other.duration)
  if (new Set(policies.map(({ name }) => name)).size < policies.length) {
    throw new TypeError('rateLimit: two policies have the same name')
  }
  const reads = policies.filter(({ on }) => on !== 'writes')
  const writes = policies.filter(({ on }) => on !== 'reads')
  return { policies, reads, writes, whenDown, timeout, reset }
}

function buildPolicy(options: RateLimitPolicy): Policy {
  checkOptions('rateLimit, a policy', options, POLICY_RULES)
  const { on } = options
  const limiter = 'limiter' in options ? options.limiter : undefined
  const { points, duration } =
    'limiter' in options ? options.limiter : { points: options.limit, duration: options.window }
  checkWhole('limit', points)
  checkWhole('window', duration)
  const name = options.name ?? `${on === undefined ? '' : `${on} `}${points}/${duration}`
  if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(name)) {
    throw new TypeError(
      `rateLimit: the policy name ${JSON.stringify(name)} must be printable ASCII without quotes and backslashes`,
    )
  }
  return {
    name,
    printed: `"${name}";q=${points};w=${duration}`,
    on,
    points,
    duration,
    limiter,
    counter: new WindowCounter(duration),
    failedLogins: new WindowCounter(duration),
  }
}

function checkWhole(what: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return
  throw new TypeError(`rateLimit: a ${what} must be a whole number from 1, not ${value}`)
}

interface State {
  readonly policy: Policy
  readonly remaining: number
  /** When the window ends, in milliseconds since 1970. */
  readonly reset: number
  readonly exceeded: boolean
}

/**
 * Counts one request. Returns a promise only where a policy counts in a shared store.
 * @returns the headers that describe the limits, for every response.
 * @throws HttpError 429 over a limit, 503 where the store is down and the limit is closed then.
 */
export function takeRequest(
  limit: RateLimit,
  key: string,
  kind: 'reads' | 'writes',
): Awaitable<HeaderList> {
  return takeFrom(limit, limit[kind], 0, key, [])
}

function takeFrom(
  limit: RateLimit,
  policies: readonly Policy[],
  start: number,
  key: string,
  states: State[],
): Awaitable<HeaderList> {
  for (let at = start; ; at++) {
    const policy = policies[at]
    if (!policy) return printRateLimitHeaders(limit, states)
    if (policy.limiter) {
      return askLimiter(limit, policy, policy.limiter, key).then(state => {
        if (state) addState(limit, states, state)
        return takeFrom(limit, policies, at + 1, key, states)
      })
    }
    const { used, end } = policy.counter.add(key, Date.now())
    const { points } = policy
    const remaining = used > points ? 0 : points - used
    addState(limit, states, { policy, remaining, reset: end, exceeded: used > points })
  }
}

function addState(limit: RateLimit, states: State[], state: State): void {
  states.push(state)
  if (state.exceeded) throw tooManyRequests(limit, state, states)
}

/** @returns `undefined` where the store is down and the limit is open then. */
async function askLimiter(
  { timeout, whenDown }: RateLimit,
  policy: Policy,
  limiter: Limiter,
  key: string,
): Promise<State | undefined> {
  const toState = ({ remainingPoints, msBeforeNext }: LimiterResult, exceeded: boolean) => {
    const reset = Date.now() + Math.max(0, msBeforeNext)
    return { policy, remaining: Math.max(0, remainingPoints), reset, exceeded }
  }
  try {
    return toState(await within(timeout, limiter.consume(`${policy.name}:${key}`)), false)
  } catch (thrown) {
    if (isResult(thrown)) return toState(thrown, true)
    if (whenDown === 'open') return undefined
    const message = 'Requests cannot be counted at the moment. Try again later.'
    throw new HttpError(503, [{ message, type: 'unavailable' }], {
      headers: ['Retry-After', '5'],
      cause: thrown,
    })
  }
}

/** A store that hangs is down too: no request waits for it for ever. */
function within<T>(timeout: number, result: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`The limiter did not answer within ${timeout} ms`))
    const timer = setTimeout(fail, timeout)
    result.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function isResult(thrown: unknown): thrown is LimiterResult {
  return (
    typeof thrown === 'object' &&
    thrown !== null &&
    !(thrown instanceof Error) &&
    'msBeforeNext' in thrown
  )
}

/** A login that is counted as failed. */
export interface CountedLogin {
  /** Set where the address has no login left. */
  readonly error: HttpError | undefined
  /** Takes it back, once. */
  undo(): void
}

/** Counts a login of an address as failed. */
export function countLogin(limit: RateLimit, address: string): CountedLogin {
  const windows: CountedWindow[] = []
  let error: HttpError | undefined
  for (const policy of limit.policies) {
    const window = policy.failedLogins.add(address, Date.now())
    windows.push(window)
    if (window.used <= policy.points) continue
    const state = { policy, remaining: 0, reset: window.end, exceeded: true }
    error = tooManyRequests(limit, state, [state])
    break
  }
  const undo = () => {
    for (const window of windows.splice(0)) window.used--
  }
  return { error, undo }
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
    const printed = `"${policy.name}";r=${remaining};t=${secondsUntil(state.reset)}`
    limits += limits === '' ? printed : `, ${printed}`
  }
  const { policy, remaining, reset: time } = tightest
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

function secondsUntil(time: number): number {
  return Math.max(0, Math.ceil((time - Date.now()) / 1000))
}

function tooManyRequests(limit: RateLimit, exceeded: State, states: readonly State[]): HttpError {
  const { points, duration } = exceeded.policy
  const seconds = Math.max(1, secondsUntil(exceeded.reset))
  const message = `Too many requests. Allowed: ${points} in ${duration} s; try again in ${seconds} s.`
  return new HttpError(429, [{ message, type: 'too_many_requests' }], {
    headers: [...printRateLimitHeaders(limit, states), 'Retry-After', String(seconds)],
  })
}
