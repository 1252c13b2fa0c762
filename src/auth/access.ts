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
 * where they have no rule; the `trash` follows `delete`. `patchMany` needs the rules of `list` and `patch`, and `deleteMany` those of `list` and
 * `delete`. `default` is for everything else. Without a rule any principal may.
 */
export type Access = Readonly<Record<string, AccessRule>>

const SCOPE = matching('a scope', /^[\x21\x23-\x5b\x5d-\x7e]+$/)
const ANY = listOf(SCOPE, 1)
/** What a rule must be. */
export const ACCESS_RULE = either(
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
  checkOptions(`${where}: access`, access, rulesFor([...operations, 'default'], ACCESS_RULE))
  return Object.freeze({ ...access })
}

/** The operation whose rule counts where another has none. */
const INHERITS_FROM: ReadonlyMap<string, string> = new Map([
  ['count', 'list'],
  ['search', 'list'],
  ['download', 'read'],
  // A principal that may delete may look at what is deleted.
  ['trash', 'delete'],
])

/** The operations whose rules an operation on all items that match a filter needs, besides one of its own. */
export const NEEDED_OPERATIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['patchMany', ['list', 'patch']],
  ['deleteMany', ['list', 'delete']],
  // Of one item: it is one of both, and the other rule does not count then.
  ['upsert', ['create', 'replace']],
])

/** An api, or a collection. */
interface Guarded {
  readonly access: Access
}

/** Finds the rules for an operation on a collection of an api, or for the root: all of them must hold. */
export function findAccessRules(
  api: Guarded,
  collection: Guarded | undefined,
  operation: string,
): readonly AccessRule[] {
  const needed = NEEDED_OPERATIONS.get(operation)
  if (!needed) return [findAccessRule(api, collection, operation)]
  const own = collection?.access[operation]
  return [...needed.map(name => findAccessRule(api, collection, name)), ...(own ? [own] : [])]
}

/** Finds the rule for an operation whose rules are one. */
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

/** On the way to few combinations there may be more. */
const MAX_VERDICTS = 4096

/**
 * Lists which of these rules one principal can satisfy together, each combination once. The first is that of a client
 * without a principal.
 * @returns `undefined` for more combinations than these.
 */
export function listVerdicts(
  rules: readonly AccessRule[],
  max = MAX_VERDICTS,
): readonly (readonly boolean[])[] | undefined {
  const scopes = new Set(rules.flatMap(rule => (rule === 'public' ? [] : listScopes(rule).flat())))
  // Before any scope is decided a rule that needs all of its scopes may hold, and one that needs any does not yet.
  let verdicts = [rules.map(rule => rule === 'public' || !('any' in rule))]
  for (const scope of scopes) {
    const having = verdicts.map(verdict =>
      verdict.map((holds, at) => holds || needsAny(rules[at], scope)),
    )
    const lacking = verdicts.map(verdict =>
      verdict.map((holds, at) => holds && !needsAll(rules[at], scope)),
    )
    verdicts = distinct([...having, ...lacking])
    if (verdicts.length > MAX_VERDICTS) return undefined
  }
  const all = distinct([rules.map(rule => rule === 'public'), ...verdicts])
  return all.length > max ? undefined : all
}

function needsAny(rule: AccessRule | undefined, scope: string): boolean {
  return typeof rule === 'object' && 'any' in rule && rule.any.includes(scope)
}

function needsAll(rule: AccessRule | undefined, scope: string): boolean {
  return typeof rule === 'object' && !('any' in rule) && rule.includes(scope)
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map(value => [String(value), value])).values()]
}

/** Lists the sets of scopes of which one is needed. */
export function listScopes(rule: AccessRule): readonly (readonly string[])[] {
  if (rule === 'public') return [[]]
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
