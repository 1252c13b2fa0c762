// OAuth 2.0 access tokens that only their issuer can read (RFC 7662): asked for each, remembered briefly.

import {
  checkOptions,
  FILLED_TEXT,
  FUNCTION,
  NOT_NEGATIVE,
  needed,
  OBJECT,
  type Rules,
  TEXT,
  wholeFrom,
} from '../options.ts'
import {
  ADDRESS,
  AUDIENCE,
  bearerToken,
  type Claims,
  cannotVerify,
  invalidToken,
  isAudience,
  named,
  tokenCache,
} from './bearer-token.ts'
import { type Principal, printChallenge, type Scheme } from './scheme.ts'

export interface IntrospectionOptions {
  /** The introspection endpoint of the authorization server. */
  readonly endpoint: string
  /** What this api authenticates with there: HTTP Basic (RFC 6749 §2.3.1). */
  readonly client: { readonly id: string; readonly secret: string }
  /** The authorization server; where it answers with `iss`, that must be the same. */
  readonly issuer?: string | undefined
  /** What `aud` must name; without, tokens for any audience count, and whatever else the server calls active, such as refresh tokens. */
  readonly audience?: string | readonly string[] | undefined
  /** How many seconds an answer is remembered: so long a revoked token may still work. Default 10; 0 asks each time. */
  readonly cache?: number | undefined
  /** Milliseconds that the endpoint may take. Default 2,000. */
  readonly timeout?: number | undefined
  /** Default `api`. */
  readonly realm?: string | undefined
  /** Makes the principal of the answer, where `sub` and `scope` are not what is wanted. `undefined` refuses. */
  readonly principal?: ((claims: Claims) => Principal | undefined) | undefined
}

/** The longest answer that is read, in characters. */
const MOST_ANSWER = 64 * 1024

const RULES: Rules<IntrospectionOptions> = {
  endpoint: needed(ADDRESS),
  client: needed(OBJECT),
  issuer: FILLED_TEXT,
  audience: AUDIENCE,
  cache: NOT_NEGATIVE,
  timeout: wholeFrom(1),
  realm: TEXT,
  principal: FUNCTION,
}

const CLIENT_RULES: Rules<IntrospectionOptions['client']> = {
  id: needed(TEXT),
  secret: needed(TEXT),
}

/** @throws TypeError for an endpoint that is no address, and for a time that is no number. */
export function introspection(options: IntrospectionOptions): Scheme {
  checkOptions('introspection', options, RULES)
  checkOptions('introspection, client', options.client, CLIENT_RULES)
  const { issuer, audience, cache = 10, timeout = 2000, realm = 'api' } = options
  const known = tokenCache<Principal | 'inactive'>()
  /** The tokens that are asked for at the moment: requests that come together ask once. */
  const asking = new Map<string, Promise<Principal | 'inactive'>>()

  async function ask(token: string): Promise<Principal | 'inactive'> {
    const claims = await introspect(options, token, timeout)
    const now = Date.now()
    const exp = typeof claims.exp === 'number' ? claims.exp * 1000 : Number.POSITIVE_INFINITY
    const active =
      claims.active === true &&
      exp > now &&
      (typeof claims.nbf !== 'number' || claims.nbf * 1000 <= now) &&
      (issuer === undefined || claims.iss === undefined || claims.iss === issuer) &&
      (audience === undefined || isAudience(claims.aud, audience))
    const value = (active ? named(claims, options.principal) : undefined) ?? 'inactive'
    if (cache > 0) known.set(token, value, Math.min(now + cache * 1000, exp))
    return value
  }

  return {
    name: 'Bearer',
    headers: ['Authorization'],
    ...(issuer !== undefined && { issuer }),
    challenge: parameters => printChallenge('Bearer', { realm, ...parameters }),
    async authenticate(request) {
      const token = bearerToken(request)
      if (token === undefined) return undefined
      let value = known.get(token)
      if (value === undefined) {
        let asked = asking.get(token)
        if (!asked) {
          asked = ask(token).finally(() => asking.delete(token))
          asking.set(token, asked)
        }
        value = await asked
      }
      if (value === 'inactive') throw invalidToken('The access token is not valid')
      return value
    },
  }
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
    // RFC 7662 §2.2 has it say "inactive"; servers say 400 of what can be none of their tokens.
    if (response.status === 400) return { active: false }
    const text = await response.text()
    if (response.status !== 200 || text.length > MOST_ANSWER) {
      throw new Error(`The introspection endpoint answered ${response.status}`)
    }
    const claims: unknown = JSON.parse(text)
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
      throw new Error('The introspection endpoint answered with no object')
    }
    return { ...claims }
  } catch (error) {
    throw cannotVerify(error)
  }
}
