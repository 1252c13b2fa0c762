// An index in memory: a sorted list of what the items have at some paths, their ids last. A filter
// that fits is a range of it, so its count is a subtraction; a sort that fits is a walk along it.
import { parseInstant } from '../schema/dates.ts'
import { findField, type Kind } from '../schema/fields.ts'
import { getValue, type Path, toPath } from '../schema/paths.ts'
import { hasOneType, isOfKind } from '../schema/scalars.ts'
import { compareText, type Item, type Json, type Scalar } from '../schema/values.ts'
import { isOrdering } from './operators.ts'
import type { Filter, SortKey } from './selection.ts'
import { SortedList } from './sorted-list.ts'
import type { Id, Shape } from './store.ts'

/** A value as an index holds it: date-times as milliseconds, what is absent as null. */
type Key = Scalar | null
type Keys = readonly Key[]

/** Positions in an index, the end exclusive. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** The part of an index that some filters leave: all its items pass those filters. */
export interface Part {
  readonly index: MemoryIndex
  readonly ranges: readonly Range[]
  /** How many items the ranges hold. */
  readonly width: number
  /** What the ranges do not answer. */
  readonly rest: readonly Filter[]
  /** How many leading columns have one value in each range. */
  readonly fixed: number
}

/** A product of `in` lists beyond this is left to the other filters' tests. */
const MOST_RANGES = 100

export class MemoryIndex {
  readonly #columns: readonly { path: Path; kind: Kind }[]
  readonly #entries = new SortedList<Keys>(compareKeys)

  /** @param paths dotted; the id is added. */
  constructor({ fields, identity }: Shape, paths: readonly string[]) {
    const names = [...paths.filter(path => path !== identity.name), identity.name]
    this.#columns = names.map(name => {
      const path = toPath(name)
      return { path, kind: findField(fields, path)?.kind ?? 'any' }
    })
  }

  get size(): number {
    return this.#entries.size
  }

  /** What the index holds of an item. */
  keysOf(item: Item): Keys {
    return this.#columns.map(({ path, kind }) => keyOf(getValue(item, path), kind))
  }

  add(keys: Keys): void {
    this.#entries.add(keys)
  }

  remove(keys: Keys): void {
    this.#entries.remove(keys)
  }

  /** How many entries begin with less than these keys; with `after`, with these keys or less. */
  #rank(keys: Keys, after: boolean): number {
    const equal = after ? -1 : 0
    return this.#entries.rank(entry => compareKeys(entry, keys, keys.length) || equal)
  }

  /** The part that filters leave: `in` on the leading columns, then bounds on the next one. */
  part(where: readonly Filter[]): Part {
    const answered: Filter[] = []
    let prefixes: Keys[] = [[]]
    let fixed = 0
    for (const { path, kind } of this.#columns) {
      const filter = where.find(each => each.operator === 'in' && isSamePath(each.path, path))
      const values = filter && keysOfFilter(filter, kind)
      if (!filter || !values || prefixes.length * values.length > MOST_RANGES) break
      prefixes = prefixes.flatMap(prefix => values.map(value => [...prefix, value]))
      answered.push(filter)
      fixed++
    }
    const column = this.#columns[fixed]
    const bounds = where.filter(
      each =>
        column !== undefined && isBound(each, column.kind) && isSamePath(each.path, column.path),
    )
    answered.push(...bounds)
    const ranges = prefixes
      .map(prefix => this.#range(prefix, bounds, column?.kind))
      .filter(({ from, to }) => from < to)
    const width = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
    const rest = where.filter(each => !answered.includes(each))
    return { index: this, ranges, width, rest, fixed }
  }

  #range(prefix: Keys, bounds: readonly Filter[], kind: Kind = 'any'): Range {
    if (prefix.length + bounds.length === 0) return { from: 0, to: this.size }
    let from = this.#rank(prefix, false)
    let to = this.#rank(prefix, true)
    if (bounds.length > 0) from = this.#rank([...prefix, null], true)
    for (const { operator, values } of bounds) {
      const bound = [...prefix, keyOf(values[0], kind)]
      if (operator === 'gt') from = Math.max(from, this.#rank(bound, true))
      if (operator === 'gte') from = Math.max(from, this.#rank(bound, false))
      if (operator === 'lt') to = Math.min(to, this.#rank(bound, false))
      if (operator === 'lte') to = Math.min(to, this.#rank(bound, true))
    }
    return { from, to }
  }

  /** Whether each of a part's ranges, walked in some directions, gives a sort from a place on. */
  gives(sort: readonly SortKey[], part: Part, after: Keys | undefined): boolean {
    const columns = this.#columns.slice(part.fixed)
    const free = this.#free(sort, part)
    if (free.length !== columns.length) return false
    if (!columns.every(({ path }, at) => isSamePath(path, free[at]?.path))) return false
    // A place with other values than the range's own is no place in the range.
    const first = this.#entries.at(part.ranges[0]?.from ?? 0)
    return sort.every((key, at) => {
      if (!after || free.includes(key)) return true
      const column = this.#columns.findIndex(({ path }) => isSamePath(path, key.path))
      return compareKey(keyOf(after[at], this.#kindOf(key)), first?.[column]) === 0
    })
  }

  /** The sort keys that are not the same in all of the ranges. */
  #free(sort: readonly SortKey[], { fixed, ranges }: Part): readonly SortKey[] {
    if (ranges.length > 1) return sort
    const same = this.#columns.slice(0, fixed)
    return sort.filter(key => !same.some(({ path }) => isSamePath(path, key.path)))
  }

  /**
   * The entries of a part in the order of a sort that it {@link gives}: see {@link idOf}.
   * @param after a place in that sort, where to go on from.
   * @param offset how many to pass over first.
   */
  walk(
    part: Part,
    sort: readonly SortKey[],
    after: Keys | undefined,
    offset: number,
  ): Iterable<Keys> {
    const free = this.#free(sort, part)
    const descending = free.map(key => key.descending)
    const place = after && [
      ...Array<Key>(part.fixed).fill(null),
      ...free.map(key => keyOf(after[sort.indexOf(key)], this.#kindOf(key))),
    ]
    const skip = { left: part.ranges.length > 1 ? 0 : offset }
    const walks = part.ranges.map(range => this.#walk(range, part.fixed, descending, place, skip))
    if (walks.length <= 1) return walks[0] ?? []
    return merge(walks, part.fixed, descending, offset)
  }

  #kindOf({ path }: SortKey): Kind | undefined {
    return this.#columns.find(column => isSamePath(column.path, path))?.kind
  }

  /** Walks a range whose entries agree in the columns before `depth`; `descending` is of those from it on. */
  #walk(
    range: Range,
    depth: number,
    descending: readonly boolean[],
    place: Keys | undefined,
    skip: { left: number },
  ): Generator<Keys> {
    let { from, to } = range
    const prefix = this.#entries.at(from)?.slice(0, depth) ?? []
    const [down = false, ...others] = descending
    const oneWay = others.every(other => other === down)
    if (place) {
      const bound = [...prefix, ...place.slice(depth, oneWay ? undefined : depth + 1)]
      if (down) to = Math.min(to, this.#rank(bound, !oneWay))
      else from = Math.max(from, this.#rank(bound, oneWay))
    }
    if (!oneWay) return this.#groups({ from, to }, prefix, descending, place, skip)
    const passed = Math.max(0, Math.min(skip.left, to - from))
    skip.left -= passed
    return this.#entries.slice(down ? from : from + passed, down ? to - passed : to, down)
  }

  /** Where the directions differ: one group of equal values after another, each in its own order. */
  *#groups(
    { from, to }: Range,
    prefix: Keys,
    [down = false, ...others]: readonly boolean[],
    place: Keys | undefined,
    skip: { left: number },
  ): Generator<Keys> {
    const depth = prefix.length
    while (from < to) {
      const value = this.#entries.at(down ? to - 1 : from)?.[depth] ?? null
      const group = {
        from: Math.max(from, this.#rank([...prefix, value], false)),
        to: Math.min(to, this.#rank([...prefix, value], true)),
      }
      const inside = place && compareKey(value, place[depth] ?? null) === 0 ? place : undefined
      if (!inside && skip.left >= group.to - group.from) skip.left -= group.to - group.from
      else yield* this.#walk(group, depth + 1, others, inside, skip)
      if (down) to = group.from
      else from = group.to
    }
  }

  /** The entries of a part in whatever order is at hand. */
  *gather({ ranges }: Part): Generator<Keys> {
    for (const { from, to } of ranges) yield* this.#entries.slice(from, to)
  }
}

/** Which item an entry is of. */
export function idOf(keys: Keys): Id {
  return keys.at(-1) as Id // every entry ends with the id
}

/** Merges walks that are each in order; so many are passed over. */
function* merge(
  walks: readonly Iterator<Keys>[],
  depth: number,
  descending: readonly boolean[],
  offset: number,
): Generator<Keys> {
  let left = offset
  const heads = walks.flatMap(walk => {
    const { done, value } = walk.next()
    return done ? [] : [{ walk, keys: value }]
  })
  while (heads.length > 0) {
    const least = heads.reduce((best, head) =>
      inOrder(head.keys, best.keys, depth, descending) ? head : best,
    )
    if (left > 0) left--
    else yield least.keys
    const { done, value } = least.walk.next()
    if (done) heads.splice(heads.indexOf(least), 1)
    else least.keys = value
  }
}

function inOrder(one: Keys, other: Keys, depth: number, descending: readonly boolean[]): boolean {
  let order = 0
  for (let at = 0; at < descending.length && order === 0; at++) {
    const ascending = compareKey(one[depth + at], other[depth + at])
    order = descending[at] ? -ascending : ascending
  }
  return order < 0
}

function isSamePath(one: Path, other: Path | undefined): boolean {
  return one.length === other?.length && one.every((name, at) => name === other[at])
}

function keyOf(value: Json | undefined, kind: Kind | undefined): Key {
  if (typeof value === 'string' && kind === 'date-time') return parseInstant(value)
  return typeof value === 'object' || value === undefined ? null : value
}

/** The values of an `in` that a column can have, each once; `undefined` where the column has no order. */
function keysOfFilter({ values }: Filter, kind: Kind): Key[] | undefined {
  if (!hasOneType(kind)) return undefined
  return [
    ...new Set(values.filter(value => isOfKind(value, kind)).map(value => keyOf(value, kind))),
  ]
}

function isBound({ operator, values: [value] }: Filter, kind: Kind): boolean {
  return isOrdering(operator) && value !== undefined && isOfKind(value, kind)
}

/** The order of `compareValues`, for values of one field. */
function compareKey(one: Key = null, other: Key = null): number {
  if (one === other) return 0
  if (one === null) return -1
  if (other === null) return 1
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other)
  return Number(one) - Number(other)
}

function compareKeys(one: Keys, other: Keys, length = one.length): number {
  for (let at = 0; at < length; at++) {
    const order = compareKey(one[at], other[at])
    if (order !== 0) return order
  }
  return 0
}
