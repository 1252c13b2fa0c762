// What queries know of the collections around one: which items belong to an item, and under which names.

import { type Issue, listNames, nearest, quote } from '../errors.ts'
import { type Fields, listPaths } from '../schema/fields.ts'

/** A collection as a query sees it. */
export interface QueryScope {
  readonly name: string
  readonly itemName: string
  /** The fields that filters name. */
  readonly fields: Fields
  /** The fields of an answer, and those that `fields` may name. */
  readonly readable: Fields
  readonly selectable: Fields
  readonly maxLimit: number
  readonly relations: ReadonlyMap<string, Relation>
  /** The names by which its items are counted; absent if that is not known. */
  readonly groups?: readonly string[]
  /** Whether it has a search. */
  readonly searches?: boolean
}

/** Items that belong to an item, by the name under which they are included and filtered by. */
export interface Relation {
  readonly name: string
  /** Whether an item has a list of them. */
  readonly many: boolean
  /** The field of an item that has the same value as `to` of those that belong to it. */
  readonly from: string
  readonly to: string
  /** Their collection. */
  readonly scope: QueryScope
  /** Why no filter reaches through, for a message; absent where filters do. */
  readonly unfilterable: string | undefined
}

/** How many relations may follow each other. */
const MAX_LEVELS = 3

/** One step after another from a collection. */
export interface Followed {
  readonly steps: readonly Relation[]
  /** The name that is left: of a field, of something unknown, or empty. */
  readonly rest: string
  /** The collection that it is a name in. */
  readonly scope: QueryScope
}

/** Follows the relations that a dotted name begins with: `model.maker.name` leads to the makers, and leaves `name`. */
export function followRelations(dotted: string, scope: QueryScope): Followed {
  const steps: Relation[] = []
  let at = scope
  let rest = dotted
  while (rest !== '') {
    const [name = ''] = rest.split('.', 1)
    const relation = at.fields.has(name) ? undefined : at.relations.get(name)
    if (!relation) break
    steps.push(relation)
    at = relation.scope
    rest = rest.slice(name.length + 1)
  }
  return { steps, rest, scope: at }
}

/** Why relations may not follow each other; `undefined` where they may. */
export function invalidStepsReason(steps: readonly Relation[]): string | undefined {
  const names = steps.map(({ name }) => name).join('.')
  if (steps.length > MAX_LEVELS) return `${names} has ${steps.length} levels; at most 3 are allowed`
  const back = steps.findIndex((step, at) => leadsBack(steps[at - 1], step))
  const [there, again] = [steps[back - 1], steps[back]]
  if (!there || !again) return undefined
  return `${names} leads back: the ${again.name} of ${there.name} is the ${again.scope.itemName} itself. Leave it out`
}

/** Whether a step to one undoes the step to many before it: the car of the options of a car is that car. */
function leadsBack(before: Relation | undefined, step: Relation): boolean {
  return before?.many === true && !step.many && step.from === before.to && step.to === before.from
}

/** Creates the issue of a name that is neither a field nor a relation of the collection that a path leads to. */
export function unknownRelated({ steps, rest, scope }: Followed, field: string): Issue {
  const prefix = steps.map(({ name }) => `${name}.`).join('')
  const names = [...listPaths(scope.fields), ...scope.relations.keys()]
  const near = nearest(rest, names)
  const hint = near === undefined ? listNames(names) : `: did you mean ${prefix}${near}?`
  const message = `Unknown field ${quote(prefix + rest)}${hint}`
  return { message, field, type: 'unknown_field' }
}
