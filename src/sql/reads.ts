// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.
import { sameJson } from '../schema/values.ts'
import { type Selection, sortKeyOf } from '../store/selection.ts'
import type { Slice, Stored, StoreOptions } from '../store/store.ts'
import {
  type Beside,
  besideStatement,
  type Filters,
  listStatement,
  matchesStatement,
} from './list-statements.ts'
import { compile, type Row, type Runner, type Session } from './session.ts'
import type { TableMapping } from './table-mapping.ts'

/** Items and the total, both of one moment. */
type Found = { readonly items: readonly Stored[]; readonly total: number }

const MAX_TOTALS = 1000

/** The cost of counting in the planner's units, some milliseconds, from which its estimate is taken. */
const MAX_COUNT_COST = 1000

const NOTHING: Beside = { total: false, state: false }

export class SqlReads {
  readonly #session: Session
  readonly #mapping: TableMapping
  readonly #remembers: boolean
  /** The totals at one state of the database, by their filters. */
  readonly #totals = new Map<string, number>()
  #state: unknown

  /** @param remembers whether totals may be remembered until the database changes. */
  constructor(session: Session, mapping: TableMapping, remembers: boolean) {
    this.#session = session
    this.#mapping = mapping
    this.#remembers = remembers
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
      if (this.#totals.has(key)) {
        const [row] = await this.#beside(filters, { total: false, state: true }, runner)
        const known = this.#recall(key, row)
        if (known !== undefined) return known
      }
      return this.#count(filters, key, runner)
    }, options)
  }

  async #count(filters: Filters, key: string, runner: Runner): Promise<number> {
    const beside = { total: true, state: this.#remembers }
    const [row = {}] = await this.#beside(filters, beside, runner)
    return this.#remember(key, row)
  }

  /** Finds the items of a slice. */
  items(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Stored[]> {
    return this.#session.read(
      async runner =>
        this.#toItems(await this.#rows(selection, slice, NOTHING, runner), selection, slice),
      options,
    )
  }

  /** Finds the items of a slice, and estimates the total: never less than the items show. */
  async estimatedPage(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Found> {
    const items = await this.items(selection, slice, options)
    const before = 'offset' in slice ? slice.offset : 0
    const atEnd = items.length < slice.limit && (items.length > 0 || before === 0)
    if (atEnd && 'offset' in slice) return { items, total: before + items.length }
    const least = items.length > 0 ? before + items.length : 0
    return { items, total: Math.max(least, await this.total(selection, 'estimated', options)) }
  }

  /** Finds the items of a slice and the total, both of one moment. */
  async page(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Found> {
    const key = toKey(selection)
    const page = await this.#session.read(async runner => {
      if (this.#totals.has(key)) {
        const rows = await this.#rows(selection, slice, { total: false, state: true }, runner)
        const total = this.#recall(key, rows[0])
        if (total !== undefined) return { items: this.#toItems(rows, selection, slice), total }
      }
      const beside = { total: true, state: this.#remembers }
      const rows = await this.#rows(selection, slice, beside, runner)
      if (!rows[0]) return undefined
      return {
        items: this.#toItems(rows, selection, slice),
        total: this.#remember(key, rows[0]),
      }
    }, options)
    if (page) return page
    // No row brought the total along. From the start, that is the total.
    const whole = 'offset' in slice ? slice.offset === 0 : slice.key === undefined
    if (whole) return { items: [], total: 0 }
    return this.#session.snapshot(async runner => {
      const rows = await this.#rows(selection, slice, NOTHING, runner)
      return {
        items: this.#toItems(rows, selection, slice),
        total: await this.#count(selection, key, runner),
      }
    }, options)
  }

  async #beside(filters: Filters, beside: Beside, { run }: Runner): Promise<Row[]> {
    const statement = besideStatement(filters, beside, this.#mapping)
    return (await run(compile(this.#mapping.database, statement))).rows
  }

  async #rows(selection: Selection, slice: Slice, beside: Beside, { run }: Runner) {
    const statement = listStatement(selection, slice, beside, this.#mapping)
    return (await run(compile(this.#mapping.database, statement))).rows
  }

  /** @throws Error for a page that holds the place it follows: the next one might be the same, and so on. */
  #toItems(rows: readonly Row[], { sort }: Selection, slice: Slice): Stored[] {
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

function isState(state: unknown): boolean {
  return state !== null && state !== undefined
}

function toKey({ where, search }: Filters): string {
  return JSON.stringify([where, search])
}
