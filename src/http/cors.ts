// Cross-origin access (Fetch standard, "CORS protocol"): the `Access-Control-*` headers.

import * as rule from '../options.ts'
import { checkOptions, type Rule, type Rules } from '../options.ts'
import type { HeaderList } from './message.ts'

/** Which pages of other origins may call the api (Fetch §3.2). */
export interface CorsOptions {
  /**
   * Origins whose pages may read responses: `*` (the default) for any, or a list; `[]` for none. A function says it of each:
   * `origin => /^https:\/\/app-[a-z0-9]+\.example$/.test(origin)`, anchored at both ends. Anything but `true` allows nothing, a
   * promise and an error too.
   */
  readonly origins?: '*' | readonly string[] | ((origin: string) => boolean) | undefined
  /**
   * Whether a browser may send cookies and credentials. Never with `*`, and never for the origin `null` unless a list names
   * it. Default false.
   */
  readonly credentials?: boolean | undefined
  /** How many seconds a browser may keep the response to a preflight. Default 600. */
  readonly maxAge?: number | undefined
  /** Request headers that pages may send besides those that the api reads, such as `X-Api-Key`. Default none. */
  readonly headers?: readonly string[] | undefined
}

/** The options checked, and the headers printed once. */
export interface Cors {
  /** The headers of every response: the same for all origins, or by allowed origin. */
  readonly origins: '*' | Pick<ReadonlyMap<string, HeaderList>, 'get' | 'has'>
  /** Whether pages of listed origins may send cookies, and keep them. */
  readonly credentials: boolean
  /** The headers of every response that do not depend on the origin. */
  readonly common: HeaderList
  /** The headers of a response to OPTIONS besides. */
  readonly preflight: HeaderList
}

/** The response headers that a script of a listed origin may read; `*` is not allowed with credentials. */
const EXPOSED =
  'Accept, Accept-Patch, Accept-Post, Accept-Query, Accept-Ranges, Allow, Content-Disposition, ' +
  'Content-Location, Content-Range, Deprecation, ETag, Link, Location, Preference-Applied, ' +
  'RateLimit, RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, X-RateLimit-Limit, ' +
  'X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Result-Count, X-Total-Count'

/** Request headers that a script of another origin may always send. */
const ALLOWED =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, ' +
  'If-Range, If-Unmodified-Since, Last-Event-ID, Prefer, Range, X-HTTP-Method-Override, X-Request-Id, ' +
  'X-Requested-With'

const ORIGIN_SYNTAX = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$|^null$/

/** An origin as browsers send it: lower case, without the default port. */
const ORIGIN: Rule = {
  wanted: 'an origin such as https://app.example, without a slash or path at its end',
  fits: value =>
    typeof value === 'string' &&
    ORIGIN_SYNTAX.test(value) &&
    (!/^https?:/.test(value) || (URL.canParse(value) && new URL(value).origin === value)),
}

const RULES: Rules<CorsOptions> = {
  origins: {
    wanted: '"*", a list of origins, such as https://app.example, or a function',
    each: ORIGIN,
    fits: value => value === '*' || rule.listOf(ORIGIN).fits(value) || rule.FUNCTION.fits(value),
  },
  credentials: rule.BOOLEAN,
  maxAge: rule.wholeFrom(0, 'seconds'),
  headers: rule.listOf(rule.HEADER_NAME),
}

/**
 * Checks the options and prints their headers.
 * @throws TypeError for `*` with credentials, an invalid origin or header name, and a negative age.
 */
export function buildCors(options: CorsOptions = {}): Cors {
  checkOptions('cors', options, RULES)
  const { origins = '*', credentials = false, maxAge = 600, headers = [] } = options
  if (origins === '*' && credentials) {
    throw new TypeError('cors: credentials need a list of origins, not "*"')
  }
  const preflight: HeaderList = [
    'Access-Control-Allow-Headers',
    [ALLOWED, ...headers].join(', '),
    'Access-Control-Max-Age',
    String(maxAge),
  ]
  if (origins === '*') {
    const common = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', '*']
    return { origins, credentials, common, preflight }
  }
  const shared = ['Access-Control-Expose-Headers', EXPOSED]
  if (credentials) shared.push('Access-Control-Allow-Credentials', 'true')
  const print = (origin: string) => ['Access-Control-Allow-Origin', origin, ...shared]
  if (typeof origins === 'function') {
    const has = (origin: string) => isAllowed(origins, origin, credentials)
    const get = (origin: string) => (has(origin) ? print(origin) : undefined)
    return { origins: { has, get }, credentials, common: [], preflight }
  }
  const byOrigin = new Map(origins.map(origin => [origin, print(origin)]))
  return { origins: byOrigin, credentials, common: [], preflight }
}

/** Whether a function allows an origin. Any sandboxed page has the origin `null`. */
function isAllowed(allows: (origin: string) => boolean, origin: string, credentials: boolean) {
  if (!ORIGIN.fits(origin) || (credentials && origin === 'null')) return false
  try {
    return allows(origin) === true
  } catch {
    return false // it is asked for answers to errors too
  }
}

/** Finds the headers for a request from `origin`; none for an origin that is not allowed. */
export function printCorsHeaders(
  { origins, common }: Cors,
  origin: string | undefined,
): HeaderList {
  if (origins === '*' || origin === undefined) return common
  return origins.get(origin) ?? common
}
