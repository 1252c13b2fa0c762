// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.
import { takeTurn } from '../http/turns.ts'
import { sameJson } from '../schema/values.ts'
import { cutPage } from '../store/printed.ts'
import { type Selection, sortKeyOf } from '../store/selection.ts'
import {
  type Id,
  type ListOptions,
  type Page,
  type Slice,
  type Stored,
  type TotalMode,
  toPage,
} from '../store/store.ts'
import { BoundedColumns } from './bounded-columns.ts'
import {
  type Beside,
  besideStatement,
  type Filters,
  listStatement,
  matchesStatement,
} from './list-statements.ts'
import { compile, type Row, type Runner, type StatementSession } from './session.ts'
import type { Fragment } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import type { TableWalk } from './table-walk.ts'

/** The items of a slice. */
interface Found {
  readonly items: readonly Stored[]
  /** How many rows the slice has: more than the items, where these are too large together. */
  readonly count: number
  /** Whether long rows were read, so that the page may have to be cut. */
  readonly long: boolean
  readonly total?: number | undefined
}

const MAX_TOTALS = 1000

/** The cost of counting in the planner's units, some milliseconds, from which its estimate is taken. */
const MAX_COUNT_COST = 1000

/** What is to be read by one statement. */
interface Part {
  readonly selection: Selection
  readonly slice: Slice
  /** Whether the total is counted too. */
  readonly counts: boolean
  readonly maxBytes: number | undefined
}

const NOTHING: Beside = { total: false, state: false }

export class SqlReads {
  readonly #mapping: TableMapping
  readonly #remembers: boolean
  /** The totals at one state of the database, by their filters. */
  readonly #totals = new Map<string, number>()
  #state: unknown
  readonly #bounded: BoundedColumns
  readonly #walk: TableWalk | undefined

  /**
   * @param remembers whether totals may be remembered until the database changes.
   * @param walk absent where the database can be stopped.
   */
  constructor(mapping: TableMapping, remembers: boolean, walk: TableWalk | undefined) {
    this.#mapping = mapping
    this.#bounded = new BoundedColumns(mapping)
    this.#remembers = remembers
    this.#walk = walk
  }

  /** Finds a page. Its exact total is of the same moment, unless the page is empty. */
  async list(
    session: StatementSession,
    selection: Selection,
    slice: Slice,
    mode: TotalMode,
    options?: ListOptions,
    maxBytes = options?.maxBytes,
  ): Promise<Page> {
    // One row more shows whether there are more.
    const wanted = slice.limit === 0 ? slice : { ...slice, limit: slice.limit + 1 }
    const part = { selection, slice: wanted, counts: mode === 'exact', maxBytes }
    const found = await this.#find(session, part, options)
    let total = mode === 'none' ? undefined : (found.total ?? totalOf(found, wanted))
    if (mode !== 'none' && total === undefined) {
      const before = 'offset' in slice && found.count > 0 ? slice.offset : 0
      const counted = await this.total(session, selection, mode, options)
      total = Math.max(before + found.count, counted)
    }
    const page = toPage(found.items, slice, total)
    if (!found.long) return page
    const more = page.more || found.count > found.items.length
    return cutPage({ ...page, more }, slice, maxBytes)
  }

  /** Counts the matches, or takes the planner's estimate where counting would cost much. */
  async total(
    session: StatementSession,
    filters: Filters,
    mode: 'exact' | 'estimated',
    options?: ListOptions,
  ): Promise<number> {
    const { database } = this.#mapping
    const { plan } = database
    if (mode === 'estimated' && plan) {
      const statement = compile(database, plan.statement(matchesStatement(filters, this.#mapping)))
      const { rows } = await session.read(({ run }) => run(statement), options)
      const estimate = plan.read(rows[0] ?? {})
      if (estimate.cost > MAX_COUNT_COST) return estimate.rows
    }
    const key = toKey(filters)
    const select = (total: boolean) =>
      session.read(runner => this.#selectBeside(filters, total, runner), options)
    const before = this.#walk || this.#totals.has(key) ? await select(false) : undefined
    const known = this.#recall(key, before)
    if (known !== undefined) return known
    const total = await this.#walk?.count(session, filters, options)
    if (total === undefined) return this.#remember(key, await select(true))
    const after = await select(false)
    if (before?.rest_state !== after.rest_state) return total
    return this.#remember(key, { ...after, rest_total: total })
  }

  /** Selects the state of the database, as far as totals are remembered, and the total if wanted. */
  async #selectBeside(filters: Filters, total: boolean, { apart, run }: Runner): Promise<Row> {
    const state = this.#remembers && !apart
    if (!total && !state) return {}
    const statement = besideStatement(filters, { total, state }, this.#mapping)
    return (await run(compile(this.#mapping.database, statement))).rows[0] ?? {}
  }

  /** Finds the items of a slice, and the total if one statement finds both. */
  async #find(
    session: StatementSession,
    wanted: Part,
    options: ListOptions | undefined,
  ): Promise<Found> {
    const { selection, slice, maxBytes } = wanted
    if (slice.limit === 0) return { items: [], count: 0, long: false }
    const ids = await this.#walk?.findIds(session, selection, slice, options)
    const part = ids ? { ...this.#selectIds(ids, wanted), counts: false, maxBytes } : wanted
    const read = (long: boolean) => session.read(runner => this.#read(part, long, runner), options)
    const found = await read(false)
    if (found) return found
    // Reading long rows keeps the driver and this process busy.
    await takeTurn(true)
    return (await read(true)) as Found // it may read long rows
  }

  #selectIds(values: readonly Id[], { selection: { sort }, slice }: Part) {
    const { identity } = this.#mapping.shape
    const where = [{ path: [identity.name], operator: 'in', values } as const]
    const backward = 'key' in slice && slice.backward
    return {
      selection: { where, sort },
      slice: { limit: values.length, key: undefined, backward },
    }
  }

  /** Selects a slice with its total, or with the state for which the total is remembered. */
  async #read(part: Part, long: boolean, runner: Runner): Promise<Found | undefined> {
    const { selection, counts } = part
    if (!counts) return this.#select(part, NOTHING, long, runner)
    const key = toKey(selection)
    const state = this.#remembers && !runner.apart
    if (state && this.#totals.has(key)) {
      const found = await this.#select(part, { total: false, state }, long, runner)
      const total = this.#recall(key, found?.first)
      if (!found || total !== undefined) return found && { ...found, total }
    }
    const found = await this.#select(part, { total: true, state }, long, runner)
    return found?.first ? { ...found, total: this.#remember(key, found.first) } : found
  }

  /** Selects a slice; nothing where it has long values that may not be read. */
  async #select(
    { selection, slice, maxBytes }: Part,
    beside: Beside,
    long: boolean,
    { run }: Runner,
  ): Promise<(Found & { readonly first: Row | undefined }) | undefined> {
    const mapping = this.#mapping
    const bounded = this.#bounded
    const select = async (limit: number, what: Beside, columns?: Fragment) => {
      const statement = listStatement(selection, { ...slice, limit }, what, mapping, columns)
      return (await run(compile(mapping.database, statement))).rows
    }
    let { limit } = slice
    let columns: Fragment | undefined
    let count: number | undefined
    if (maxBytes !== undefined && bounded.hasLong) {
      if (long) {
        // Even to pass over a long value takes long in SQLite: the sizes are asked for first.
        const sizes = await select(limit, NOTHING, bounded.size)
        count = sizes.length
        limit = bounded.fitting(sizes, maxBytes)
      } else columns = bounded.select(limit, maxBytes)
    }
    const rows = await select(limit, beside, columns)
    if (columns && rows.some(row => bounded.isMarked(row))) return undefined
    const items = this.#decode(rows, selection, slice)
    return { items, count: count ?? rows.length, long, first: rows[0] }
  }

  /** @throws Error for a page that holds the place it follows: the next one might be the same, and so on. */
  #decode(rows: readonly Row[], { sort }: Selection, slice: Slice): Stored[] {
    const items = rows.map(row => this.#mapping.decode(row))
    if (!('key' in slice)) return items
    const { key } = slice
    const last = key?.at(-1)
    if (items.some(({ id, item }) => id === last && sameJson(sortKeyOf(item, sort), key))) {
      const fields = sort.map(({ path }) => path.join('.')).join(', ')
      throw new Error(
        `${this.#mapping.table} does not continue after ${JSON.stringify(key)} in the order of ${fields}: what is read of these columns is not what the database compares`,
      )
    }
    return slice.backward ? items.reverse() : items
  }

  #recall(key: string, row: Row | undefined): number | undefined {
    const known = row && isState(row.rest_state) && row.rest_state === this.#state
    return known ? this.#totals.get(key) : undefined
  }

  #remember(key: string, { rest_total, rest_state: state }: Row): number {
    const total = Number(rest_total)
    if (!isState(state)) return total
    if (state !== this.#state || this.#totals.size >= MAX_TOTALS) this.#totals.clear()
    this.#state = state
    this.#totals.set(key, total)
    return total
  }
}

/** The total, where a slice that is not full shows it. */
function totalOf({ count }: Found, slice: Slice): number | undefined {
  if (count >= slice.limit) return undefined
  if ('key' in slice) return slice.key === undefined ? count : undefined
  return count > 0 || slice.offset === 0 ? slice.offset + count : undefined
}

function isState(state: unknown): boolean {
  return state !== null && state !== undefined
}

function toKey({ where, search }: Filters): string {
  return JSON.stringify([where, search])
}
