// Hooks by operation, found once: each operation and action has its functions, or none.
import * as rule from '../../options.ts'
import { assertValid, checkOptions, type Rule, type Rules } from '../../options.ts'
import type { Store } from '../../store/store.ts'
import type { AfterHook, BeforeHook, CompiledHooks } from '../types/compiled-hooks.ts'
import type { CollectionDefinition } from '../types/definition.ts'
import type { Hooks } from '../types/hooks.ts'
import { OPERATIONS } from '../types/operation.ts'
import { RESTORE } from './compile-trash.ts'
import { DOWNLOAD, SEARCH } from './routes.ts'

const HOOK = rule.either(
  'an object of functions by operation, one function for every operation, or a list of these two: [function, object]',
  rule.FUNCTION,
  rule.OBJECT,
  rule.listOf(rule.either('one of them', rule.FUNCTION, rule.OBJECT)),
)
const HOOK_RULES: Rules<Hooks> = {
  before: HOOK,
  after: HOOK,
  error: rule.FUNCTION,
  transaction: rule.BOOLEAN,
}

const BEFORE_RULES = rule.rulesFor(OPERATIONS, rule.FUNCTION)
const AFTER_RULES = rule.rulesFor(['create', 'replace', 'patch', 'delete'], rule.FUNCTION)

const NO_HOOKS: CompiledHooks = {
  before: new Map(),
  after: new Map(),
  error: [],
  transaction: false,
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
 * @throws TypeError for an unknown operation, for anything but a function, and for a transaction that its store
 * does not have.
 */
export function compileHooks(
  where: string,
  hooks: Hooks | undefined,
  actions: Iterable<string>,
  { transaction: transact }: Pick<Store, 'transaction'>,
): CompiledHooks {
  if (!hooks) return NO_HOOKS
  const names = [...OPERATIONS, SEARCH, DOWNLOAD, ...actions]
  const bare = Object.keys(hooks).find(
    name => !Object.hasOwn(HOOK_RULES, name) && names.includes(name),
  )
  assertValid(
    bare === undefined,
    `${where}: "${bare}" is an operation. Say when its hook runs, such as { before: { ${bare}: … } }`,
  )
  checkOptions(where, hooks, HOOK_RULES)
  const { before, after, error, transaction = false } = hooks
  assertValid(
    !transaction || transact,
    `${where}: transaction: true needs a store with transactions, such as sqlStore() or memoryStore()`,
  )
  const own = rule.rulesFor(names.includes(RESTORE) ? [RESTORE] : [], rule.FUNCTION)
  return Object.freeze({
    before: byOperation<BeforeHook>(`${where}.before`, before, { ...BEFORE_RULES, ...own }, names),
    after: byOperation<AfterHook>(`${where}.after`, after, { ...AFTER_RULES, ...own }, names),
    error: error ? [error] : [],
    transaction,
  })
}

function byOperation<Hook>(
  where: string,
  hooks: object | undefined,
  rules: Readonly<Record<string, Rule>>,
  names: readonly string[],
): Map<string, readonly Hook[]> {
  const given: readonly object[] = Array.isArray(hooks) ? hooks : hooks ? [hooks] : []
  for (const each of given) if (typeof each !== 'function') checkOptions(where, each, rules)
  const found = new Map<string, readonly Hook[]>()
  for (const name of names) {
    const own: unknown[] = given.flatMap(each =>
      isTable(each) ? (Reflect.get(each, FOLLOWERS.get(name) ?? name) ?? []) : each,
    )
    // `checkOptions` has seen that they are functions; their types are those of their declaration.
    if (own.length > 0) found.set(name, own as Hook[])
  }
  return found
}

/** Whether hooks are given by operation. */
function isTable(hooks: object): boolean {
  return typeof hooks !== 'function'
}

/**
 * Adds the hooks that `defineApi` has for a collection: they run before its own.
 * @throws TypeError as {@link compileHooks} does.
 */
export function addHooks(
  { name, hooks: own, actions, store, trash }: CollectionDefinition,
  declared: Hooks | undefined,
): CompiledHooks {
  if (!declared) return own
  const names = [...actions.keys(), ...(trash ? [RESTORE] : [])]
  const first = compileHooks(`defineApi: hooks: ${name}`, declared, names, store)
  return Object.freeze({
    before: join(first.before, own.before),
    after: join(first.after, own.after),
    error: [...first.error, ...own.error],
    transaction: first.transaction || own.transaction,
  })
}

function join<Hook>(
  first: ReadonlyMap<string, readonly Hook[]>,
  then: ReadonlyMap<string, readonly Hook[]>,
): ReadonlyMap<string, readonly Hook[]> {
  const names = new Set([...first.keys(), ...then.keys()])
  return new Map(
    [...names].map(name => [name, [...(first.get(name) ?? []), ...(then.get(name) ?? [])]]),
  )
}
