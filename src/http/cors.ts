// Cross-origin access (Fetch standard, "CORS protocol"): `access-control-*` on every answer.

import {
  BOOLEAN,
  checkOptions,
  HEADER_NAME,
  listOf,
  type Rules,
  TEXT,
  wholeFrom,
} from '../options.ts'
import type { HeaderList } from './message.ts'

export interface CorsOptions {
  /** Origins that may read answers: `*` (the default) for any, a list, or none. */
  readonly origins?: '*' | readonly string[] | undefined
  /** Whether a browser may send cookies and credentials along. Never with `*`. Default false. */
  readonly credentials?: boolean | undefined
  /** How long a browser may keep the answer to a preflight; seconds. Default 600. */
  readonly maxAge?: number | undefined
  /** Request headers that pages may send besides those the api reads, such as `X-Api-Key`. Default none. */
  readonly headers?: readonly string[] | undefined
}

/** The options checked and printed once. */
export interface Cors {
  readonly origins: '*' | ReadonlySet<string>
  /** What stands on every answer to an allowed origin, but for the origin itself where there is a list. */
  readonly common: HeaderList
  /** What stands on an answer to OPTIONS besides. */
  readonly preflight: HeaderList
}

/** Response headers that a script of another origin may read. */
const EXPOSED = [
  'Accept',
  'Accept-Patch',
  'Accept-Post',
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Location',
  'Content-Range',
  'Deprecation',
  'ETag',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Result-Count',
  'X-Total-Count',
].join(', ')

/** Request headers that a script of another origin may always send. */
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-Modified-Since',
  'If-None-Match',
  'If-Range',
  'If-Unmodified-Since',
  'Prefer',
  'Range',
  'X-HTTP-Method-Override',
  'X-Request-Id',
  'X-Requested-With',
]

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$|^null$/

const RULES: Rules<CorsOptions> = {
  origins: {
    wanted: '"*" or a list of origins',
    fits: value => value === '*' || listOf(TEXT).fits(value),
  },
  credentials: BOOLEAN,
  maxAge: wholeFrom(0),
  headers: listOf(HEADER_NAME),
}

/** Whether a text is an origin as browsers send it: lower case, without a port that goes without saying. */
function isOrigin(text: string): boolean {
  if (!ORIGIN.test(text)) return false
  return !/^https?:/.test(text) || (URL.canParse(text) && new URL(text).origin === text)
}

/** @throws TypeError for `*` with credentials, what is no origin or no header's name, and a negative age. */
export function buildCors(options: CorsOptions = {}): Cors {
  checkOptions('cors', options, RULES)
  const { origins = '*', credentials = false, maxAge = 600, headers = [] } = options
  if (origins === '*' && credentials) {
    throw new TypeError('cors: credentials need a list of origins; "*" allows everybody')
  }
  for (const origin of origins === '*' ? [] : origins) {
    if (!isOrigin(origin)) {
      throw new TypeError(
        `cors: ${JSON.stringify(origin)} is no origin, such as https://app.example`,
      )
    }
  }
  const common: HeaderList = origins === '*' ? ['Access-Control-Allow-Origin', '*'] : []
  common.push('Access-Control-Expose-Headers', EXPOSED)
  if (credentials) common.push('Access-Control-Allow-Credentials', 'true')
  const preflight: HeaderList = [
    'Access-Control-Allow-Headers',
    [...ALLOWED, ...headers].join(', '),
    'Access-Control-Max-Age',
    String(maxAge),
  ]
  return { origins: origins === '*' ? '*' : new Set(origins), common, preflight }
}

/** The headers for a request from `origin`; none for one that is not allowed. */
export function printCorsHeaders(
  { origins, common }: Cors,
  origin: string | undefined,
): HeaderList {
  if (origins === '*') return common
  if (origin === undefined || !origins.has(origin)) return []
  return ['Access-Control-Allow-Origin', origin, ...common]
}
