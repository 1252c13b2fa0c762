// How a selection in memory is found: by a walk along an index, or by collecting and sorting a part of one.
import type { Fields } from '../schema/fields.ts'
import { memoize } from '../schema/memoize.ts'
import type { MemoryIndex, Part, Place } from './memory-index.ts'
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
  /** At least the one of the ids alone. */
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
  readonly walks: WeakMap<readonly SortKey[], { readonly part: Part | undefined }>
}

type Filters = Pick<Selection, 'where' | 'search'>

/** Plans by the filters themselves: a reader that remembers a query gives the same ones again. */
const plans = new WeakMap<readonly Filter[], Plan>()

function planOf(where: readonly Filter[], source: Source): Plan {
  const known = plans.get(where)
  if (known && known.source === source && known.revision === source.revision) return known
  const parts = source.indexes.map(index => index.part(where))
  const narrow = parts.reduce((best, part) =>
    part.width < best.width || (part.width === best.width && part.rest.length < best.rest.length)
      ? part
      : best,
  )
  const plan = { revision: source.revision, source, parts, narrow, walks: new WeakMap() }
  plans.set(where, plan)
  return plan
}

/** Counts the items that the filters let through: the width of a part where one answers them all. */
export function countSelection(filters: Filters, source: Source): number {
  const { narrow } = planOf(filters.where, source)
  return isExact(narrow, filters) ? narrow.width : collect(narrow, filters, source).length
}

/** How a slice is read: in which order, from which place, and how many items are skipped. */
interface Course {
  readonly sort: readonly SortKey[]
  readonly after: Place
  readonly offset: number
  /** Whether the items are found in the reverse of the order that is asked for. */
  readonly backward: boolean
}

function toCourse(sort: readonly SortKey[], slice: Slice): Course {
  if ('offset' in slice) return { sort, after: undefined, offset: slice.offset, backward: false }
  const { key: after, backward } = slice
  return { sort: backward ? reverse(sort) : sort, after, offset: 0, backward }
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
      const items = takeFrom(walk, selection, course, limit, source)
      return { items: course.backward ? items.reverse() : items, total }
    }
  }
  const matches = collect(narrow, selection, source)
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
  const known = walks.get(sort)
  if (known) return known.part
  let part: Part | undefined
  for (const each of parts) {
    if (each.index.canOrderBy(sort, each) && (!part || each.width < part.width)) part = each
  }
  walks.set(sort, { part })
  return part
}

function takeFrom(
  part: Part,
  filters: Filters,
  { sort, after, offset }: Course,
  limit: number,
  source: Source,
): Stored[] {
  if (isExact(part, filters)) {
    const items = part.index.slice(part, sort, after, offset, limit)
    source.examined += items.length
    return items
  }
  const test = restMatcher(part, filters, source)
  const items: Stored[] = []
  let left = offset
  for (const stored of part.index.walk(part, sort, after)) {
    source.examined++
    if (!test(stored.item)) continue
    if (left > 0) left--
    else if (items.push(stored) === limit) break
  }
  return items
}

/** Tests what the ranges of a part do not answer. */
function restMatcher({ rest: where }: Part, { search }: Filters, { fields }: Source) {
  return matcher({ where, ...(search && { search }) }, fields, true)
}

function collect(part: Part, filters: Filters, source: Source): Stored[] {
  const test = restMatcher(part, filters, source)
  const items: Stored[] = []
  for (const stored of part.index.walk(part)) {
    if (test(stored.item)) items.push(stored)
  }
  source.examined += part.width
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
  const { sort, after, offset, backward } = toCourse(order, slice)
  const found = findFirst(items, sort, after, offset + limit, fields).slice(offset)
  return backward ? found.reverse() : found
}

/** Finds the first `count` items after a place in a sort. */
function findFirst(
  items: readonly Stored[],
  sort: readonly SortKey[],
  after: Place,
  count: number,
  fields: Fields,
): Stored[] {
  const compare = keyComparer(sort, fields)
  const keyed = items.map(stored => ({ stored, key: sortKeyOf(stored.item, sort) }))
  const rest = after ? keyed.filter(({ key }) => compare(key, after) > 0) : keyed
  if (count > rest.length / 8) {
    rest.sort((one, other) => compare(one.key, other.key))
    return rest.slice(0, count).map(({ stored }) => stored)
  }
  // A page of many: keep the best so far in order, rather than sort all.
  const best: typeof rest = []
  for (const each of rest) {
    const worst = best[count - 1]
    if (worst && compare(each.key, worst.key) >= 0) continue
    const at = best.findIndex(other => compare(each.key, other.key) < 0)
    best.splice(at === -1 ? best.length : at, 0, each)
    best.length = Math.min(best.length, count)
  }
  return best.map(({ stored }) => stored)
}
