// Filters as plain values: a tree of conditions. The contract of a store takes them; `matcher` says what they mean.

import type { Path } from '../base/paths.ts'
import type { TextBudget } from '../base/text-budget.ts'
import type { Awaitable, Item, Scalar } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'

/**
 * `in` and `nin`: one of, none of the values. `gt` `gte` `lt` `lte`: against the one value. `like`: a
 * pattern (`%` or `*` any run, `_` any one character, `\` takes the next literally). `prefix`: starts
 * with. `exists`: whether it has a value other than null. An absent or null value answers only `exists`.
 */
export type Operator = 'in' | 'nin' | 'gt' | 'gte' | 'lt' | 'lte' | 'like' | 'prefix' | 'exists'

/** A condition, or several of them combined. Every filter holds for an item or does not: there is no third answer. */
export type Filter = FilterLeaf | FilterGroup | NotFilter

/** One condition: a field, an operator and values. On an absent or null value it does not hold, but for `exists`. */
export type FilterLeaf = ValueFilter | WithinFilter

export interface ValueFilter {
  readonly path: Path
  readonly operator: Operator
  readonly values: readonly Scalar[]
}

/** Lets through items whose value is the id, or another value, of an item in another selection. */
export interface WithinFilter {
  readonly path: Path
  readonly operator: 'within'
  readonly values: readonly never[]
  readonly within: Within
}

/** Holds where all of its filters hold, or any of them: `all` of none holds, `any` of none does not. */
export interface FilterGroup {
  readonly operator: 'all' | 'any'
  readonly filters: readonly Filter[]
}

/** Holds where its filter does not: `not` of `color` in `red` finds items without a color too. */
export interface NotFilter {
  readonly operator: 'not'
  readonly filter: Filter
}

/** Items of a store of the same database, by their filters: see `Store.database`. */
export interface Within {
  /** The names of the version and the collection: they stand for the store where filters are compared as text. */
  readonly name: string
  readonly store: FilteredStore
  readonly fields: Fields
  readonly identity: NamedId
  readonly where: readonly Filter[]
  /** The path of their value. Default: their id. */
  readonly key?: Path | undefined
}

/** The property that is the id of items, and those that it is made of. */
export interface NamedId {
  readonly name: string
  readonly parts?: readonly string[] | undefined
}

/** A store, as far as a filter reaches into it. */
export interface FilteredStore {
  readonly database?: object | undefined
  find(
    ids: readonly (string | number)[],
    options?: FilteredOptions,
  ): Awaitable<readonly (FilteredItem | undefined)[]>
  list(
    selection: {
      readonly where: readonly Filter[]
      readonly sort: readonly { readonly path: Path; readonly descending: boolean }[]
    },
    slice: { readonly limit: number; readonly offset: number },
    totalMode: 'none',
    options?: FilteredOptions,
  ): Awaitable<{ readonly items: readonly FilteredItem[] }>
}

export interface FilteredOptions {
  readonly textBudget?: TextBudget | undefined
}

interface FilteredItem {
  readonly item: Item
}

/** Creates a filter by the items of another store of the same database. */
export function createWithin(path: Path, within: Within): WithinFilter {
  const { name, where, key } = within
  const text = { ...within, toJSON: () => [name, where, key] }
  return { path, operator: 'within', values: [], within: text }
}

export function isLeaf(filter: Filter): filter is FilterLeaf {
  return 'path' in filter
}

/** Lists the conditions of filters, at any depth. */
export function listLeaves(where: readonly Filter[]): readonly FilterLeaf[] {
  if (where.every(isLeaf)) return where
  return where.flatMap(filter => {
    if (isLeaf(filter)) return filter
    return listLeaves(filter.operator === 'not' ? [filter.filter] : filter.filters)
  })
}

/**
 * Rewrites filters that must all hold, with the same meaning: `not` stands at conditions alone, and each condition
 * that must hold stands in the list itself, where an index finds it. Conditions alone are returned as they are.
 */
export function toConjunction(where: readonly Filter[]): readonly Filter[] {
  if (where.every(isLeaf)) return where
  const pushed = pushNot({ operator: 'all', filters: where })
  return pushed.operator === 'all' ? pushed.filters : [pushed]
}

/** Pushes `not` down to the conditions: not (a and b) is (not a) or (not b). Merges groups of one kind. */
function pushNot(filter: Filter, negated = false): Filter {
  if (isLeaf(filter)) return negated ? { operator: 'not', filter } : filter
  if (filter.operator === 'not') return pushNot(filter.filter, !negated)
  const operator = (filter.operator === 'all') === negated ? 'any' : 'all'
  const filters = filter.filters.flatMap(each => {
    const pushed = pushNot(each, negated)
    return pushed.operator === operator ? pushed.filters : [pushed]
  })
  const [only, ...others] = filters
  return only && others.length === 0 ? only : { operator, filters }
}
