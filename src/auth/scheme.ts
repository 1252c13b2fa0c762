// Authentication: schemes turn credentials into principals (RFC 9110 §11).
import type { Awaitable } from '../base/values.ts'
import { AnyHttpError, type AnyIssue, type HttpError, toHttpError } from '../errors.ts'
import type { HeaderList, HttpRequest } from '../http/message.ts'
import { checkOptions, HEADER_NAME, listOf } from '../options.ts'

/** What every principal has. */
export interface BasePrincipal {
  readonly id: string
  /** Its scopes. Default none. */
  readonly scopes?: readonly string[] | undefined
}

/** A principal whose claims have no known types. */
export interface AnyPrincipal extends BasePrincipal {
  readonly [claim: string]: unknown
}

/** The authenticated party that makes a request: `Principal<{ tenant: string }>` with claims of known types. */
export type Principal<Claims extends object = never> = [Claims] extends [never]
  ? AnyPrincipal
  : { readonly [K in keyof BasePrincipal]: BasePrincipal[K] } & Readonly<Claims>

/** The parameters of a challenge besides its realm (RFC 6750 §3, RFC 9728 §5.1). */
export interface ChallengeParameters {
  /** `invalid_token`, `insufficient_scope`; absent for a request without credentials. */
  readonly error?: string
  readonly error_description?: string
  /** The scopes that are needed, separated by spaces. */
  readonly scope?: string
  readonly resource_metadata?: string
}

/** Checks credentials: `bearerJwt()`, `introspection()`, `basic()`, or a custom one. Principals of type `P` come from it. */
export interface Scheme<P extends BasePrincipal = Principal> {
  /** Its name in `Authorization`, such as `Bearer`. */
  readonly name: string
  /**
   * The request headers that may hold its credentials. Every response varies by them (RFC 9110 §12.5.5),
   * so that no cache gives one client's to another. Default: `Authorization` and `Cookie`.
   */
  readonly headers?: readonly string[] | undefined
  /** The authorization server that issues its tokens, for `/.well-known/oauth-protected-resource`. */
  readonly issuer?: string
  /** Whether it checks that tokens are for this api's `baseUrl`: `defineApi` then needs one. Default false. */
  readonly needsBaseUrl?: boolean
  /** Loads what it needs, called by `api.open()`. Default: nothing. @throws Error for what is missing. */
  open?(): Promise<unknown>
  /** Prints its `WWW-Authenticate`. A scheme may leave the parameters out. */
  challenge(parameters?: ChallengeParameters): string
  /** Whether this request gets its challenge. Default: always. */
  offers?(request: HttpRequest): boolean
  /**
   * Checks the credentials; returns `undefined` where the request has none of this scheme.
   * @throws HttpError 401 for wrong ones, its `type` the error code of RFC 6750 §3.1; 503 where they
   * cannot be checked at the moment.
   * @param baseUrl the configured address of the api, without a slash at its end.
   */
  authenticate(request: HttpRequest, baseUrl?: string): Promise<P | undefined>
  /**
   * Finds the principal of credentials that it has checked before, synchronously; `undefined` if it must check them. Default: it
   * always must.
   */
  find?(request: HttpRequest, baseUrl?: string): P | undefined
}

const ANYWHERE = ['Authorization', 'Cookie']

const HEADERS = listOf(HEADER_NAME)

/**
 * Collects the headers that may hold credentials of these schemes, each once.
 * @throws TypeError for an invalid header name.
 */
export function collectCredentialHeaders(schemes: readonly Scheme[] = []): readonly string[] {
  for (const { name, headers } of schemes)
    checkOptions(`the scheme ${name}`, { headers }, { headers: HEADERS })
  return [...new Set(schemes.flatMap(({ headers = ANYWHERE }) => headers))]
}

/** A principal and the scheme that authenticated it. */
export interface Authenticated {
  readonly principal: Principal
  readonly scheme: Scheme
}

/**
 * Authenticates a request by the first scheme that accepts its credentials.
 * @param baseUrl the configured address of the api.
 * @param metadata the address of the protected resource's metadata, for the challenge.
 * @returns `undefined` for a request without credentials.
 * @throws HttpError 401 for wrong ones, 403 for credentials sent in clear text, 503.
 */
export function authenticate(
  schemes: readonly Scheme[],
  request: HttpRequest,
  baseUrl: string | undefined,
  metadata: () => string | undefined,
): Awaitable<Authenticated | undefined> {
  // A later scheme finds a principal only if all earlier schemes rejected the credentials.
  const [scheme] = schemes
  const principal = scheme?.find?.(request, baseUrl)
  if (scheme && principal) return { principal, scheme }
  return tryEach(schemes, request, baseUrl, metadata)
}

async function tryEach(
  ...[schemes, request, baseUrl, metadata]: Parameters<typeof authenticate>
): Promise<Authenticated | undefined> {
  let failure: FailedScheme | undefined
  for (const scheme of schemes) {
    try {
      const principal = await scheme.authenticate(request, baseUrl)
      if (principal) return { principal, scheme }
    } catch (thrown) {
      const error = toHttpError(thrown)
      // A 503 of one scheme says more than a 401 of another.
      if (!failure || error.status > failure.error.status) failure = { error, scheme }
    }
  }
  if (!failure) return undefined
  if (failure.error.status !== 401) throw failure.error
  throw unauthorized(schemes, request, metadata(), failure)
}

/** A scheme whose credentials are wrong. */
interface FailedScheme {
  readonly scheme: Scheme
  readonly error: HttpError
}

/** Builds the 401 for missing or wrong credentials, with a challenge of each scheme. */
export function unauthorized(
  schemes: readonly Scheme[],
  request: HttpRequest,
  metadata: string | undefined,
  failed?: FailedScheme,
): HttpError {
  const { errors = [] } = failed?.error ?? {}
  const [{ message, type = 'invalid_token' } = { message: '' }] = errors
  const common = metadata === undefined ? {} : { resource_metadata: metadata }
  const wrong: ChallengeParameters = { error: type, error_description: message, ...common }
  const challenges = schemes
    .filter(scheme => scheme === failed?.scheme || (scheme.offers?.(request) ?? true))
    .map(scheme => scheme.challenge(scheme === failed?.scheme ? wrong : common))
  const headers: HeaderList = [...new Set(challenges)].flatMap(text => ['WWW-Authenticate', text])
  const missing: AnyIssue = {
    message: 'This needs authentication. WWW-Authenticate says how to send your credentials.',
    type: 'unauthenticated',
  }
  return new AnyHttpError(401, errors.length > 0 ? errors : [missing], { headers })
}
