// Totals of a table. One is counted once and then remembered until the database changes: counting is most of what a
// filtered list costs.

import { publishWork } from '../../store/events.ts'
import type { ListOptions } from '../../store/store.ts'
import { compile, type Row, type Runner, type StatementSession } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { hasIndexFor } from './index-use.ts'
import { matchesStatement, type RowFilters, selectExtras } from './list-statements.ts'
import type { TableWalk } from './table-walk.ts'

const MAX_TOTALS = 1000
const MAX_OUTDATED = 2

/** The cost in the planner's units, some milliseconds, above which its estimate replaces a count. */
const MAX_COUNT_COST = 1000

/** What a count may take, in milliseconds, and how many rows it may find, before events and `/health` name it. */
const SLOW_COUNT_MS = 50
const SLOW_COUNT_ROWS = 10_000
/** For how long it is named, in milliseconds. */
const SLOW_COUNT_HOLDS_MS = 60_000

export class Totals {
  readonly #mapping: TableMapping
  readonly #remembers: boolean
  readonly #walk: TableWalk | undefined
  /** The totals at one state of the database, by their filters. */
  readonly #known = new Map<string, number>()
  #state: unknown
  #slowUntil = 0
  /** How many totals in turn were of an earlier state: the database changes between two lists. */
  #outdated = 0

  /**
   * @param remembers whether totals may be remembered until the database changes.
   * @param walk absent where the database can be stopped.
   */
  constructor(mapping: TableMapping, remembers: boolean, walk: TableWalk | undefined) {
    this.#mapping = mapping
    this.#remembers = remembers
    this.#walk = walk
  }

  /** Counts the matches, or takes the planner's estimate where counting would cost much. */
  async count(
    session: StatementSession,
    { where, search }: RowFilters,
    mode: 'exact' | 'estimated',
    options?: ListOptions,
  ): Promise<number> {
    // Of a selection the filters alone: a count needs no index for its sort.
    const filters = { where, search }
    const estimate = mode === 'estimated' && (await this.#estimate(session, filters, options))
    if (typeof estimate === 'number') return estimate
    const hasIndex = hasIndexFor(filters, this.#mapping)
    const total = options?.exactUpTo ?? true
    const select = (counts: boolean) => {
      const work = (runner: Runner) => this.#select(filters, counts && total, runner)
      return session.read(work, options, counts && !hasIndex)
    }
    const key = toTotalKey(filters, total)
    const isFew = hasIndex && !(await this.#walk?.boundCount(session, filters, options))
    const walk = isFew ? undefined : this.#walk
    const before = walk || this.has(key) ? await select(false) : undefined
    const known = this.recall(key, before)
    if (known !== undefined) return known
    const since = performance.now()
    const counted = await walk?.count(session, filters, options)
    if (counted === undefined) return this.remember(key, await select(true))
    this.noteCost({ rest_total: counted }, since)
    const after = await select(false)
    if (before?.rest_state !== after.rest_state) return counted
    return this.remember(key, { ...after, rest_total: counted })
  }

  /** The planner's estimate; `undefined` where there is none, or counting costs little. */
  async #estimate(
    session: StatementSession,
    filters: RowFilters,
    options: ListOptions | undefined,
  ): Promise<number | undefined> {
    const { plan } = this.#mapping.database
    if (!plan) return undefined
    const matches = plan.statement(matchesStatement(filters, this.#mapping))
    const statement = compile(this.#mapping.database, matches)
    const { rows } = await session.read(runner => runner.run(statement), options)
    const estimate = plan.read(rows[0] ?? {})
    return estimate.cost > MAX_COUNT_COST ? estimate.rows : undefined
  }

  /** Selects the state of the database if totals are remembered, and the total if wanted. */
  async #select(filters: RowFilters, counts: boolean | number, runner: Runner): Promise<Row> {
    const extras = { total: counts, state: this.mayRemember(runner) }
    if (counts === false && !extras.state) return {}
    const statement = selectExtras(filters, extras, this.#mapping)
    const since = performance.now()
    const [row = {}] = (await runner.run(compile(this.#mapping.database, statement))).rows
    if (counts === true) this.noteCost(row, since)
    return row
  }

  /** Whether a count was slow in the last minute. */
  get isSlow(): boolean {
    return performance.now() < this.#slowUntil
  }

  /** Publishes a count that took long because many rows match. @param since by `performance.now()`. */
  noteCost({ rest_total }: Row, since: number): void {
    const now = performance.now()
    const [total, duration] = [Number(rest_total), now - since]
    if (duration < SLOW_COUNT_MS || total < SLOW_COUNT_ROWS) return
    this.#slowUntil = now + SLOW_COUNT_HOLDS_MS
    const { table } = this.#mapping
    const advice = 'Set total: { exactUpTo: 10_000 } of the collection'
    publishWork({ type: 'slow_count', table, total, duration, advice })
  }

  /** Whether what a runner counts may be remembered. */
  mayRemember({ apart }: Runner): boolean {
    return this.#remembers && !apart
  }

  /**
   * Whether a total is remembered, of the present state or an earlier one. After two of an earlier one it is counted with
   * its page at once, until the database rests: else each page would be read twice.
   */
  has(key: string): boolean {
    return this.#outdated < MAX_OUTDATED && this.#known.has(key)
  }

  /** The total, if it is remembered of the state that a row tells. */
  recall(key: string, row: Row | undefined): number | undefined {
    if (!row || !isState(row.rest_state)) return undefined
    const isPresent = row.rest_state === this.#state
    this.#outdated = isPresent ? 0 : this.#outdated + 1
    return isPresent ? this.#known.get(key) : undefined
  }

  /** Remembers the total of a row. @returns it. */
  remember(key: string, row: Row): number {
    const total = Number(row.rest_total)
    if (!isState(row.rest_state)) return total
    if (row.rest_state === this.#state) this.#outdated = 0
    if (row.rest_state !== this.#state || this.#known.size >= MAX_TOTALS) this.#known.clear()
    this.#state = row.rest_state
    this.#known.set(key, total)
    return total
  }
}

function isState(state: unknown): boolean {
  return state !== null && state !== undefined
}

/** The key of a total: equal for equal filters, whatever the order of the list, that are counted as far. */
export function toTotalKey({ where, search }: RowFilters, counts: boolean | number): string {
  return JSON.stringify([where, search, counts])
}
