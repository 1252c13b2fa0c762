// Walks through a table of SQLite for a list that no index serves. The driver is synchronous and cannot be
// interrupted: the walk reads slices of some milliseconds, and other requests are served in between.

import type { Path } from '../../base/paths.ts'
import { takeTurn } from '../../base/turns.ts'
import type { Item, Scalar } from '../../base/values.ts'
import { TooCostlyError } from '../../store/errors.ts'
import {
  type Filter,
  type FilterLeaf,
  isLeaf,
  listLeaves,
  toConjunction,
} from '../../store/filter.ts'
import {
  comparer,
  type Selection,
  type SortKey,
  searchWords,
  sortKeyOf,
} from '../../store/selection.ts'
import { type Id, type ListOptions, type Slice, throwIfAborted } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { compile, type Row, type Runner, type StatementSession } from '../session/runner.ts'
import { type Column, decodeRow } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { buildOrder, type RowFilters, rangesAfter } from './list-statements.ts'
import { buildCondition, whereClause } from './where.ts'

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

type WalkKey = readonly (Scalar | null)[]

/** A list; without a sort, a count. */
type Wanted = RowFilters & Partial<Pick<Selection, 'sort'>>

/** In which order a table is walked, and which filters an index applies on the way. */
interface WalkPlan {
  readonly wanted: Wanted
  readonly order: readonly SortKey[]
  /** Filters by one value, which the index applies. */
  readonly equals: readonly Filter[]
  readonly backward: boolean
}

/** Looks at a part of the table. @returns whether it has seen enough. */
type Look = (part: Fragment, run: Runner['run']) => Promise<boolean>

/** The walks through a table, for lists and counts that no index serves. */
export class TableWalk {
  readonly #mapping: TableMapping
  readonly #maxScan: number
  readonly #indexes: readonly (readonly string[])[]
  #size = { rows: 0, bytes: 0, until: 0 }

  /** @param maxScan how many rows one statement may look at. */
  constructor(mapping: TableMapping, maxScan: number) {
    this.#mapping = mapping
    this.#maxScan = maxScan
    this.#indexes = listIndexes(mapping)
  }

  /** Counts what passes the filters; `undefined` if one statement can do it. */
  async count(
    session: StatementSession,
    { where: filters, search }: RowFilters,
    options?: ListOptions,
  ): Promise<number | undefined> {
    const wanted = { where: filters, search }
    if (!(await this.#isNeeded(session, wanted, options))) return undefined
    const condition = whereClause([buildCondition(wanted, this.#mapping)])
    let total = 0
    const plan = this.#plan(wanted, false)
    await this.#walk(session, plan, undefined, options, async (part, run) => {
      const statement = sql`select count(*) as total from ${part}${condition}`
      const [row] = (await run(compile(this.#mapping.database, statement))).rows
      total += Number(row?.total)
      return false
    })
    return total
  }

  /** Finds the ids of a slice, in the order in which it is read; `undefined` if one statement can do it. */
  async findIds(
    session: StatementSession,
    selection: Selection,
    slice: Slice,
    options?: ListOptions,
  ): Promise<Id[] | undefined> {
    if (!(await this.#isNeeded(session, selection, options))) return undefined
    const { sort } = selection
    const { database, shape } = this.#mapping
    const { key, backward, offset } = { key: undefined, backward: false, offset: 0, ...slice }
    const wanted = offset + slice.limit
    if (wanted > MAX_FOUND) throw tooCostly(selection)
    const plan = this.#plan(selection, backward)
    const ordered = plan.order === sort
    const ranges = key && !ordered ? rangesAfter(sort, key, backward, this.#mapping) : []
    const beyond = sql.join(
      ranges.map(each => each.condition),
      ' or ',
    )
    const condition = whereClause([
      buildCondition(selection, this.#mapping),
      ranges.length === 0 ? undefined : sql`(${beyond})`,
    ])
    const order = buildOrder(sort, backward, this.#mapping)
    const compare = comparer(sort, shape.fields)
    const { keys, decode } = this.#selectKeys(sort)
    let best: Item[] = []
    await this.#walk(session, plan, ordered ? key : undefined, options, async (part, run) => {
      const limit = ordered ? wanted - best.length : wanted
      const statement = sql`select ${keys} from ${part}${condition} order by ${order} limit ${limit}`
      best.push(...(await run(compile(database, statement))).rows.map(decode))
      if (ordered) return best.length >= wanted
      best.sort((one, other) => (backward ? compare(other, one) : compare(one, other)))
      best = best.slice(0, wanted)
      return false
    })
    return best.slice(offset).map(item => item[shape.identity.name] as Id) // a sort ends with the id
  }

  /** Waits for a turn, and decides whether a list or a count that no index serves has to walk. */
  async #isNeeded(session: StatementSession, wanted: Wanted, options?: ListOptions) {
    await takeTurn(true)
    if (this.#size.until <= performance.now()) {
      const texts = this.#mapping.columns.filter(({ long }) => long)
      const measured = await session.read(
        ({ run }) => this.#measure(texts, sql``, this.#maxScan + 1, run),
        options,
      )
      this.#size = { ...measured, until: performance.now() + SIZE_MS }
    }
    const { rows, bytes } = this.#size
    return rows > this.#maxScan || bytes * countPatterns(wanted) > MAX_TEXT_AT_ONCE
  }

  /** Measures a part of the table: its rows, and the bytes of some texts in it. */
  async #measure(texts: readonly Column[], rest: Fragment, limit: number, run: Runner['run']) {
    const { database, from } = this.#mapping
    const lengths = texts.map(({ ref }) => sql`coalesce(octet_length(${ref}), 0)`)
    const bytes = sql.join([sql`0`, ...lengths], ' + ')
    const statement = sql`select count(*) as rows, coalesce(sum(bytes), 0) as bytes from (select ${bytes} as bytes from ${from}${rest} limit ${limit})`
    const [row] = (await run(compile(database, statement))).rows
    return { rows: Number(row?.rows), bytes: Number(row?.bytes) }
  }

  /** Plans the shortest walk: in the order of the sort, which may end early, else in that of the ids. */
  #plan(wanted: Wanted, backward: boolean): WalkPlan {
    const byId = [{ path: [this.#mapping.shape.identity.name], descending: false }]
    const { sort } = wanted
    const where = toConjunction(wanted.where)
    // A sort key that may be null continues in two ranges, which one walk cannot follow.
    const single = sort?.[0] && !this.#mapping.find(sort[0].path).nullable
    for (const order of single ? [sort, byId] : [byId]) {
      const uses = this.#indexes.map(index => findIndexUse(index, where, order))
      const [best] = uses
        .filter(({ ordered }) => ordered)
        .sort((one, other) => other.equals.length - one.equals.length)
      if (best) return { wanted, order, equals: best.equals, backward: backward && order === sort }
    }
    return { wanted, order: byId, equals: [], backward: false }
  }

  /** Walks from a place on, slice by slice, each in its own turn. */
  async #walk(
    session: StatementSession,
    plan: WalkPlan,
    place: WalkKey | undefined,
    options: ListOptions | undefined,
    look: Look,
  ): Promise<void> {
    const until = performance.now() + (options?.maxTime ?? Number.POSITIVE_INFINITY)
    const { from } = this.#mapping
    let rows = Math.min(FIRST_ROWS, this.#maxScan)
    for (let key = place; ; ) {
      throwIfAborted(options)
      const next = await session.read(async ({ run }) => {
        const started = performance.now()
        const rest = this.#restAfter(plan, key)
        rows = await this.#fitRows(plan, rest, rows, run)
        const end = await this.#findEnd(plan, rest, rows, run)
        // The next rows of the table, under its name.
        const part = sql`(select * from ${from}${rest} limit ${rows}) as ${from}`
        const done = await look(part, run)
        const took = performance.now() - started
        rows = Math.max(1, Math.min(Math.round((rows * SLICE_MS) / took), rows * 4, MAX_ROWS))
        return done ? undefined : end
      }, options)
      if (!next) return
      if (performance.now() > until) throw tooCostly(plan.wanted)
      key = next
      await takeTurn(true)
    }
  }

  /** Builds the `where` and the `order by` of the rows after a place. */
  #restAfter({ order, backward, equals }: WalkPlan, key: WalkKey | undefined): Fragment {
    const mapping = this.#mapping
    const [range] = key ? rangesAfter(order, key, backward, mapping) : []
    const condition = whereClause([buildCondition({ where: equals }, mapping), range?.condition])
    return sql`${condition} order by ${range?.order ?? buildOrder(order, backward, mapping)}`
  }

  /** Finds how many of the next rows fit into a slice by their text. @throws TooCostlyError for too long a text. */
  async #fitRows({ wanted }: WalkPlan, rest: Fragment, rows: number, run: Runner['run']) {
    const patterns = countPatterns(wanted)
    if (patterns === 0) return rows
    const names = new Set(textPaths(wanted).map(([name]) => name))
    const texts = this.#mapping.columns.filter(({ name }) => names.has(name))
    for (let fitting = rows; ; fitting = Math.ceil(fitting / 4)) {
      const { bytes } = await this.#measure(texts, rest, fitting, run)
      if (bytes > SLICE_TEXT && fitting > 1) continue
      if (bytes <= SLICE_TEXT || bytes * patterns <= MAX_TEXT_OF_ROW) return fitting
      const message = `The texts of ${nameFields(wanted)} are too long for this pattern. Use a shorter one, or the filter [prefix].`
      throw new TooCostlyError(message, 'text')
    }
  }

  /** Finds the place of the last of so many rows; `undefined` where there are fewer. */
  async #findEnd({ order }: WalkPlan, rest: Fragment, rows: number, run: Runner['run']) {
    const { database, from } = this.#mapping
    const { keys, decode } = this.#selectKeys(order)
    const statement = sql`select ${keys} from ${from}${rest} limit 1 offset ${rows - 1}`
    const [found] = (await run(compile(database, statement))).rows
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

/** Whether an index answers all filters and has the order of the sort, or the filters name ids. */
export function hasIndexFor({ where, search, sort = [] }: Wanted, mapping: TableMapping): boolean {
  const id = mapping.shape.identity.name
  const filters = toConjunction(where)
  if (filters.some(each => each.operator === 'in' && each.path.join('.') === id)) return true
  if (search) return false
  return listIndexes(mapping).some(index => {
    const { answered, ordered } = findIndexUse(index, filters, sort)
    return answered === filters.length && ordered
  })
}

/** Lists the columns of each index as dotted paths. */
function listIndexes({ shape, indexes }: TableMapping): (readonly string[])[] {
  return [[shape.identity.name], ...indexes.map(({ paths }) => paths)]
}

function tooCostly(wanted: Wanted): TooCostlyError {
  const message = `The list takes too long, as no index serves ${nameFields(wanted)} together. Filter and sort by fields with an index.`
  return new TooCostlyError(message, 'index')
}

/** What an index does for some filters and a sort. */
interface IndexUse {
  /** The filters by one value, on its first columns. */
  readonly equals: readonly Filter[]
  /** How many filters it answers. */
  readonly answered: number
  /** Whether the rows that it finds are in the order of the sort. */
  readonly ordered: boolean
}

/** What an index finds by a condition on its next column: rows with some values, or a range of them. */
const FINDS: Readonly<Record<FilterLeaf['operator'], 'values' | 'range' | undefined>> = {
  in: 'values',
  nin: undefined,
  gt: 'range',
  gte: 'range',
  lt: 'range',
  lte: 'range',
  like: undefined,
  prefix: 'range',
  exists: undefined,
  within: undefined,
}

/** Finds what an index does: filters by one value on its first columns, a filter on the next one, then the order. */
function findIndexUse(
  index: readonly string[],
  where: readonly Filter[],
  sort: readonly SortKey[],
): IndexUse {
  const equals: FilterLeaf[] = []
  const leaves = where.filter(isLeaf)
  const on = (at: number) => leaves.filter(({ path }) => path.join('.') === index[at])
  const isOne = ({ operator, values }: FilterLeaf) => operator === 'in' && values.length === 1
  for (let at = 0; at < index.length; at++) {
    const [filter, ...others] = on(at)
    if (!filter || others.length > 0 || !isOne(filter)) break
    equals.push(filter)
  }
  const next = on(equals.length)
  const isRange = next.every(({ operator }) => FINDS[operator] === 'range')
  const [several] = next
  const isIn = next.length === 1 && several !== undefined && FINDS[several.operator] === 'values'
  const free = sort.filter(
    ({ path }) => !equals.some(each => each.path.join('.') === path.join('.')),
  )
  const ordered = free.every(
    ({ path, descending }, at) =>
      path.join('.') === index[equals.length + at] && descending === free[0]?.descending,
  )
  return {
    equals,
    answered: equals.length + (isRange || isIn ? next.length : 0),
    ordered: ordered && !(isIn && free.length > 0),
  }
}

/** Lists the paths of the texts that patterns and the search read. */
function textPaths({ where, search }: RowFilters): readonly Path[] {
  const patterns = listLeaves(where)
    .filter(({ operator }) => operator === 'like')
    .map(({ path }) => path)
  return search ? [...patterns, ...search.paths] : patterns
}

/** Counts the characters of patterns: each character of a text is compared with so many at worst. */
function countPatterns({ where, search }: RowFilters): number {
  let patterns = search ? searchWords(search.text).length : 0
  for (const { operator, values } of listLeaves(where)) {
    if (operator === 'like') patterns += String(values[0]).length
  }
  return patterns
}

/** Names the fields of filters, search and sort. */
function nameFields({ where, search, sort = [] }: Wanted): string {
  const paths = [...listLeaves(where), ...sort.slice(0, -1)].map(({ path }) => path)
  return [...new Set([...paths, ...(search?.paths ?? [])].map(path => path.join('.')))].join(', ')
}
