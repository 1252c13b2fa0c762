// How much one client may ask: limits counted over rate-limiter-flexible, told in `X-RateLimit-*`, in
// `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), and refused with 429 (RFC 6585 §4).
import { createHash } from 'node:crypto'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { HttpError } from '../errors.ts'
import type { HeaderList, HttpRequest } from '../http/message.ts'
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

/** What a limiter says of a key. */
export interface LimiterResult {
  readonly remainingPoints: number
  /** Milliseconds until the window ends. */
  readonly msBeforeNext: number
}

/** A limiter of rate-limiter-flexible, or anything that behaves like one. */
export interface Limiter {
  /** Requests of a window. */
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
      /** Requests of a window: a whole number from 1. */
      readonly limit: number
      /** Seconds: a whole number from 1. */
      readonly window: number
    }
  /** Counts in a store that several nodes share: `new RateLimiterRedis({ storeClient, points, duration })`. */
  | { readonly limiter: Limiter }
)

export interface RateLimitOptions {
  readonly policies: readonly RateLimitPolicy[]
  /** What happens while the limiter's store is down: `closed` (default) answers 503, `open` lets requests pass uncounted. */
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
  readonly limiter: Limiter
  /** Milliseconds to wait for the limiter; absent for one that counts in this process. */
  readonly timeout: number | undefined
  /** Counts failed authentications of an address, in this process alone. */
  readonly failures: RateLimiterMemory
}

/** A look at credentials that has begun. */
export interface Guess {
  readonly request: Pick<HttpRequest, 'aborted' | 'signal'>
  readonly judged: Promise<unknown>
}

/** The options checked, the limiters made. */
export interface RateLimit {
  readonly policies: readonly Policy[]
  readonly whenDown: 'open' | 'closed'
  readonly reset: 'epoch' | 'iso'
  /** By address. */
  readonly guesses: Map<string, Set<Guess>>
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
  const policies = options.policies.map(policy => policyOf(policy, timeout))
  // The shortest window first: what it refuses does not use up the longer ones.
  policies.sort((one, other) => one.limiter.duration - other.limiter.duration)
  if (new Set(policies.map(({ name }) => name)).size < policies.length) {
    throw new TypeError('rateLimit: two policies have the same name')
  }
  return { policies, whenDown, reset, guesses: new Map() }
}

function checkWhole(what: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return
  throw new TypeError(`rateLimit: a ${what} must be a whole number from 1, not ${value}`)
}

function policyOf(options: RateLimitPolicy, timeout: number): Policy {
  checkOptions('rateLimit, a policy', options, POLICY_RULES)
  const { on } = options
  const [points, duration] =
    'limiter' in options
      ? [options.limiter.points, options.limiter.duration]
      : [options.limit, options.window]
  checkWhole('limit', points)
  checkWhole('window', duration)
  const name = options.name ?? `${on === undefined ? '' : `${on} `}${points}/${duration}`
  if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(name)) {
    throw new TypeError(`rateLimit: ${JSON.stringify(name)} can be no policy's name`)
  }
  const memory = () => new RateLimiterMemory({ points, duration })
  const known = { name, printed: `"${name}";q=${points};w=${duration}`, on, failures: memory() }
  return 'limiter' in options
    ? { ...known, limiter: options.limiter, timeout }
    : { ...known, limiter: memory(), timeout: undefined }
}

/** The key of a principal; one too long for a database's column is hashed. */
export function principalKey(id: string): string {
  return `principal:${id.length <= 128 ? id : createHash('sha256').update(id).digest('base64url')}`
}

/** The key of an address: an IPv6 address by its /64, which one client has as a whole. */
export function addressKey(address: string | undefined): string {
  return `address:${networkOf(address ?? 'unknown')}`
}

function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [bare = ''] = address.split('%', 1)
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(bare)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = bare.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  // Of what follows `::` only what reaches into the first four groups counts.
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':')
    while (groups.length + after.length < 8) groups.push('0')
    groups.push(...after)
  }
  const network = groups.slice(0, 4).map(group => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

interface State {
  readonly policy: Policy
  readonly remaining: number
  /** When the window ends, in milliseconds since 1970. */
  readonly reset: number
  readonly exceeded: boolean
}

/**
 * Counts one request.
 * @returns the headers that tell of the limits, for whatever answer comes.
 * @throws HttpError 429 over a limit, 503 where the store is down and the limit is closed then.
 */
export async function takeRequest(
  limit: RateLimit,
  key: string,
  kind: 'reads' | 'writes',
): Promise<HeaderList> {
  const states: State[] = []
  for (const policy of limit.policies) {
    if (policy.on !== undefined && policy.on !== kind) continue
    let state: State | undefined
    try {
      state = stateOf(policy, await consume(policy, `${policy.name}:${key}`), false)
    } catch (thrown) {
      state = refusedState(limit, policy, thrown)
    }
    if (!state) continue
    states.push(state)
    if (state.exceeded) throw tooManyRequests(state, printRateLimitHeaders(limit, states))
  }
  return printRateLimitHeaders(limit, states)
}

/** A store that hangs is down too: no request waits for it for ever. */
function consume({ limiter, timeout }: Policy, key: string): Promise<LimiterResult> {
  const asked = limiter.consume(key)
  if (timeout === undefined) return asked
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`The limiter did not answer within ${timeout} ms`))
    const timer = setTimeout(late, timeout)
    asked.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function stateOf(
  policy: Policy,
  { remainingPoints, msBeforeNext }: LimiterResult,
  exceeded: boolean,
): State {
  return {
    policy,
    remaining: Math.max(0, remainingPoints),
    reset: Date.now() + Math.max(0, msBeforeNext),
    exceeded,
  }
}

/** What a limiter that rejects means; `undefined` where its store is down and the limit is open then. */
function refusedState({ whenDown }: RateLimit, policy: Policy, thrown: unknown): State | undefined {
  if (isResult(thrown)) return stateOf(policy, thrown, true)
  if (whenDown === 'open') return undefined
  const message = 'Requests cannot be counted at the moment'
  throw new HttpError(503, [{ message, type: 'unavailable' }], {
    headers: ['Retry-After', '5'],
    cause: thrown,
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

export function printRateLimitHeaders({ reset }: RateLimit, states: readonly State[]): HeaderList {
  // What refuses a request is told; else what is nearest to it.
  const tightest = states.reduce<State | undefined>(
    (least, state) =>
      !least || state.exceeded || state.remaining < least.remaining ? state : least,
    undefined,
  )
  if (!tightest) return []
  const { policy, remaining, reset: time } = tightest
  return [
    'X-RateLimit-Limit',
    String(policy.limiter.points),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    reset === 'iso' ? new Date(time).toISOString() : String(Math.ceil(time / 1000)),
    'RateLimit-Policy',
    states.map(state => state.policy.printed).join(', '),
    'RateLimit',
    states
      .map(state => `"${state.policy.name}";r=${state.remaining};t=${secondsUntil(state.reset)}`)
      .join(', '),
  ]
}

function secondsUntil(time: number): number {
  return Math.max(0, Math.ceil((time - Date.now()) / 1000))
}

/** The refusal of what is over a policy. */
export function tooManyRequests({ policy, reset }: State, headers: HeaderList): HttpError {
  const { points, duration } = policy.limiter
  const seconds = Math.max(1, secondsUntil(reset))
  const message = `At most ${points} requests in ${duration} s; try again in ${seconds} s`
  return new HttpError(429, [{ message, type: 'too_many_requests' }], {
    headers: [...headers, 'Retry-After', String(seconds)],
  })
}
