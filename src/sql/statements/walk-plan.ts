// Plans how a table of SQLite is walked: in which order, and by which index.

import { toPath } from '../../base/paths.ts'
import { type Filter, isLeaf, toConjunction } from '../../store/filter.ts'
import { listIdFields } from '../../store/relation-ids.ts'
import type { Selection, SortKey } from '../../store/selection.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { findIndexUse, isBoundedBy, isOneValue } from './index-use.ts'
import type { RowFilters } from './list-statements.ts'
import type { PlaceKey } from './place.ts'

/** A list; without a sort, a count. */
export type Wanted = RowFilters & Partial<Pick<Selection, 'sort'>>

/** In which order a table is walked, and which filters an index applies on the way. */
export interface WalkPlan {
  readonly wanted: Wanted
  /** Absent: in the order in which the rows lie in the table. */
  readonly order: readonly SortKey[] | undefined
  /** Filters that the index applies. */
  readonly applied: readonly Filter[]
  /** Whether these are all filters. */
  readonly isExact: boolean
  readonly backward: boolean
  /** The place after which it begins. */
  readonly after?: PlaceKey | undefined
}

/** Plans the shortest walk: in the order of the sort, which may end early, else in one that no write changes. */
export function planWalk(
  wanted: Wanted,
  mapping: TableMapping,
  hasRowid: boolean,
  backward = false,
): WalkPlan {
  const { identity, createdAt } = mapping.shape
  const byId = listIdFields(identity).map(name => ({ path: [name], descending: false }))
  const { sort, search } = wanted
  const where = toConjunction(wanted.where)
  // A sort key that may be null continues in two ranges, which one walk cannot follow.
  const single = sort?.[0] && !mapping.find(sort[0].path).nullable
  const isBounded = isBoundedBy(where, createdAt)
  const byTime = isBounded && [{ path: [createdAt], descending: false }, ...byId]
  const own = sort || search ? [] : listOwnOrders(where, mapping)
  for (const order of [single && sort, ...own, byTime, byId]) {
    if (!order) continue
    const uses = mapping.orders.map(index => findIndexUse(index, where, order))
    const [best] = uses
      .filter(({ ordered }) => ordered)
      .sort((one, other) => other.applied.length - one.applied.length)
    if (!best || (order !== sort && best.applied.length === 0)) continue
    const { applied } = best
    const isExact = !search && applied.length === where.length
    return { wanted, order, applied, isExact, backward: backward && order === sort }
  }
  const order = hasRowid ? undefined : byId
  return { wanted, order, applied: [], isExact: false, backward: false }
}

/** Lists the orders of the indexes that answer all filters: behind their one values, by the values of a range. */
function listOwnOrders(where: readonly Filter[], mapping: TableMapping): SortKey[][] {
  if (where.some(each => each.operator === 'prefix')) return []
  const ones = new Set(where.filter(isOneValue).map(({ path }) => path.join('.')))
  return mapping.orders
    .filter(index => findIndexUse(index, where, []).answered === where.length)
    .map(index =>
      index
        .filter(name => !ones.has(name))
        .map(name => ({ path: toPath(name), descending: false })),
    )
}

/** Whether a place in an order says the same as a filter, and more: SQLite would search by only one of them. */
export function isBelow(filter: Filter, [first]: readonly SortKey[]): boolean {
  const isLower = filter.operator === 'gt' || filter.operator === 'gte'
  return isLower && isLeaf(filter) && filter.path.join('.') === first?.path.join('.')
}
