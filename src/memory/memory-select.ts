// How a selection in memory is found: by a walk along an index, or by collecting and sorting a part of one.

import { TextBudget } from '../base/text-budget.ts'
import type { Awaitable } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { countGroups } from '../store/count-groups.ts'
import { type Filter, isLeaf, toConjunction } from '../store/filter.ts'
import type { Group, Grouping } from '../store/groups.ts'
import { addFilter, type EachParameters } from '../store/list-each.ts'
import { countPatterns, type FilterSet, matcher, type SortKey } from '../store/selection.ts'
import {
  ITEMS_OF_TURN,
  inOrder,
  type ReadOrder,
  type SliceRequest,
  sliceInTurns,
  sliceItems,
  takeNextTurn,
  toReadOrder,
} from '../store/slice-items.ts'
import type { Id, Slice, Stored, StoreOptions, StorePage } from '../store/store.ts'
import { type IndexPart, isDescending, type MemoryIndex } from './memory-index.ts'

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
  const single = findSmallestPart(parts) as IndexPart // one for each index
  const smallest = findUnion(conjunction, source, single.count) ?? single
  const plan = { revision: source.revision, source, parts, smallest, walks: new WeakMap() }
  plans.set(where, plan)
  return plan
}

function findSmallestPart(parts: readonly IndexPart[]): IndexPart | undefined {
  return parts.toSorted(
    (one, other) => one.count - other.count || one.unanswered.length - other.unanswered.length,
  )[0]
}

/** Joins a part for each branch of an `or`, of any index; `undefined` if they do not have fewer items together. */
function findUnion(
  where: readonly Filter[],
  { indexes }: Source,
  most: number,
): IndexPart | undefined {
  for (const group of where) {
    if (isLeaf(group) || group.operator !== 'any') continue
    const others = where.filter(each => each !== group)
    const parts = group.filters.flatMap(branch => {
      const conjunction = toConjunction([branch, ...others])
      return findSmallestPart(indexes.map(index => index.findPart(conjunction))) ?? []
    })
    const count = parts.reduce((sum, part) => sum + part.count, 0)
    if (count >= most) continue
    // An item may be in several parts.
    const list = () => [
      ...new Set(parts.flatMap(part => part.index.slice(part, ANY_ORDER, part.count))),
    ]
    const walk = () => list().values()
    return {
      index: { slice: list, walk, canOrderBy: () => false },
      ranges: [],
      count,
      unanswered: where,
      fixedColumns: 0,
    }
  }
  return undefined
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
  const scan = { part: smallest, filters, order: ANY_ORDER, source, options }
  if (smallest.count > itemsAtOnce(filters)) return countInTurns(scan)
  return takeFrom(scan).length
}

async function countInTurns(scan: Scan): Promise<number> {
  let total = 0
  for await (const matches of takeInTurns(scan)) total += matches.length
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
  const passes = matchPart(smallest, filters, source, options)
  return countGroups(items, passes, grouping, source.fields, options)
}

const ANY_ORDER: ReadOrder = { sort: [], after: undefined, offset: 0 }

/** The items of a slice, and the total where it is wanted or known anyway. */
export interface SelectedItems {
  readonly items: Stored[]
  readonly total: number | undefined
}

/** A slice, and whether its list has a total. */
export interface SelectRequest extends SliceRequest {
  readonly wantsTotal: boolean
}

/** Finds a slice in the order of the sort, at once. */
export function findSlice(
  request: SelectRequest,
  source: Source,
  options: StoreOptions | undefined,
): SelectedItems {
  const { selection, slice, limit } = request
  const plan = findPlan(selection.where, source)
  const walk = planWalk(plan, request)
  if (!walk) return collectSlice(plan, request, options)
  const { part, order } = walk
  return toSelected(
    takeFrom({ part, filters: selection, order, source, options }, limit),
    slice,
    walk,
  )
}

/**
 * Finds a slice in the order of the sort. Where it has to look at many items, it takes several turns of the event loop;
 * without a sort never: all of them are for a filter, which cannot wait.
 */
export function findSliceInTurns(
  request: SelectRequest,
  source: Source,
  options: StoreOptions | undefined,
): Awaitable<SelectedItems> {
  const { selection, slice, limit } = request
  if (selection.sort.length === 0) return findSlice(request, source, options)
  const plan = findPlan(selection.where, source)
  const walk = planWalk(plan, request)
  if (walk) {
    const { part, order } = walk
    const scan = { part, filters: selection, order, source, options }
    const most = isExact(part, selection) ? undefined : itemsAtOnce(selection)
    const found = takeFrom(scan, limit, most)
    if (found) return toSelected(found, slice, walk)
    return walkInTurns(scan, limit).then(items => toSelected(items, slice, walk))
  }
  const part = plan.smallest
  if (part.count <= itemsAtOnce(selection)) return collectSlice(plan, request, options)
  const matches = takeInTurns({ part, filters: selection, order: ANY_ORDER, source, options })
  return sliceInTurns(matches, request, source.fields, options)
}

/** A walk along an index that finds a slice. */
interface Walk {
  readonly part: IndexPart
  readonly order: ReadOrder
  /** The total, where it is known without a look at the items. */
  readonly total: number | undefined
}

/** Plans a walk along an index; `undefined` where it is cheaper to collect what the list holds. */
function planWalk(
  plan: Plan,
  { selection, slice, limit, wantsTotal }: SelectRequest,
): Walk | undefined {
  const { smallest } = plan
  const total = isExact(smallest, selection) ? smallest.count : undefined
  if (total === undefined && wantsTotal) return undefined
  const order = toReadOrder(selection.sort, slice)
  if (limit === 0) return { part: smallest, order, total }
  const part = findWalk(plan, order.sort)
  if (!part) return undefined
  // A walk meets a match every `count / matches` items; collecting looks at each item of the smallest part.
  const isCheap = (order.offset + limit) * part.count < smallest.count ** 2
  return isCheap || isExact(part, selection) ? { part, order, total } : undefined
}

function toSelected(items: Stored[], slice: Slice, { total }: Walk): SelectedItems {
  return { items: inOrder(items, slice), total }
}

/** Finds a slice among all that the list holds. */
function collectSlice(
  { smallest: part, source }: Plan,
  request: SelectRequest,
  options: StoreOptions | undefined,
): SelectedItems {
  const { selection: filters } = request
  const matches = takeFrom({ part, filters, order: ANY_ORDER, source, options })
  const items = sliceItems(matches, request, source.fields)
  return { items, total: matches.length }
}

/** Finds the items of each id, in the order of the sort, as `Store.listEach` does. @param get finds an item by its id. */
export function findEach(
  [path, ids, selection, { each, all }]: EachParameters,
  source: Source,
  get: (id: Id) => Stored | undefined,
  options: StoreOptions | undefined,
): StorePage[] {
  const { where, search, sort } = selection
  const index = source.indexes.find(index => index.canOrderEach(path, sort))
  const isWhole = where.length === 0 && !search
  const test = isWhole ? undefined : matcher(selection, source.fields, options?.textBudget)
  const isById = path.length === 1 && path[0] === source.identity
  const read = index?.createReader(isDescending(sort))
  const select = (id: Id): Stored[] => {
    if (isById) {
      const found = get(id)
      return found ? [found] : []
    }
    if (read) return read(id, test ? Number.POSITIVE_INFINITY : each + 1)
    const own = {
      selection: addFilter(selection, path, [id]),
      slice: { limit: each, offset: 0 },
      limit: each + 1,
      wantsTotal: false,
    }
    return findSlice(own, source, options).items
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

/** A scan of the items of a part of an index, in an order. */
interface Scan {
  readonly part: IndexPart
  readonly filters: FilterSet
  readonly order: ReadOrder
  readonly source: Source
  readonly options: StoreOptions | undefined
}

/**
 * Takes the items of a part that pass the filters.
 * @returns `undefined` if it would look at more items than `most`.
 */
function takeFrom(scan: Scan, limit?: number): Stored[]
function takeFrom(scan: Scan, limit: number, most: number | undefined): Stored[] | undefined
function takeFrom(
  { part, filters, order, source, options }: Scan,
  limit = Number.POSITIVE_INFINITY,
  most = Number.POSITIVE_INFINITY,
): Stored[] | undefined {
  if (limit === 0) return []
  if (isExact(part, filters)) {
    const items = part.index.slice(part, order, limit)
    source.examined += items.length
    return items
  }
  const test = matchPart(part, filters, source, options)
  const items: Stored[] = []
  let left = order.offset
  let looked = 0
  for (const stored of part.index.walk(part, order)) {
    if (++looked > most) return undefined
    source.examined++
    if (!test(stored.item)) continue
    if (left > 0) left--
    else if (items.push(stored) === limit) break
  }
  return items
}

/** Walks along a part as {@link takeFrom} does, in turns of the event loop. */
async function walkInTurns(scan: Scan, limit: number): Promise<Stored[]> {
  const items: Stored[] = []
  let left = scan.order.offset
  for await (const matches of takeInTurns(scan)) {
    const skipped = Math.min(left, matches.length)
    left -= skipped
    items.push(...matches.slice(skipped, skipped + limit - items.length))
    if (items.length === limit) break
  }
  return items
}

/** Takes the items of a part that pass the filters now, some of them in each turn. */
async function* takeInTurns({
  part,
  filters,
  order,
  source,
  options,
}: Scan): AsyncGenerator<readonly Stored[]> {
  // A copy: others may write before all of it is looked at.
  const items = part.index.slice(part, { ...order, offset: 0 }, part.count)
  const budget = options?.textBudget ?? new TextBudget()
  const test = matchPart(part, filters, source, { textBudget: budget })
  for (let at = 0; at < items.length; ) {
    await takeNextTurn(options)
    const end = Math.min(at + ITEMS_OF_TURN, items.length)
    const least = budget.left - TEXT_OF_TURN
    const matches: Stored[] = []
    for (; at < end && budget.left >= least; at++) {
      const stored = items[at]
      source.examined++
      if (stored && test(stored.item)) matches.push(stored)
    }
    yield matches
  }
}

/** How many characters are compared in one turn. */
const TEXT_OF_TURN = 2_000_000

/** Compiles the filters that a part does not answer. */
function matchPart(
  { unanswered }: IndexPart,
  { search }: FilterSet,
  { fields }: Source,
  options: StoreOptions | undefined,
) {
  return matcher({ where: unanswered, ...(search && { search }) }, fields, options?.textBudget)
}

/** Says how many items are looked at at once: each pattern and word takes about as long as the rest. */
function itemsAtOnce(filters: FilterSet): number {
  return Math.ceil(ITEMS_OF_TURN / (1 + countPatterns(filters)))
}
