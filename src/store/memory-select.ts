// How a selection in memory is found: by a walk along an index, or by collecting and sorting a part of one.

import type { Awaitable } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { countGroups } from './count-groups.ts'
import { type Filter, toConjunction } from './filter.ts'
import type { Group, Grouping } from './groups.ts'
import { addFilter, type EachParameters } from './list-each.ts'
import { type IndexPart, isDescending, type MemoryIndex, type ReadOrder } from './memory-index.ts'
import { type FilterSet, matcher, type Selection, type SortKey } from './selection.ts'
import {
  ITEMS_OF_TURN,
  inOrder,
  sliceInTurns,
  sliceItems,
  takeNextTurn,
  toReadOrder,
} from './slice-items.ts'
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

/**
 * Counts the items that pass the filters: without a look at them if one part answers all filters. Many are looked at in
 * several turns of the event loop.
 */
export function countSelection(
  filters: FilterSet,
  source: Source,
  options: StoreOptions | undefined,
): Awaitable<number> {
  const { smallest } = findPlan(filters.where, source)
  if (isExact(smallest, filters)) return smallest.count
  if (smallest.count > ITEMS_OF_TURN) return countInTurns(smallest, filters, source, options)
  return takeFrom(smallest, filters, ANY_ORDER, source).length
}

async function countInTurns(
  part: IndexPart,
  filters: FilterSet,
  source: Source,
  options: StoreOptions | undefined,
): Promise<number> {
  let total = 0
  for await (const matches of takeInTurns(part, filters, source, options)) total += matches.length
  return total
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
  const passes = matchPart(smallest, filters, source)
  return countGroups(items, passes, grouping, source.fields, options)
}

const ANY_ORDER: ReadOrder = { sort: [], after: undefined, offset: 0 }

/** The items of a slice, and the total where it is wanted or known anyway. */
export interface SelectedItems {
  readonly items: Stored[]
  readonly total: number | undefined
}

/** Finds a slice in the order of the sort, at once. */
export function findSlice(
  selection: Selection,
  slice: Slice,
  limit: number,
  wantsTotal: boolean,
  source: Source,
): SelectedItems {
  const plan = findPlan(selection.where, source)
  const walked = walkSlice(plan, selection, slice, limit, wantsTotal)
  return walked ?? collectSlice(plan, selection, slice, limit)
}

/** Finds a slice in the order of the sort. Where it has to sort many items, it takes several turns of the event loop. */
export function findSliceInTurns(
  selection: Selection,
  slice: Slice,
  limit: number,
  wantsTotal: boolean,
  source: Source,
  options: StoreOptions | undefined,
): Awaitable<SelectedItems> {
  const plan = findPlan(selection.where, source)
  const walked = walkSlice(plan, selection, slice, limit, wantsTotal)
  if (walked) return walked
  // Without a sort all of them are for a filter, which cannot wait.
  if (plan.smallest.count <= ITEMS_OF_TURN || selection.sort.length === 0)
    return collectSlice(plan, selection, slice, limit)
  const parts = takeInTurns(plan.smallest, selection, source, options)
  return sliceInTurns(parts, selection.sort, slice, limit, source.fields, options)
}

/** Finds a slice by a walk along an index; `undefined` where it is cheaper to collect what the list holds. */
function walkSlice(
  plan: Plan,
  selection: Selection,
  slice: Slice,
  limit: number,
  wantsTotal: boolean,
): SelectedItems | undefined {
  const { smallest, source } = plan
  const total = isExact(smallest, selection) ? smallest.count : undefined
  if (total === undefined && wantsTotal) return undefined
  if (limit === 0) return { items: [], total }
  const order = toReadOrder(selection.sort, slice)
  const walk = findWalk(plan, order.sort)
  if (!walk) return undefined
  // A walk meets a match every `count / matches` items; collecting looks at each item of the smallest part.
  const isCheap = (part: IndexPart) => (order.offset + limit) * part.count < smallest.count ** 2
  if (!isExact(walk, selection) && !isCheap(walk)) return undefined
  return { items: inOrder(takeFrom(walk, selection, order, source, limit), slice), total }
}

/** Finds a slice among all that the list holds. */
function collectSlice(
  { smallest, source }: Plan,
  selection: Selection,
  slice: Slice,
  limit: number,
): SelectedItems {
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
    if (isById) {
      const found = get(id)
      return found ? [found] : []
    }
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
  const test = matchPart(part, filters, source)
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

/** Takes the items of a part that pass the filters now, some of them in each turn. */
async function* takeInTurns(
  part: IndexPart,
  filters: FilterSet,
  source: Source,
  options: StoreOptions | undefined,
): AsyncGenerator<readonly Stored[]> {
  // A copy: others may write before all of it is looked at.
  const items = part.index.slice(part, ANY_ORDER, part.count)
  source.examined += items.length
  const test = matchPart(part, filters, source)
  for (let at = 0; at < items.length; at += ITEMS_OF_TURN) {
    await takeNextTurn(options)
    const some = items.slice(at, at + ITEMS_OF_TURN)
    yield isExact(part, filters) ? some : some.filter(({ item }) => test(item))
  }
}

/** Compiles the filters that a part does not answer. */
function matchPart({ unanswered }: IndexPart, { search }: FilterSet, { fields }: Source) {
  return matcher({ where: unanswered, ...(search && { search }) }, fields, true)
}
