// What the indexes of a table do for filters and a sort.

import { type Filter, type FilterLeaf, isLeaf, toConjunction } from '../../store/filter.ts'
import type { Selection, SortKey } from '../../store/selection.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { RowFilters } from './list-statements.ts'

/** Whether an index answers all filters and has the order of the sort, or the filters name ids. */
export function hasIndexFor(
  { where, search, sort = [] }: RowFilters & Partial<Pick<Selection, 'sort'>>,
  mapping: TableMapping,
): boolean {
  const id = mapping.shape.identity.name
  const filters = toConjunction(where)
  if (filters.some(each => each.operator === 'in' && each.path.join('.') === id)) return true
  if (search) return false
  return mapping.orders.some(index => {
    const { answered, ordered } = findIndexUse(index, filters, sort)
    return answered === filters.length && ordered
  })
}

/** Finds the filters that indexes answer alone: all of them, or an `or` whose branches have an index each. */
export function findIndexed(filters: RowFilters, mapping: TableMapping): readonly Filter[] {
  const { where, search } = filters
  if (!search && hasIndexFor({ where }, mapping)) return where
  const group = toConjunction(where).find(
    each =>
      !isLeaf(each) &&
      each.operator === 'any' &&
      each.filters.every(branch => hasIndexFor({ where: [branch] }, mapping)),
  )
  return group ? [group] : []
}

/** What an index does for some filters and a sort. */
interface IndexUse {
  /** The filters that a walk in its order applies: by one value on its first columns, by a range on the next. */
  readonly applied: readonly Filter[]
  /** How many filters it answers. */
  readonly answered: number
  /** Whether the rows that it finds are in the order of the sort. */
  readonly ordered: boolean
}

/** What an index finds by a condition on its next column: rows with some values, or a range of them. */
const FINDS: Readonly<Record<FilterLeaf['operator'], 'values' | 'range' | undefined>> = {
  in: 'values',
  nin: undefined,
  gt: 'range',
  gte: 'range',
  lt: 'range',
  lte: 'range',
  like: undefined,
  prefix: 'range',
  exists: undefined,
  within: undefined,
}

/** Finds what an index does: filters by one value on its first columns, a filter on the next one, then the order. */
export function findIndexUse(
  index: readonly string[],
  where: readonly Filter[],
  sort: readonly SortKey[],
): IndexUse {
  const equals: FilterLeaf[] = []
  const leaves = where.filter(isLeaf)
  const on = (at: number) => leaves.filter(({ path }) => path.join('.') === index[at])
  for (let at = 0; at < index.length; at++) {
    const [filter, ...others] = on(at)
    if (!filter || others.length > 0 || !isOneValue(filter)) break
    equals.push(filter)
  }
  const next = on(equals.length)
  const isRange = next.every(({ operator }) => FINDS[operator] === 'range')
  const [several] = next
  const isIn = next.length === 1 && several !== undefined && FINDS[several.operator] === 'values'
  const free = sort.filter(
    ({ path }) => !equals.some(each => each.path.join('.') === path.join('.')),
  )
  const isFirst = free[0]?.path.join('.') === index[equals.length]
  const ordered = free.every(
    ({ path, descending }, at) =>
      path.join('.') === index[equals.length + at] && descending === free[0]?.descending,
  )
  return {
    applied: isRange && isFirst ? [...equals, ...next] : equals,
    answered: equals.length + (isRange || isIn ? next.length : 0),
    ordered: ordered && !(isIn && free.length > 0),
  }
}

/** Whether a filter lets through one value. */
export function isOneValue(filter: Filter): filter is FilterLeaf {
  return filter.operator === 'in' && filter.values.length === 1
}

/** Whether filters bound the values of a field. */
export function isBoundedBy(where: readonly Filter[], field: string | undefined): field is string {
  const isBound = (each: Filter) =>
    isLeaf(each) && FINDS[each.operator] === 'range' && each.path.join('.') === field
  return where.some(isBound)
}
