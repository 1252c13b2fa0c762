// How a selection in memory is found: by a walk along an index, or by collecting and sorting a part of one.
import type { Fields } from '../schema/fields.ts'
import { memoize } from '../schema/memoize.ts'
import type { Course, MemoryIndex, Part } from './memory-index.ts'
import {
  type Filter,
  keyComparer,
  matcher,
  type Selection,
  type SortKey,
  sortKeyOf,
} from './selection.ts'
import type { Slice, Stored } from './store.ts'

/** What a selection is made from. */
export interface Source {
  fields: Fields
  /** At smallest the one of the ids alone. */
  indexes: readonly MemoryIndex[]
  /** Grows with every change of an index: what was planned before holds no longer. */
  revision: number
  /** The number of items looked at so far. */
  examined: number
}

/** What each index leaves of some filters, while nothing is written. */
interface Plan {
  readonly revision: number
  readonly source: Source
  readonly parts: readonly Part[]
  /** The part with the fewest items, of an index that answers all filters where there is one. */
  readonly narrow: Part
  /** The narrowest part that can be walked in the order of a sort. */
  readonly walks: WeakMap<readonly SortKey[], Part | undefined>
}

type Filters = Pick<Selection, 'where' | 'search'>

/** Plans by the filters themselves: a reader that remembers a query gives the same ones again. */
const plans = new WeakMap<readonly Filter[], Plan>()

function planOf(where: readonly Filter[], source: Source): Plan {
  const known = plans.get(where)
  if (known && known.source === source && known.revision === source.revision) return known
  const parts = source.indexes.map(index => index.part(where))
  const narrow = findNarrowest(parts) as Part // one for each index
  const plan = { revision: source.revision, source, parts, narrow, walks: new WeakMap() }
  plans.set(where, plan)
  return plan
}

function findNarrowest(parts: readonly Part[]): Part | undefined {
  return parts.toSorted(
    (one, other) => one.width - other.width || one.rest.length - other.rest.length,
  )[0]
}

/** Counts the items that the filters let through: the width of a part where one answers them all. */
export function countSelection(filters: Filters, source: Source): number {
  const { narrow } = planOf(filters.where, source)
  return isExact(narrow, filters)
    ? narrow.width
    : takeFrom(narrow, filters, ANY_ORDER, source).length
}

const ANY_ORDER: Course = { sort: [], after: undefined, offset: 0 }

function toCourse(sort: readonly SortKey[], slice: Slice): Course {
  if ('offset' in slice) return { sort, after: undefined, offset: slice.offset }
  return { sort: slice.backward ? reverse(sort) : sort, after: slice.key, offset: 0 }
}

/** Puts the items of a course in the order of its sort: those of a backward slice are found in reverse. */
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
  const plan = planOf(selection.where, source)
  const { narrow } = plan
  const total = isExact(narrow, selection) ? narrow.width : undefined
  if (total !== undefined || !wantsTotal) {
    if (limit === 0) return { items: [], total }
    const course = toCourse(selection.sort, slice)
    const walk = findWalk(plan, course.sort)
    // A walk meets a match every `width / matches` items; collecting looks at each of the narrowest part.
    const isCheap = (part: Part) => (course.offset + limit) * part.width < narrow.width ** 2
    if (walk && (isExact(walk, selection) || isCheap(walk))) {
      return { items: inOrder(takeFrom(walk, selection, course, source, limit), slice), total }
    }
  }
  const matches = takeFrom(narrow, selection, ANY_ORDER, source)
  const items = sliceItems(matches, selection.sort, slice, limit, source.fields)
  return { items, total: matches.length }
}

/** Each sort the other way, remembered: plans go by the sort itself. */
const reverse = memoize((sort: readonly SortKey[]): readonly SortKey[] =>
  sort.map(({ path, descending }) => ({ path, descending: !descending })),
)

function isExact({ rest }: Part, { search }: Filters): boolean {
  return rest.length === 0 && search === undefined
}

/** Finds the narrowest part that can be walked in the order of the sort. */
function findWalk({ parts, walks }: Plan, sort: readonly SortKey[]): Part | undefined {
  if (!walks.has(sort)) {
    walks.set(sort, findNarrowest(parts.filter(part => part.index.canOrderBy(sort, part))))
  }
  return walks.get(sort)
}

/** Takes the items of a part that pass the filters. */
function takeFrom(
  part: Part,
  filters: Filters,
  course: Course,
  source: Source,
  limit = Number.POSITIVE_INFINITY,
): Stored[] {
  if (isExact(part, filters)) {
    const items = part.index.slice(part, course, limit)
    source.examined += items.length
    return items
  }
  const { search } = filters
  const test = matcher({ where: part.rest, ...(search && { search }) }, source.fields, true)
  const items: Stored[] = []
  let left = course.offset
  for (const stored of part.index.walk(part, course)) {
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
  order: readonly SortKey[],
  slice: Slice,
  limit: number,
  fields: Fields,
): Stored[] {
  const { sort, after, offset } = toCourse(order, slice)
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
