// Hooks by operation, found once: each operation and action has its functions, or none.
import { checkOptions, either, FUNCTION, OBJECT, type Rules, rulesFor } from '../../options.ts'
import type { AfterHook, BeforeHook, CompiledHooks } from '../types/compiled-hooks.ts'
import type { CollectionDefinition } from '../types/definition.ts'
import type { Hooks } from '../types/hooks.ts'
import { OPERATIONS } from '../types/operation.ts'
import { DOWNLOAD, SEARCH } from './routes.ts'

const HOOK = either(
  'an object of functions by operation, or one function for every operation',
  FUNCTION,
  OBJECT,
)
const HOOK_RULES: Rules<Hooks> = { before: HOOK, after: HOOK, error: FUNCTION }

const BEFORE_RULES = rulesFor(OPERATIONS, FUNCTION)
const AFTER_RULES = rulesFor(['create', 'replace', 'patch', 'delete'], FUNCTION)

const NO_HOOKS: CompiledHooks = { before: new Map(), after: new Map(), error: undefined }

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
  hooks: Hooks | undefined,
  actions: Iterable<string>,
): CompiledHooks {
  if (!hooks) return NO_HOOKS
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

function byOperation<Hook>(hooks: object | undefined, names: readonly string[]): Map<string, Hook> {
  const found = new Map<string, Hook>()
  for (const name of hooks ? names : []) {
    const own: unknown =
      typeof hooks === 'function' ? hooks : Reflect.get(hooks ?? {}, FOLLOWERS.get(name) ?? name)
    // `checkOptions` has seen that it is a function; its types are those of its declaration.
    if (own !== undefined) found.set(name, own as Hook)
  }
  return found
}

/**
 * Compiles the hooks that `defineApi` has for a collection; without any the collection keeps its own.
 * @throws TypeError where the collection declares hooks too.
 */
export function replaceHooks(
  { name, hooks, actions }: CollectionDefinition,
  declared: Hooks | undefined,
): CompiledHooks {
  if (!declared) return hooks
  const where = `defineApi: hooks: ${name}`
  if (hooks !== NO_HOOKS)
    throw new TypeError(`${where}: the collection declares hooks too. Declare all in one place.`)
  return compileHooks(where, declared, actions.keys())
}
