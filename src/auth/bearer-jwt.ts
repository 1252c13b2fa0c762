// OAuth 2.0 access tokens that are JWTs (RFC 9068): signature, issuer, audience and times, by jose. A
// token that was revoked before it expired is accepted: introspection.ts finds those.
import type * as Jose from 'jose'
import { HttpError } from '../errors.ts'
import * as rule from '../options.ts'
import { assertValid, checkOptions, type Rules } from '../options.ts'
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
import { RemoteKeys } from './remote-keys.ts'
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
  /** The address of the issuer's keys (RFC 7517 §5). They are fetched when needed, again after `cache`, and for an unknown `kid`. */
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
  /**
   * How many seconds a checked token is cached, at most until its `exp`. Keys of that age are fetched again, at least 5 s
   * after the last fetch. Default 60; 0 caches no token.
   */
  readonly cache?: number | undefined
  /**
   * For how many seconds older keys serve while the issuer answers with none, for `jwksUri`. Keys that came without one
   * end it at once. Default 3,600; 0: what cannot be fetched is a 503.
   */
  readonly staleKeys?: number | undefined
  /** Default `api`. */
  readonly realm?: string | undefined
  /** Builds the principal of the claims. Default: from `sub` and `scope`. `undefined` is answered 401. */
  readonly principal?: ((claims: Claims) => P | undefined) | undefined
}

const ALGORITHMS: readonly string[] =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

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
  let ready: Promise<Prepared> | undefined
  let prepared: Prepared | undefined
  const open = () => {
    ready ??= prepare(options).then(done => {
      prepared = done
      return done
    })
    return ready
  }
  // Before a token is verified: keys that come meanwhile end what was verified by others.
  const keyOf = (token: string, baseUrl: string) =>
    `${token}${baseUrl} ${prepared?.remote?.generation}`

  async function verify({ jose, keys }: Prepared, token: string, baseUrl: string) {
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

  async function check(prepared: Prepared, token: string, baseUrl: string, key: string) {
    const { payload, protectedHeader } = await verify(prepared, token, baseUrl)
    const { typ } = protectedHeader
    if (!types.includes(typ === undefined ? undefined : normalizeType(typ)))
      throw invalidToken('The JWT is not an access token')
    const principal = toPrincipal(payload, options.principal)
    if (!principal) throw invalidToken('The access token names no principal')
    const { exp = 0 } = payload
    if (!Number.isFinite(exp)) throw invalidToken('The access token has no date of expiry')
    const { remote } = prepared
    const lifetime = Math.min(
      cache * 1000,
      exp * 1000 - Date.now(),
      remote?.lifetime ?? Number.POSITIVE_INFINITY,
    )
    if (cache > 0) known.set(key, principal, lifetime)
    return principal
  }

  const needsBaseUrl = audience === undefined
  return createBearerScheme(
    { ...options, needsBaseUrl, open },
    async (token, baseUrl) => {
      if (!COMPACT.test(token)) throw invalidToken('The access token is not a JWT')
      const opened = await open()
      const key = keyOf(token, baseUrl)
      return known.get(key) ?? check(opened, token, baseUrl, key)
    },
    (token, baseUrl) => known.get(keyOf(token, baseUrl)),
  )
}

const RULES: Rules<BearerJwtOptions> = {
  issuer: rule.needed(rule.FILLED_TEXT),
  audience: AUDIENCE,
  jwksUri: ADDRESS,
  keys: rule.listOf(rule.OBJECT, 1),
  algorithms: rule.listOf(rule.oneOf(...ALGORITHMS), 1),
  typ: rule.listOf(rule.TEXT, 1),
  tolerance: rule.SECONDS,
  cache: rule.SECONDS,
  staleKeys: rule.SECONDS,
  realm: rule.TEXT,
  principal: rule.FUNCTION,
}

function checkJwtOptions(options: BearerJwtOptions) {
  checkOptions('bearerJwt', options, RULES)
  const { jwksUri, keys, staleKeys } = options
  assertValid(
    (jwksUri === undefined) !== (keys === undefined),
    'bearerJwt needs either jwksUri or keys',
  )
  assertValid(
    staleKeys === undefined || jwksUri !== undefined,
    'bearerJwt: staleKeys is for jwksUri: the list in keys is never fetched. Leave staleKeys out',
  )
  for (const { kty } of keys ?? []) {
    assertValid(kty !== undefined, 'bearerJwt: keys must be JWKs; use exportJWK() of jose')
    assertValid(kty !== 'oct', 'bearerJwt: keys must be public keys, not shared secrets')
  }
}

type Prepared = Awaited<ReturnType<typeof prepare>>

async function prepare({ jwksUri, keys = [], cache = 60, staleKeys = 3600 }: BearerJwtOptions) {
  const jose = await loadJose()
  // jose checks the members of a JWK when it uses the key.
  const build = (set: unknown) => jose.createLocalJWKSet(set as Jose.JSONWebKeySet)
  if (jwksUri === undefined)
    return { jose, keys: withOutage(jose, build({ keys })), remote: undefined }
  const times = { maxAge: cache * 1000, staleTime: staleKeys * 1000 }
  const remote = new RemoteKeys(jwksUri, { build, ...times })
  const find: Jose.JWTVerifyGetKey = async (header, token) => {
    const set = await remote.get()
    try {
      return await set(header, token)
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSNoMatchingKey)) throw error
      const newer = await remote.getNewer()
      return newer(header, token)
    }
  }
  return { jose, keys: withOutage(jose, find), remote }
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
