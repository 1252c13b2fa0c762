// The parameters of a list that are no filters, declared once: what each of them does, for everything that reads, keeps or
// describes them.

import { METHOD_PARAMETER, SUPPRESS_PARAMETER } from '../http/method-override.ts'
import type { Operator } from '../store/filter.ts'

/**
 * `shows`: which parts of each item; `orders` them; `places`: where the page begins; `sizes` it; `bounds` the creation date or
 * the id, by its operator.
 */
export type ParameterEffect = 'shows' | 'orders' | 'places' | 'sizes' | 'bounds'

/** What a value is; `names` is a list of them in one string, separated by commas. */
export type ParameterValue = 'names' | 'text' | 'number' | 'time' | 'id'

interface ParameterTraits {
  readonly effect: ParameterEffect
  readonly value: ParameterValue
  readonly operator?: Operator
  /** What it does, for readers of OpenAPI. Of `include` that depends on the collection. */
  readonly description?: string
}

/** One line each, so that you can compare what they do. */
// biome-ignore format: a table
const PARAMETERS = {
  fields: { effect: 'shows', value: 'names', description: 'The properties to return, separated by commas. Default: all' },
  include: { effect: 'shows', value: 'names' },
  sort: { effect: 'orders', value: 'names', description: 'Fields separated by commas, a minus before one that descends' },
  offset: { effect: 'places', value: 'number', description: 'The position of the first item' },
  limit: { effect: 'sizes', value: 'number', description: 'The maximum number of items' },
  cursor: { effect: 'places', value: 'text', description: 'A place in the list, from a Link header' },
  since: { effect: 'bounds', value: 'time', operator: 'gte', description: 'The earliest creation date' },
  until: { effect: 'bounds', value: 'time', operator: 'lte', description: 'The latest creation date; a day to its end' },
  since_id: { effect: 'bounds', value: 'id', operator: 'gt', description: 'Only items after this id' },
  max_id: { effect: 'bounds', value: 'id', operator: 'lte', description: 'Only items up to this id' },
} as const satisfies Readonly<Record<string, ParameterTraits>>

export type ListParameterName = keyof typeof PARAMETERS

/** The names of the parameters that have one of these effects. */
export type ParameterName<Effect extends ParameterEffect> = {
  [Name in ListParameterName]: (typeof PARAMETERS)[Name]['effect'] extends Effect ? Name : never
}[ListParameterName]

/** A parameter with its name. */
export interface DeclaredParameter extends ParameterTraits {
  readonly name: string
}

const LISTED: readonly DeclaredParameter[] = Object.entries(PARAMETERS).map(([name, each]) => ({
  name,
  ...each,
}))

/** Selects the parameters that have one of these effects, in the order of the table. */
export function selectParameters(
  ...effects: readonly ParameterEffect[]
): readonly DeclaredParameter[] {
  return LISTED.filter(({ effect }) => effects.includes(effect))
}

/** Lists their names. */
export function listParameters(...effects: readonly ParameterEffect[]): ReadonlySet<string> {
  return new Set(selectParameters(...effects).map(({ name }) => name))
}

/** Parameters whose values are names in one text. */
export const NAMES: ReadonlySet<string> = new Set(
  LISTED.flatMap(({ name, value }) => (value === 'names' ? name : [])),
)

/** The bounds on the creation date and on the id; a day as `until` is meant to its end (UTC). */
export const BOUNDS: ReadonlyMap<string, Operator> = new Map(
  LISTED.flatMap(({ name, operator }) => (operator ? [[name, operator] as const] : [])),
)

/** Parameters that name a place in the list: links name their own. */
export const PLACES = listParameters('places')

/** Parameters that are not filters; `filter[name]=` reaches a field with such a name. */
export const RESERVED: ReadonlySet<string> = new Set([
  // Of `include` it depends on the collection.
  ...Object.keys(PARAMETERS).filter(name => name !== 'include'),
  ...[SUPPRESS_PARAMETER, METHOD_PARAMETER],
])
