// Authentication: credentials → principal (RFC 9110 §11), access rules, `WWW-Authenticate`, and CSRF.
import { AnyHttpError, type AnyIssue, HttpError, toHttpError } from '../errors.ts'
import type { HeaderList, HttpRequest } from '../http/message.ts'
import { checkOptions, HEADER_NAME, listOf } from '../options.ts'

/** The authenticated party that makes a request. */
export interface Principal {
  readonly id: string
  /** What it may do. Default: nothing that needs a scope. */
  readonly scopes?: readonly string[] | undefined
  readonly [claim: string]: unknown
}

/** The parameters of a challenge besides its realm (RFC 6750 §3, RFC 9728 §5.1). */
export interface ChallengeParameters {
  /** `invalid_token`, `insufficient_scope`; absent for a request without credentials. */
  readonly error?: string
  readonly error_description?: string
  /** The scopes that are needed, separated by spaces. */
  readonly scope?: string
  readonly resource_metadata?: string
}

/** Checks credentials: `bearerJwt()`, `introspection()`, `basic()`, or a custom one. */
export interface Scheme {
  /** Its name in `Authorization`, such as `Bearer`. */
  readonly name: string
  /**
   * The request headers that may hold its credentials. Every response varies by them (RFC 9110 §12.5.5),
   * so that no cache gives one client's to another. Default: `Authorization` and `Cookie`.
   */
  readonly headers?: readonly string[] | undefined
  /** The authorization server that issues its tokens, for `/.well-known/oauth-protected-resource`. */
  readonly issuer?: string
  /** Prints its `WWW-Authenticate`. A scheme may leave the parameters out. */
  challenge(parameters?: ChallengeParameters): string
  /** Whether this request gets its challenge. Default: always. */
  offers?(request: HttpRequest): boolean
  /**
   * Checks the credentials; returns `undefined` where the request has none of this scheme.
   * @throws HttpError 401 for wrong ones, its `type` the error code of RFC 6750 §3.1; 503 where they
   * cannot be checked at the moment.
   */
  authenticate(request: HttpRequest): Promise<Principal | undefined>
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

/** Who may do something: everyone, or principals with all of these scopes; `[]` is any principal. */
export type AccessRule = 'public' | readonly string[]

/**
 * Access rules by operation or action. `count` and `search` follow `list`, and `download` follows `read`,
 * where they have no rule. `default` is for everything else. Without a rule any principal may.
 */
export type Access = Readonly<Record<string, AccessRule>>

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** @throws TypeError for an unknown operation, and for an invalid scope (RFC 6749 §3.3). */
export function checkAccess(access: Access, operations: Iterable<string>, where: string): void {
  const known = new Set([...operations, 'default'])
  for (const [operation, rule] of Object.entries(access)) {
    if (!known.has(operation)) {
      const names = [...known].join(', ')
      throw new TypeError(
        `${where}: access has an unknown operation "${operation}". Known: ${names}`,
      )
    }
    if (rule === 'public') continue
    if (
      !Array.isArray(rule) ||
      !rule.every(scope => typeof scope === 'string' && SCOPE.test(scope))
    ) {
      throw new TypeError(`${where}: access to ${operation} must be 'public' or an array of scopes`)
    }
  }
}

/** The operation whose rule counts where another has none. */
const INHERITS_FROM: ReadonlyMap<string, string> = new Map([
  ['count', 'list'],
  ['search', 'list'],
  ['download', 'read'],
])

/**
 * Finds the rule of an operation.
 * @param otherwise the rule where neither the operation nor a default has one.
 */
export function findRule(
  access: Access,
  operation: string,
  otherwise: AccessRule = [],
): AccessRule {
  const own = (name: string) => (Object.hasOwn(access, name) ? access[name] : undefined)
  const parent = INHERITS_FROM.get(operation)
  const inherited = parent === undefined ? undefined : own(parent)
  return own(operation) ?? inherited ?? own('default') ?? otherwise
}

/** Whether a principal satisfies a rule. */
export function satisfies(rule: AccessRule, principal: Principal | undefined): boolean {
  if (rule === 'public') return true
  if (principal === undefined) return false
  const { scopes } = principal
  // In JavaScript scopes may be one string, which would include parts of scopes.
  return rule.every(scope => Array.isArray(scopes) && scopes.includes(scope))
}

/** A principal and the scheme that authenticated it. */
export interface Authenticated {
  readonly principal: Principal
  readonly scheme: Scheme
}

/**
 * Authenticates a request by the first scheme that accepts its credentials.
 * @param metadata the address of the protected resource's metadata, for the challenge.
 * @returns `undefined` for a request without credentials.
 * @throws HttpError 401 for wrong ones, 403 for credentials sent in clear text, 503.
 */
export async function authenticate(
  schemes: readonly Scheme[],
  request: HttpRequest,
  metadata: () => string | undefined,
): Promise<Authenticated | undefined> {
  let failure: { error: HttpError; scheme: Scheme } | undefined
  for (const scheme of schemes) {
    try {
      const principal = await scheme.authenticate(request)
      if (principal) return { principal, scheme }
    } catch (thrown) {
      const error = toHttpError(thrown)
      // A 503 of one scheme says more than a 401 of another.
      if (!failure || error.status > failure.error.status) failure = { error, scheme }
    }
  }
  if (!failure) return undefined
  const { error, scheme } = failure
  if (error.status !== 401) throw error
  const [{ message, type = 'invalid_token' } = { message: '' }] = error.errors
  const parameters = { error: type, error_description: message }
  throw unauthorized(schemes, request, metadata(), error.errors, { scheme, parameters })
}

/** Builds the 401 for missing or wrong credentials, with a challenge of each scheme. */
export function unauthorized(
  schemes: readonly Scheme[],
  request: HttpRequest,
  metadata: string | undefined,
  issues: HttpError['errors'] = [],
  wrong?: { scheme: Scheme; parameters: ChallengeParameters },
): HttpError {
  const common = metadata === undefined ? {} : { resource_metadata: metadata }
  const challenges = schemes
    .filter(scheme => scheme === wrong?.scheme || (scheme.offers?.(request) ?? true))
    .map(scheme =>
      scheme.challenge(scheme === wrong?.scheme ? { ...wrong.parameters, ...common } : common),
    )
  const headers: HeaderList = [...new Set(challenges)].flatMap(text => ['WWW-Authenticate', text])
  const missing: AnyIssue = { message: 'This needs authentication', type: 'unauthenticated' }
  return new AnyHttpError(401, issues.length > 0 ? issues : [missing], { headers })
}

/** Builds the 403 for a principal that lacks a scope. */
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

/** Prints a challenge (RFC 9110 §11.6.1), parameters as quoted strings; those without a value are left out. */
export function printChallenge(
  name: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const printed = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}="${toQuotable(value)}"`],
  )
  return printed.length > 0 ? `${name} ${printed.join(', ')}` : name
}

/** Replaces the characters that RFC 6750 §3 does not allow in a challenge, such as quotes. */
function toQuotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'")
}

/** Parses the credentials of a scheme in `Authorization`; `undefined` without any of it. */
export function parseCredentials({ headers }: HttpRequest, name: string): string | undefined {
  const { authorization } = headers
  if (authorization === undefined) return undefined
  const space = authorization.indexOf(' ')
  const scheme = space === -1 ? authorization : authorization.slice(0, space)
  if (scheme.toLowerCase() !== name.toLowerCase()) return undefined
  return space === -1 ? '' : authorization.slice(space + 1).trim()
}

/** The schemes whose credentials a browser sends by itself, once it has them. */
const AMBIENT = /^(?:basic|digest|negotiate|ntlm)(?: |$)/i

/**
 * Whether a request is a cross-site request with ambient credentials (CSRF): a page of another origin
 * made the browser send cookies or passwords that it adds by itself. Other clients send neither
 * `Sec-Fetch-Site` nor `Origin`.
 * @param own the origin of the api.
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
