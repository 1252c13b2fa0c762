// Walks through a table of SQLite for a list that no index serves. The driver is synchronous and cannot be
// interrupted: the walk reads slices of some milliseconds, and other requests are served in between.

import { takeTurn } from '../../base/turns.ts'
import type { Item } from '../../base/values.ts'
import { TooCostlyError } from '../../store/errors.ts'
import { listLeaves } from '../../store/filter.ts'
import { chosenId } from '../../store/ids.ts'
import { splitWords } from '../../store/search.ts'
import {
  comparer,
  listPatterns,
  type Selection,
  type SortKey,
  sortKeyOf,
} from '../../store/selection.ts'
import { type Id, type ListOptions, throwIfAborted } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { compile, type Row, type Runner, type StatementSession } from '../session/runner.ts'
import { decodeNumber, decodeRow } from '../table/column-values.ts'
import type { Column } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { findIndexed } from './index-use.ts'
import { buildOrder, type RowFilters, type RowSlice, rangesAfter } from './list-statements.ts'
import type { PlaceKey } from './place.ts'
import { isBelow, planWalk, type WalkPlan, type Wanted } from './walk-plan.ts'
import { buildCondition, whereClause } from './where.ts'

/** The time of a slice, and the rows of the first and the largest one. */
const SLICE_MS = 5
const FIRST_ROWS = 2000
const MAX_ROWS = 50_000
/** How many rows are kept for a page that is far from the start. */
const MAX_FOUND = 100_000
/** The bytes of text in a slice of more than one row. */
const SLICE_TEXT = 1024 * 1024
/** Bytes of text × characters of patterns: in one statement, in a slice, and in one row, which takes half a second. */
const MAX_TEXT_AT_ONCE = 16 * 1024 * 1024
const MAX_TEXT_OF_SLICE = 64 * 1024 * 1024
const MAX_TEXT_OF_ROW = 128 * 1024 * 1024
/** How long the size of a table is remembered, in milliseconds. */
const SIZE_MS = 10_000

/** Some rows of a walk: after a place up to another, or to the end. */
interface WalkPart {
  readonly key: PlaceKey | undefined
  readonly end: PlaceKey | undefined
  /** The `where` and the `order by` of these and all that follow. */
  readonly rest: Fragment
  readonly rows: number
}

/**
 * Looks at a part of the rows. @returns whether it has seen enough.
 * @param count how many rows it has; absent if that is not known.
 */
export type Look = (rows: Fragment, runner: Runner, count?: number) => Promise<boolean>
/** The same; `select` gives those rows of the part that pass a condition. */
type LookAtPart = (
  select: (condition: Fragment | undefined) => Fragment,
  runner: Runner,
  count: number | undefined,
) => Promise<boolean>

/** The walks through a table, for lists and counts that no index serves. */
export class TableWalk {
  readonly #mapping: TableMapping
  readonly #maxScan: number
  readonly #rowid: Fragment | undefined
  #size = { rows: 0, bytes: 0, until: 0 }
  /** How many rows the table may have, by their numbers. */
  #most = { rows: 0, until: 0 }

  /**
   * @param maxScan how many rows one statement may look at.
   * @param rowid the name of the number that each row of the table has; absent where it has none.
   */
  constructor(mapping: TableMapping, maxScan: number, rowid: string | undefined) {
    this.#mapping = mapping
    this.#maxScan = maxScan
    this.#rowid = rowid === undefined ? undefined : sql.id(rowid)
  }

  /** Counts what passes the filters; `undefined` if one statement can do it. */
  async count(
    session: StatementSession,
    filters: RowFilters,
    options?: ListOptions,
  ): Promise<number | undefined> {
    let total = 0
    const walked = await this.lookAtAll(session, filters, options, async (rows, runner, count) => {
      if (count !== undefined) {
        total += count
        return false
      }
      const statement = sql`select count(*) as total from ${rows}`
      const [row] = (await runner.run(compile(this.#mapping.database, statement))).rows
      total += Number(row?.total)
      return false
    })
    return walked ? total : undefined
  }

  /** Looks at what passes the filters, part by part; returns false if one statement can do it. */
  async lookAtAll(
    session: StatementSession,
    { where, search }: RowFilters,
    options: ListOptions | undefined,
    look: Look,
  ): Promise<boolean> {
    const wanted = { where, search }
    if (!(await this.#isNeeded(session, wanted, options))) return false
    if (await this.areFew(session, wanted, options)) return false
    const condition = buildCondition(wanted, this.#mapping)
    const plan = planWalk(wanted, this.#mapping, this.#rowid !== undefined)
    await this.#walk(session, plan, options, (select, ...part) => look(select(condition), ...part))
    return true
  }

  /** Whether filters that indexes answer leave so few rows that one statement may read all of them. */
  async areFew(
    session: StatementSession,
    filters: RowFilters,
    options?: ListOptions,
    most = this.#maxScan,
  ) {
    const where = findIndexed(filters, this.#mapping)
    if (where.length === 0) return false
    const { database, from } = this.#mapping
    const condition = whereClause([buildCondition({ where }, this.#mapping)])
    const statement = sql`select count(*) as rows from (select 1 from ${from}${condition} limit ${most + 1})`
    const { rows } = await session.read(runner => runner.run(compile(database, statement)), options)
    return Number(rows[0]?.rows) <= most
  }

  /** Whether one statement may read all of an index: it has ten times as many rows in the same time. */
  async isQuick(session: StatementSession, options?: ListOptions) {
    return (await this.#findMost(session, options)) < 10 * this.#maxScan
  }

  /** How many rows that an index finds one statement may count; `undefined` if it may count all. */
  async boundCount(
    session: StatementSession,
    { where, search }: RowFilters,
    options?: ListOptions,
  ) {
    const most = await this.#findMost(session, options)
    const isWhole = where.length === 0 && !search
    return most < (isWhole ? 10 : 1) * this.#maxScan ? undefined : this.#maxScan
  }

  /** Finds how many rows the table has at most. */
  async #findMost(session: StatementSession, options: ListOptions | undefined): Promise<number> {
    if (!this.#rowid) return Number.POSITIVE_INFINITY
    if (this.#most.until <= performance.now()) {
      const { database, from } = this.#mapping
      const statement = sql`select (select max(${this.#rowid}) from ${from}) - (select min(${this.#rowid}) from ${from}) as numbers`
      const work = (runner: Runner) => runner.run(compile(database, statement))
      const { rows } = await session.read(work, options)
      this.#most = { rows: Number(rows[0]?.numbers), until: performance.now() + SIZE_MS }
    }
    return this.#most.rows
  }

  /** Finds the ids of a slice, in the order in which it is read; `undefined` if one statement can do it. */
  async findIds(
    session: StatementSession,
    selection: Selection,
    slice: RowSlice,
    options?: ListOptions,
  ): Promise<Id[] | undefined> {
    if (!(await this.#isNeeded(session, selection, options))) return undefined
    if (await this.areFew(session, selection, options, Math.min(FIRST_ROWS, this.#maxScan)))
      return undefined
    const { sort } = selection
    const { database, shape } = this.#mapping
    const { key, backward, offset } = { key: undefined, backward: false, offset: 0, ...slice }
    const wanted = offset + slice.limit
    if (wanted > MAX_FOUND) throw tooCostly(selection)
    const plan = planWalk(selection, this.#mapping, this.#rowid !== undefined, backward)
    const ordered = plan.order === sort
    const ranges = key && !ordered ? rangesAfter(sort, key, backward, this.#mapping) : []
    const beyond = sql.join(
      ranges.map(each => each.condition),
      ' or ',
    )
    const conditions = [
      buildCondition(selection, this.#mapping),
      ranges.length === 0 ? undefined : sql`(${beyond})`,
    ].filter(each => each !== undefined)
    const condition = conditions.length === 0 ? undefined : sql.join(conditions, ' and ')
    const order = buildOrder(sort, backward, this.#mapping)
    const compare = comparer(sort, shape.fields)
    const { keys, decode } = this.#selectKeys(sort)
    let best: Item[] = []
    const planned = { ...plan, after: ordered ? key : undefined }
    await this.#walk(session, planned, options, async (select, runner) => {
      const limit = ordered ? wanted - best.length : wanted
      const statement = sql`select ${keys} from ${select(condition)} order by ${order} limit ${limit}`
      best.push(...(await runner.run(compile(database, statement))).rows.map(decode))
      if (ordered) return best.length >= wanted
      best.sort((one, other) => (backward ? compare(other, one) : compare(one, other)))
      best = best.slice(0, wanted)
      return false
    })
    const { identity } = shape
    const toId = (item: Item) => (chosenId(identity, item) ?? item[identity.name]) as Id // a sort ends with the id
    return best.slice(offset).map(toId)
  }

  /** Waits for a turn, and decides whether a list or a count that no index serves has to walk. */
  async #isNeeded(session: StatementSession, wanted: Wanted, options?: ListOptions) {
    await takeTurn(true)
    if (this.#size.until <= performance.now()) {
      const texts = this.#mapping.columns.filter(({ long }) => long)
      const measured = await session.read(
        runner => this.#measure(texts, sql``, this.#maxScan + 1, runner),
        options,
      )
      this.#size = { ...measured, until: performance.now() + SIZE_MS }
    }
    const { rows, bytes } = this.#size
    return rows > this.#maxScan || bytes * countPatterns(wanted) > MAX_TEXT_AT_ONCE
  }

  /** Measures a part of the table: its rows, and the bytes of some texts in it. */
  async #measure(texts: readonly Column[], rest: Fragment, limit: number, runner: Runner) {
    const { database, from } = this.#mapping
    const lengths = texts.map(({ ref }) => sql`coalesce(octet_length(${ref}), 0)`)
    const bytes = sql.join([sql`0`, ...lengths], ' + ')
    const statement = sql`select count(*) as rows, coalesce(sum(bytes), 0) as bytes from (select ${bytes} as bytes from ${from}${rest} limit ${limit})`
    const [row] = (await runner.run(compile(database, statement))).rows
    return { rows: Number(row?.rows), bytes: Number(row?.bytes) }
  }

  /** Walks slice by slice, each in its own turn. */
  async #walk(
    session: StatementSession,
    plan: WalkPlan,
    options: ListOptions | undefined,
    look: LookAtPart,
  ): Promise<void> {
    const until = performance.now() + (options?.maxTime ?? Number.POSITIVE_INFINITY)
    let rows = Math.min(FIRST_ROWS, this.#maxScan)
    let areDense = plan.order === undefined
    for (let key = plan.after; ; ) {
      throwIfAborted(options)
      const next = await session.read(async runner => {
        const started = performance.now()
        const rest = this.#restAfter(plan, key)
        rows = await this.#fitRows(plan, rest, rows, runner)
        const end = areDense
          ? await this.#findDenseEnd(key, rows, runner)
          : await this.#findEnd(plan, rest, rows, runner)
        const place = { key, end, rest, rows }
        const isExact = end && plan.isExact
        const select = (condition: Fragment | undefined) => this.#selectPart(plan, place, condition)
        const done = await look(select, runner, isExact ? rows : undefined)
        const took = performance.now() - started
        if (rows === MAX_ROWS && took < SLICE_MS / 10) areDense = false
        rows = Math.max(1, Math.min(Math.round((rows * SLICE_MS) / took), rows * 4, MAX_ROWS))
        return done ? undefined : end
      }, options)
      if (!next) return
      if (performance.now() > until) throw tooCostly(plan.wanted)
      key = next
      await takeTurn(true)
    }
  }

  /** Builds the next rows of the table that pass a condition, under its name. */
  #selectPart(
    { order }: WalkPlan,
    { key, end, rest, rows }: WalkPart,
    condition: Fragment | undefined,
  ): Fragment {
    const { from } = this.#mapping
    if (order)
      return sql`(select * from ${from}${rest} limit ${rows}) as ${from}${whereClause([condition])}`
    const after = key && sql`${this.#rowid} > ${key[0]}`
    const upTo = end && sql`${this.#rowid} <= ${end[0]}`
    return sql`${from}${whereClause([after, upTo, condition])}`
  }

  /** Builds the `where` and the `order by` of the rows after a place. */
  #restAfter({ order, backward, applied }: WalkPlan, key: PlaceKey | undefined): Fragment {
    const mapping = this.#mapping
    if (!order) {
      const after = key && sql`${this.#rowid} > ${key[0]}`
      return sql`${whereClause([after])} order by ${this.#rowid}`
    }
    const [range] = key ? rangesAfter(order, key, backward, mapping) : []
    const where = key ? applied.filter(each => !isBelow(each, order)) : applied
    const condition = whereClause([buildCondition({ where }, mapping), range?.condition])
    return sql`${condition} order by ${range?.order ?? buildOrder(order, backward, mapping)}`
  }

  /** Finds how many of the next rows fit into a slice by their text. @throws TooCostlyError for too long a text. */
  async #fitRows({ wanted }: WalkPlan, rest: Fragment, rows: number, runner: Runner) {
    const patterns = countPatterns(wanted)
    if (patterns === 0) return rows
    const texts = this.#listTexts(wanted)
    const most = Math.min(SLICE_TEXT, MAX_TEXT_OF_SLICE / patterns)
    for (let fitting = rows; ; fitting = Math.ceil(fitting / 4)) {
      const { bytes } = await this.#measure(texts, rest, fitting, runner)
      if (bytes > most && fitting > 1) continue
      if (bytes * patterns <= MAX_TEXT_OF_ROW) return fitting
      const message = `The texts of ${nameFields(wanted)} are too long for this pattern. Use a shorter one, or the filter [prefix].`
      throw new TooCostlyError(message, 'text')
    }
  }

  /** Lists the columns of the texts that patterns and the search read. */
  #listTexts({ where, search }: RowFilters): Column[] {
    const mapping = this.#mapping
    const read = listPatterns(where).map(({ path: [name = ''] }) => mapping.columnOf(name))
    for (const path of search?.paths ?? [])
      read.push((search?.fold && mapping.findFolded(path)) || mapping.columnOf(path[0] ?? ''))
    return [...new Set(read)]
  }

  /** Finds a place by the numbers of rows: as many numbers have no more rows. `undefined` where no row follows. */
  async #findDenseEnd(
    key: PlaceKey | undefined,
    rows: number,
    runner: Runner,
  ): Promise<PlaceKey | undefined> {
    const { database, from } = this.#mapping
    const after = whereClause([key && sql`${this.#rowid} > ${key[0]}`])
    const statement = sql`select min(${this.#rowid}) as rest_row from ${from}${after}`
    const [first] = (await runner.run(compile(database, statement))).rows
    const found = first?.rest_row ?? null
    return found === null ? undefined : [decodeNumber(found, 'integer', 'rowid') + rows - 1]
  }

  /** Finds the place of the last of so many rows; `undefined` where there are fewer. */
  async #findEnd(
    { order }: WalkPlan,
    rest: Fragment,
    rows: number,
    runner: Runner,
  ): Promise<PlaceKey | undefined> {
    const { database, from } = this.#mapping
    if (!order) {
      const next = sql`select ${this.#rowid} as rest_row from ${from}${rest} limit 1 offset ${rows - 1}`
      const [last] = (await runner.run(compile(database, next))).rows
      return last && [decodeNumber(last.rest_row, 'integer', 'rowid')]
    }
    const { keys, decode } = this.#selectKeys(order)
    const statement = sql`select ${keys} from ${from}${rest} limit 1 offset ${rows - 1}`
    const [found] = (await runner.run(compile(database, statement))).rows
    return found && sortKeyOf(decode(found), order)
  }

  /** Selects the columns that hold the keys of a sort. */
  #selectKeys(sort: readonly SortKey[]) {
    const names = new Set(sort.map(({ path: [name] }) => name))
    const keys = this.#mapping.columns.filter(({ name }) => names.has(name))
    return {
      keys: sql.join(keys.map(each => sql`${each.readable} as ${sql.id(each.read)}`)),
      decode: (row: Row) => decodeRow(row, keys),
    }
  }
}

function tooCostly(wanted: Wanted): TooCostlyError {
  const message = `The list takes too long, as no index serves ${nameFields(wanted)} together. Filter and sort by fields with an index.`
  return new TooCostlyError(message, 'index')
}

/** Counts the characters of patterns: each character of a text is compared with so many at worst. */
function countPatterns({ where, search }: RowFilters): number {
  let patterns = search ? splitWords(search.text).length : 0
  for (const { values } of listPatterns(where)) patterns += String(values[0]).length
  return patterns
}

/** Names the fields of filters, search and sort. */
function nameFields({ where, search, sort = [] }: Wanted): string {
  const paths = [...listLeaves(where), ...sort.slice(0, -1)].map(({ path }) => path)
  return [...new Set([...paths, ...(search?.paths ?? [])].map(path => path.join('.')))].join(', ')
}
