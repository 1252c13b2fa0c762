// Lists and counts of a table. A total is counted once and then remembered until the database
// changes: counting is most of what a filtered list costs.
import type { Selection } from '../selection.ts'
import type { Page, Slice, Stored, StoreOptions } from '../store.ts'
import type { Layout } from './sql-layout.ts'
import { type Beside, besideStatement, listStatement } from './sql-lists.ts'
import type { Row, Runner, Session } from './sql-session.ts'

type Filters = Pick<Selection, 'where' | 'search'>

/** How many totals are remembered at most. */
const MOST = 1000

export class SqlReads {
  readonly #session: Session
  readonly #layout: Layout
  /** The totals at one state of the database, by their filters. */
  readonly #totals = new Map<string, number>()
  #state: unknown

  constructor(session: Session, layout: Layout) {
    this.#session = session
    this.#layout = layout
  }

  async count(filters: Filters, options?: StoreOptions): Promise<number> {
    return this.#session.read(async runner => {
      const key = keyOf(filters)
      if (this.#totals.has(key)) {
        const [row] = await this.#beside(filters, { total: false, state: true }, runner)
        const known = row && this.#recall(key, row)
        if (known !== undefined) return known
      }
      return this.#counted(filters, key, runner)
    }, options)
  }

  /** The items of a slice alone. */
  async items(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Stored[]> {
    const none = { total: false, state: false }
    return this.#session.read(async runner => {
      const rows = await this.#rows(selection, slice, none, runner)
      return this.#itemsOf(rows, slice)
    }, options)
  }

  /** The items of a slice and the total, both of one moment. */
  async page(selection: Selection, slice: Slice, options?: StoreOptions): Promise<Page> {
    const key = keyOf(selection)
    const page = await this.#session.read(async runner => {
      if (this.#totals.has(key)) {
        const rows = await this.#rows(selection, slice, { total: false, state: true }, runner)
        const total = rows[0] && this.#recall(key, rows[0])
        if (total !== undefined) return { items: this.#itemsOf(rows, slice), total }
      }
      const rows = await this.#rows(selection, slice, { total: true, state: true }, runner)
      const total = rows[0] && this.#remember(key, rows[0])
      return total === undefined ? undefined : { items: this.#itemsOf(rows, slice), total }
    }, options)
    if (page) return page
    // No row brought the total along. From the start, that is the total.
    const whole = 'offset' in slice ? slice.offset === 0 : slice.key === undefined
    if (whole) return { items: [], total: 0 }
    return this.#session.snapshot(async runner => {
      const rows = await this.#rows(selection, slice, { total: false, state: false }, runner)
      return {
        items: this.#itemsOf(rows, slice),
        total: await this.#counted(selection, key, runner),
      }
    }, options)
  }

  async #counted(filters: Filters, key: string, runner: Runner): Promise<number> {
    const [row = {}] = await this.#beside(filters, { total: true, state: true }, runner)
    return this.#remember(key, row)
  }

  async #beside(filters: Filters, beside: Beside, runner: Runner): Promise<Row[]> {
    const statement = this.#session.compile(besideStatement(filters, beside, this.#layout))
    return (await runner.run(statement)).rows
  }

  async #rows(selection: Selection, slice: Slice, beside: Beside, runner: Runner): Promise<Row[]> {
    const statement = this.#session.compile(listStatement(selection, slice, beside, this.#layout))
    return (await runner.run(statement)).rows
  }

  #itemsOf(rows: readonly Row[], slice: Slice): Stored[] {
    const items = rows.map(row => this.#layout.stored(row))
    return 'key' in slice && slice.backward ? items.reverse() : items
  }

  #recall(key: string, { rest_state: state }: Row): number | undefined {
    return state === this.#state ? this.#totals.get(key) : undefined
  }

  #remember(key: string, { rest_total, rest_state: state }: Row): number {
    const total = Number(rest_total)
    if (state === null || state === undefined) return total
    if (state !== this.#state || this.#totals.size >= MOST) this.#totals.clear()
    this.#state = state
    this.#totals.set(key, total)
    return total
  }
}

function keyOf({ where, search }: Filters): string {
  return JSON.stringify([where, search])
}
