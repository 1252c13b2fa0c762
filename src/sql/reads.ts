// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.
import { sameJson } from '../schema/values.ts'
import { type Selection, sortKeyOf } from '../store/selection.ts'
import type { Slice, Stored, StoreOptions } from '../store/store.ts'
import type { Known } from './catalog.ts'
import { type Beside, besideStatement, listStatement, matchesStatement } from './list-statements.ts'
import { compileFor, type Row, type Runner, type Session } from './session.ts'
import type { TableMapping } from './table-mapping.ts'

/** Items and the total, both of one moment. */
type Found = { readonly items: readonly Stored[]; readonly total: number }
type Filters = Pick<Selection, 'where' | 'search'>

/** How many totals are remembered at most. */
const MOST = 1000

/** What counting may cost, in the planner's units, before its guess is taken instead: some milliseconds. */
const CHEAP = 1000

export class SqlReads {
  readonly #session: Session
  readonly #layout: TableMapping
  readonly #known: Known
  readonly #tells: boolean
  /** The totals at one state of the database, by their filters. */
  readonly #totals = new Map<string, number>()
  #state: string | undefined

  /** @param remember whether totals may be remembered, where the database tells of its changes. */
  constructor(session: Session, layout: TableMapping, known: Known, remember: boolean) {
    this.#session = session
    this.#layout = layout
    this.#known = known
    this.#tells = remember && layout.dialect.state !== undefined
  }

  /** Whether totals are remembered: what a view shows may change by the time alone. */
  get #remembers(): boolean {
    return this.#tells && this.#known.base
  }

  total(filters: Filters, mode: 'exact' | 'estimated', options?: StoreOptions): Promise<number> {
    return mode === 'exact' ? this.#count(filters, options) : this.#estimate(filters, options)
  }

  async #count(filters: Filters, options?: StoreOptions): Promise<number> {
    return this.#session.read(async runner => {
      const key = keyOf(filters)
      const { generation } = this.#session
      if (this.#totals.has(key)) {
        const [row] = await this.#beside(filters, { total: false, state: true }, runner)
        const known = row && this.#recall(key, row, generation)
        if (known !== undefined) return known
      }
      return this.#counted(filters, key, runner)
    }, options)
  }

  /** The planner's guess where counting would cost much; else the number itself. */
  async #estimate(filters: Filters, options?: StoreOptions): Promise<number> {
    const { plan } = this.#layout.dialect
    if (!plan) return this.#count(filters, options)
    const guess = await this.#session.read(async ({ run }) => {
      const statement = plan.statement(matchesStatement(filters, this.#layout))
      const [row = {}] = (await run(compileFor(this.#layout.dialect, statement))).rows
      return plan.read(row)
    }, options)
    return guess.cost <= CHEAP ? this.#count(filters, options) : guess.rows
  }

  /** The items of a slice alone. */
  async items(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Stored[]> {
    const none = { total: false, state: false }
    return this.#session.read(async runner => {
      const rows = await this.#rows(selection, slice, none, runner)
      return this.#itemsOf(rows, selection, slice)
    }, options)
  }

  /** The items of a slice and a guess of the total, never less than what the items show. */
  async estimatedPage(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Found> {
    const items = await this.items(selection, slice, options)
    const before = 'offset' in slice ? slice.offset : 0
    const atEnd = items.length < slice.limit && (items.length > 0 || before === 0)
    if (atEnd && 'offset' in slice) return { items, total: before + items.length }
    const least = items.length > 0 ? before + items.length : 0
    return { items, total: Math.max(least, await this.#estimate(selection, options)) }
  }

  /** The items of a slice and the total, both of one moment. */
  async page(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Found> {
    const key = keyOf(selection)
    const page = await this.#session.read(async runner => {
      const { generation } = this.#session
      if (this.#totals.has(key)) {
        const rows = await this.#rows(selection, slice, { total: false, state: true }, runner)
        const total = rows[0] && this.#recall(key, rows[0], generation)
        if (total !== undefined) return { items: this.#itemsOf(rows, selection, slice), total }
      }
      const beside = { total: true, state: this.#remembers }
      const rows = await this.#rows(selection, slice, beside, runner)
      const total = rows[0] && this.#remember(key, rows[0], generation)
      return total === undefined
        ? undefined
        : { items: this.#itemsOf(rows, selection, slice), total }
    }, options)
    if (page) return page
    // No row brought the total along. From the start, that is the total.
    const whole = 'offset' in slice ? slice.offset === 0 : slice.key === undefined
    if (whole) return { items: [], total: 0 }
    return this.#session.snapshot(async runner => {
      const rows = await this.#rows(selection, slice, { total: false, state: false }, runner)
      return {
        items: this.#itemsOf(rows, selection, slice),
        total: await this.#counted(selection, key, runner),
      }
    }, options)
  }

  async #counted(filters: Filters, key: string, runner: Runner): Promise<number> {
    const { generation } = this.#session
    const beside = { total: true, state: this.#remembers }
    const [row = {}] = await this.#beside(filters, beside, runner)
    return this.#remember(key, row, generation)
  }

  async #beside(filters: Filters, beside: Beside, runner: Runner): Promise<Row[]> {
    const statement = compileFor(
      this.#layout.dialect,
      besideStatement(filters, beside, this.#layout),
    )
    return (await runner.run(statement)).rows
  }

  async #rows(selection: Selection, slice: Slice, beside: Beside, runner: Runner): Promise<Row[]> {
    const statement = compileFor(
      this.#layout.dialect,
      listStatement(selection, slice, beside, this.#layout),
    )
    return (await runner.run(statement)).rows
  }

  /** @throws Error for a page that has the place it follows: the next one might be the same, and so on. */
  #itemsOf(rows: readonly Row[], { sort }: Selection, slice: Slice): Stored[] {
    const items = rows.map(row => this.#layout.stored(row))
    if (!('key' in slice)) return items
    const { key } = slice
    const last = key?.at(-1)
    if (items.some(({ id, item }) => id === last && sameJson(sortKeyOf(item, sort), key))) {
      const fields = sort.map(({ path }) => path.join('.')).join(', ')
      throw new Error(
        `${this.#layout.table} does not go on after ${JSON.stringify(key)} in the order of ${fields}: what is read of these columns is not what the database compares`,
      )
    }
    return slice.backward ? items.reverse() : items
  }

  #recall(key: string, row: Row, generation: number): number | undefined {
    const state = stateOf(row, generation)
    return state !== undefined && state === this.#state ? this.#totals.get(key) : undefined
  }

  /** @param generation of the session, before the statement was run. */
  #remember(key: string, row: Row, generation: number): number {
    const total = Number(row.rest_total)
    const state = stateOf(row, generation)
    if (state === undefined) return total
    if (state !== this.#state || this.#totals.size >= MOST) this.#totals.clear()
    this.#state = state
    this.#totals.set(key, total)
    return total
  }
}

function stateOf({ rest_state: state }: Row, generation: number): string | undefined {
  return state === null || state === undefined ? undefined : `${generation} ${state}`
}

function keyOf({ where, search }: Filters): string {
  return JSON.stringify([where, search])
}
