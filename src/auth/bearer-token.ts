// Bearer tokens (RFC 6750) of every kind: their syntax, the principal they name, and their cache.
import { hash } from 'node:crypto'
import { HttpError } from '../errors.ts'
import type { HttpRequest } from '../http/message.ts'
import { either, FILLED_TEXT, listOf, type Rule } from '../options.ts'
import { parseCredentials, printChallenge } from './credentials.ts'
import type { Principal, Scheme } from './scheme.ts'

/** The claims of a token. */
export type Claims = Readonly<Record<string, unknown>>

export const ADDRESS: Rule = {
  wanted: 'an http or https URL',
  fits: value =>
    typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
}

export const AUDIENCE = either('an audience or a list of them', FILLED_TEXT, listOf(FILLED_TEXT, 1))

const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/

interface BearerOptions {
  readonly issuer?: string | undefined
  readonly realm?: string | undefined
  readonly needsBaseUrl?: boolean
  readonly open?: () => Promise<unknown>
}

/**
 * Creates a scheme of bearer tokens.
 * @param check throws an HttpError 401 for an invalid token.
 * @param find finds the principal of a token that was checked before.
 */
export function createBearerScheme(
  { issuer, realm = 'api', needsBaseUrl = false, open }: BearerOptions,
  check: (token: string, baseUrl: string) => Promise<Principal>,
  find?: (token: string, baseUrl: string) => Principal | undefined,
): Scheme {
  return {
    name: 'Bearer',
    headers: ['Authorization'],
    ...(issuer !== undefined && { issuer }),
    ...(open && { open }),
    needsBaseUrl,
    challenge: parameters => printChallenge('Bearer', { realm, ...parameters }),
    ...(find && {
      find(request: HttpRequest, baseUrl = '') {
        const token = parseCredentials(request, 'Bearer')
        return token === undefined ? undefined : find(token, baseUrl)
      },
    }),
    async authenticate(request, baseUrl = '') {
      const token = parseCredentials(request, 'Bearer')
      if (token === undefined) return undefined
      // A second `Authorization` was joined to the first with a comma, which no token has.
      if (!TOKEN.test(token)) throw invalidToken('The access token is malformed')
      return check(token, baseUrl)
    },
  }
}

export function invalidToken(message: string, cause?: unknown): HttpError {
  return new HttpError(401, [{ message, type: 'invalid_token' }], { cause })
}

/** Builds the 503 for a token that cannot be checked: it may be valid. */
export function cannotVerify(cause: unknown): HttpError {
  const message = 'Credentials cannot be checked at the moment. Try again later.'
  return new HttpError(503, [{ message, type: 'unavailable' }], {
    headers: ['Retry-After', '2'],
    cause,
  })
}

/**
 * Builds the principal that a token names.
 * @param build builds it of the claims; `undefined` for none. Default: `sub`, else `client_id`, with the
 * scopes of `scope` (RFC 9068 §2.2.3) or `scp`, and all claims.
 * @throws HttpError 401 for a token bound to a key (RFC 7800), since a bearer does not prove that it has
 * the key; and for claims that name no principal.
 */
export function toPrincipal(
  claims: Claims,
  build: (claims: Claims) => Principal | undefined = buildPrincipal,
): Principal | undefined {
  if (claims.cnf !== undefined) throw invalidToken('The access token is bound to a key')
  return build(claims)
}

function buildPrincipal(claims: Claims): Principal {
  const id = toId(claims.sub) ?? toId(claims.client_id)
  if (id === undefined) throw invalidToken('The access token has neither sub nor client_id')
  return Object.freeze({ ...claims, id, scopes: parseScopes(claims.scope ?? claims.scp) })
}

function toId(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 1024 ? value : undefined
}

function parseScopes(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ').filter(scope => scope !== '')
  return Array.isArray(value) ? value.filter(scope => typeof scope === 'string') : []
}

/** Whether `aud` (a string or an array) names one of the audiences. */
export function isAudience(claim: unknown, audience: string | readonly string[]): boolean {
  const wanted = typeof audience === 'string' ? [audience] : audience
  const named = Array.isArray(claim) ? claim : [claim]
  return wanted.some(each => named.includes(each))
}

/** How many tokens are remembered; the oldest are forgotten first. */
const MAX_TOKENS = 10_000

/**
 * Creates a cache of the results of checked tokens. It is keyed by the hash of the whole token, so that no
 * token can pass for another.
 */
export function createTokenCache<T>() {
  const known = new Map<string, { value: T; until: number }>()
  const toKey = (token: string) => hash('sha256', token, 'base64')
  return {
    get(token: string): T | undefined {
      const key = toKey(token)
      const entry = known.get(key)
      if (entry && entry.until > performance.now()) return entry.value
      known.delete(key)
      return undefined
    },
    /** @param lifetime in milliseconds. */
    set(token: string, value: T, lifetime: number): void {
      known.set(toKey(token), { value, until: performance.now() + lifetime })
      if (known.size <= MAX_TOKENS) return
      const [oldest = ''] = known.keys()
      known.delete(oldest)
    },
  }
}
