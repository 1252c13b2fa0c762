// The parameters of a list that are no filters, declared once: what each of them does, for everything that reads, keeps or
// describes them.

import { METHOD_PARAMETER, SUPPRESS_PARAMETER } from '../http/method-override.ts'
import type { Operator } from '../store/filter.ts'

/**
 * `shows`: which parts of each item; `orders` them; `places`: where the page begins; `sizes` it; `bounds` the creation date or
 * the id, by its operator.
 */
type ParameterEffect = 'shows' | 'orders' | 'places' | 'sizes' | 'bounds'

interface ListParameter {
  readonly effect: ParameterEffect
  /** Whether its value is a list of names in one text, separated by commas. */
  readonly names?: true
  readonly operator?: Operator
}

const PARAMETERS = {
  fields: { effect: 'shows', names: true },
  include: { effect: 'shows', names: true },
  sort: { effect: 'orders', names: true },
  offset: { effect: 'places' },
  limit: { effect: 'sizes' },
  cursor: { effect: 'places' },
  since: { effect: 'bounds', operator: 'gte' },
  until: { effect: 'bounds', operator: 'lte' },
  since_id: { effect: 'bounds', operator: 'gt' },
  max_id: { effect: 'bounds', operator: 'lte' },
} as const satisfies Readonly<Record<string, ListParameter>>

export type ListParameterName = keyof typeof PARAMETERS

const ENTRIES: readonly (readonly [name: string, ListParameter])[] = Object.entries(PARAMETERS)

/** Lists the parameters that have one of these effects. */
export function listParameters(...effects: readonly ParameterEffect[]): ReadonlySet<string> {
  return new Set(ENTRIES.flatMap(([name, { effect }]) => (effects.includes(effect) ? name : [])))
}

/** Parameters whose values are names in one text. */
export const NAMES: ReadonlySet<string> = new Set(
  ENTRIES.flatMap(([name, { names }]) => (names ? name : [])),
)

/** The bounds on the creation date and on the id; a day as `until` is meant to its end (UTC). */
export const BOUNDS: ReadonlyMap<string, Operator> = new Map(
  ENTRIES.flatMap(([name, { operator }]) => (operator ? [[name, operator] as const] : [])),
)

/** Parameters that name a place in the list: links name their own. */
export const PLACES = listParameters('places')

/** Parameters that are not filters; `filter[name]=` reaches a field with such a name. */
export const RESERVED: ReadonlySet<string> = new Set([
  // Of `include` it depends on the collection.
  ...Object.keys(PARAMETERS).filter(name => name !== 'include'),
  ...[SUPPRESS_PARAMETER, METHOD_PARAMETER],
])
