// The actions of a collection, checked and compiled.
import { checkOptions, FUNCTION, rulesFor } from '../options.ts'
import { RESERVED } from '../query.ts'
import { checkObjectSchema, checkSchema } from '../schema/accepted.ts'
import { buildChecker } from '../schema/validate.ts'
import { fieldsOf, toZod } from '../schema/zod-fields.ts'
import { ACTION_RULES } from './collection-rules.ts'
import {
  type ActionDefinition,
  type ActionRun,
  type CollectionDefinition,
  type Declaration,
  OPERATIONS,
} from './definition.ts'
import type { Resource } from './resource.ts'
import { DOWNLOAD, SEARCH } from './routes.ts'

const METHODS: Readonly<Record<keyof Resource, true>> = {
  list: true,
  search: true,
  count: true,
  read: true,
  create: true,
  replace: true,
  patch: true,
  change: true,
  delete: true,
  actions: true,
}

/** What every resource, or every object, has: `cars.buy` is an action of the resource. */
const RESOURCE_NAMES: ReadonlySet<string> = new Set([
  ...Object.keys(METHODS),
  ...Object.getOwnPropertyNames(Object.prototype),
  'then',
])

/**
 * Compiles the actions of a collection.
 * @throws TypeError for a name that is taken, for an option that is not one, and for a schema that is refused.
 */
export function compileActions({
  name,
  actions = {},
  search,
  store,
}: Declaration): Map<string, ActionDefinition> {
  // Rules, hooks and bodies go by the name of what is done: it is one thing's.
  const operations = new Set<string>([...OPERATIONS, DOWNLOAD, ...(search ? [SEARCH] : [])])
  const found = new Map<string, ActionDefinition>()
  for (const [verb, action] of Object.entries(actions)) {
    if (!/^[A-Za-z][A-Za-z0-9_-]*$/.test(verb)) {
      throw new TypeError(
        `${name}: an action's name is a verb of letters, digits, _ and -, not ${JSON.stringify(verb)}`,
      )
    }
    if (operations.has(verb) || RESOURCE_NAMES.has(verb)) {
      throw new TypeError(
        `${name}: an action may not be called "${verb}": every resource has that; take another verb`,
      )
    }
    checkOptions(`${name}, the action ${verb}`, action, ACTION_RULES)
    if (action.transaction && !store.transaction) {
      throw new TypeError(
        `${name}: the action ${verb} has transaction: true, but its store has no transactions`,
      )
    }
    const givesItem = action.output === 'item'
    const output = action.output && action.output !== 'item' ? toZod(action.output) : undefined
    const input = action.input && toZod(action.input)
    if (input) checkObjectSchema(`${name}, the input of ${verb}`, input)
    if (output) checkSchema(`${name}, the output of ${verb}`, output)
    const inputFields = input && fieldsOf(input, 'input')
    const method = action.method ?? 'POST'
    for (const field of method === 'GET' ? (inputFields?.keys() ?? []) : []) {
      if (RESERVED.has(field)) {
        throw new TypeError(
          `${name}: the input of ${verb} may not have the property "${field}": in a query that name has another meaning. Rename the property, or use method: 'POST'`,
        )
      }
    }
    found.set(verb, {
      name: verb,
      on: action.on,
      method,
      input,
      inputFields,
      check: input && buildChecker(input),
      output,
      outputFields: output?._zod.def.type === 'object' ? fieldsOf(output) : undefined,
      givesItem,
      description: action.description,
      transaction: action.transaction ?? false,
      run: action.run,
    })
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
    if (!run) {
      throw new TypeError(
        `${name}: the action ${verb} has no run. Give it here, or in defineApi({ actions: { ${name}: { ${verb}(context) { … } } } })`,
      )
    }
    if (runs[verb] && action.run)
      throw new TypeError(`defineApi: actions: ${name}.${verb} has a run of its own. Give it once.`)
    completed.set(verb, { ...action, run })
  }
  return completed
}
