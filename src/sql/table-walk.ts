// A walk through a table of SQLite that no index serves. Its driver is synchronous and cannot be stopped:
// a slice takes some milliseconds, and between two of them others have their turn.
import { takeTurn } from '../http/turns.ts'
import { compareText, type Scalar } from '../schema/values.ts'
import type { SortKey } from '../store/selection.ts'
import { sortKeyOf } from '../store/selection.ts'
import {
  type Id,
  type ListOptions,
  type Slice,
  TooCostlyError,
  throwIfAborted,
} from '../store/store.ts'
import { buildOrder, rangesAfter, sortColumns } from './cursor.ts'
import { type Filters, where } from './list-statements.ts'
import { compile, type Row, type Runner, type Session } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import {
  nameFields,
  patternsOf,
  textPaths,
  type WalkPlan,
  WalkPlans,
  type Wanted,
} from './walk-plan.ts'
import { buildCondition } from './where.ts'

/** The time of a slice, and the rows of the first and the largest one. */
const SLICE_MS = 5
const FIRST_ROWS = 2000
const MAX_ROWS = 50_000
/** How many rows are kept for a page that is far from the start. */
const MAX_FOUND = 100_000
/** The bytes of text in a slice of more than one row. */
const SLICE_TEXT = 1024 * 1024
/** Bytes of text × characters of patterns: in one statement, and in one row, which takes half a second. */
const MAX_TEXT_AT_ONCE = 16 * 1024 * 1024
const MAX_TEXT_OF_ROW = 128 * 1024 * 1024
/** How long the size of a table is remembered, in milliseconds. */
const SIZE_MS = 10_000

type Key = readonly (Scalar | null)[]

/** Where a walk is, and in which order it goes. */
interface Course extends WalkPlan {
  readonly filters: Wanted
  readonly backward: boolean
}

/** Looks at a part of the table. @returns whether it has seen enough. */
type Look = (part: Fragment, runner: Runner) => Promise<boolean>

/** A row that is found: its sort keys as the database compares them. */
interface Found {
  readonly id: Id
  readonly keys: readonly unknown[]
}

export class TableWalk {
  readonly #session: Session
  readonly #mapping: TableMapping
  readonly #maxRows: number
  readonly #plans: WalkPlans
  #size: { readonly rows: number; readonly bytes: number; readonly until: number } | undefined

  /** @param maxRows how many rows one statement may look at. */
  constructor(session: Session, mapping: TableMapping, maxRows: number) {
    this.#session = session
    this.#mapping = mapping
    this.#maxRows = maxRows
    this.#plans = new WalkPlans(mapping)
  }

  /**
   * Decides whether a list or a count walks. One that looks at much, and may do so at once, has waited
   * for its turn.
   */
  isNeeded(wanted: Wanted, options?: ListOptions): boolean | Promise<boolean> {
    if (this.#plans.isServed(wanted) || this.#plans.isSmall(wanted)) return false
    return this.#isLarge(wanted, options)
  }

  async #isLarge(wanted: Wanted, options?: ListOptions): Promise<boolean> {
    await takeTurn(true)
    const { rows, bytes } = await this.#measure(options)
    return rows > this.#maxRows || bytes * patternsOf(wanted) > MAX_TEXT_AT_ONCE
  }

  /** Measures the table, up to the rows that one statement may look at. */
  async #measure(options?: ListOptions) {
    if (this.#size && this.#size.until > performance.now()) return this.#size
    const { columns, from } = this.#mapping
    const texts = columns.filter(({ long }) => long).map(({ ref }) => ref)
    const part = sql`select ${this.#lengths(texts)} from ${from} limit ${this.#maxRows + 1}`
    const { rows, bytes } = await this.#session.read(
      ({ run }) => this.#first(sizeOf(part), run),
      options,
    )
    this.#size = {
      rows: Number(rows),
      bytes: Number(bytes),
      until: performance.now() + SIZE_MS,
    }
    return this.#size
  }

  /** The bytes of some texts of a row, as `rest_bytes`. */
  #lengths(texts: readonly Fragment[]): Fragment {
    const { length } = this.#mapping.database
    const each = [sql`0`, ...texts.map(text => sql`coalesce(${length(text)}, 0)`)]
    return sql`${sql.join(each, ' + ')} as rest_bytes`
  }

  async #first(statement: Fragment, run: Runner['run']): Promise<Row> {
    return (await run(compile(this.#mapping.database, statement))).rows[0] ?? {}
  }

  /** Counts what passes the filters. */
  async count(filters: Filters, options?: ListOptions): Promise<number> {
    let total = 0
    const course = { filters, ...this.#plans.find(filters), backward: false }
    await this.#walk(course, undefined, options, async (part, { run }) => {
      const condition = where([buildCondition(filters, this.#mapping)])
      const row = await this.#first(sql`select count(*) as total from ${part}${condition}`, run)
      total += Number(row.total)
      return false
    })
    return total
  }

  /** Finds the ids of a slice, in the order in which it is read. */
  async ids(
    selection: Wanted & { sort: readonly SortKey[] },
    slice: Slice,
    options?: ListOptions,
  ): Promise<Id[]> {
    const mapping = this.#mapping
    const { sort } = selection
    const backward = 'key' in slice && slice.backward
    const key = 'key' in slice ? slice.key : undefined
    const offset = 'offset' in slice ? slice.offset : 0
    const wanted = offset + slice.limit
    if (wanted > MAX_FOUND) throw tooCostly(selection)
    const plan = this.#plans.find(selection)
    const ordered = plan.order === sort
    const course = { ...plan, filters: selection, backward: ordered && backward }
    const keys = sortColumns(sort, backward, mapping)
    const columns = sql.join([
      sql`${mapping.id.readable} as rest_id`,
      ...keys.map(({ column }) => column),
    ])
    const order = sql.join(keys.map(each => each.order))
    const ranges = key && !ordered ? rangesAfter(sort, key, backward, mapping) : []
    const beyond = ranges.map(each => each.condition)
    const condition = where([
      buildCondition(selection, mapping),
      beyond.length === 0 ? undefined : sql`(${sql.join(beyond, ' or ')})`,
    ])
    const compare = compareKeys(sort, backward)
    let best: readonly Found[] = []
    await this.#walk(course, ordered ? key : undefined, options, async (part, { run }) => {
      const limit = ordered ? wanted - best.length : wanted
      const statement = sql`select ${columns} from ${part}${condition} order by ${order} limit ${limit}`
      const { rows } = await run(compile(mapping.database, statement))
      const found = rows.map(row => ({
        // What the column of the ids holds is an id.
        id: row.rest_id as Id,
        keys: sort.map((_, at) => row[`rest_key_${at}`]),
      }))
      best = ordered ? [...best, ...found] : merge(best, found, compare, wanted)
      return ordered && best.length >= wanted
    })
    return best.slice(offset).map(({ id }) => id)
  }

  /** Walks from a place on, slice by slice, each in a turn of its own. */
  async #walk(
    course: Course,
    place: Key | undefined,
    options: ListOptions | undefined,
    look: Look,
  ): Promise<void> {
    const { maxTime } = options ?? {}
    const until = maxTime === undefined ? undefined : performance.now() + maxTime
    let rows = Math.min(FIRST_ROWS, this.#maxRows)
    for (let key = place; ; ) {
      throwIfAborted(options)
      const next = await this.#session.read(async runner => {
        const started = performance.now()
        rows = await this.#fit(course, key, rows, runner)
        const end = await this.#end(course, key, rows, runner)
        const done = await look(this.#part(course, key, rows), runner)
        const took = performance.now() - started
        rows = Math.max(1, Math.min(Math.round((rows * SLICE_MS) / took), rows * 4, MAX_ROWS))
        return done ? undefined : end
      }, options)
      if (!next) return
      if (until !== undefined && performance.now() > until) throw tooCostly(course.filters)
      key = next
      await takeTurn(true)
    }
  }

  /** How many of the next rows have little text to look through. @throws TooCostlyError where one has too much. */
  async #fit(course: Course, key: Key | undefined, rows: number, runner: Runner) {
    const patterns = patternsOf(course.filters)
    if (patterns === 0) return rows
    const names = new Set(textPaths(course.filters).map(([name]) => name))
    const texts = this.#mapping.columns.filter(({ name }) => names.has(name)).map(({ ref }) => ref)
    for (let fitting = rows; ; fitting = Math.ceil(fitting / 4)) {
      const part = this.#rows(this.#lengths(texts), course, key, fitting)
      const bytes = Number((await this.#first(sizeOf(part), runner.run)).bytes)
      if (bytes <= SLICE_TEXT) return fitting
      if (fitting > 1) continue
      if (bytes * patterns > MAX_TEXT_OF_ROW) {
        const message = `The texts of ${nameFields(course.filters)} are too long for this pattern. Use a shorter one, or the filter [prefix].`
        throw new TooCostlyError(message, 'text')
      }
      return fitting
    }
  }

  /** The next rows of the table, under its name. */
  #part(course: Course, key: Key | undefined, rows: number): Fragment {
    return sql`(${this.#rows(sql`*`, course, key, rows)}) as ${this.#mapping.from}`
  }

  #rows(columns: Fragment, course: Course, key: Key | undefined, rows: number): Fragment {
    return sql`select ${columns} from ${this.#mapping.from}${this.#after(course, key)} limit ${rows}`
  }

  #after({ order, backward, narrow }: Course, key: Key | undefined): Fragment {
    const mapping = this.#mapping
    const [range] = key ? rangesAfter(order, key, backward, mapping) : []
    const condition = where([buildCondition({ where: narrow }, mapping), range?.condition])
    return sql`${condition} order by ${range?.order ?? buildOrder(order, backward, mapping)}`
  }

  /** The place of the last of so many rows; `undefined` where there are fewer. */
  async #end(
    course: Course,
    key: Key | undefined,
    rows: number,
    { run }: Runner,
  ): Promise<Key | undefined> {
    const { from, all, database } = this.#mapping
    const after = this.#after(course, key)
    const statement = sql`select ${all} from ${from}${after} limit 1 offset ${rows - 1}`
    const [found] = (await run(compile(database, statement))).rows
    // The values of sort keys are scalars or null.
    return found && (sortKeyOf(this.#mapping.decode(found).item, course.order) as Key)
  }
}

/** Selects how many rows there are, and their bytes. */
function sizeOf(rows: Fragment): Fragment {
  return sql`select count(*) as rows, coalesce(sum(rest_bytes), 0) as bytes from (${rows})`
}

function tooCostly(wanted: Wanted): TooCostlyError {
  const message = `The list takes too long, as no index serves ${nameFields(wanted)} together. Filter and sort by fields with an index.`
  return new TooCostlyError(message, 'index')
}

/** Merges rows that are each in order, up to so many. */
function merge(
  one: readonly Found[],
  other: readonly Found[],
  compare: (one: Found, other: Found) => number,
  max: number,
): Found[] {
  const merged: Found[] = []
  let [at, from] = [0, 0]
  while (merged.length < max) {
    const [left, right] = [one[at], other[from]]
    const next = left && (!right || compare(left, right) < 0) ? left : right
    if (!next) break
    if (next === left) at++
    else from++
    merged.push(next)
  }
  return merged
}

/** Compares sort keys as SQLite does: null, numbers, texts by code point, all else. */
function compareKeys(sort: readonly SortKey[], backward: boolean) {
  const down = sort.map(({ descending }) => descending !== backward)
  return (one: Found, other: Found): number => {
    for (let at = 0; at < down.length; at++) {
      const order = compareValue(one.keys[at], other.keys[at])
      if (order !== 0) return down[at] ? -order : order
    }
    return 0
  }
}

function compareValue(one: unknown, other: unknown): number {
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other)
  const [left, right] = [rankOf(one), rankOf(other)]
  if (left !== right || left !== 1) return left - right
  return Number(one) - Number(other)
}

function rankOf(value: unknown): number {
  if (value === null || value === undefined) return 0
  if (typeof value === 'number' || typeof value === 'bigint') return 1
  return typeof value === 'string' ? 2 : 3
}
