// OAuth 2.0 token introspection (RFC 7662): the issuer is asked about each token; answers are cached.
import * as rule from '../options.ts'
import { checkOptions, type Rules } from '../options.ts'
import {
  ADDRESS,
  AUDIENCE,
  type Claims,
  cannotVerify,
  createBearerScheme,
  createTokenCache,
  invalidToken,
  isAudience,
  toPrincipal,
} from './bearer-token.ts'
import type { BasePrincipal, Principal, Scheme } from './scheme.ts'

export interface IntrospectionOptions<P extends BasePrincipal = Principal> {
  /** The introspection endpoint of the authorization server. */
  readonly endpoint: string
  /** The credentials of this api at the endpoint: HTTP Basic (RFC 6749 §2.3.1). */
  readonly client: { readonly id: string; readonly secret: string }
  /** The authorization server. Where a response has `iss`, it must be equal. */
  readonly issuer?: string | undefined
  /** What `aud` must name. Without it tokens for any audience count, and refresh tokens where the server calls them active. */
  readonly audience?: string | readonly string[] | undefined
  /** How many seconds a response is cached: a revoked token may work as long. Default 10; 0 for none. */
  readonly cache?: number | undefined
  /** Milliseconds that the endpoint may take. Default 2,000. */
  readonly timeout?: number | undefined
  /** Default `api`. */
  readonly realm?: string | undefined
  /** Builds the principal of the response. Default: from `sub` and `scope`. `undefined` is answered 401. */
  readonly principal?: ((claims: Claims) => P | undefined) | undefined
}

/** The longest response that is read, in characters. */
const MAX_RESPONSE = 64 * 1024

const RULES: Rules<IntrospectionOptions> = {
  endpoint: rule.needed(ADDRESS),
  client: rule.needed(rule.OBJECT),
  issuer: rule.FILLED_TEXT,
  audience: AUDIENCE,
  cache: rule.SECONDS,
  timeout: rule.wholeFrom(1, 'milliseconds'),
  realm: rule.TEXT,
  principal: rule.FUNCTION,
}

const CLIENT_RULES: Rules<IntrospectionOptions['client']> = {
  id: rule.needed(rule.TEXT),
  secret: rule.needed(rule.TEXT),
}

/**
 * Checks bearer tokens by asking their issuer.
 * @throws TypeError for an invalid option.
 */
export function introspection<const P extends BasePrincipal = Principal>(
  options: IntrospectionOptions<P>,
): Scheme<NoInfer<P>>
export function introspection(options: IntrospectionOptions): Scheme {
  checkOptions('introspection', options, RULES)
  checkOptions('introspection, client', options.client, CLIENT_RULES)
  const { issuer, audience, cache = 10, timeout = 2000 } = options
  const known = createTokenCache<Principal | 'inactive'>()
  /** The running requests by token, so that requests sent together ask once. */
  const pending = new Map<string, Promise<Principal | 'inactive'>>()

  async function ask(token: string): Promise<Principal | 'inactive'> {
    const claims = await introspect(options, token, timeout)
    const now = Date.now()
    const exp = typeof claims.exp === 'number' ? claims.exp * 1000 : Number.POSITIVE_INFINITY
    const active =
      claims.active === true &&
      // JSON reads 1e400 as infinite: no time at all, and not never.
      ((claims.exp ?? undefined) === undefined || (Number.isFinite(exp) && exp > now)) &&
      (typeof claims.nbf !== 'number' || claims.nbf * 1000 <= now) &&
      (issuer === undefined || claims.iss === undefined || claims.iss === issuer) &&
      (audience === undefined || isAudience(claims.aud, audience))
    const value = (active ? toPrincipal(claims, options.principal) : undefined) ?? 'inactive'
    if (cache > 0) known.set(token, value, Math.min(cache * 1000, exp - now))
    return value
  }

  return createBearerScheme(options, async token => {
    let value = known.get(token)
    if (value === undefined) {
      let answer = pending.get(token)
      if (!answer) {
        answer = ask(token).finally(() => pending.delete(token))
        pending.set(token, answer)
      }
      value = await answer
    }
    if (value === 'inactive') throw invalidToken('The access token is not valid')
    return value
  })
}

async function introspect(
  { endpoint, client }: IntrospectionOptions,
  token: string,
  timeout: number,
): Promise<Claims> {
  const credentials = [client.id, client.secret].map(encodeURIComponent).join(':')
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeout),
    })
    // RFC 7662 §2.2 asks for "inactive"; some servers answer 400 for a malformed token.
    if (response.status === 400) return { active: false }
    const text = await response.text()
    if (response.status !== 200 || text.length > MAX_RESPONSE) {
      throw new Error(`The introspection endpoint returned ${response.status}`)
    }
    const claims: unknown = JSON.parse(text)
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
      throw new Error('The introspection endpoint did not return an object')
    }
    return { ...claims }
  } catch (error) {
    throw cannotVerify(error)
  }
}
