// Hooks by operation, found once: each operation and action has its functions, or none.
import { checkOptions, FUNCTION, OBJECT, type Rule, type Rules } from '../options.ts'
import { OPERATIONS } from './definition.ts'
import type { After, Before, Hooks, OperationEvent } from './hooks.ts'
import { DOWNLOAD, SEARCH } from './routes.ts'

export type BeforeHook = (event: OperationEvent) => unknown
export type AfterHook = (event: OperationEvent, result: unknown) => unknown

/** The hooks of a collection by operation and action. */
export interface CompiledHooks {
  readonly before: ReadonlyMap<string, BeforeHook>
  readonly after: ReadonlyMap<string, AfterHook>
  readonly error: Hooks['error']
}

const EITHER: Rule = {
  wanted: 'an object of functions by operation, or one function for every operation',
  fits: value => FUNCTION.fits(value) || OBJECT.fits(value),
}
const HOOK_RULES: Rules<Hooks> = { before: EITHER, after: EITHER, error: FUNCTION }

const BEFORE_RULES: Rules<Before> = {
  list: FUNCTION,
  count: FUNCTION,
  read: FUNCTION,
  create: FUNCTION,
  replace: FUNCTION,
  patch: FUNCTION,
  delete: FUNCTION,
}
const AFTER_RULES: Rules<After> = {
  create: FUNCTION,
  replace: FUNCTION,
  patch: FUNCTION,
  delete: FUNCTION,
}

/** The operations that run the hooks of another. */
const FOLLOWERS: ReadonlyMap<string, string> = new Map([
  [SEARCH, 'list'],
  [DOWNLOAD, 'read'],
])

/**
 * Compiles the hooks of a collection.
 * @param where the start of each message.
 * @param actions the names of its actions: a hook for every operation runs for them too.
 * @throws TypeError for an unknown operation, and for anything but a function.
 */
export function compileHooks(
  where: string,
  hooks: Hooks = {},
  actions: Iterable<string>,
): CompiledHooks {
  checkOptions(where, hooks, HOOK_RULES)
  const { before, after, error } = hooks
  if (typeof before === 'object') checkOptions(`${where}.before`, before, BEFORE_RULES)
  if (typeof after === 'object') checkOptions(`${where}.after`, after, AFTER_RULES)
  const names = [...OPERATIONS, SEARCH, DOWNLOAD, ...actions]
  return Object.freeze({
    before: byOperation<BeforeHook>(before, names),
    after: byOperation<AfterHook>(after, names),
    error,
  })
}

function byOperation<Hook>(given: object | undefined, names: readonly string[]): Map<string, Hook> {
  const found = new Map<string, Hook>()
  for (const name of given ? names : []) {
    const own: unknown =
      typeof given === 'function' ? given : Reflect.get(given ?? {}, FOLLOWERS.get(name) ?? name)
    // `checkOptions` has seen that it is a function; its types are those of its declaration.
    if (own !== undefined) found.set(name, own as Hook)
  }
  return found
}

/**
 * Adds hooks that `defineApi` gives to those of a declaration.
 * @throws TypeError where both have a hook for an operation.
 */
export function mergeHooks(where: string, own: CompiledHooks, more: CompiledHooks): CompiledHooks {
  for (const when of ['before', 'after'] as const) {
    const twice = [...more[when].keys()].find(name => own[when].has(name))
    if (twice === undefined) continue
    throw new TypeError(
      `${where}: the collection has a hook ${when} ${twice} of its own. Give it once.`,
    )
  }
  if (own.error && more.error)
    throw new TypeError(`${where}: the collection has a hook error of its own. Give it once.`)
  return Object.freeze({
    before: new Map([...own.before, ...more.before]),
    after: new Map([...own.after, ...more.after]),
    error: own.error ?? more.error,
  })
}
