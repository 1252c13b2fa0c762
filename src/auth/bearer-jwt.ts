// OAuth 2.0 access tokens that are JWTs (RFC 9068): signature, issuer, audience and times, by jose. A
// token that was revoked before it expired is accepted: introspection.ts finds those.
import type * as Jose from 'jose'
import { HttpError } from '../errors.ts'
import {
  assertValid,
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
  type Claims,
  cannotVerify,
  createBearerScheme,
  createTokenCache,
  invalidToken,
  toPrincipal,
} from './bearer-token.ts'
import type { BasePrincipal, Principal, Scheme } from './scheme.ts'

export interface BearerJwtOptions<P extends BasePrincipal = Principal> {
  /** What `iss` must be, exactly. */
  readonly issuer: string
  /**
   * What `aud` must name: one of these. Default: the `baseUrl` of the api, which is the `resource` that
   * `/.well-known/oauth-protected-resource` names (RFC 9728): clients that read it there ask for the right
   * token (RFC 8707). Clients must be told of any other audience.
   */
  readonly audience?: string | readonly string[] | undefined
  /** The address of the issuer's keys (RFC 7517 §5). They are fetched when needed, and again for an unknown `kid`. */
  readonly jwksUri?: string | undefined
  /** The issuer's public keys, as JWKs. */
  readonly keys?: readonly Readonly<Record<string, unknown>>[] | undefined
  /** The allowed signature algorithms, asymmetric ones only. Default: RS, PS and ES with 256, 384 and 512, EdDSA and Ed25519. */
  readonly algorithms?: readonly string[] | undefined
  /**
   * The allowed `typ` of the header. Default: `at+jwt` (RFC 9068), `JWT`, or none. Where the issuer sends
   * `at+jwt`, require it.
   */
  readonly typ?: readonly string[] | undefined
  /** How many seconds clocks may differ, for `exp` and `nbf`. Default 5. */
  readonly tolerance?: number | undefined
  /** How many seconds a checked token is cached, at most until its `exp`. Default 60; 0 for none. */
  readonly cache?: number | undefined
  /** Default `api`. */
  readonly realm?: string | undefined
  /** Builds the principal of the claims. Default: from `sub` and `scope`. `undefined` is answered 401. */
  readonly principal?: ((claims: Claims) => P | undefined) | undefined
}

const ALGORITHMS: readonly string[] =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

const FETCH_TIMEOUT_MS = 2000
/** How long after a fetch of keys an unknown `kid` causes the next one. */
const FETCH_COOLDOWN_MS = 1000

/** The compact serialization of a JWS (RFC 7515 §7.1): base64url without padding. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Checks bearer tokens that are JWTs. Needs the package `jose`.
 * @throws TypeError for an invalid option, for both or neither of `jwksUri` and `keys`, and for an
 * algorithm that is not asymmetric.
 * @example
 * import { bearerJwt } from 'rest-conventions'
 * const scheme = bearerJwt({ issuer: 'https://issuer.example', jwksUri: 'https://issuer.example/jwks' })
 */
export function bearerJwt<const P extends BasePrincipal = Principal>(
  options: BearerJwtOptions<P>,
): Scheme<NoInfer<P>>
export function bearerJwt(options: BearerJwtOptions): Scheme {
  const { issuer, audience, cache = 60, tolerance = 5 } = options
  checkJwtOptions(options)
  const types = options.typ?.map(normalizeType) ?? ['at+jwt', 'jwt', undefined]
  const known = createTokenCache<Principal>()
  let ready: ReturnType<typeof prepare> | undefined
  const open = () => {
    ready ??= prepare(options)
    return ready
  }

  async function verify(token: string, baseUrl: string): Promise<Jose.JWTVerifyResult> {
    const { jose, keys } = await open()
    try {
      return await jose.jwtVerify(token, keys, {
        issuer,
        // An address without a path is the same with a slash (RFC 3986 §6.2.3): some clients add one.
        audience: audience === undefined ? [baseUrl, `${baseUrl}/`] : [audience].flat(),
        algorithms: [...(options.algorithms ?? ALGORITHMS)],
        clockTolerance: tolerance,
        requiredClaims: ['iss', 'aud', 'exp'],
      })
    } catch (error) {
      if (error instanceof HttpError) throw error
      throw invalidToken(describe(jose, error), error)
    }
  }

  async function check(token: string, baseUrl: string): Promise<Principal> {
    const { payload, protectedHeader } = await verify(token, baseUrl)
    const { typ } = protectedHeader
    if (!types.includes(typ === undefined ? undefined : normalizeType(typ)))
      throw invalidToken('The JWT is not an access token')
    const principal = toPrincipal(payload, options.principal)
    if (!principal) throw invalidToken('The access token names no principal')
    const { exp = 0 } = payload
    if (!Number.isFinite(exp)) throw invalidToken('The access token has no date of expiry')
    const lifetime = Math.min(cache * 1000, exp * 1000 - Date.now())
    if (cache > 0) known.set(token + baseUrl, principal, lifetime)
    return principal
  }

  const needsBaseUrl = audience === undefined
  return createBearerScheme({ ...options, needsBaseUrl, open }, async (token, baseUrl) => {
    if (!COMPACT.test(token)) throw invalidToken('The access token is not a JWT')
    return known.get(token + baseUrl) ?? check(token, baseUrl)
  })
}

const RULES: Rules<BearerJwtOptions> = {
  issuer: needed(FILLED_TEXT),
  audience: AUDIENCE,
  jwksUri: ADDRESS,
  keys: listOf(OBJECT, 1),
  algorithms: listOf(oneOf(...ALGORITHMS), 1),
  typ: listOf(TEXT, 1),
  tolerance: NOT_NEGATIVE,
  cache: NOT_NEGATIVE,
  realm: TEXT,
  principal: FUNCTION,
}

function checkJwtOptions(options: BearerJwtOptions) {
  checkOptions('bearerJwt', options, RULES)
  const { jwksUri, keys } = options
  assertValid(
    (jwksUri === undefined) !== (keys === undefined),
    'bearerJwt needs either jwksUri or keys',
  )
  for (const { kty } of keys ?? []) {
    assertValid(kty !== undefined, 'bearerJwt: keys must be JWKs; use exportJWK() of jose')
    assertValid(kty !== 'oct', 'bearerJwt: keys must be public keys, not shared secrets')
  }
}

async function prepare({ jwksUri = '', keys }: BearerJwtOptions) {
  const jose = await loadJose()
  const set = keys
    ? // jose checks the members of a JWK when it uses the key.
      jose.createLocalJWKSet({ keys: [...keys] as Jose.JWK[] })
    : jose.createRemoteJWKSet(new URL(jwksUri), {
        timeoutDuration: FETCH_TIMEOUT_MS,
        cooldownDuration: FETCH_COOLDOWN_MS,
      })
  return { jose, keys: withOutage(jose, set) }
}

async function loadJose(): Promise<typeof Jose> {
  try {
    return await import('jose')
  } catch (cause) {
    throw new Error('bearerJwt needs the package jose: npm install jose', { cause })
  }
}

/** Turns a failed fetch of keys into a 503: the token may be valid. An unknown key stays an error of the client. */
function withOutage({ errors }: typeof Jose, keys: Jose.JWTVerifyGetKey): Jose.JWTVerifyGetKey {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors
  const ofClient = [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported]
  return async (header, token) => {
    try {
      return await keys(header, token)
    } catch (error) {
      if (ofClient.some(kind => error instanceof kind)) throw error
      throw cannotVerify(error)
    }
  }
}

/** Says what is wrong of a token; of one whose signature is invalid no more than that it is. */
function describe({ errors }: typeof Jose, error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The access token has expired'
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return 'The access token needs a kid: several keys fit it'
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = error
    if (reason === 'missing') return `The access token has no ${claim}`
    if (claim === 'aud') return 'The access token is for another audience'
    if (claim === 'iss') return 'The access token is of another issuer'
  }
  return 'The access token is not valid'
}

/** Reduces `application/at+jwt` and `AT+JWT` to `at+jwt` (RFC 7515 §4.1.9). */
function normalizeType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}
