// How a selection in memory is found: an index walked in order, or a part of one gathered and sorted.
import type { Fields } from '../schema/fields.ts'
import { idOf, type MemoryIndex, type Part } from './memory-index.ts'
import { keyComparer, matcher, type Selection, type SortKey, sortKeyOf } from './selection.ts'
import type { Id, Slice, Stored } from './store.ts'

/** What a selection is made from. */
export interface Source {
  readonly fields: Fields
  /** At least the one of the ids alone. */
  readonly indexes: readonly MemoryIndex[]
  /** What is stored under an id of an index. */
  read(id: Id): Stored
}

type Filters = Pick<Selection, 'where' | 'search'>

/** A place in a sort to go on from; the start where there is none. */
type Place = Extract<Slice, { backward: boolean }>['key']

/** How many items the filters let through: the width of a part where one answers them all. */
export function countOf(filters: Filters, source: Source): number {
  const part = narrowest(partsOf(filters, source))
  return isExact(part, filters) ? part.width : gathered(part, filters, source).length
}

/** A slice in the order of the sort, and the total where it is wanted or known anyway. */
export function sliceOf(
  selection: Selection,
  slice: Slice,
  wantsTotal: boolean,
  source: Source,
): { items: Stored[]; total: number | undefined } {
  const backward = 'key' in slice && slice.backward
  const after = 'key' in slice ? slice.key : undefined
  const offset = 'offset' in slice ? slice.offset : 0
  const sort = backward ? selection.sort.map(reversed) : selection.sort
  const parts = partsOf(selection, source)
  const narrow = narrowest(parts)
  const total = isExact(narrow, selection) ? narrow.width : undefined
  const inTurn = (items: Stored[]) => (backward ? items.reverse() : items)
  if (slice.limit === 0 && (total !== undefined || !wantsTotal)) return { items: [], total }

  const walk = walkable(parts, sort, after)
  if (walk && (total !== undefined || !wantsTotal)) {
    // A walk meets a match every `width / matches` items; gathering looks at each of the narrowest part.
    const looks = ((offset + slice.limit) * walk.width) / Math.max(narrow.width, 1)
    if (isExact(walk, selection) || looks < narrow.width) {
      const items = walked(walk, selection, sort, after, offset, slice.limit, source)
      return { items: inTurn(items), total }
    }
  }
  const matches = gathered(narrow, selection, source)
  const items = least(matches, sort, after, offset + slice.limit, source.fields).slice(offset)
  return { items: inTurn(items), total: matches.length }
}

/** Whether the order of a selection is that of an index, so that it can be had a batch at a time. */
export function isWalkable(selection: Selection, source: Source): boolean {
  return walkable(partsOf(selection, source), selection.sort, undefined) !== undefined
}

function reversed({ path, descending }: SortKey): SortKey {
  return { path, descending: !descending }
}

function isExact({ rest }: Part, { search }: Filters): boolean {
  return rest.length === 0 && search === undefined
}

/** What each index leaves of the filters. */
function partsOf({ where }: Filters, { indexes }: Source): readonly Part[] {
  return indexes.map(index => index.part(where))
}

/** The part with the fewest items, of an index that answers all filters where there is one. */
function narrowest(parts: readonly Part[]): Part {
  return parts.reduce((best, part) =>
    part.width < best.width || (part.width === best.width && part.rest.length < best.rest.length)
      ? part
      : best,
  )
}

/** The narrowest part that can be walked in the order of the sort. */
function walkable(
  parts: readonly Part[],
  sort: readonly SortKey[],
  after: Place,
): Part | undefined {
  const inOrder = parts.filter(part => part.index.gives(sort, part, after))
  return inOrder.sort((one, other) => one.width - other.width)[0]
}

function walked(
  part: Part,
  { search }: Filters,
  sort: readonly SortKey[],
  after: Place,
  offset: number,
  limit: number,
  { fields, read }: Source,
): Stored[] {
  const test = matcher({ where: part.rest, ...(search && { search }) }, fields)
  const exact = isExact(part, { where: [], ...(search && { search }) })
  const items: Stored[] = []
  let left = exact ? 0 : offset
  for (const entry of part.index.walk(part, sort, after, exact ? offset : 0)) {
    if (items.length === limit) break
    const stored = read(idOf(entry))
    if (!exact && !test(stored.item)) continue
    if (left > 0) left--
    else items.push(stored)
  }
  return items
}

function gathered(part: Part, { search }: Filters, { fields, read }: Source): Stored[] {
  const test = matcher({ where: part.rest, ...(search && { search }) }, fields)
  const items: Stored[] = []
  for (const entry of part.index.gather(part)) {
    const stored = read(idOf(entry))
    if (test(stored.item)) items.push(stored)
  }
  return items
}

/** The first `count` items after a place in a sort. */
function least(
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
