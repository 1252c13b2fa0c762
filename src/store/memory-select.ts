// How a selection in memory is found: by a walk along an index, or by collecting and sorting a part of one.
import type { Fields } from '../schema/fields.ts'
import { memoize } from '../schema/memoize.ts'
import type { MemoryIndex, Part } from './memory-index.ts'
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
  /** The narrowest part that can be walked from the start in the order of a sort. */
  readonly walks: Map<readonly SortKey[], Part | undefined>
}

type Filters = Pick<Selection, 'where' | 'search'>

/** A place in a sort to continue from; the start where it is absent. */
type Place = Extract<Slice, { backward: boolean }>['key']

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
  const plan = { revision: source.revision, source, parts, narrow, walks: new Map() }
  plans.set(where, plan)
  return plan
}

/** Counts the items that the filters let through: the width of a part where one answers them all. */
export function countSelection(filters: Filters, source: Source): number {
  const { narrow } = planOf(filters.where, source)
  return isExact(narrow, filters) ? narrow.width : collect(narrow, filters, source).length
}

/** Finds a slice in the order of the sort, and the total where it is wanted or known anyway. */
export function findSlice(
  selection: Selection,
  slice: Slice,
  limit: number,
  wantsTotal: boolean,
  source: Source,
): { items: Stored[]; total: number | undefined } {
  const backward = 'key' in slice && slice.backward
  const after = 'key' in slice ? slice.key : undefined
  const offset = 'offset' in slice ? slice.offset : 0
  const sort = backward ? reverse(selection.sort) : selection.sort
  const plan = planOf(selection.where, source)
  const { narrow } = plan
  const total = isExact(narrow, selection) ? narrow.width : undefined
  const inOrder = (items: Stored[]) => (backward ? items.reverse() : items)
  if (limit === 0 && (total !== undefined || !wantsTotal)) return { items: [], total }

  const walk = total !== undefined || !wantsTotal ? findWalk(plan, sort, after) : undefined
  if (walk) {
    // A walk meets a match every `width / matches` items; collecting looks at each of the narrowest part.
    const looks = ((offset + limit) * walk.width) / Math.max(narrow.width, 1)
    if (isExact(walk, selection) || looks < narrow.width) {
      const items = takeFrom(walk, selection, sort, after, offset, limit, source)
      return { items: inOrder(items), total }
    }
  }
  const matches = collect(narrow, selection, source)
  const items = sliceItems(matches, selection.sort, slice, limit, source.fields)
  return { items, total: matches.length }
}

/** Whether the order of a selection is that of an index, so that it can be read a batch at a time. */
export function isWalkable({ where, sort }: Selection, source: Source): boolean {
  return findWalk(planOf(where, source), sort, undefined) !== undefined
}

/** Each sort the other way, remembered: plans go by the sort itself. */
const reverse = memoize((sort: readonly SortKey[]): readonly SortKey[] =>
  sort.map(({ path, descending }) => ({ path, descending: !descending })),
)

function isExact({ rest }: Part, { search }: Filters): boolean {
  return rest.length === 0 && search === undefined
}

/** Finds the narrowest part that can be walked in the order of the sort. */
function findWalk(
  { parts, walks }: Plan,
  sort: readonly SortKey[],
  after: Place,
): Part | undefined {
  const known = walks.get(sort)
  if (known ? !after || known.index.canOrderBy(sort, known, after) : walks.has(sort)) return known
  let best: Part | undefined
  for (const part of parts) {
    if (best && best.width <= part.width) continue
    if (part.index.canOrderBy(sort, part, after)) best = part
  }
  if (!after) walks.set(sort, best)
  return best
}

function takeFrom(
  part: Part,
  filters: Filters,
  sort: readonly SortKey[],
  after: Place,
  offset: number,
  limit: number,
  source: Source,
): Stored[] {
  const items: Stored[] = []
  const test = isExact(part, filters) ? undefined : restMatcher(part, filters, source)
  let left = test ? offset : 0
  const [skip, most] = test ? [0, Number.POSITIVE_INFINITY] : [offset, limit]
  for (const stored of part.index.walk(part, sort, after, skip, most)) {
    if (items.length === limit) break
    source.examined++
    if (test && !test(stored.item)) continue
    if (left > 0) left--
    else items.push(stored)
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
  for (const stored of part.index.collect(part)) {
    if (test(stored.item)) items.push(stored)
  }
  source.examined += part.width
  return items
}

/** Sorts items and takes the first `limit` ones of a slice. */
export function sliceItems(
  items: readonly Stored[],
  sort: readonly SortKey[],
  slice: Slice,
  limit: number,
  fields: Fields,
): Stored[] {
  if ('offset' in slice) {
    return findFirst(items, sort, undefined, slice.offset + limit, fields).slice(slice.offset)
  }
  const { backward, key } = slice
  if (!backward) return findFirst(items, sort, key, limit, fields)
  return findFirst(items, reverse(sort), key, limit, fields).reverse()
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
