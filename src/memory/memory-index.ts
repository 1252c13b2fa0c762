// An index in memory: a sorted list of the values that the items have at some paths, their ids last. A
// filter that fits is a range of it, so its count is a subtraction; a sort that fits is a walk along it.
import { parseInstant } from '../base/dates.ts'
import { getValue, type Path, toPath } from '../base/paths.ts'
import type { Json, Scalar } from '../base/values.ts'
import { findField, type Kind } from '../schema/fields.ts'
import { compareValues, isOfKind } from '../schema/scalars.ts'
import { type Filter, isLeaf, type Operator, type ValueFilter } from '../store/filter.ts'
import { listIdFields } from '../store/relation-ids.ts'
import type { SortKey } from '../store/selection.ts'
import type { ReadOrder } from '../store/slice-items.ts'
import type { Shape, Stored } from '../store/store.ts'
import { type Probe, SortedList } from './sorted-list.ts'

/** A value as an index holds it: date-times as milliseconds, null for what is absent. */
type IndexKey = Scalar | null

interface IndexColumn {
  readonly path: Path
  readonly kind: Kind
}

/** Positions in an index, the end exclusive. */
export interface PositionRange {
  readonly from: number
  readonly to: number
}

/** The part of an index that some filters leave: all its items pass those filters. */
export interface IndexPart {
  readonly index: Pick<MemoryIndex, 'canOrderBy' | 'slice' | 'walk'>
  /** In the order of the index. */
  readonly ranges: readonly PositionRange[]
  /** The number of items in the ranges. */
  readonly count: number
  /** The filters that the ranges do not answer. */
  readonly unanswered: readonly Filter[]
  /** The number of leading columns with one value in each range. */
  readonly fixedColumns: number
}

/** The end of a range that an operator sets: before or after the entries with its value. */
const ENDS: Readonly<
  Record<Operator, { readonly of: 'from' | 'to'; readonly after: boolean } | undefined>
> = {
  in: undefined,
  nin: undefined,
  gt: { of: 'from', after: true },
  gte: { of: 'from', after: false },
  lt: { of: 'to', after: false },
  lte: { of: 'to', after: true },
  like: undefined,
  prefix: undefined,
  exists: undefined,
}

/** Beyond so many combinations of `in` values, the other filters are tested item by item. */
const MAX_RANGES = 100

/** The part of an index with one value in its first column. */
const ONE_VALUE = { fixedColumns: 1, ranges: [] }

export class MemoryIndex {
  readonly #columns: readonly IndexColumn[]
  readonly #endsWithId: boolean
  /** Each item under the first of its keys; the others are read from the item. */
  readonly #rows = new SortedList<IndexKey, Stored>()

  /** @param paths dotted; the id is added. */
  constructor({ fields, identity }: Shape, paths: readonly string[]) {
    const own = paths.filter(path => path !== identity.name)
    const names = new Set([...own, ...listIdFields(identity)])
    this.#endsWithId = !identity.parts
    this.#columns = [...names].map(name => {
      const path = toPath(name)
      return { path, kind: findField(fields, path)?.kind ?? 'any' }
    })
  }

  add(row: Stored): void {
    const keys = this.#toKeys(row)
    this.#rows.add(keys[0] ?? null, row, this.#place(keys))
  }

  remove(row: Stored): void {
    this.#rows.remove(this.#place(this.#toKeys(row)))
  }

  /** Replaces an item. @returns whether its position may have changed. */
  replace(old: Stored, row: Stored): boolean {
    const keys = this.#toKeys(row)
    const moves = keys.some((key, at) => compareValues(this.#keyOf(old, at), key) !== 0)
    if (moves) {
      this.remove(old)
      this.add(row)
    } else this.#rows.replace(row, this.#place(keys))
    return moves
  }

  /** The key of an item in a column. */
  #keyOf(row: Stored, at: number): IndexKey {
    const column = this.#columns[at]
    if (!column) return null
    const isId = this.#endsWithId && at === this.#columns.length - 1
    const value = isId ? row.id : getValue(row.item, column.path)
    return toKey(value, column.kind)
  }

  #toKeys(row: Stored): readonly IndexKey[] {
    // Not by `map`: its list would change its kind with each row, which takes longer than the rest.
    const keys: IndexKey[] = []
    for (let at = 0; at < this.#columns.length; at++) keys.push(this.#keyOf(row, at))
    return keys
  }

  /** Builds the place of keys, maybe fewer than the columns. @param equal the result for entries with these keys. */
  #place(keys: readonly IndexKey[], equal = 0): Probe<IndexKey, Stored> {
    const { length } = keys
    if (length === 0) return () => equal
    const first = keys[0] ?? null
    return (key, row) => {
      let order = compareValues(key, first)
      for (let at = 1; at < length && order === 0; at++)
        order = compareValues(this.#keyOf(row, at), keys[at])
      return order || equal
    }
  }

  /** Counts the entries before these keys; with `after`, also those that begin with them. */
  #rank(keys: readonly IndexKey[], after: boolean): number {
    return this.#rows.rank(this.#place(keys, after ? -1 : 0))
  }

  /** Finds the part that filters leave: `in` on the leading columns, then bounds on the next one; no groups. */
  findPart(where: readonly Filter[]): IndexPart {
    const answered: Filter[] = []
    let prefixes: readonly (readonly IndexKey[])[] = [[]]
    for (const { path, kind } of this.#columns) {
      const filter = where.find(each => isOneOf(each, path))
      const values = filter && toKeys(filter, kind)
      if (!values || prefixes.length * values.length > MAX_RANGES) break
      prefixes = prefixes.flatMap(prefix => values.map(value => [...prefix, value]))
      answered.push(filter)
    }
    const fixedColumns = answered.length
    const column = this.#columns[fixedColumns]
    const bounds = column ? where.filter(each => isBound(each, column)) : []
    const ranges = prefixes
      .map(prefix => this.#range(prefix, bounds, column?.kind))
      .filter(({ from, to }) => from < to)
      .sort((one, other) => one.from - other.from)
    const count = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
    const used: readonly Filter[] = [...answered, ...bounds]
    const unanswered = where.filter(each => !used.includes(each))
    return { index: this, ranges, count, unanswered, fixedColumns }
  }

  #range(
    prefix: readonly IndexKey[],
    bounds: readonly ValueFilter[],
    kind: Kind = 'any',
  ): PositionRange {
    let from = this.#rank(bounds.length > 0 ? [...prefix, null] : prefix, bounds.length > 0)
    let to = this.#rank(prefix, true)
    for (const { operator, values } of bounds) {
      const end = ENDS[operator]
      if (!end) continue
      const rank = this.#rank([...prefix, toKey(values[0], kind)], end.after)
      if (end.of === 'from') from = Math.max(from, rank)
      else to = Math.min(to, rank)
    }
    return { from, to }
  }

  /** Whether the entries with one value at a path are in the order of a sort, or its reverse. */
  canOrderEach(path: Path, sort: readonly SortKey[]): boolean {
    return isSamePath(path, this.#columns[0]?.path) && this.canOrderBy(sort, ONE_VALUE)
  }

  /** Creates a function that copies the first entries, or the last, with a value in the first column: of each value once. */
  createReader(backward: boolean): (value: Scalar, limit: number) => Stored[] {
    const [column] = this.#columns
    const read = this.#rows.createReader()
    return (value, limit) => {
      if (!column || !isOfKind(value, column.kind)) return []
      const keys = [toKey(value, column.kind)]
      if (!backward) return read(this.#place(keys), limit)
      const end = this.#rank(keys, true)
      return this.#rows.slice(Math.max(this.#rank(keys, false), end - limit), end, true)
    }
  }

  /** Whether the order of a part, or its reverse, is that of a sort. */
  canOrderBy(
    sort: readonly SortKey[],
    { fixedColumns, ranges }: Pick<IndexPart, 'fixedColumns' | 'ranges'>,
  ): boolean {
    const depth = this.#columns.length - sort.length
    // Several ranges are sorted together only if the sort starts at the first column.
    if (depth < 0 || depth > fixedColumns || (depth > 0 && ranges.length > 1)) return false
    const down = isDescending(sort)
    return sort.every(
      ({ path, descending }, at) =>
        descending === down && isSamePath(path, this.#columns[depth + at]?.path),
    )
  }

  /** Copies the first entries of a part in an order for which {@link canOrderBy} holds. */
  slice(part: IndexPart, order: ReadOrder, limit: number): Stored[] {
    const down = isDescending(order.sort)
    let left = order.offset
    let entries: Stored[] = []
    for (const { from, to } of this.#rangesAfter(part, order)) {
      const skipped = Math.min(left, to - from)
      left -= skipped
      const size = Math.min(limit - entries.length, to - from - skipped)
      const start = down ? to - skipped - size : from + skipped
      const found = this.#rows.slice(start, start + size, down)
      entries = entries.length === 0 ? found : [...entries, ...found]
    }
    return entries
  }

  /** Walks the entries of a part as {@link slice} does, but skips none. */
  *walk(part: IndexPart, order: ReadOrder): IterableIterator<Stored> {
    for (const { from, to } of this.#rangesAfter(part, order)) {
      yield* this.#rows.walk(from, to, isDescending(order.sort))
    }
  }

  /** Lists the ranges of a part after the place of an order, in that order. */
  #rangesAfter({ ranges }: IndexPart, { sort, after }: ReadOrder): readonly PositionRange[] {
    const down = isDescending(sort)
    const ordered = down ? ranges.toReversed() : ranges
    if (!after) return ordered
    const depth = this.#columns.length - sort.length
    const keys = after.map((value, at) => toKey(value, this.#columns[depth + at]?.kind))
    return ordered.map(({ from, to }) => {
      const first = this.#rows.at(from)
      const place = [...(first ? this.#toKeys(first).slice(0, depth) : []), ...keys]
      const position = Math.max(from, Math.min(to, this.#rank(place, !down)))
      return down ? { from, to: position } : { from: position, to }
    })
  }
}

export function isDescending(sort: readonly SortKey[]): boolean {
  return sort[0]?.descending === true
}

function toKey(value: Json | undefined, kind: Kind | undefined): IndexKey {
  if (typeof value === 'string' && kind === 'date-time') return parseInstant(value)
  return typeof value === 'object' || value === undefined ? null : value
}

function isSamePath(one: Path, other: Path | undefined): boolean {
  return one.length === other?.length && one.every((name, at) => name === other[at])
}

/** The values of an `in` that a column can have, each once. */
function toKeys({ values }: ValueFilter, kind: Kind): IndexKey[] {
  const fitting = values.filter(value => isOfKind(value, kind))
  return [...new Set(fitting.map(value => toKey(value, kind)))]
}

function isOneOf(filter: Filter, path: Path): filter is ValueFilter {
  return filter.operator === 'in' && isSamePath(filter.path, path)
}

/** Whether a filter bounds a range of a column's values. */
function isBound(filter: Filter, { path, kind }: IndexColumn): filter is ValueFilter {
  if (!isLeaf(filter) || filter.operator === 'within' || !ENDS[filter.operator]) return false
  if (!isSamePath(filter.path, path)) return false
  const [value] = filter.values
  return value !== undefined && isOfKind(value, kind)
}
