// How a selection in memory is found: by a walk along an index, or by collecting and sorting a part of one.

import { memoize } from '../base/memoize.ts'
import type { Awaitable } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { countGroups } from './count-groups.ts'
import { type Filter, toConjunction } from './filter.ts'
import type { Group, Grouping } from './groups.ts'
import { addFilter, type EachParameters } from './list-each.ts'
import { type IndexPart, isDescending, type MemoryIndex, type ReadOrder } from './memory-index.ts'
import {
  type FilterSet,
  keyComparer,
  matcher,
  type Selection,
  type SortKey,
  sortKeyOf,
} from './selection.ts'
import type { Id, Slice, Stored, StoreOptions, StorePage } from './store.ts'

/** The items that lists and counts select from. */
export interface Source {
  fields: Fields
  /** The name of the id. */
  identity: string
  /** At least the one of the ids. */
  indexes: readonly MemoryIndex[]
  /** Grows with every change of an index: earlier plans are then invalid. */
  revision: number
  /** The number of items looked at so far. */
  examined: number
}

/** The parts of the indexes for some filters, valid until the next write. */
interface Plan {
  readonly revision: number
  readonly source: Source
  readonly parts: readonly IndexPart[]
  /** The part with the fewest items; of several, the one that leaves the fewest filters unanswered. */
  readonly smallest: IndexPart
  /** The smallest part that can be walked in the order of a sort. */
  readonly walks: WeakMap<readonly SortKey[], IndexPart | undefined>
}

/** Plans by the array of filters: a remembered query passes the same array again. */
const plans = new WeakMap<readonly Filter[], Plan>()

function findPlan(where: readonly Filter[], source: Source): Plan {
  const known = plans.get(where)
  if (known && known.source === source && known.revision === source.revision) return known
  const conjunction = toConjunction(where)
  const parts = source.indexes.map(index => index.findPart(conjunction))
  const smallest = findSmallestPart(parts) as IndexPart // one for each index
  const plan = { revision: source.revision, source, parts, smallest, walks: new WeakMap() }
  plans.set(where, plan)
  return plan
}

function findSmallestPart(parts: readonly IndexPart[]): IndexPart | undefined {
  return parts.toSorted(
    (one, other) => one.count - other.count || one.unanswered.length - other.unanswered.length,
  )[0]
}

/** Counts the items that pass the filters: without a look at them if one part answers all filters. */
export function countSelection(filters: FilterSet, source: Source): number {
  const { smallest } = findPlan(filters.where, source)
  return isExact(smallest, filters)
    ? smallest.count
    : takeFrom(smallest, filters, ANY_ORDER, source).length
}

/** Counts the groups of the items that pass the filters, as they are now. */
export function groupSelection(
  filters: FilterSet,
  grouping: Grouping,
  source: Source,
  options?: StoreOptions,
): Awaitable<Group[]> {
  const { smallest } = findPlan(filters.where, source)
  // A copy: others may write before all of it is looked at.
  const items = smallest.index.slice(smallest, ANY_ORDER, smallest.count)
  source.examined += items.length
  const passes = matcher({ ...filters, where: smallest.unanswered }, source.fields, true)
  return countGroups(items, passes, grouping, source.fields, options)
}

const ANY_ORDER: ReadOrder = { sort: [], after: undefined, offset: 0 }

function toReadOrder(sort: readonly SortKey[], slice: Slice): ReadOrder {
  if ('offset' in slice) return { sort, after: undefined, offset: slice.offset }
  return { sort: slice.backward ? reverse(sort) : sort, after: slice.key, offset: 0 }
}

/** Puts items in the order of the list: those of a backward slice are found in reverse. */
function inOrder(items: Stored[], slice: Slice): Stored[] {
  return 'key' in slice && slice.backward ? items.reverse() : items
}

/** Finds a slice in the order of the sort, and the total where it is wanted or known anyway. */
export function findSlice(
  selection: Selection,
  slice: Slice,
  limit: number,
  wantsTotal: boolean,
  source: Source,
): { items: Stored[]; total: number | undefined } {
  const plan = findPlan(selection.where, source)
  const { smallest } = plan
  const total = isExact(smallest, selection) ? smallest.count : undefined
  if (total !== undefined || !wantsTotal) {
    if (limit === 0) return { items: [], total }
    const order = toReadOrder(selection.sort, slice)
    const walk = findWalk(plan, order.sort)
    // A walk meets a match every `count / matches` items; collecting looks at each item of the smallest part.
    const isCheap = (part: IndexPart) => (order.offset + limit) * part.count < smallest.count ** 2
    if (walk && (isExact(walk, selection) || isCheap(walk))) {
      return { items: inOrder(takeFrom(walk, selection, order, source, limit), slice), total }
    }
  }
  const matches = takeFrom(smallest, selection, ANY_ORDER, source)
  const items = sliceItems(matches, selection.sort, slice, limit, source.fields)
  return { items, total: matches.length }
}

/** Finds the items of each id, in the order of the sort, as `Store.listEach` does. @param get finds an item by its id. */
export function findEach(
  [path, ids, selection, { each, all }]: EachParameters,
  source: Source,
  get: (id: Id) => Stored | undefined,
): StorePage[] {
  const { where, search, sort } = selection
  const index = source.indexes.find(index => index.canOrderEach(path, sort))
  const isWhole = where.length === 0 && !search
  const test = isWhole ? undefined : matcher(selection, source.fields, true)
  const isById = path.length === 1 && path[0] === source.identity
  const read = index?.createReader(isDescending(sort))
  const select = (id: Id): Stored[] => {
    if (isById) return [get(id)].filter(found => found !== undefined)
    if (read) return read(id, test ? Number.POSITIVE_INFINITY : each + 1)
    const own = addFilter(selection, path, [id])
    return findSlice(own, { limit: each, offset: 0 }, each + 1, false, source).items
  }
  const pages: StorePage[] = []
  let left = all
  for (const id of ids) {
    const selected = select(id)
    source.examined += selected.length
    const found = test ? selected.filter(({ item }) => test(item)) : selected
    const more = found.length > each
    const items = more ? found.slice(0, each) : found
    left -= items.length
    if (left < 0 && pages.length > 0) break
    pages.push({ items, more })
  }
  return pages
}

/** Reverses a sort, to the same array each time: plans remember walks by it. */
const reverse = memoize((sort: readonly SortKey[]): readonly SortKey[] =>
  sort.map(({ path, descending }) => ({ path, descending: !descending })),
)

function isExact({ unanswered }: IndexPart, { search }: FilterSet): boolean {
  return unanswered.length === 0 && search === undefined
}

/** Finds the smallest part that can be walked in the order of the sort. */
function findWalk({ parts, walks }: Plan, sort: readonly SortKey[]): IndexPart | undefined {
  if (!walks.has(sort)) {
    walks.set(sort, findSmallestPart(parts.filter(part => part.index.canOrderBy(sort, part))))
  }
  return walks.get(sort)
}

/** Takes the items of a part that pass the filters. */
function takeFrom(
  part: IndexPart,
  filters: FilterSet,
  order: ReadOrder,
  source: Source,
  limit = Number.POSITIVE_INFINITY,
): Stored[] {
  if (isExact(part, filters)) {
    const items = part.index.slice(part, order, limit)
    source.examined += items.length
    return items
  }
  const { search } = filters
  const test = matcher({ where: part.unanswered, ...(search && { search }) }, source.fields, true)
  const items: Stored[] = []
  let left = order.offset
  for (const stored of part.index.walk(part, order)) {
    source.examined++
    if (!test(stored.item)) continue
    if (left > 0) left--
    else if (items.push(stored) === limit) break
  }
  return items
}

/** Sorts items and takes the first `limit` ones of a slice. */
export function sliceItems(
  items: readonly Stored[],
  listSort: readonly SortKey[],
  slice: Slice,
  limit: number,
  fields: Fields,
): Stored[] {
  const { sort, after, offset } = toReadOrder(listSort, slice)
  const compare = keyComparer(sort, fields)
  const keyed = items.map(stored => ({ stored, key: sortKeyOf(stored.item, sort) }))
  const rest = after ? keyed.filter(({ key }) => compare(key, after) > 0) : keyed
  const sorted = findSmallest(rest, offset + limit, (one, other) => compare(one.key, other.key))
  return inOrder(
    sorted.slice(offset).map(({ stored }) => stored),
    slice,
  )
}

/** Finds the `count` smallest values, in their order. */
function findSmallest<T>(
  values: T[],
  count: number,
  compare: (one: T, other: T) => number,
): readonly T[] {
  if (count > values.length / 8) return values.sort(compare).slice(0, count)
  // A page of many: keep the best so far in order, rather than sort all.
  const smallest: T[] = []
  for (const value of values) {
    const worst = smallest[count - 1]
    if (worst !== undefined && compare(value, worst) >= 0) continue
    const at = smallest.findIndex(other => compare(value, other) < 0)
    smallest.splice(at === -1 ? smallest.length : at, 0, value)
    smallest.length = Math.min(smallest.length, count)
  }
  return smallest
}
