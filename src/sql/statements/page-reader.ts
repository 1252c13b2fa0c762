// Lists of a table: pages, with their total of the same moment where one statement finds both.

import { takeTurn } from '../../base/turns.ts'
import { toPage } from '../../store/page.ts'
import { cutPage } from '../../store/printed.ts'
import { type Selection, sortKeyOf } from '../../store/selection.ts'
import {
  type Id,
  type ListOptions,
  type Slice,
  type Stored,
  type StorePage,
  type TotalMode,
  throwIfAborted,
} from '../../store/store.ts'
import { compile, type Row, type Runner, type StatementSession } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { hasIndexFor } from './index-use.ts'
import { type Extras, listStatement, type RowSlice, type WantedRows } from './list-statements.ts'
import { boundColumns } from './long-rows.ts'
import { findPlace, type PlaceKey } from './place.ts'
import type { TableWalk } from './table-walk.ts'
import { type Totals, toTotalKey } from './totals.ts'

/** The items of a slice. */
interface FoundSlice {
  readonly items: readonly Stored[]
  /** How many rows the slice has: more than the items if these are too large together. */
  readonly count: number
  /** Whether the rows are too large together, so that the page may have to be cut. */
  readonly long: boolean
  readonly total?: number | undefined
}

/** A slice without its total. */
const NOTHING: Extras = { total: false, state: false }

/** What is to be read by one statement. */
interface ReadPart extends WantedRows {
  /** Whether the total is counted too, or how far. */
  readonly counts: boolean | number
}

/** Returned instead of a slice: its rows are too long to be read at the same time as others. */
const LONG = Symbol('long')
/** For how long after a long row others are expected, in milliseconds. */
const LONG_MS = 1000

export class PageReader {
  readonly #mapping: TableMapping
  readonly #totals: Totals
  readonly #walk: TableWalk | undefined
  readonly #bounded: ReturnType<typeof boundColumns>
  /** The time until which the rows are expected to be long. */
  #longUntil = 0
  /** Settles when the last page of long rows was read. */
  #lastLong: Promise<unknown> = Promise.resolve()

  /** @param walk absent where the database can be stopped. */
  constructor(mapping: TableMapping, totals: Totals, walk: TableWalk | undefined) {
    this.#mapping = mapping
    this.#totals = totals
    this.#walk = walk
    this.#bounded = boundColumns(mapping)
  }

  /** Finds a page. Its exact total is of the same moment, unless the page is empty. */
  async list(
    session: StatementSession,
    selection: Selection,
    slice: Slice,
    mode: TotalMode,
    options?: ListOptions,
    maxBytes = options?.maxBytes,
  ): Promise<StorePage> {
    // One row more shows whether there are more.
    const more = slice.limit === 0 ? slice : { ...slice, limit: slice.limit + 1 }
    const wanted = await this.#place(session, selection, more, options)
    const exact = mode === 'exact' && (options?.exactUpTo ?? true)
    const bound = exact && (await this.#walk?.boundCount(session, selection, options))
    // Beyond the bound it is counted by itself, in slices.
    const isBound = bound && (exact === true || exact > bound)
    const part = { selection, slice: wanted, counts: isBound ? bound : exact }
    const found = await this.#find(session, part, maxBytes, options)
    let total = mode === 'none' ? undefined : (found.total ?? findTotal(found, wanted))
    if (isBound && total !== undefined && total > bound) total = undefined
    if (mode !== 'none' && total === undefined) {
      const before = 'offset' in slice && found.count > 0 ? slice.offset : 0
      const counted = await this.#totals.count(session, selection, mode, options)
      total = Math.max(before + found.count, counted)
    }
    const page = toPage(found.items, slice, total)
    if (!found.long) return page
    const hasMore = page.more || found.count > found.items.length
    return cutPage({ ...page, more: hasMore }, slice, maxBytes)
  }

  /** Finds the place of a slice, where null stands for a value that cannot be read. */
  async #place(
    session: StatementSession,
    { sort }: Selection,
    slice: Slice,
    options: ListOptions | undefined,
  ): Promise<RowSlice> {
    if (!('key' in slice) || !slice.key?.includes(null)) return slice
    const key = await findPlace(session, { sort, key: slice.key }, this.#mapping, options)
    return { ...slice, key }
  }

  /** Finds the items of a slice, and the total if one statement finds both. */
  async #find(
    session: StatementSession,
    wanted: ReadPart,
    maxBytes: number | undefined,
    options: ListOptions | undefined,
  ): Promise<FoundSlice> {
    const { selection, slice } = wanted
    if (slice.limit === 0) return { items: [], count: 0, long: false }
    const hasIndex = hasIndexFor(selection, this.#mapping)
    const walk = hasIndex ? undefined : this.#walk
    const ids = walk && (await walk.findIds(session, selection, slice, options))
    const isPlain = hasIndex && selection.where.length === 0
    const part = ids ? this.#selectIds(ids, wanted) : { ...wanted, isPlain }
    const read = async (runner: Runner) => {
      const expectsLong = maxBytes !== undefined && performance.now() < this.#longUntil
      const found = expectsLong ? LONG : await this.#readSlice(part, maxBytes, runner)
      // A transaction does not wait for other long reads: they may wait for its end.
      return found === LONG && runner.apart ? this.#readLong(part, runner, maxBytes) : found
    }
    const toKey = () => this.#toShareKey(part, maxBytes)
    const found = await session.read(read, options, !hasIndex, toKey)
    if (found !== LONG) return found
    // Long rows keep the driver and this process busy: their pages are read one after another.
    const reading = this.#lastLong.then(async () => {
      throwIfAborted(options)
      await takeTurn(true)
      return session.read(runner => this.#readLong(part, runner, maxBytes), options)
    })
    this.#lastLong = reading.catch(() => undefined)
    return reading
  }

  /** Selects the rows that a walk has found. */
  #selectIds(values: readonly Id[], { selection, slice }: ReadPart): ReadPart {
    const { name } = this.#mapping.shape.identity
    const where = [{ path: [name], operator: 'in', values } as const]
    const backward = 'key' in slice && slice.backward
    return {
      selection: { where, sort: selection.sort },
      slice: { limit: values.length, key: undefined, backward },
      counts: false,
    }
  }

  /** Only equal slices have the same key: all that they bind is text, or a whole number. */
  #toShareKey(part: ReadPart, maxBytes: number | undefined): string {
    const { text, values } = listStatement(part, NOTHING, this.#mapping, this.#mapping.all)
    return JSON.stringify([text, values, part.counts, maxBytes])
  }

  /** Selects a slice with its total, or with the state for which the total is remembered. */
  async #readSlice(
    part: ReadPart,
    maxBytes: number | undefined,
    runner: Runner,
  ): Promise<FoundSlice | typeof LONG> {
    const totals = this.#totals
    const select = (extras: Extras) => this.#selectSlice(part, extras, maxBytes, runner)
    const { counts } = part
    if (counts === false) return select(NOTHING)
    const key = toTotalKey(part.selection, counts)
    const remembers = totals.mayRemember(runner)
    if (remembers && totals.has(key)) {
      const found = await select({ total: false, state: true })
      if (found === LONG) return found
      const total = totals.recall(key, found.first)
      if (total !== undefined) return { ...found, total }
    }
    const since = performance.now()
    const found = await select({ total: counts, state: remembers })
    if (found === LONG || !found.first) return found
    if (counts === true) totals.noteCost(found.first, since)
    return { ...found, total: totals.remember(key, found.first) }
  }

  async #selectSlice(
    part: ReadPart,
    extras: Extras,
    maxBytes: number | undefined,
    runner: Runner,
  ): Promise<(FoundSlice & { readonly first: Row | undefined }) | typeof LONG> {
    const { selection, slice } = part
    const mapping = this.#mapping
    const bounded = this.#bounded
    const columns = maxBytes === undefined ? undefined : bounded?.select(slice.limit, maxBytes)
    const statement = listStatement(part, extras, mapping, columns ?? mapping.all)
    const { rows } = await runner.run(compile(mapping.database, statement))
    if (columns && bounded?.isMarked(rows)) {
      this.#longUntil = performance.now() + LONG_MS
      return LONG
    }
    const items = this.#decodeRows(rows, selection, slice)
    return { items, count: rows.length, long: false, first: rows[0] }
  }

  /** Reads as many rows as fit, their sizes first: SQLite takes long even to skip a long value. */
  async #readLong(part: ReadPart, runner: Runner, maxBytes = 0): Promise<FoundSlice> {
    const mapping = this.#mapping
    const size = this.#bounded?.size ?? mapping.all
    const statement = listStatement(part, NOTHING, mapping, size)
    const { rows } = await runner.run(compile(mapping.database, statement))
    const limit = this.#bounded?.countFitting(rows, maxBytes) ?? rows.length
    const fitting = { ...part, slice: { ...part.slice, limit } }
    const found = await this.#readSlice(fitting, undefined, runner)
    return { ...(found as FoundSlice), count: rows.length, long: true } // Without maxBytes it is never LONG.
  }

  /** @throws Error for a page that holds the place it follows: otherwise a client could get the same page for ever. */
  #decodeRows(rows: readonly Row[], { sort }: Selection, slice: RowSlice): Stored[] {
    const items = rows.map(row => this.#mapping.decode(row))
    if (!('key' in slice)) return items
    const { key } = slice
    const last = key?.at(-1)
    if (items.some(({ id, item }) => id === last && isKey(sortKeyOf(item, sort), key))) {
      const fields = sort.map(({ path }) => path.join('.')).join(', ')
      throw new Error(
        `${this.#mapping.table} does not continue after ${JSON.stringify(key)} in the order of ${fields}: the database returns other values of these columns than it compares`,
      )
    }
    return slice.backward ? items.reverse() : items
  }
}

function isKey(one: PlaceKey, other: PlaceKey = []): boolean {
  return one.every((value, at) => value === other[at])
}

/** Finds the total where a slice that is not full shows it. */
function findTotal({ count }: FoundSlice, slice: RowSlice): number | undefined {
  if (count >= slice.limit) return undefined
  if ('key' in slice) return slice.key === undefined ? count : undefined
  return count > 0 || slice.offset === 0 ? slice.offset + count : undefined
}
