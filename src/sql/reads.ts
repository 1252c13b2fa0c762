// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.

import { randomUUID } from 'node:crypto'
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
import type { Column } from './columns.ts'
import {
  type Beside,
  besideStatement,
  type Filters,
  listStatement,
  matchesStatement,
} from './list-statements.ts'
import { compile, type Row, type Runner, type StatementSession } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import type { TableWalk } from './table-walk.ts'

/** The items of a slice. */
interface Found {
  readonly items: readonly Stored[]
  /** How many rows the slice has: more than the items, where these are too large together. */
  readonly count: number
  /** Whether the rows are too large together, so that the page may have to be cut. */
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
}

/** How many rows a slice has, and how many of them fit into a page. */
interface TooLarge {
  readonly count: number
  readonly fits: number
}

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
    const part = { selection, slice: wanted, counts: mode === 'exact' }
    const found = await this.#find(session, part, maxBytes, options)
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
    maxBytes: number | undefined,
    options: ListOptions | undefined,
  ): Promise<Found> {
    const { selection, slice } = wanted
    if (slice.limit === 0) return { items: [], count: 0, long: false }
    const ids = await this.#walk?.findIds(session, selection, slice, options)
    const part = ids ? this.#selectIds(ids, wanted) : wanted
    const bytes = this.#bounded.hasLong ? maxBytes : undefined
    const found = await session.read(runner => this.#read(part, bytes, runner), options)
    if (!('fits' in found)) return found
    // Reading long rows keeps the driver and this process busy.
    await takeTurn(true)
    const fitting = { ...part, slice: { ...part.slice, limit: found.fits } }
    const cut = await session.read(runner => this.#read(fitting, undefined, runner), options)
    return { ...(cut as Found), count: found.count, long: true } // without a bound all rows are read
  }

  #selectIds(values: readonly Id[], { selection: { sort }, slice }: Part): Part {
    const { identity } = this.#mapping.shape
    const where = [{ path: [identity.name], operator: 'in', values } as const]
    const backward = 'key' in slice && slice.backward
    return {
      selection: { where, sort },
      slice: { limit: values.length, key: undefined, backward },
      counts: false,
    }
  }

  /** Selects a slice with its total, or with the state for which the total is remembered. */
  async #read(part: Part, maxBytes: number | undefined, runner: Runner): Promise<Found | TooLarge> {
    const { selection, counts } = part
    const select = (beside: Beside) => this.#select(part, beside, maxBytes, runner)
    if (!counts) return select({ total: false, state: false })
    const key = toKey(selection)
    const state = this.#remembers && !runner.apart
    if (state && this.#totals.has(key)) {
      const found = await select({ total: false, state })
      if ('fits' in found) return found
      const total = this.#recall(key, found.first)
      if (total !== undefined) return { ...found, total }
    }
    const found = await select({ total: true, state })
    if ('fits' in found || !found.first) return found
    return { ...found, total: this.#remember(key, found.first) }
  }

  async #select(
    { selection, slice }: Part,
    beside: Beside,
    maxBytes: number | undefined,
    { run }: Runner,
  ): Promise<(Found & { readonly first: Row | undefined }) | TooLarge> {
    const mapping = this.#mapping
    const columns =
      maxBytes === undefined ? mapping.all : this.#bounded.select(slice.limit, maxBytes)
    const statement = listStatement(selection, slice, beside, mapping, columns)
    const { rows } = await run(compile(mapping.database, statement))
    const count = rows.length
    const fits = maxBytes === undefined ? undefined : this.#bounded.fitting(rows, maxBytes)
    if (fits !== undefined) return { fits, count }
    return { items: this.#decode(rows, selection, slice), count, long: false, first: rows[0] }
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

/** A character takes at most so many bytes as JSON: U+0001 is `\u0001`. */
const CHARACTER_BYTES = 6
/** The most of a value that is no text, of its quotes and its comma. */
const VALUE_BYTES = 48

/** Rows of bounded size: of a value that is too long for its share of a page only the length is read at first. */
class BoundedColumns {
  readonly #mapping: TableMapping
  readonly #long: readonly Column[]
  /** The bytes of a row beside its long values. */
  readonly #fixed: number
  /** Stands before the length of a value, in its place. */
  readonly #mark = randomUUID()

  constructor(mapping: TableMapping) {
    const { columns } = mapping
    this.#mapping = mapping
    this.#long = columns.filter(({ long }) => long)
    this.#fixed = columns.reduce(
      (sum, { name }) => sum + CHARACTER_BYTES * name.length + VALUE_BYTES,
      0,
    )
  }

  /** Whether values may be of any length. */
  get hasLong(): boolean {
    return this.#long.length > 0
  }

  /**
   * Selects the columns of `limit` rows that together have at most `maxBytes` as JSON, whatever they hold:
   * of longer values their lengths.
   */
  select(limit: number, maxBytes: number): Fragment {
    const share = (maxBytes / limit - this.#fixed) / CHARACTER_BYTES / this.#long.length
    const max = Math.max(0, Math.floor(share))
    const mark = sql.lit(this.#mark)
    const { length } = this.#mapping.database
    return this.#mapping.select(({ long, readable }) =>
      long
        ? sql`case when ${length(readable)} > ${max} then ${mark} || ${length(readable)} else ${readable} end`
        : readable,
    )
  }

  /** Counts the rows that fit into so many bytes, at least one; `undefined` where no value was too long. */
  fitting(rows: readonly Row[], maxBytes: number): number | undefined {
    let [left, fits, isMarked] = [maxBytes, 0, false]
    for (const row of rows) {
      left -= this.#fixed
      for (const { read } of this.#long) {
        const value = String(row[read] ?? '')
        const marked = value.startsWith(this.#mark)
        isMarked ||= marked
        left -= marked ? Number(value.slice(this.#mark.length)) : value.length
      }
      if (left >= 0) fits++
    }
    return isMarked ? Math.max(1, fits) : undefined
  }
}
