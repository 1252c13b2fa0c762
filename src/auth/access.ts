// Access rules: which scopes a principal needs for an operation.

import { HttpError } from '../errors.ts'
import { checkOptions, either, listOf, matching, oneOf, rulesFor } from '../options.ts'
import type { Authenticated, Principal } from './scheme.ts'

/**
 * Who may do something: everyone, principals with all of these scopes (`[]` is any principal), or with one of them:
 * `{ any: ['staff', 'customer'] }`.
 */
export type AccessRule = 'public' | readonly string[] | { readonly any: readonly string[] }

/**
 * Access rules by operation or action. `count` and `search` follow `list`, and `download` follows `read`,
 * where they have no rule. `default` is for everything else. Without a rule any principal may.
 */
export type Access = Readonly<Record<string, AccessRule>>

const SCOPE = matching('a scope', /^[\x21\x23-\x5b\x5d-\x7e]+$/)
const ANY = listOf(SCOPE, 1)
const RULE = either(
  "'public', an array of scopes, or { any: scopes }",
  oneOf('public'),
  listOf(SCOPE),
  {
    wanted: '',
    fits: value => Object.keys(Object(value)).join() === 'any' && ANY.fits(Object(value).any),
  },
)

/**
 * Checks access rules and freezes them.
 * @throws TypeError for an unknown operation, and for an invalid scope (RFC 6749 §3.3).
 */
export function buildAccess(
  access: Access = {},
  operations: readonly string[],
  where: string,
): Access {
  checkOptions(`${where}: access`, access, rulesFor([...operations, 'default'], RULE))
  return Object.freeze({ ...access })
}

/** The operation whose rule counts where another has none. */
const INHERITS_FROM: ReadonlyMap<string, string> = new Map([
  ['count', 'list'],
  ['search', 'list'],
  ['download', 'read'],
])

/** An api, or a collection. */
interface Guarded {
  readonly access: Access
}

/** Finds the rule for an operation on a collection of an api, or for the root. */
export function findAccessRule(
  { access }: Guarded,
  collection: Guarded | undefined,
  operation: string,
): AccessRule {
  if (!collection) return findRule(access, 'root', [])
  return findRule(collection.access, operation, findRule(access, 'default', []))
}

/** @param otherwise the rule where neither the operation nor a default has one. */
function findRule(access: Access, operation: string, otherwise: AccessRule): AccessRule {
  const own = (name: string) => (Object.hasOwn(access, name) ? access[name] : undefined)
  const inherited = own(INHERITS_FROM.get(operation) ?? operation)
  return own(operation) ?? inherited ?? own('default') ?? otherwise
}

/** Whether a principal satisfies a rule. */
export function satisfies(rule: AccessRule, principal: Principal | undefined): boolean {
  if (rule === 'public') return true
  if (principal === undefined) return false
  const { scopes } = principal
  // In JavaScript scopes may be one string, which would include parts of scopes.
  const has = (scope: string) => Array.isArray(scopes) && scopes.includes(scope)
  return 'any' in rule ? rule.any.some(has) : rule.every(has)
}

/** Lists the sets of scopes of which one is needed. */
export function listScopes(rule: Exclude<AccessRule, 'public'>): readonly (readonly string[])[] {
  return 'any' in rule ? rule.any.map(scope => [scope]) : [rule]
}

/**
 * Builds the 403 for a principal that lacks a scope.
 * @param rule says what is needed: scopes, or one of several.
 */
export function insufficientScope(
  { scheme }: Authenticated,
  rule: Exclude<AccessRule, 'public'>,
  metadata: string | undefined,
): HttpError {
  // The challenge names one set that is enough.
  const sets = listScopes(rule)
  const [first = []] = sets
  const scope = first.join(' ')
  const message = `This needs the scope ${sets.map(scopes => scopes.join(' ')).join(' or ')}`
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
