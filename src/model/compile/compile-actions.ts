// The actions of a collection, checked and compiled.
import { assertValid, checkOptions, FUNCTION, rulesFor } from '../../options.ts'
import { RESERVED } from '../../query.ts'
import { checkObjectSchema, checkSchema } from '../../schema/accepted.ts'
import { buildChecker } from '../../schema/validate.ts'
import { fieldsOf, toZod } from '../../schema/zod-fields.ts'
import type { ActionRun, Declaration } from '../types/declaration.ts'
import type { ActionDefinition, CollectionDefinition } from '../types/definition.ts'
import { FILTER_OPERATIONS, OPERATIONS, type Operation } from '../types/operation.ts'
import type { Resource } from '../types/resource.ts'
import { ACTION_RULES } from './collection-rules.ts'
import { DOWNLOAD } from './routes.ts'

const OTHER_METHODS: Readonly<Record<Exclude<keyof Resource, Operation>, true>> = {
  search: true,
  change: true,
  upsert: true,
  upsertMany: true,
  actions: true,
}

/** The names of operations, and what every resource or object has: `cars.buy` is an action of the resource. */
const TAKEN_NAMES: ReadonlySet<string> = new Set([
  ...[...OPERATIONS, ...FILTER_OPERATIONS, DOWNLOAD, ...Object.keys(OTHER_METHODS), 'then'],
  ...Object.getOwnPropertyNames(Object.prototype),
])

/**
 * Compiles the actions of a collection.
 * @throws TypeError for a name that is taken, for an option that is not one, and for a schema that is refused.
 */
export function compileActions({
  name,
  actions = {},
  store,
}: Declaration): Map<string, ActionDefinition> {
  const found = new Map<string, ActionDefinition>()
  for (const [verb, action] of Object.entries(actions)) {
    assertValid(
      /^[A-Za-z][A-Za-z0-9_-]*$/.test(verb),
      `${name}: an action's name is a verb of letters, digits, _ and -, not ${JSON.stringify(verb)}`,
    )
    assertValid(
      !TAKEN_NAMES.has(verb),
      `${name}: an action may not be called "${verb}": every resource has that; take another verb`,
    )
    checkOptions(`${name}, the action ${verb}`, action, ACTION_RULES)
    const { on, description, run, transaction = false, method = 'POST' } = action
    const { cookies = false, crossSite = false } = action
    assertValid(
      !cookies || method !== 'GET',
      `${name}: the action ${verb} sets cookies, so its method cannot be GET. Use POST`,
    )
    assertValid(
      !crossSite || cookies,
      `${name}: the action ${verb} has crossSite: true without cookies: true. Leave it out, or add cookies: true`,
    )
    assertValid(
      !transaction || store.transaction,
      `${name}: the action ${verb} has transaction: true, but its store has no transactions`,
    )
    const givesItem = action.output === 'item'
    const output = action.output && action.output !== 'item' ? toZod(action.output) : undefined
    const input = action.input && toZod(action.input)
    if (input) checkObjectSchema(`${name}, the input of ${verb}`, input)
    if (output) checkSchema(`${name}, the output of ${verb}`, output)
    const inputFields = input && fieldsOf(input, 'input')
    const reserved = [...(inputFields?.keys() ?? [])].find(field => RESERVED.has(field))
    assertValid(
      method !== 'GET' || reserved === undefined,
      `${name}: the input of ${verb} may not have the property "${reserved}": in a query that name has another meaning. Rename the property, or use method: 'POST'`,
    )
    const outputFields = output?._zod.def.type === 'object' ? fieldsOf(output) : undefined
    const check = input && buildChecker(input)
    const both = { input, inputFields, check, output, outputFields, givesItem }
    const options = { description, transaction, cookies, crossSite, run }
    found.set(verb, { name: verb, on, method, ...both, ...options })
  }
  return found
}

/**
 * Completes the actions of a collection with the functions that `defineApi` has for them.
 * @throws TypeError for a function of an unknown action, and for an action with two functions or none.
 */
export function completeActions(
  { name, actions }: CollectionDefinition,
  runs: Readonly<Record<string, ActionRun | undefined>> = {},
): Map<string, ActionDefinition> {
  checkOptions(`defineApi: actions: ${name}`, runs, rulesFor([...actions.keys()], FUNCTION))
  const completed = new Map<string, ActionDefinition>()
  for (const [verb, action] of actions) {
    const run = runs[verb] ?? action.run
    assertValid(
      run,
      `${name}: the action ${verb} has no run. Give it here, or in defineApi({ actions: { ${name}: { ${verb}(context) { … } } } })`,
    )
    assertValid(
      !runs[verb] || !action.run,
      `defineApi: actions: ${name}.${verb} already has a run. Give it once.`,
    )
    completed.set(verb, { ...action, run })
  }
  return completed
}
