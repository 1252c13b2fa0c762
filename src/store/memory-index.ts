// An index in memory: a sorted list of the values that the items have at some paths, their ids last. A
// filter that fits is a range of it, so its count is a subtraction; a sort that fits is a walk along it.
import { findField, type Kind } from '../schema/fields.ts'
import { getValue, toPath } from '../schema/paths.ts'
import {
  type Column,
  compareKey,
  isBound,
  isSamePath,
  type Key,
  type Keys,
  toKey,
  toKeys,
} from './memory-keys.ts'
import type { Filter, SortKey } from './selection.ts'
import { type Probe, SortedList } from './sorted-list.ts'
import type { Shape, Stored } from './store.ts'

/** Positions in an index, the end exclusive. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** The part of an index that some filters leave: all its items pass those filters. */
export interface Part {
  readonly index: MemoryIndex
  readonly ranges: readonly Range[]
  /** The number of items in the ranges. */
  readonly width: number
  /** The filters that the ranges do not answer. */
  readonly rest: readonly Filter[]
  /** The number of leading columns that have one value in each range. */
  readonly fixed: number
}

/** Directions of the columns after the fixed ones, and the place to continue from. */
interface Course {
  readonly depth: number
  readonly descending: readonly boolean[]
  readonly place: Keys | undefined
}

/** A product of `in` lists beyond this is left to the other filters' tests. */
const MAX_RANGES = 100

const NO_KEYS: readonly Keys[] = [[]]

export class MemoryIndex {
  readonly #columns: readonly Column[]
  /** Each item under the first of its keys; the others are read from the item. */
  readonly #rows = new SortedList<Key, Stored>()

  /** @param paths dotted; the id is added. */
  constructor({ fields, identity }: Shape, paths: readonly string[]) {
    const names = [...paths.filter(path => path !== identity.name), identity.name]
    this.#columns = names.map(name => {
      const path = toPath(name)
      return { path, kind: findField(fields, path)?.kind ?? 'any' }
    })
  }

  get size(): number {
    return this.#rows.size
  }

  add(row: Stored): void {
    const keys = this.#toKeys(row)
    this.#rows.add(keys[0] ?? null, row, this.#place(keys))
  }

  remove(row: Stored): void {
    this.#rows.remove(this.#place(this.#toKeys(row)))
  }

  /** Puts an item in the place of what it was. @returns whether it has moved. */
  replace(old: Stored, row: Stored): boolean {
    const keys = this.#toKeys(row)
    const moves = keys.some((key, at) => compareKey(this.#keyOf(old, at), key) !== 0)
    if (moves) {
      this.remove(old)
      this.add(row)
    } else this.#rows.replace(row, this.#place(keys))
    return moves
  }

  /** The key of an item in a column. */
  #keyOf(row: Stored, at: number): Key {
    const column = this.#columns[at]
    if (!column) return null
    // The last column is the id.
    const value = at === this.#columns.length - 1 ? row.id : getValue(row.item, column.path)
    return toKey(value, column.kind)
  }

  #toKeys(row: Stored): Keys {
    return this.#columns.map((_column, at) => this.#keyOf(row, at))
  }

  /** The place of keys, which may be fewer than the columns. @param equal what entries with these keys are. */
  #place(keys: Keys, equal = 0): Probe<Key, Stored> {
    const { length } = keys
    if (length === 0) return () => equal
    const first = keys[0] ?? null
    return (key, row) => {
      let order = compareKey(key, first)
      for (let at = 1; at < length && order === 0; at++)
        order = compareKey(this.#keyOf(row, at), keys[at])
      return order || equal
    }
  }

  /** Counts the entries that begin with less than these keys; with `after`, with these keys or less. */
  #rank(keys: Keys, after: boolean): number {
    return this.#rows.rank(this.#place(keys, after ? -1 : 0))
  }

  /** Finds the part that filters leave: `in` on the leading columns, then bounds on the next one. */
  part(where: readonly Filter[]): Part {
    const answered: Filter[] = []
    let prefixes = NO_KEYS
    let fixed = 0
    for (const { path, kind } of this.#columns) {
      const filter = where.find(each => each.operator === 'in' && isSamePath(each.path, path))
      const values = filter && toKeys(filter, kind)
      if (!filter || !values || prefixes.length * values.length > MAX_RANGES) break
      prefixes = prefixes.flatMap(prefix => values.map(value => [...prefix, value]))
      answered.push(filter)
      fixed++
    }
    const column = this.#columns[fixed]
    const bounds = column
      ? where.filter(each => isBound(each, column.kind) && isSamePath(each.path, column.path))
      : []
    if (fixed + bounds.length === 0) {
      const ranges = this.size === 0 ? [] : [{ from: 0, to: this.size }]
      return { index: this, ranges, width: this.size, rest: where, fixed }
    }
    answered.push(...bounds)
    const ranges = prefixes
      .map(prefix => this.#range(prefix, bounds, column?.kind))
      .filter(({ from, to }) => from < to)
    const width = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
    const rest = where.filter(each => !answered.includes(each))
    return { index: this, ranges, width, rest, fixed }
  }

  #range(prefix: Keys, bounds: readonly Filter[], kind: Kind = 'any'): Range {
    let from = this.#rank(bounds.length > 0 ? [...prefix, null] : prefix, bounds.length > 0)
    let to = this.#rank(prefix, true)
    for (const { operator, values } of bounds) {
      const bound = [...prefix, toKey(values[0], kind)]
      if (operator === 'gt') from = Math.max(from, this.#rank(bound, true))
      if (operator === 'gte') from = Math.max(from, this.#rank(bound, false))
      if (operator === 'lt') to = Math.min(to, this.#rank(bound, false))
      if (operator === 'lte') to = Math.min(to, this.#rank(bound, true))
    }
    return { from, to }
  }

  /** Whether a walk along a part gives a sort, from a place on. */
  canOrderBy(sort: readonly SortKey[], part: Part, after: Keys | undefined): boolean {
    const free = this.#free(sort, part)
    if (free.length !== this.#columns.length - part.fixed) return false
    if (!free.every(({ path }, at) => isSamePath(path, this.#columns[part.fixed + at]?.path)))
      return false
    if (!after || free.length === sort.length) return true
    // A place with other values than the range's own is not in the range.
    const first = this.#rows.at(part.ranges[0]?.from ?? 0)
    return sort.every((key, at) => {
      if (free.includes(key)) return true
      const column = this.#columns.findIndex(({ path }) => isSamePath(path, key.path))
      const value = first && this.#keyOf(first, column)
      return compareKey(toKey(after[at], this.#columns[column]?.kind), value) === 0
    })
  }

  /** The sort keys that are not the same in all of the ranges. */
  #free(sort: readonly SortKey[], { fixed, ranges }: Part): readonly SortKey[] {
    if (ranges.length > 1 || fixed === 0) return sort
    const same = this.#columns.slice(0, fixed)
    return sort.filter(key => !same.some(({ path }) => isSamePath(path, key.path)))
  }

  /**
   * Walks a part in the order of a sort that {@link canOrderBy} holds for.
   * @param after a place in that sort, to continue from.
   * @param offset the number of entries to skip first.
   * @param limit the number of entries wanted; an array holds no more.
   */
  walk(
    part: Part,
    sort: readonly SortKey[],
    after: Keys | undefined,
    offset: number,
    limit: number,
  ): Iterable<Stored> {
    const free = this.#free(sort, part)
    const depth = part.fixed
    const place = after && [
      ...Array<Key>(depth).fill(null),
      ...free.map((key, at) => toKey(after[sort.indexOf(key)], this.#columns[depth + at]?.kind)),
    ]
    const course = { depth, descending: free.map(key => key.descending), place }
    const [first, ...others] = part.ranges
    if (!first) return []
    if (others.length === 0) return this.#walk(first, course, { left: offset }, limit)
    const walks = part.ranges.map(range => this.#walk(range, course, { left: 0 }))
    return this.#merge(walks, course, offset)
  }

  /** Walks a range whose entries agree in the columns before the course's depth. */
  #walk(
    range: Range,
    { depth, descending, place }: Course,
    skip: { left: number },
    limit = Number.POSITIVE_INFINITY,
  ): Iterable<Stored> {
    let { from, to } = range
    const [down = false, ...others] = descending
    const oneWay = others.every(other => other === down)
    const first = (place || !oneWay) && this.#rows.at(from)
    const prefix = first ? this.#toKeys(first).slice(0, depth) : []
    if (place) {
      const bound = [...prefix, ...place.slice(depth, oneWay ? undefined : depth + 1)]
      if (down) to = Math.min(to, this.#rank(bound, !oneWay))
      else from = Math.max(from, this.#rank(bound, oneWay))
    }
    if (!oneWay) return this.#groups({ from, to }, prefix, { depth, descending, place }, skip)
    const passed = Math.max(0, Math.min(skip.left, to - from))
    skip.left -= passed
    if (down) to -= passed
    else from += passed
    if (limit === Number.POSITIVE_INFINITY) return this.#rows.walk(from, to, down)
    if (down) from = Math.max(from, to - limit)
    return this.#rows.slice(from, Math.min(to, from + limit), down)
  }

  /** Where the directions differ: one group of equal values after another, each in its own order. */
  *#groups(
    { from, to }: Range,
    prefix: Keys,
    { depth, descending: [down = false, ...others], place }: Course,
    skip: { left: number },
  ): Generator<Stored> {
    while (from < to) {
      const next = this.#rows.at(down ? to - 1 : from)
      const value = next ? this.#keyOf(next, depth) : null
      const group = {
        from: Math.max(from, this.#rank([...prefix, value], false)),
        to: Math.min(to, this.#rank([...prefix, value], true)),
      }
      const inside = place && compareKey(value, place[depth] ?? null) === 0 ? place : undefined
      if (!inside && skip.left >= group.to - group.from) skip.left -= group.to - group.from
      else yield* this.#walk(group, { depth: depth + 1, descending: others, place: inside }, skip)
      if (down) to = group.from
      else from = group.to
    }
  }

  /** Merges walks that are each in order. */
  *#merge(
    walks: readonly Iterable<Stored>[],
    { depth, descending }: Course,
    offset: number,
  ): Generator<Stored> {
    const before = (one: Stored, other: Stored): boolean => {
      for (let at = 0; at < descending.length; at++) {
        const order = compareKey(this.#keyOf(one, depth + at), this.#keyOf(other, depth + at))
        if (order !== 0) return descending[at] ? order > 0 : order < 0
      }
      return false
    }
    let left = offset
    const heads = walks.flatMap(each => {
      const walk = each[Symbol.iterator]()
      const { done, value } = walk.next()
      return done ? [] : [{ walk, row: value }]
    })
    while (heads.length > 0) {
      const next = heads.reduce((best, head) => (before(head.row, best.row) ? head : best))
      if (left > 0) left--
      else yield next.row
      const { done, value } = next.walk.next()
      if (done) heads.splice(heads.indexOf(next), 1)
      else next.row = value
    }
  }

  /** Collects the entries of a part in any order. */
  *collect({ ranges }: Part): Generator<Stored> {
    for (const { from, to } of ranges) yield* this.#rows.walk(from, to)
  }
}
