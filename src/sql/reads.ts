// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.
import { sameJson } from '../schema/values.ts'
import { type Selection, sortKeyOf } from '../store/selection.ts'
import type { ListOptions, Slice, Stored, StoreOptions } from '../store/store.ts'
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
  readonly #bounded: BoundedColumns

  /** @param remembers whether totals may be remembered until the database changes. */
  constructor(
    session: StatementSession,
    mapping: TableMapping,
    remembers: boolean,
    bounded = new BoundedColumns(mapping),
  ) {
    this.#session = session
    this.#mapping = mapping
    this.#bounded = bounded
    this.#remembers = remembers
  }

  /** The same within a transaction, of which nothing is remembered. */
  within(session: StatementSession): SqlReads {
    return new SqlReads(session, this.#mapping, false, this.#bounded)
  }

  /** Counts the matches, or takes the planner's estimate where counting would cost much. */
  async total(filters: Filters, mode: 'exact' | 'estimated', options?: StoreOptions) {
    const { database } = this.#mapping
    const { plan } = database
    if (mode === 'estimated' && plan) {
      const statement = compile(database, plan.statement(matchesStatement(filters, this.#mapping)))
      const { rows } = await this.#session.read(({ run }) => run(statement), options)
      const estimate = plan.read(rows[0] ?? {})
      if (estimate.cost > MAX_COUNT_COST) return estimate.rows
    }
    const key = toKey(filters)
    return this.#session.read(async runner => {
      if (this.#totals.has(key) && !runner.beside) {
        const [row] = await this.#beside(filters, { total: false, state: true }, runner)
        const known = this.#recall(key, row)
        if (known !== undefined) return known
      }
      return this.#count(filters, key, runner)
    }, options)
  }

  async #count(filters: Filters, key: string, runner: Runner): Promise<number> {
    const beside = { total: true, state: this.#remembers && !runner.beside }
    const [row = {}] = await this.#beside(filters, beside, runner)
    return this.#remember(key, row)
  }

  /** Finds the items of a slice. */
  items(
    selection: Selection,
    slice: Slice,
    options?: StoreOptions,
    maxBytes?: number,
  ): Promise<Found> {
    return this.#session.read(
      async runner =>
        this.#toItems(
          await this.#rows(selection, slice, NOTHING, runner, maxBytes),
          selection,
          slice,
        ),
      options,
    )
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
    const atEnd = count < slice.limit && (count > 0 || before === 0)
    if (atEnd && 'offset' in slice) return { ...found, total: before + count }
    const least = count > 0 ? before + count : 0
    return { ...found, total: Math.max(least, await this.total(selection, 'estimated', options)) }
  }

  /** Finds the items of a slice and the total, both of one moment. */
  async page(selection: Selection, slice: Slice, options?: ListOptions): Promise<FoundPage> {
    const key = toKey(selection)
    const maxBytes = options?.maxBytes
    const page = await this.#session.read(async runner => {
      if (this.#totals.has(key) && !runner.beside) {
        const beside = { total: false, state: true }
        const found = await this.#rows(selection, slice, beside, runner, maxBytes)
        const total = this.#recall(key, found.rows[0])
        if (total !== undefined) return { ...this.#toItems(found, selection, slice), total }
      }
      const beside = { total: true, state: this.#remembers && !runner.beside }
      const found = await this.#rows(selection, slice, beside, runner, maxBytes)
      const [first] = found.rows
      if (!first) return undefined
      return { ...this.#toItems(found, selection, slice), total: this.#remember(key, first) }
    }, options)
    if (page) return page
    // No row brought the total along. From the start, that is the total.
    const whole = 'offset' in slice ? slice.offset === 0 : slice.key === undefined
    if (whole) return { items: [], total: 0 }
    return this.#session.snapshot(async runner => {
      const found = await this.#rows(selection, slice, NOTHING, runner, maxBytes)
      return {
        ...this.#toItems(found, selection, slice),
        total: await this.#count(selection, key, runner),
      }
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
    maxBytes?: number,
  ): Promise<Rows> {
    const mapping = this.#mapping
    const bounded = this.#bounded
    const select = async (part: Slice, what: Beside, columns?: Fragment) => {
      const statement = listStatement(selection, part, what, mapping, columns)
      return (await run(compile(mapping.database, statement))).rows
    }
    const columns = maxBytes === undefined ? undefined : bounded.select(slice.limit, maxBytes)
    const rows = await select(slice, beside, columns)
    const decode = (row: Row) => mapping.decode(row)
    if (maxBytes === undefined || !columns) return { rows, decode }
    if (!rows.some(row => bounded.isMarked(row)))
      return { rows, decode: row => bounded.decode(row) }
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

function isState(state: unknown): boolean {
  return state !== null && state !== undefined
}

function toKey({ where, search }: Filters): string {
  return JSON.stringify([where, search])
}
