// OAuth 2.0 access tokens that are JWTs (RFC 9068), checked with jose. Signature, issuer, audience and
// times are checked; that a token was revoked before it expired cannot be seen here: see introspection.ts.
import type * as Jose from 'jose'
import { HttpError } from '../errors.ts'
import {
  checkOptions,
  FILLED_TEXT,
  FUNCTION,
  listOf,
  NOT_NEGATIVE,
  needed,
  OBJECT,
  oneOf,
  type Rules,
  TEXT,
} from '../options.ts'
import {
  ADDRESS,
  AUDIENCE,
  bearerToken,
  type Claims,
  cannotVerify,
  invalidToken,
  named,
  tokenCache,
} from './bearer-token.ts'
import { type Principal, printChallenge, type Scheme } from './scheme.ts'

export interface BearerJwtOptions {
  /** What `iss` must be, exactly. */
  readonly issuer: string
  /** What `aud` must name: one of these. */
  readonly audience: string | readonly string[]
  /** Where the issuer's keys are (RFC 7517 §5). They are fetched when needed, and anew for an unknown `kid`. */
  readonly jwksUri?: string | undefined
  /** The issuer's public keys themselves, as JWKs. */
  readonly keys?: readonly Readonly<Record<string, unknown>>[] | undefined
  /** The signature algorithms that count; asymmetric ones only. Default: RS, PS and ES with 256, 384 and 512, and EdDSA, Ed25519 too. */
  readonly algorithms?: readonly string[] | undefined
  /**
   * What the header's `typ` may be. Default: `at+jwt` (RFC 9068), `JWT`, or none, as issuers send;
   * an issuer that says `at+jwt` should be held to it.
   */
  readonly typ?: readonly string[] | undefined
  /** By how many seconds clocks may differ, for `exp` and `nbf`. Default 5. */
  readonly tolerance?: number | undefined
  /** How many seconds a checked token is remembered, at most until its `exp`. Default 60; 0 checks each time. */
  readonly cache?: number | undefined
  /** Default `api`. */
  readonly realm?: string | undefined
  /** Makes the principal of the claims, where `sub` and `scope` are not what is wanted. `undefined` refuses. */
  readonly principal?: ((claims: Claims) => Principal | undefined) | undefined
}

const ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

/** How long fetching keys may take, and how long an unknown `kid` waits for the next fetch; milliseconds. */
const FETCH_TIME = 2000
const FETCH_PAUSE = 1000

/** The compact serialization of a JWS (RFC 7515 §7.1): base64url without padding. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Checks bearer tokens that are JWTs. Needs the package `jose`.
 * @throws TypeError for a missing issuer or audience, for both or neither of `jwksUri` and `keys`, and
 * for an algorithm that is not asymmetric.
 */
export function bearerJwt(options: BearerJwtOptions): Scheme {
  const { issuer, audience, realm = 'api', cache = 60, tolerance = 5 } = options
  checkDeclared(options)
  const types = options.typ?.map(mediaTypeOf) ?? ['at+jwt', 'jwt', undefined]
  const known = tokenCache<Principal>()
  let ready: Promise<{ jose: typeof Jose; keys: Jose.JWTVerifyGetKey }> | undefined

  async function check(token: string): Promise<Principal> {
    ready ??= prepare(options)
    const { jose, keys } = await ready
    const { payload, protectedHeader } = await verify(jose, token, keys, {
      issuer,
      audience: typeof audience === 'string' ? audience : [...audience],
      algorithms: [...(options.algorithms ?? ALGORITHMS)],
      clockTolerance: tolerance,
      requiredClaims: ['iss', 'aud', 'exp'],
    })
    if (
      !types.includes(
        protectedHeader.typ === undefined ? undefined : mediaTypeOf(protectedHeader.typ),
      )
    )
      throw invalidToken('The JWT is no access token')
    const principal = named(payload, options.principal)
    if (!principal) throw invalidToken('The access token names nobody')
    const { exp = 0 } = payload
    const until = Math.min(Date.now() + cache * 1000, exp * 1000)
    if (cache > 0) known.set(token, principal, until)
    return principal
  }

  return {
    name: 'Bearer',
    headers: ['Authorization'],
    issuer,
    challenge: parameters => printChallenge('Bearer', { realm, ...parameters }),
    async authenticate(request) {
      const token = bearerToken(request)
      if (token === undefined) return undefined
      if (!COMPACT.test(token)) throw invalidToken('The access token is no JWT')
      return known.get(token) ?? check(token)
    },
  }
}

const RULES: Rules<BearerJwtOptions> = {
  issuer: needed(FILLED_TEXT),
  audience: needed(AUDIENCE),
  jwksUri: ADDRESS,
  keys: listOf(OBJECT, 1),
  algorithms: listOf(oneOf(...ALGORITHMS), 1),
  typ: listOf(TEXT, 1),
  tolerance: NOT_NEGATIVE,
  cache: NOT_NEGATIVE,
  realm: TEXT,
  principal: FUNCTION,
}

function checkDeclared(options: BearerJwtOptions) {
  checkOptions('bearerJwt', options, RULES)
  const { jwksUri, keys } = options
  if ((jwksUri === undefined) === (keys === undefined)) {
    throw new TypeError('bearerJwt needs either jwksUri or keys')
  }
  if (keys?.some(({ kty }) => kty === 'oct' || kty === undefined)) {
    throw new TypeError('bearerJwt: keys must be public keys; a shared secret is none')
  }
}

async function prepare({ jwksUri = '', keys }: BearerJwtOptions) {
  const jose = await loadJose()
  if (keys) {
    // Members of a JWK are checked by jose when a key is used.
    const set = jose.createLocalJWKSet({ keys: [...keys] as Jose.JWK[] })
    return { jose, keys: keysOrOutage(set) }
  }
  const remote = jose.createRemoteJWKSet(new URL(jwksUri), {
    timeoutDuration: FETCH_TIME,
    cooldownDuration: FETCH_PAUSE,
  })
  return { jose, keys: keysOrOutage(remote) }
}

async function loadJose(): Promise<typeof Jose> {
  try {
    return await import('jose')
  } catch (cause) {
    throw new Error('bearerJwt needs the package jose: npm install jose', { cause })
  }
}

/** A key set that tells "no such key" from "no keys could be had": the second is not the client's fault. */
function keysOrOutage(keys: Jose.JWTVerifyGetKey): Jose.JWTVerifyGetKey {
  return async (header, token) => {
    try {
      return await keys(header, token)
    } catch (error) {
      if (CLIENT_FAULTS.has(codeOf(error))) throw error
      throw cannotVerify(error)
    }
  }
}

const CLIENT_FAULTS = new Set([
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JOSE_NOT_SUPPORTED',
])

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

async function verify(
  jose: typeof Jose,
  token: string,
  keys: Jose.JWTVerifyGetKey,
  options: Jose.JWTVerifyOptions,
): Promise<Jose.JWTVerifyResult> {
  try {
    return await jose.jwtVerify(token, keys, options)
  } catch (error) {
    if (error instanceof HttpError) throw error
    if (error instanceof jose.errors.JWKSMultipleMatchingKeys) {
      return verifyWithAny(jose, token, error, options)
    }
    const message =
      error instanceof jose.errors.JWTExpired
        ? 'The access token has expired'
        : 'The access token is not valid'
    throw invalidToken(message, error)
  }
}

/** A token without `kid` may be of any key that fits. */
async function verifyWithAny(
  jose: typeof Jose,
  token: string,
  candidates: AsyncIterable<Jose.CryptoKey>,
  options: Jose.JWTVerifyOptions,
): Promise<Jose.JWTVerifyResult> {
  for await (const key of candidates) {
    try {
      return await jose.jwtVerify(token, key, options)
    } catch (error) {
      if (codeOf(error) !== 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
        throw invalidToken('The access token is not valid', error)
    }
  }
  throw invalidToken('The access token is not valid')
}

/** `application/at+jwt` and `AT+JWT` are `at+jwt` (RFC 7515 §4.1.9). */
function mediaTypeOf(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}
