// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.
import { takeTurn } from '../http/turns.ts'
import { sameJson } from '../schema/values.ts'
import { type Selection, sortKeyOf } from '../store/selection.ts'
import { type ListOptions, type Slice, type Stored, throwIfAborted } from '../store/store.ts'
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

/** The items of a slice, as far as they are not too large together. */
interface Found {
  readonly items: readonly Stored[]
  /** How many more there are, at least; absent where no value is long. */
  readonly leftOut?: number | undefined
}

/** Items and the total, both of one moment. */
type FoundPage = Found & { readonly total: number }

/** What was selected, and how it is decoded. */
interface Rows extends Pick<Found, 'leftOut'> {
  readonly rows: readonly Row[]
  readonly decode: (row: Row) => Stored
}

const MAX_TOTALS = 1000

/** Long rows are there, and are to be read in a turn. */
const LONG = Symbol('long')

/** For how long rows are taken to be long after some were, in milliseconds. */
const LONG_MS = 1000

/** The cost of counting in the planner's units, some milliseconds, from which its estimate is taken. */
const MAX_COUNT_COST = 1000

const NOTHING: Beside = { total: false, state: false }

export class SqlReads {
  readonly #session: StatementSession
  readonly #mapping: TableMapping
  readonly #remembers: boolean
  /** The totals at one state of the database, by their filters. */
  readonly #totals = new Map<string, number>()
  #state: unknown
  /** Until when rows are taken to be long. */
  #longUntil = 0
  /** The last page of long rows. */
  #lastLong: Promise<unknown> = Promise.resolve()
  readonly #bounded: BoundedColumns
  readonly #walk: TableWalk | undefined

  /**
   * @param remembers whether totals may be remembered until the database changes.
   * @param walk absent where the database can be stopped.
   */
  constructor(
    session: StatementSession,
    mapping: TableMapping,
    remembers: boolean,
    walk?: TableWalk,
    bounded = new BoundedColumns(mapping),
  ) {
    this.#session = session
    this.#mapping = mapping
    this.#bounded = bounded
    this.#remembers = remembers
    this.#walk = walk
  }

  /** The same within a transaction: nothing is remembered, and nobody else has a turn. */
  within(session: StatementSession): SqlReads {
    return new SqlReads(session, this.#mapping, false, undefined, this.#bounded)
  }

  /** Counts the matches, or takes the planner's estimate where counting would cost much. */
  async total(filters: Filters, mode: 'exact' | 'estimated', options?: ListOptions) {
    const { database } = this.#mapping
    const { plan } = database
    if (mode === 'estimated' && plan) {
      const statement = compile(database, plan.statement(matchesStatement(filters, this.#mapping)))
      const { rows } = await this.#session.read(({ run }) => run(statement), options)
      const estimate = plan.read(rows[0] ?? {})
      if (estimate.cost > MAX_COUNT_COST) return estimate.rows
    }
    const key = toKey(filters)
    const { where, search } = filters
    const count = search ? { where, search } : { where }
    const walks = this.#walk?.isNeeded(count, options)
    const walk = walks && (await walks) ? this.#walk : undefined
    const total = await this.#session.read(async runner => {
      if (this.#totals.has(key) && !runner.beside) {
        const [row] = await this.#beside(filters, { total: false, state: true }, runner)
        const known = this.#recall(key, row)
        if (known !== undefined) return known
      }
      return walk ? undefined : this.#count(filters, key, runner)
    }, options)
    return total ?? this.#countByWalk(walk, count, key, options)
  }

  /** Remembers the total where nothing was written meanwhile. */
  async #countByWalk(
    walk: TableWalk | undefined,
    filters: Filters,
    key: string,
    options?: ListOptions,
  ): Promise<number> {
    const readState = async () => {
      if (!this.#remembers) return {}
      const beside = { total: false, state: true }
      const read = this.#session.read(runner => this.#beside(filters, beside, runner), options)
      return (await read)[0] ?? {}
    }
    const before = await readState()
    const total = (await walk?.count(filters, options)) ?? 0
    const after = await readState()
    if (before.rest_state === after.rest_state) this.#remember(key, { ...after, rest_total: total })
    return total
  }

  /** Finds a slice by a walk; `undefined` where one statement finds it. */
  async #walked(
    selection: Selection,
    slice: Slice,
    options: ListOptions | undefined,
    maxBytes: number | undefined,
  ): Promise<Found | undefined> {
    const walks = this.#walk?.isNeeded(selection, options)
    if (!this.#walk || !walks || !(await walks)) return undefined
    const values = await this.#walk.ids(selection, slice, options)
    if (values.length === 0) return { items: [] }
    const { identity } = this.#mapping.shape
    const { sort } = selection
    const where = [{ path: [identity.name], operator: 'in', values } as const]
    const found =
      'key' in slice
        ? { limit: values.length, key: undefined, backward: slice.backward }
        : { limit: values.length, offset: 0 }
    return this.#readList(async (runner, long) => {
      const rows = await this.#rows({ where, sort }, found, NOTHING, runner, long, maxBytes)
      return rows === LONG ? LONG : this.#toItems(rows, selection, slice)
    }, options)
  }

  async #count(filters: Filters, key: string, runner: Runner): Promise<number> {
    const beside = { total: true, state: this.#remembers && !runner.beside }
    const [row = {}] = await this.#beside(filters, beside, runner)
    return this.#remember(key, row)
  }

  #expectsLong(): boolean {
    return performance.now() < this.#longUntil
  }

  /**
   * Reads a list. Pages of long rows are read one after another, each in its turn: they keep the driver and
   * this process busy.
   * @param work is told whether it may read long rows.
   */
  async #readList<T>(
    work: (runner: Runner, long: boolean) => Promise<T | typeof LONG>,
    options: ListOptions | undefined,
  ): Promise<T> {
    const first = await this.#session.read(
      async runner => (this.#expectsLong() ? LONG : work(runner, false)),
      options,
    )
    if (first !== LONG) return first
    const read = this.#lastLong.then(async () => {
      throwIfAborted(options)
      await takeTurn(true)
      return this.#session.read(runner => work(runner, true), options)
    })
    this.#lastLong = read.catch(() => undefined)
    const result = await read
    if (result === LONG) throw new Error('Long rows were not read in their turn')
    return result
  }

  /** Finds the items of a slice. */
  async items(
    selection: Selection,
    slice: Slice,
    options?: ListOptions,
    maxBytes?: number,
  ): Promise<Found> {
    const walked = this.#walk && (await this.#walked(selection, slice, options, maxBytes))
    if (walked) return walked
    return this.#readList(async (runner, long) => {
      const rows = await this.#rows(selection, slice, NOTHING, runner, long, maxBytes)
      return rows === LONG ? LONG : this.#toItems(rows, selection, slice)
    }, options)
  }

  /** Finds the items of a slice, and estimates the total: never less than the items show. */
  async estimatedPage(
    selection: Selection,
    slice: Slice,
    options?: ListOptions,
  ): Promise<FoundPage> {
    const found = await this.items(selection, slice, options, options?.maxBytes)
    const before = 'offset' in slice ? slice.offset : 0
    const count = found.items.length + (found.leftOut ?? 0)
    const known = totalOf(found, slice)
    if (known !== undefined) return { ...found, total: known }
    const least = count > 0 ? before + count : 0
    return { ...found, total: Math.max(least, await this.total(selection, 'estimated', options)) }
  }

  /** Finds the items of a slice and the total, both of one moment. */
  async page(selection: Selection, slice: Slice, options?: ListOptions): Promise<FoundPage> {
    const key = toKey(selection)
    const maxBytes = options?.maxBytes
    const walked = this.#walk && (await this.#walked(selection, slice, options, maxBytes))
    if (walked) {
      const total = totalOf(walked, slice) ?? (await this.total(selection, 'exact', options))
      return { ...walked, total }
    }
    const page = await this.#readList(async (runner, long) => {
      if (this.#totals.has(key) && !runner.beside) {
        const beside = { total: false, state: true }
        const found = await this.#rows(selection, slice, beside, runner, long, maxBytes)
        if (found === LONG) return LONG
        const total = this.#recall(key, found.rows[0])
        if (total !== undefined) return { ...this.#toItems(found, selection, slice), total }
      }
      const beside = { total: true, state: this.#remembers && !runner.beside }
      const found = await this.#rows(selection, slice, beside, runner, long, maxBytes)
      if (found === LONG) return LONG
      const [first] = found.rows
      if (!first) return undefined
      return { ...this.#toItems(found, selection, slice), total: this.#remember(key, first) }
    }, options)
    if (page) return page
    // No row brought the total along. From the start, that is the total.
    const whole = 'offset' in slice ? slice.offset === 0 : slice.key === undefined
    if (whole) return { items: [], total: 0 }
    return this.#session.snapshot(async runner => {
      const found = await this.#rows(selection, slice, NOTHING, runner, true, maxBytes)
      const total = await this.#count(selection, key, runner)
      // Long rows may be read here.
      return found === LONG
        ? { items: [], total }
        : { ...this.#toItems(found, selection, slice), total }
    }, options)
  }

  async #beside(filters: Filters, beside: Beside, { run }: Runner): Promise<Row[]> {
    const statement = besideStatement(filters, beside, this.#mapping)
    return (await run(compile(this.#mapping.database, statement))).rows
  }

  async #rows(
    selection: Selection,
    slice: Slice,
    beside: Beside,
    { run }: Runner,
    long: boolean,
    maxBytes?: number,
  ): Promise<Rows | typeof LONG> {
    const mapping = this.#mapping
    const bounded = this.#bounded
    const select = async (part: Slice, what: Beside, columns?: Fragment) => {
      const statement = listStatement(selection, part, what, mapping, columns)
      return (await run(compile(mapping.database, statement))).rows
    }
    const decode = (row: Row) => mapping.decode(row)
    const columns = maxBytes === undefined ? undefined : bounded.select(slice.limit, maxBytes)
    if (maxBytes === undefined || !columns) return { rows: await select(slice, beside), decode }
    if (!long) {
      const rows = await select(slice, beside, columns)
      const isLong = rows.some(row => bounded.isMarked(row))
      if (!isLong) return { rows, decode: row => bounded.decode(row) }
      this.#longUntil = performance.now() + LONG_MS
      return LONG
    }
    // Even to pass over a long value takes long in SQLite: the sizes are asked for first.
    const sizes = await select(slice, NOTHING, bounded.size)
    const limit = bounded.fitting(sizes, maxBytes)
    return {
      rows: await select({ ...slice, limit }, beside),
      decode,
      leftOut: sizes.length - limit,
    }
  }

  /** @throws Error for a page that holds the place it follows: the next one might be the same, and so on. */
  #toItems({ rows, decode, leftOut }: Rows, { sort }: Selection, slice: Slice): Found {
    const items = rows.map(decode)
    if (!('key' in slice)) return { items, leftOut }
    const { key } = slice
    const last = key?.at(-1)
    if (items.some(({ id, item }) => id === last && sameJson(sortKeyOf(item, sort), key))) {
      const fields = sort.map(({ path }) => path.join('.')).join(', ')
      throw new Error(
        `${this.#mapping.table} does not continue after ${JSON.stringify(key)} in the order of ${fields}: what is read of these columns is not what the database compares`,
      )
    }
    return { items: slice.backward ? items.reverse() : items, leftOut }
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
function totalOf({ items, leftOut = 0 }: Found, slice: Slice): number | undefined {
  const count = items.length + leftOut
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
