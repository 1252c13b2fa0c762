// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.

import { takeTurn } from '../../base/turns.ts'
import { sameJson } from '../../base/values.ts'
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
import {
  type Extras,
  listStatement,
  matchesStatement,
  type RowFilters,
  selectExtras,
} from './list-statements.ts'
import { boundColumns } from './long-rows.ts'
import type { TableWalk } from './table-walk.ts'

/** The items of a slice. */
interface FoundSlice {
  readonly items: readonly Stored[]
  /** How many rows the slice has: more than the items if these are too large together. */
  readonly count: number
  /** Whether the rows are too large together, so that the page may have to be cut. */
  readonly long: boolean
  readonly total?: number | undefined
}

const MAX_TOTALS = 1000

/** The cost in the planner's units, some milliseconds, above which its estimate replaces a count. */
const MAX_COUNT_COST = 1000

/** A slice without its total. */
const NOTHING: Extras = { total: false, state: false }

/** What is to be read by one statement. */
interface ReadPart {
  readonly selection: Selection
  readonly slice: Slice
  /** Whether the total is counted too. */
  readonly counts: boolean
}

/** Returned instead of a slice: its rows are too long to be read at the same time as others. */
const LONG = Symbol('long')
/** For how long after a long row others are expected, in milliseconds. */
const LONG_MS = 1000

export type Reads = ReturnType<typeof buildReads>

/**
 * Builds the reads of several rows.
 * @param remembers whether totals may be remembered until the database changes.
 * @param walk absent where the database can be stopped.
 */
export function buildReads(mapping: TableMapping, remembers: boolean, walk: TableWalk | undefined) {
  const { database, table, shape } = mapping
  const bounded = boundColumns(mapping)
  /** The totals at one state of the database, by their filters. */
  const totals = new Map<string, number>()
  let state: unknown
  /** The time until which the rows are expected to be long. */
  let longUntil = 0
  /** Settles when the last page of long rows was read. */
  let lastLong: Promise<unknown> = Promise.resolve()

  function recall(key: string, row: Row | undefined): number | undefined {
    const isKnown = row && isState(row.rest_state) && row.rest_state === state
    return isKnown ? totals.get(key) : undefined
  }

  function remember(key: string, row: Row): number {
    const total = Number(row.rest_total)
    if (!isState(row.rest_state)) return total
    if (row.rest_state !== state || totals.size >= MAX_TOTALS) totals.clear()
    state = row.rest_state
    totals.set(key, total)
    return total
  }

  /** @throws Error for a page that holds the place it follows: otherwise a client could get the same page for ever. */
  function decodeRows(rows: readonly Row[], { sort }: Selection, slice: Slice): Stored[] {
    const items = rows.map(row => mapping.decode(row))
    if (!('key' in slice)) return items
    const { key } = slice
    const last = key?.at(-1)
    if (items.some(({ id, item }) => id === last && sameJson(sortKeyOf(item, sort), key))) {
      const fields = sort.map(({ path }) => path.join('.')).join(', ')
      throw new Error(
        `${table} does not continue after ${JSON.stringify(key)} in the order of ${fields}: what is read of these columns is not what the database compares`,
      )
    }
    return slice.backward ? items.reverse() : items
  }

  async function selectSlice(
    { selection, slice }: ReadPart,
    extras: Extras,
    maxBytes: number | undefined,
    { run }: Runner,
  ): Promise<(FoundSlice & { readonly first: Row | undefined }) | typeof LONG> {
    const columns = maxBytes === undefined ? undefined : bounded?.select(slice.limit, maxBytes)
    const statement = listStatement(selection, slice, extras, mapping, columns ?? mapping.all)
    const { rows } = await run(compile(database, statement))
    if (columns && bounded?.isMarked(rows)) {
      longUntil = performance.now() + LONG_MS
      return LONG
    }
    const items = decodeRows(rows, selection, slice)
    return { items, count: rows.length, long: false, first: rows[0] }
  }

  /** Selects a slice with its total, or with the state for which the total is remembered. */
  async function readSlice(
    part: ReadPart,
    maxBytes: number | undefined,
    runner: Runner,
  ): Promise<FoundSlice | typeof LONG> {
    const select = (extras: Extras) => selectSlice(part, extras, maxBytes, runner)
    if (!part.counts) return select(NOTHING)
    const key = toKey(part.selection)
    const remembered = remembers && !runner.apart
    if (remembered && totals.has(key)) {
      const found = await select({ total: false, state: true })
      if (found === LONG) return found
      const total = recall(key, found.first)
      if (total !== undefined) return { ...found, total }
    }
    const found = await select({ total: true, state: remembered })
    if (found === LONG || !found.first) return found
    return { ...found, total: remember(key, found.first) }
  }

  /** Only equal slices have the same key: all that they bind is text, or a whole number. */
  function toShareKey(
    { selection, slice, counts }: ReadPart,
    maxBytes: number | undefined,
  ): string {
    const { text, values } = listStatement(selection, slice, NOTHING, mapping, mapping.all)
    return JSON.stringify([text, values, counts, maxBytes])
  }

  function selectIds(values: readonly Id[], { sort }: Selection, slice: Slice): ReadPart {
    const where = [{ path: [shape.identity.name], operator: 'in', values } as const]
    const backward = 'key' in slice && slice.backward
    return {
      selection: { where, sort },
      slice: { limit: values.length, key: undefined, backward },
      counts: false,
    }
  }

  /** Finds the items of a slice, and the total if one statement finds both. */
  async function find(
    session: StatementSession,
    { selection, slice, counts }: ReadPart,
    maxBytes: number | undefined,
    options: ListOptions | undefined,
  ): Promise<FoundSlice> {
    if (slice.limit === 0) return { items: [], count: 0, long: false }
    const hasIndex = hasIndexFor(selection, mapping)
    const walks = walk && !hasIndex
    const values = walks ? await walk.findIds(session, selection, slice, options) : undefined
    const part = values ? selectIds(values, selection, slice) : { selection, slice, counts }
    const read = async (runner: Runner) => {
      const expectsLong = maxBytes !== undefined && performance.now() < longUntil
      const found = expectsLong ? LONG : await readSlice(part, maxBytes, runner)
      // A transaction does not wait for other long reads: they may wait for its end.
      return found === LONG && runner.apart ? readLong(part, runner, maxBytes) : found
    }
    const found = await session.read(read, options, !hasIndex, () => toShareKey(part, maxBytes))
    if (found !== LONG) return found
    // Long rows keep the driver and this process busy: their pages are read one after another.
    const reading = lastLong.then(async () => {
      throwIfAborted(options)
      await takeTurn(true)
      return session.read(runner => readLong(part, runner, maxBytes), options)
    })
    lastLong = reading.catch(() => undefined)
    return reading
  }

  /** Reads as many rows as fit, their sizes first: SQLite takes long even to skip a long value. */
  async function readLong(part: ReadPart, runner: Runner, maxBytes = 0): Promise<FoundSlice> {
    const { selection, slice } = part
    const size = bounded?.size ?? mapping.all
    const statement = listStatement(selection, slice, NOTHING, mapping, size)
    const { rows } = await runner.run(compile(database, statement))
    const limit = bounded?.countFitting(rows, maxBytes) ?? rows.length
    const found = await readSlice({ ...part, slice: { ...slice, limit } }, undefined, runner)
    return { ...(found as FoundSlice), count: rows.length, long: true } // Without maxBytes `readSlice` never gives LONG.
  }

  /** Counts the matches, or takes the planner's estimate where counting would cost much. */
  async function total(
    session: StatementSession,
    filters: RowFilters,
    mode: 'exact' | 'estimated',
    options?: ListOptions,
  ): Promise<number> {
    const { plan } = database
    if (mode === 'estimated' && plan) {
      const statement = compile(database, plan.statement(matchesStatement(filters, mapping)))
      const { rows } = await session.read(({ run }) => run(statement), options)
      const estimate = plan.read(rows[0] ?? {})
      if (estimate.cost > MAX_COUNT_COST) return estimate.rows
    }
    // `filters` may be a selection: a count needs no index for its sort.
    const hasIndex = hasIndexFor({ where: filters.where, search: filters.search }, mapping)
    /** Selects the state of the database if totals are remembered, and the total if wanted. */
    const select = (counts: boolean) =>
      session.read(
        async ({ apart, run }): Promise<Row> => {
          const extras = { total: counts, state: remembers && !apart }
          if (!extras.total && !extras.state) return {}
          const statement = selectExtras(filters, extras, mapping)
          return (await run(compile(database, statement))).rows[0] ?? {}
        },
        options,
        counts && !hasIndex,
      )
    const key = toKey(filters)
    const walks = walk && !hasIndex
    const before = walks || totals.has(key) ? await select(false) : undefined
    const known = recall(key, before)
    if (known !== undefined) return known
    const counted = walks ? await walk.count(session, filters, options) : undefined
    if (counted === undefined) return remember(key, await select(true))
    const after = await select(false)
    if (before?.rest_state !== after.rest_state) return counted
    return remember(key, { ...after, rest_total: counted })
  }

  /** Finds a page. Its exact total is of the same moment, unless the page is empty. */
  async function list(
    session: StatementSession,
    selection: Selection,
    slice: Slice,
    mode: TotalMode,
    options?: ListOptions,
    maxBytes = options?.maxBytes,
  ): Promise<StorePage> {
    // One row more shows whether there are more.
    const wanted = slice.limit === 0 ? slice : { ...slice, limit: slice.limit + 1 }
    const part = { selection, slice: wanted, counts: mode === 'exact' }
    const found = await find(session, part, maxBytes, options)
    let known = mode === 'none' ? undefined : (found.total ?? findTotal(found, wanted))
    if (mode !== 'none' && known === undefined) {
      const before = 'offset' in slice && found.count > 0 ? slice.offset : 0
      known = Math.max(before + found.count, await total(session, selection, mode, options))
    }
    const page = toPage(found.items, slice, known)
    if (!found.long) return page
    const more = page.more || found.count > found.items.length
    return cutPage({ ...page, more }, slice, maxBytes)
  }

  return { list, total }
}

/** Finds the total where a slice that is not full shows it. */
function findTotal({ count }: FoundSlice, slice: Slice): number | undefined {
  if (count >= slice.limit) return undefined
  if ('key' in slice) return slice.key === undefined ? count : undefined
  return count > 0 || slice.offset === 0 ? slice.offset + count : undefined
}

function isState(state: unknown): boolean {
  return state !== null && state !== undefined
}

function toKey({ where, search }: RowFilters): string {
  return JSON.stringify([where, search])
}
