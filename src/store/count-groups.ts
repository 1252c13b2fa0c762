// Counts the groups of items in memory: the meaning that every store must agree with.

import { parseInstant } from '../base/dates.ts'
import { getValue } from '../base/paths.ts'
import { type Awaitable, type Item, isScalar, type Scalar } from '../base/values.ts'
import { type Fields, findField, type Kind } from '../schema/fields.ts'
import { compareValues } from '../schema/scalars.ts'
import {
  type Aggregate,
  DATE_ENDS,
  type Group,
  type Grouping,
  type GroupKey,
  printGroupDate,
} from './groups.ts'
import { takeNextTurn } from './slice-items.ts'
import type { StoreOptions } from './store.ts'

/** Adds numbers together with what their rounding loses (Neumaier, 1974). */
class Total {
  readonly #of: 'sum' | 'avg'
  #sum = 0
  #lost = 0
  #count = 0

  constructor(of: 'sum' | 'avg') {
    this.#of = of
  }

  add(given: number | string, count: number): void {
    const value = Number(given)
    const sum = this.#sum + value
    const [great, small] =
      Math.abs(this.#sum) < Math.abs(value) ? [value, this.#sum] : [this.#sum, value]
    this.#lost += great - sum + small
    this.#sum = sum
    this.#count += count
  }

  get value(): number | null {
    // Beyond the range of numbers what was lost is no number.
    const sum = Number.isFinite(this.#sum) ? this.#sum + this.#lost : this.#sum
    if (this.#of === 'sum') return sum
    return this.#count === 0 ? null : sum / this.#count
  }
}

/** Finds the least or the greatest value; date-times are given in milliseconds. */
class Extreme {
  readonly #kind: Kind | undefined
  readonly #sign: number
  #best: number | string | null = null

  constructor(of: 'min' | 'max', kind: Kind | undefined) {
    this.#sign = of === 'min' ? 1 : -1
    this.#kind = kind
  }

  add(value: number | string): void {
    if (this.#best === null || compareValues(value, this.#best) * this.#sign < 0) this.#best = value
  }

  get value(): number | string | null {
    const best = this.#best
    return this.#kind === 'date-time' && typeof best === 'number' ? printGroupDate(best) : best
  }
}

/** A group that is being counted. */
class GroupCounter {
  readonly keys: Group['keys']
  count = 0
  readonly #aggregates: readonly (Total | Extreme)[]

  constructor(keys: Group['keys'], aggregates: readonly (Total | Extreme)[]) {
    this.keys = keys
    this.#aggregates = aggregates
  }

  /**
   * Adds to the aggregate at a position.
   * @param value of an item, or the aggregate of several.
   * @param count how many values it stands for.
   */
  add(at: number, value: Scalar | null, count = 1): void {
    if (value !== null && typeof value !== 'boolean') this.#aggregates[at]?.add(value, count)
  }

  get values(): Group['values'] {
    return this.#aggregates.map(({ value }) => value)
  }
}

/** Groups that are being counted, of single items or of parts of a whole. */
export class GroupCounters {
  readonly #byKeys = new Map<Scalar | null, GroupCounter>()
  readonly #kinds: readonly (readonly [Aggregate['of'], Kind | undefined])[]
  readonly #limit: number

  constructor({ keys, aggregates, limit }: Grouping, fields: Fields) {
    this.#kinds = aggregates.map(({ of, path }) => [of, findField(fields, path)?.kind])
    this.#limit = limit
    if (keys.length === 0) this.find([])
  }

  /** Whether there are more groups than wanted: then no number of them is of interest. */
  get areTooMany(): boolean {
    return this.#byKeys.size > this.#limit
  }

  find(keys: Group['keys']): GroupCounter {
    const id = keys.length === 1 ? (keys[0] ?? null) : keys.map(printKey).join('')
    const known = this.#byKeys.get(id)
    if (known) return known
    const aggregates = this.#kinds.map(([of, kind]) =>
      of === 'sum' || of === 'avg' ? new Total(of) : new Extreme(of, kind),
    )
    const counter = new GroupCounter(keys, aggregates)
    this.#byKeys.set(id, counter)
    return counter
  }

  /** Lists the groups; of too many one more than wanted. */
  list(): Group[] {
    const counters = [...this.#byKeys.values()].slice(0, this.#limit + 1)
    return counters.map(({ keys, count, values }) => ({ keys, count, values }))
  }
}

/** Prints a key so that no two lists of them are alike: a text has its length in front. */
function printKey(key: Scalar | null): string {
  return `${typeof key === 'string' ? key.length : ''}:${key};`
}

/** How many items are looked at in one turn. */
const ITEMS_OF_TURN = 5000

/**
 * Counts the groups of items. Many items take several turns of the event loop.
 * @param items as they are at the start: the array must not change.
 * @param passes whether an item counts.
 */
export function countGroups(
  items: readonly { readonly item: Item }[],
  passes: (item: Item) => boolean,
  grouping: Grouping,
  fields: Fields,
  options?: StoreOptions,
): Awaitable<Group[]> {
  const readKeys = grouping.keys.map(key => compileKey(key, fields))
  const readValues = grouping.aggregates.map(each => compileValue(each, fields))
  const counters = new GroupCounters(grouping, fields)
  const count = (from: number) => {
    const end = Math.min(from + ITEMS_OF_TURN, items.length)
    for (let at = from; at < end; at++) {
      const item = items[at]?.item
      if (!item || !passes(item)) continue
      const counter = counters.find(readKeys.map(read => read(item)))
      counter.count++
      for (let each = 0; each < readValues.length; each++)
        counter.add(each, readValues[each]?.(item) ?? null)
    }
  }
  if (items.length <= ITEMS_OF_TURN) {
    count(0)
    return counters.list()
  }
  const countInTurns = async () => {
    for (let from = 0; from < items.length && !counters.areTooMany; from += ITEMS_OF_TURN) {
      await takeNextTurn(options)
      count(from)
    }
    return counters.list()
  }
  return countInTurns()
}

/** Compiles the reader of a key: of an item the value that its group has. */
function compileKey({ path, part }: GroupKey, fields: Fields): (item: Item) => Scalar | null {
  const kind = findField(fields, path)?.kind
  return item => {
    const value = getValue(item, path)
    if (!isScalar(value)) return null
    // -0 is 0.
    if (typeof value !== 'string') return value === 0 ? 0 : value
    if (kind === 'date-time') return printGroupDate(parseInstant(value), part)
    return part ? value.slice(0, DATE_ENDS[part]) : value
  }
}

/** Compiles the reader of what an aggregate takes: a number, a date, a date-time in milliseconds. */
function compileValue({ path }: Aggregate, fields: Fields): (item: Item) => number | string | null {
  const kind = findField(fields, path)?.kind
  return item => {
    const value = getValue(item, path)
    if (typeof value === 'number') return value
    if (typeof value !== 'string') return null
    return kind === 'date-time' ? parseInstant(value) : value
  }
}
