// Sorts items and takes a slice of them: at once, or in turns of the event loop where they are many.

import { memoize } from '../base/memoize.ts'
import { takeTurn } from '../base/turns.ts'
import type { Scalar } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { keyComparer, type Selection, type SortKey, sortKeyOf } from './selection.ts'
import {
  type KeySlice,
  type Slice,
  type Stored,
  type StoreOptions,
  throwIfAborted,
} from './store.ts'

/** How a slice is read: its sort, the place to continue from, and how many items are skipped. */
export interface ReadOrder {
  /** Empty: in any order. */
  readonly sort: readonly SortKey[]
  /** A place in the sort to continue from; the start where it is absent. */
  readonly after: KeySlice['key']
  readonly offset: number
}

/** What a list asks for: a slice of a selection in its order. */
export interface SliceRequest {
  readonly selection: Selection
  readonly slice: Slice
  /** The most items that are read: one more than the slice has, to know whether others follow. */
  readonly limit: number
}

/** An item with its place in a sort. */
interface Keyed {
  readonly stored: Stored
  readonly key: readonly (Scalar | null)[]
}

/** Sorts items and takes the first `limit` ones of a slice. */
export function sliceItems(
  items: readonly Stored[],
  request: SliceRequest,
  fields: Fields,
): Stored[] {
  const slicing = new Slicing(request, fields)
  return slicing.finish(slicing.findFirst(items))
}

/** How many items are looked at in one turn: a page of them takes some 3 ms, sorting all of them 8 ms. */
export const ITEMS_OF_TURN = 10_000

/** Waits for the turn of work that takes several. */
export async function takeNextTurn(options: StoreOptions | undefined): Promise<void> {
  await takeTurn(true)
  throwIfAborted(options)
}

/**
 * Does the same for items that come in parts, each in a turn of its own.
 * @returns the number of all items too.
 */
export async function sliceInTurns(
  parts: AsyncIterable<readonly Stored[]>,
  request: SliceRequest,
  fields: Fields,
  options: StoreOptions | undefined,
): Promise<{ items: Stored[]; total: number }> {
  const slicing = new Slicing(request, fields)
  const runs: (readonly Keyed[])[] = []
  let total = 0
  for await (const items of parts) {
    total += items.length
    runs.push(slicing.findFirst(items))
  }
  const merging = slicing.merge(runs)
  for (;;) {
    const { done, value } = merging.next()
    if (done) return { items: slicing.finish(value), total }
    await takeNextTurn(options)
  }
}

/** How a slice of a list is found among items that are in no order. */
class Slicing {
  readonly #slice: Slice
  readonly #order: ReadOrder
  readonly #compare: (one: Keyed, other: Keyed) => number
  /** Whether an item is behind the place to continue from. */
  readonly #isBehind: ((keyed: Keyed) => boolean) | undefined
  /** How many items of the order are needed. */
  readonly #wanted: number

  constructor({ selection, slice, limit }: SliceRequest, fields: Fields) {
    const order = toReadOrder(selection.sort, slice)
    const { after, offset } = order
    const compare = keyComparer(order.sort, fields)
    this.#slice = slice
    this.#order = order
    this.#compare = (one, other) => compare(one.key, other.key)
    this.#isBehind = after && (({ key }) => compare(key, after) > 0)
    this.#wanted = offset + limit
  }

  /** Finds the first of some items, in order: as many as the slice needs. */
  findFirst(items: readonly Stored[]): readonly Keyed[] {
    const { sort } = this.#order
    const keyed = items.map(stored => ({ stored, key: sortKeyOf(stored.item, sort) }))
    const rest = this.#isBehind ? keyed.filter(this.#isBehind) : keyed
    return findSmallest(rest, this.#wanted, this.#compare)
  }

  /**
   * Merges items that are in order in several runs, as many as the slice needs. Stops after each {@link ITEMS_OF_TURN}.
   * @returns what {@link finish} takes.
   */
  *merge(runs: readonly (readonly Keyed[])[]): Generator<void, readonly Keyed[]> {
    let work = 0
    let left = runs
    while (left.length > 1) {
      const merged: Keyed[][] = []
      for (let at = 0; at < left.length; at += 2) {
        const [one = [], other = []] = left.slice(at, at + 2)
        const run: Keyed[] = []
        merged.push(run)
        const length = Math.min(one.length + other.length, this.#wanted)
        let next = 0
        while (run.length < length) {
          const first = one[run.length - next]
          const second = other[next]
          const taken = second && (!first || this.#compare(second, first) < 0) ? second : first
          // One of them is left.
          if (!taken) break
          if (taken === second) next++
          run.push(taken)
          if (++work % ITEMS_OF_TURN === 0) yield
        }
      }
      left = merged
    }
    return left[0] ?? []
  }

  /** Takes the slice. */
  finish(sorted: readonly Keyed[]): Stored[] {
    const items = sorted.slice(this.#order.offset, this.#wanted).map(({ stored }) => stored)
    return inOrder(items, this.#slice)
  }
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

/** Puts items in the order of the list: those of a backward slice are found in reverse. */
export function inOrder(items: Stored[], slice: Slice): Stored[] {
  return 'key' in slice && slice.backward ? items.reverse() : items
}

export function toReadOrder(sort: readonly SortKey[], slice: Slice): ReadOrder {
  if ('offset' in slice) return { sort, after: undefined, offset: slice.offset }
  return { sort: slice.backward ? reverse(sort) : sort, after: slice.key, offset: 0 }
}

/** Reverses a sort, to the same array each time: plans remember walks by it. */
const reverse = memoize((sort: readonly SortKey[]): readonly SortKey[] =>
  sort.map(({ path, descending }) => ({ path, descending: !descending })),
)
