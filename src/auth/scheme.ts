// Who asks and what they may do: credentials → principal (RFC 9110 §11), scopes, `WWW-Authenticate`.
import { AnyHttpError, type AnyIssue, HttpError, toHttpError } from '../errors.ts'
import type { HeaderList, HttpRequest } from '../http/message.ts'
import { checkOptions, HEADER_NAME, listOf } from '../options.ts'

/** Who makes a request. */
export interface Principal {
  readonly id: string
  /** What it may do; none where absent. */
  readonly scopes?: readonly string[] | undefined
  readonly [claim: string]: unknown
}

/** Parameters of a challenge besides its realm: RFC 6750 §3, RFC 9728 §5.1. */
export interface ChallengeParameters {
  /** `invalid_token`, `insufficient_scope`; absent where no credentials came. */
  readonly error?: string
  readonly error_description?: string
  /** The scopes that are needed, separated by spaces. */
  readonly scope?: string
  readonly resource_metadata?: string
}

/** How credentials are checked: `bearerJwt()`, `introspection()`, `basic()`, or one of your own. */
export interface Scheme {
  /** The name that stands in `Authorization`, such as `Bearer`. */
  readonly name: string
  /**
   * The request headers in which its credentials may stand: every answer varies by them (RFC 9110 §12.5.5),
   * so that no cache gives one client's to another. Default: `Authorization` and `Cookie`.
   */
  readonly headers?: readonly string[] | undefined
  /** The authorization server that issues its tokens, for `/.well-known/oauth-protected-resource`. */
  readonly issuer?: string
  /** Its `WWW-Authenticate`. A scheme without parameters of its own leaves them out. */
  challenge(parameters?: ChallengeParameters): string
  /** Whether it is offered to this request. Default: always. */
  offers?(request: HttpRequest): boolean
  /**
   * Checks the credentials; `undefined` where the request has none of this scheme.
   * @throws HttpError 401 for wrong ones, its `type` the error code of RFC 6750 §3.1; 503 where they
   * cannot be checked at the moment.
   */
  authenticate(request: HttpRequest): Promise<Principal | undefined>
}

const ANYWHERE = ['Authorization', 'Cookie']

const HEADERS = listOf(HEADER_NAME)

/**
 * Each header in which credentials of any of these schemes may stand, once.
 * @throws TypeError for what is no name of a header.
 */
export function collectCredentialHeaders(schemes: readonly Scheme[] = []): readonly string[] {
  for (const { name, headers } of schemes)
    checkOptions(`the scheme ${name}`, { headers }, { headers: HEADERS })
  return [...new Set(schemes.flatMap(({ headers = ANYWHERE }) => headers))]
}

/** Who may do something: everybody, or principals with all of these scopes; `[]` is any principal. */
export type AccessRule = 'public' | readonly string[]

/**
 * Rules by operation or action. `count` and `search` follow `list`, `download` follows `read` where they have none of their own;
 * `default` is for all that is not named. Without a rule any principal may.
 */
export type Access = Readonly<Record<string, AccessRule>>

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** @throws TypeError for an operation that does not exist, and for what is no scope (RFC 6749 §3.3). */
export function checkAccess(access: Access, operations: Iterable<string>, where: string): void {
  const known = new Set([...operations, 'default'])
  for (const [operation, rule] of Object.entries(access)) {
    if (!known.has(operation)) {
      const names = [...known].join(', ')
      throw new TypeError(`${where}: access names no operation: "${operation}"; there are ${names}`)
    }
    if (rule === 'public') continue
    if (
      !Array.isArray(rule) ||
      !rule.every(scope => typeof scope === 'string' && SCOPE.test(scope))
    ) {
      throw new TypeError(`${where}: access to ${operation} must be 'public' or a list of scopes`)
    }
  }
}

const KIN: ReadonlyMap<string, string> = new Map([
  ['count', 'list'],
  ['search', 'list'],
  ['download', 'read'],
])

/**
 * The rule of an operation.
 * @param otherwise what counts where neither it nor a default is given.
 */
export function findRule(
  access: Access,
  operation: string,
  otherwise: AccessRule = [],
): AccessRule {
  const own = (name: string) => (Object.hasOwn(access, name) ? access[name] : undefined)
  const kin = KIN.get(operation)
  return own(operation) ?? (kin === undefined ? undefined : own(kin)) ?? own('default') ?? otherwise
}

/** Whether a rule lets a principal pass. */
export function satisfies(rule: AccessRule, principal: Principal | undefined): boolean {
  if (rule === 'public') return true
  if (principal === undefined) return false
  const { scopes } = principal
  // A text, as who writes JavaScript may hand it on, has parts of scopes in it.
  return rule.every(scope => Array.isArray(scopes) && scopes.includes(scope))
}

/** A principal and the scheme that knows it. */
export interface Authenticated {
  readonly principal: Principal
  readonly scheme: Scheme
}

/**
 * Asks each scheme in turn; the first that knows the credentials counts.
 * @param metadata the address of the protected resource's metadata, for the challenge.
 * @returns `undefined` for a request without credentials.
 * @throws HttpError 401 for wrong ones, 403 for such as may not be sent this way, 503.
 */
export async function authenticate(
  schemes: readonly Scheme[],
  request: HttpRequest,
  metadata: () => string | undefined,
): Promise<Authenticated | undefined> {
  let refusal: { error: HttpError; scheme: Scheme } | undefined
  for (const scheme of schemes) {
    try {
      const principal = await scheme.authenticate(request)
      if (principal) return { principal, scheme }
    } catch (thrown) {
      const error = toHttpError(thrown)
      // What could not be checked counts more than what is wrong for another scheme.
      if (!refusal || error.status > refusal.error.status) refusal = { error, scheme }
    }
  }
  if (!refusal) return undefined
  const { error, scheme } = refusal
  if (error.status !== 401) throw error
  const [{ message, type = 'invalid_token' } = { message: '' }] = error.errors
  const told = { error: type, error_description: message }
  throw unauthorized(schemes, request, metadata(), error.errors, { scheme, told })
}

/** The refusal of a request without credentials, or with wrong ones: a challenge of each scheme. */
export function unauthorized(
  schemes: readonly Scheme[],
  request: HttpRequest,
  metadata: string | undefined,
  issues: HttpError['errors'] = [],
  wrong?: { scheme: Scheme; told: ChallengeParameters },
): HttpError {
  const common = metadata === undefined ? {} : { resource_metadata: metadata }
  const challenges = schemes
    .filter(scheme => scheme === wrong?.scheme || (scheme.offers?.(request) ?? true))
    .map(scheme =>
      scheme.challenge(scheme === wrong?.scheme ? { ...wrong.told, ...common } : common),
    )
  const headers: HeaderList = [...new Set(challenges)].flatMap(text => ['WWW-Authenticate', text])
  const missing: AnyIssue = { message: 'This needs authentication', type: 'unauthenticated' }
  return new AnyHttpError(401, issues.length > 0 ? issues : [missing], { headers })
}

/** The refusal of a principal that lacks a scope. */
export function insufficientScope(
  { scheme }: Authenticated,
  scopes: readonly string[],
  metadata: string | undefined,
): HttpError {
  const scope = scopes.join(' ')
  const message = `This needs the scope ${scope}`
  const challenge = scheme.challenge({
    error: 'insufficient_scope',
    error_description: message,
    scope,
    ...(metadata !== undefined && { resource_metadata: metadata }),
  })
  return new HttpError(403, [{ message, type: 'insufficient_scope' }], {
    headers: ['WWW-Authenticate', challenge],
  })
}

/** Prints a challenge (RFC 9110 §11.6.1): parameters as quoted strings, what has no value left out. */
export function printChallenge(
  name: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const printed = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}="${quotable(value)}"`],
  )
  return printed.length > 0 ? `${name} ${printed.join(', ')}` : name
}

/** What may stand in a quoted string of a challenge: RFC 6750 §3 allows no quotes and no backslashes. */
function quotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'")
}

/** The credentials of a scheme in `Authorization`; `undefined` where there are none of it. */
export function parseCredentials({ headers }: HttpRequest, name: string): string | undefined {
  const { authorization } = headers
  if (authorization === undefined) return undefined
  const space = authorization.indexOf(' ')
  const scheme = space === -1 ? authorization : authorization.slice(0, space)
  if (scheme.toLowerCase() !== name.toLowerCase()) return undefined
  return space === -1 ? '' : authorization.slice(space + 1).trim()
}

/** The schemes whose credentials a browser adds by itself, once it has them. */
const AMBIENT = /^(?:basic|digest|negotiate|ntlm)(?: |$)/i

/**
 * Whether a browser's request comes from a page of another origin and carries what browsers add by
 * themselves (cookies, credentials of Basic and its kind): such a one may be forged. Requests of other clients have
 * neither `Sec-Fetch-Site` nor `Origin`.
 * @param own the api's own origin.
 * @param allowed whether pages of an origin may write here.
 */
export function isCrossSite(
  { headers }: HttpRequest,
  own: string,
  allowed: (origin: string) => boolean,
): boolean {
  const ambient = headers.cookie !== undefined || AMBIENT.test(headers.authorization ?? '')
  if (!ambient) return false
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && allowed(origin)) return false
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin !== own
}
