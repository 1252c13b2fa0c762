// The row rule of a collection: which of its items a principal sees, and so may read, count and change.
import type { Principal } from '../auth/scheme.ts'
import type { Issue } from '../errors.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import type { Item } from '../schema/values.ts'
import { type Filter, matcher } from '../store/selection.ts'
import { findReader, toParameters } from './filter-parameters.ts'

export interface RowFilter {
  /** What a list must add to its own filters. */
  readonly where: readonly Filter[]
  readonly sees: (item: Item) => boolean
}

/**
 * What a principal sees of a collection; `undefined` where that is all of it.
 * @throws TypeError for a rule that names no field, or is no filter: it fails closed.
 */
export function buildRowFilter(
  collection: CollectionDefinition,
  principal: Principal | undefined,
): RowFilter | undefined {
  if (!collection.visible) return undefined
  const rule = collection.visible(principal)
  const where = rule === undefined ? undefined : filtersOf(collection, rule)
  if (where?.length === 0) return undefined
  if (!where) return { where: [nothing(collection)], sees: () => false }
  return { where, sees: matcher({ where }, collection.shape.fields) }
}

/** No item is without an id. */
function nothing({ shape }: CollectionDefinition): Filter {
  return { path: [shape.identity.name], operator: 'exists', values: [false] }
}

/** The rule compiled like the filters of a query; `undefined` where no item can fulfil it. */
function filtersOf(
  collection: CollectionDefinition,
  rule: Readonly<Record<string, unknown>>,
): readonly Filter[] | undefined {
  const { name, shape } = collection
  const parameters = toParameters(rule, shape.identity.name, `${name}: visible`)
  const issues: Issue[] = []
  const { where } = findReader(collection)(parameters, issues)
  const wrong = issues.find(({ type }) => type !== 'invalid_value')
  if (wrong) throw new TypeError(`${name}: visible is no filter: ${wrong.message}`)
  // A value that the field cannot have: nobody's items.
  return issues.length > 0 ? undefined : where
}
