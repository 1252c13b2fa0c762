// What bearer tokens (RFC 6750) of every kind have in common: where they stand, whom they name, and how
// long what is known of one may be remembered.
import { createHash } from 'node:crypto'
import { HttpError } from '../errors.ts'
import type { HttpRequest } from '../http/message.ts'
import { FILLED_TEXT, listOf, type Rule } from '../options.ts'
import { type Principal, parseCredentials } from './scheme.ts'

/** What a token says of itself. */
export type Claims = Readonly<Record<string, unknown>>

/** Where an authorization server is asked. */
export const ADDRESS: Rule = {
  wanted: 'an http or https address',
  fits: value =>
    typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
}

export const AUDIENCE: Rule = {
  wanted: 'an audience or a list of them',
  fits: value => FILLED_TEXT.fits(value) || listOf(FILLED_TEXT, 1).fits(value),
}

const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/

/**
 * The bearer token of a request.
 * @throws HttpError 401 for `Bearer` with what is no token.
 */
export function bearerToken(request: HttpRequest): string | undefined {
  const token = parseCredentials(request, 'Bearer')
  if (token === undefined) return undefined
  // A second `Authorization` was joined to the first with a comma, which no token has.
  if (!TOKEN.test(token)) throw invalidToken('The access token is malformed')
  return token
}

export function invalidToken(message: string, cause?: unknown): HttpError {
  return new HttpError(401, [{ message, type: 'invalid_token' }], { cause })
}

/** The refusal where a token cannot be checked: the client's credentials may be right. */
export function cannotVerify(cause: unknown): HttpError {
  const message = 'Credentials cannot be checked at the moment'
  return new HttpError(503, [{ message, type: 'unavailable' }], {
    headers: ['Retry-After', '2'],
    cause,
  })
}

/**
 * The principal that a token names.
 * @param make makes it of the claims; `undefined` is nobody. Default: `sub`, else `client_id`, with the
 * scopes of `scope` (RFC 9068 §2.2.3) or `scp`, and all claims beside.
 * @throws HttpError 401 for a token bound to a key, which a bearer does not show (RFC 7800), whoever makes
 * the principal; and where the claims themselves name nobody.
 */
export function named(
  claims: Claims,
  make: (claims: Claims) => Principal | undefined = principalOf,
): Principal | undefined {
  if (claims.cnf !== undefined) throw invalidToken('The access token is bound to a key')
  return make(claims)
}

function principalOf(claims: Claims): Principal {
  const id = nameOf(claims.sub) ?? nameOf(claims.client_id)
  if (id === undefined) throw invalidToken('The access token names nobody')
  return Object.freeze({ ...claims, id, scopes: scopesOf(claims.scope ?? claims.scp) })
}

function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 1024 ? value : undefined
}

function scopesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ').filter(scope => scope !== '')
  return Array.isArray(value) ? value.filter(scope => typeof scope === 'string') : []
}

/** Whether `aud` (a text or a list of texts) names one of the audiences. */
export function isAudience(claim: unknown, audience: string | readonly string[]): boolean {
  const wanted = typeof audience === 'string' ? [audience] : audience
  const named = Array.isArray(claim) ? claim : [claim]
  return wanted.some(each => named.includes(each))
}

/** What is known of tokens, for a short time. */
export interface TokenCache<T> {
  get(token: string): T | undefined
  /** @param until milliseconds since 1970. */
  set(token: string, value: T, until: number): void
}

/** The most tokens that are remembered; the oldest go first. */
const MOST = 10_000

/** Remembers by the hash of the whole token: nothing that a client can choose stands for another. */
export function tokenCache<T>(): TokenCache<T> {
  const known = new Map<string, { value: T; until: number }>()
  const keyOf = (token: string) => createHash('sha256').update(token).digest('base64')
  return {
    get(token) {
      const key = keyOf(token)
      const entry = known.get(key)
      if (entry && entry.until > Date.now()) return entry.value
      known.delete(key)
      return undefined
    },
    set(token, value, until) {
      known.set(keyOf(token), { value, until })
      if (known.size <= MOST) return
      const [oldest = ''] = known.keys()
      known.delete(oldest)
    },
  }
}
