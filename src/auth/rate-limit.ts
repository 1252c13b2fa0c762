// Rate limits: how many requests a client may send in a window.
import { memoize } from '../base/memoize.ts'
import * as rule from '../options.ts'
import { assertValid, checkOptions, type Rules } from '../options.ts'
import type { Principal } from './scheme.ts'
import { WindowCounter } from './window-counter.ts'

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
  /**
   * Counts one request. Over the limit it rejects with the same object, as rate-limiter-flexible does; with an
   * `Error` while its store is down.
   */
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
  /** Counts requests, and failed logins under keys that begin with `login:`, in a store that several nodes share: `new RateLimiterRedis({ storeClient, points, duration })`. */
  | { readonly limiter: Limiter }
)

/** The rate limits of an api. */
export interface RateLimitOptions {
  /**
   * The policies, or a function that gives those of a principal: `principal => (principal?.plan === 'pro' ? PRO : FREE)`. A
   * client without credentials has `undefined`, and its policies limit failed logins. An empty list limits nothing. What a
   * client has used stays counted where its policies change, by their window.
   */
  readonly policies:
    | readonly RateLimitPolicy[]
    | ((principal: Principal | undefined) => readonly RateLimitPolicy[])
  /** While the limiter's store is down: `closed` (default) answers 503, `open` lets requests pass uncounted. */
  readonly whenDown?: 'open' | 'closed' | undefined
  /** How many milliseconds a custom {@link Limiter} may take before its store counts as down. Default 1,000. */
  readonly timeout?: number | undefined
  /** How `X-RateLimit-Reset` is printed: seconds since 1970 (default), or ISO 8601. */
  readonly reset?: 'epoch' | 'iso' | undefined
}

interface Counters {
  readonly counter: WindowCounter
  /** Counts failed logins by address in this process. */
  readonly failedLogins: WindowCounter
  /** The addresses that have no login left in the store of `limiter`. */
  readonly refusedLogins: WindowCounter
}

export interface Policy extends Counters {
  readonly name: string
  /** As it stands in `RateLimit-Policy`. */
  readonly printed: string
  readonly on: 'reads' | 'writes' | undefined
  readonly points: number
  readonly duration: number
  /** Counts the requests in a shared store; without one `counter` counts them here. */
  readonly limiter: Limiter | undefined
}

/** The policies of a client. */
export interface PolicySet {
  /** The shortest window first: a request that it refuses does not count for the longer ones. */
  readonly policies: readonly Policy[]
  /** Those that count reads, and those that count writes. */
  readonly reads: readonly Policy[]
  readonly writes: readonly Policy[]
}

/** The options checked, the counters created. */
export interface RateLimit {
  readonly policiesOf: (principal: Principal | undefined) => PolicySet
  /** Those of clients without a principal. */
  readonly anonymous: PolicySet
  readonly whenDown: 'open' | 'closed'
  readonly timeout: number
  readonly reset: 'epoch' | 'iso'
}

const LIST = rule.needed(rule.listOf(rule.OBJECT))
const RULES: Rules<RateLimitOptions> = {
  policies: rule.needed(
    rule.either(
      'a list of policies that is not empty, or a function',
      rule.listOf(rule.OBJECT, 1),
      rule.FUNCTION,
    ),
  ),
  whenDown: rule.oneOf('open', 'closed'),
  timeout: rule.wholeFrom(1, 'milliseconds'),
  reset: rule.oneOf('epoch', 'iso'),
}

const LIMITER = rule.having('a limiter of rate-limiter-flexible', 'consume')
const COMMON = {
  name: rule.matching(
    'printable ASCII without quotes and backslashes',
    /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/,
  ),
  on: rule.oneOf('reads', 'writes'),
}
const OWN_RULES = {
  ...COMMON,
  limit: rule.needed(rule.wholeFrom(1, 'requests')),
  window: rule.needed(rule.wholeFrom(1, 'seconds')),
}
const SHARED_RULES = { ...COMMON, limiter: rule.needed(LIMITER) }
const LIMITER_RULES = {
  points: rule.needed(rule.wholeFrom(1, 'requests')),
  duration: rule.needed(rule.wholeFrom(1, 'seconds')),
}

/**
 * @throws TypeError for a limit or window that is no whole number from 1, for two policies of one name, and for two own ones
 * without names that count the same requests in the same window.
 */
export function buildRateLimit(options: RateLimitOptions): RateLimit {
  checkOptions('rateLimit', options, RULES)
  const { policies, whenDown = 'closed', timeout = 1000, reset = 'epoch' } = options
  const counters = new Map<string, Counters>()
  /** One set of policies for each list that the program gives: it is mostly the same array. */
  const build = memoize((list: readonly RateLimitPolicy[]) => buildPolicySet(list, counters))
  const policiesOf =
    typeof policies === 'function'
      ? (principal: Principal | undefined) => build(policies(principal))
      : () => anonymous
  const anonymous = build(typeof policies === 'function' ? policies(undefined) : policies)
  assertValid(
    anonymous.policies.length > 0,
    'rateLimit: policies(undefined) gives no policy, so nothing would limit failed logins. Give one to clients without credentials',
  )
  return { policiesOf, anonymous, whenDown, timeout, reset }
}

function buildPolicySet(
  options: readonly RateLimitPolicy[],
  counters: Map<string, Counters>,
): PolicySet {
  checkOptions('rateLimit', { policies: options }, { policies: LIST })
  const policies = options
    .map(policy => buildPolicy(policy, counters))
    .sort((one, other) => one.duration - other.duration)
  assertValid(
    new Set(policies.map(({ name }) => name)).size === policies.length,
    'rateLimit: two policies have the same name',
  )
  assertValid(
    new Set(policies.map(({ counter }) => counter)).size === policies.length,
    'rateLimit: two policies count the same requests in the same window. Leave one out, or give them names',
  )
  const reads = policies.filter(({ on }) => on !== 'writes')
  const writes = policies.filter(({ on }) => on !== 'reads')
  return { policies, reads, writes }
}

function buildPolicy(options: RateLimitPolicy, counters: Map<string, Counters>): Policy {
  const isShared = 'limiter' in options
  checkOptions('rateLimit, a policy', options, isShared ? SHARED_RULES : OWN_RULES)
  const limiter = isShared ? options.limiter : undefined
  const { points, duration } = isShared
    ? options.limiter
    : { points: options.limit, duration: options.window }
  // A limiter is an object of a class, which has more than these.
  checkOptions('rateLimit, a limiter', { points, duration }, LIMITER_RULES)
  const { on } = options
  const name = options.name ?? `${on === undefined ? '' : `${on} `}${points}/${duration}`
  // One limit or another, what was used in the window is the same.
  const key = JSON.stringify([options.name ?? (isShared ? name : ''), on, duration])
  const counted = counters.get(key) ?? createCounters(duration)
  counters.set(key, counted)
  const printed = `"${name}";q=${points};w=${duration}`
  return { name, printed, on, points, duration, limiter, ...counted }
}

function createCounters(duration: number): Counters {
  return {
    counter: new WindowCounter(duration),
    failedLogins: new WindowCounter(duration),
    refusedLogins: new WindowCounter(duration),
  }
}
