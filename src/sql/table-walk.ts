// A walk through a table of SQLite that no index serves. Its driver is synchronous and cannot be stopped:
// a slice takes some milliseconds, and between two of them others have their turn.
import { takeTurn } from '../http/turns.ts'
import type { Item, Scalar } from '../schema/values.ts'
import {
  comparer,
  type Filter,
  type Selection,
  type SortKey,
  searchWords,
  sortKeyOf,
} from '../store/selection.ts'
import {
  type Id,
  type ListOptions,
  type Slice,
  TooCostlyError,
  throwIfAborted,
} from '../store/store.ts'
import { type Column, decodeRow } from './columns.ts'
import { buildOrder, type Filters, rangesAfter, where } from './list-statements.ts'
import { compile, type Row, type Runner, type StatementSession } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
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
  readonly wanted: Wanted
  readonly backward: boolean
}

/** Looks at a part of the table. @returns whether it has seen enough. */
type Look = (part: Fragment, runner: Runner) => Promise<boolean>

export class TableWalk {
  readonly #mapping: TableMapping
  readonly #maxRows: number
  readonly #plans: WalkPlans
  #size: { readonly rows: number; readonly bytes: number; readonly until: number } | undefined

  /** @param maxRows how many rows one statement may look at. */
  constructor(mapping: TableMapping, maxRows: number) {
    this.#mapping = mapping
    this.#maxRows = maxRows
    this.#plans = new WalkPlans(mapping)
  }

  /** Whether a list or a count walks. One that does not, and looks at much, has waited for its turn. */
  async #isNeeded(session: StatementSession, wanted: Wanted, options: ListOptions | undefined) {
    if (this.#plans.isServed(wanted)) return false
    await takeTurn(true)
    const { rows, bytes } = await this.#measure(session, options)
    return rows > this.#maxRows || bytes * patternsOf(wanted) > MAX_TEXT_AT_ONCE
  }

  /** Measures the table, up to the rows that one statement may look at. */
  async #measure(session: StatementSession, options: ListOptions | undefined) {
    if (this.#size && this.#size.until > performance.now()) return this.#size
    const { columns, from } = this.#mapping
    const texts = columns.filter(({ long }) => long)
    const part = sql`select ${this.#lengths(texts)} from ${from} limit ${this.#maxRows + 1}`
    const size = await session.read(({ run }) => this.#sizeOf(part, run), options)
    this.#size = { ...size, until: performance.now() + SIZE_MS }
    return this.#size
  }

  /** The bytes of some texts of a row, as `rest_bytes`. */
  #lengths(texts: readonly Column[]): Fragment {
    const { length } = this.#mapping.database
    const each = [sql`0`, ...texts.map(({ ref }) => sql`coalesce(${length(ref)}, 0)`)]
    return sql`${sql.join(each, ' + ')} as rest_bytes`
  }

  async #sizeOf(part: Fragment, run: Runner['run']) {
    const statement = sql`select count(*) as rows, coalesce(sum(rest_bytes), 0) as bytes from (${part})`
    const [row] = (await run(compile(this.#mapping.database, statement))).rows
    return { rows: Number(row?.rows), bytes: Number(row?.bytes) }
  }

  /** Counts what passes the filters; `undefined` where one statement does. */
  async count(
    session: StatementSession,
    { where: filters, search }: Filters,
    options?: ListOptions,
  ): Promise<number | undefined> {
    const mapping = this.#mapping
    const wanted = { where: filters, search }
    if (!(await this.#isNeeded(session, wanted, options))) return undefined
    let total = 0
    const course = { wanted, ...this.#plans.find(wanted), backward: false }
    const condition = where([buildCondition(wanted, mapping)])
    await this.#walk(session, course, undefined, options, async (part, { run }) => {
      const statement = sql`select count(*) as total from ${part}${condition}`
      const [row] = (await run(compile(mapping.database, statement))).rows
      total += Number(row?.total)
      return false
    })
    return total
  }

  /** Finds the ids of a slice, in the order in which it is read; `undefined` where one statement does. */
  async findIds(
    session: StatementSession,
    selection: Selection,
    slice: Slice,
    options?: ListOptions,
  ): Promise<Id[] | undefined> {
    if (!(await this.#isNeeded(session, selection, options))) return undefined
    const mapping = this.#mapping
    const { sort } = selection
    const { key, backward, offset } = { key: undefined, backward: false, offset: 0, ...slice }
    const wanted = offset + slice.limit
    if (wanted > MAX_FOUND) throw tooCostly(selection)
    const plan = this.#plans.find(selection)
    const ordered = plan.order === sort
    const course = { ...plan, wanted: selection, backward: ordered && backward }
    const ranges = key && !ordered ? rangesAfter(sort, key, backward, mapping) : []
    const beyond = sql.join(
      ranges.map(({ condition }) => condition),
      ' or ',
    )
    const condition = where([
      buildCondition(selection, mapping),
      ranges.length === 0 ? undefined : sql`(${beyond})`,
    ])
    const order = buildOrder(sort, backward, mapping)
    const compare = comparer(sort, mapping.shape.fields)
    let best: Item[] = []
    await this.#walk(session, course, ordered ? key : undefined, options, async (part, { run }) => {
      const limit = ordered ? wanted - best.length : wanted
      const statement = sql`select ${this.#select(sort)} from ${part}${condition} order by ${order} limit ${limit}`
      const { rows } = await run(compile(mapping.database, statement))
      best.push(...rows.map(row => this.#decode(row, sort)))
      if (ordered) return best.length >= wanted
      best.sort((one, other) => (backward ? compare(other, one) : compare(one, other)))
      best = best.slice(0, wanted)
      return false
    })
    return best.slice(offset).map(item => item[mapping.id.name] as Id) // a sort ends with the id
  }

  /** The columns that hold the keys of a sort. */
  #columns(sort: readonly SortKey[]): Column[] {
    const names = new Set(sort.map(({ path: [name] }) => name))
    return this.#mapping.columns.filter(({ name }) => names.has(name))
  }

  #select(sort: readonly SortKey[]): Fragment {
    return sql.join(this.#columns(sort).map(each => sql`${each.readable} as ${sql.id(each.read)}`))
  }

  #decode(row: Row, sort: readonly SortKey[]): Item {
    return decodeRow(row, this.#columns(sort))
  }

  /** Walks from a place on, slice by slice, each in a turn of its own. */
  async #walk(
    session: StatementSession,
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
      const next = await session.read(async runner => {
        const started = performance.now()
        rows = await this.#fit(course, key, rows, runner)
        const end = await this.#end(course, key, rows, runner)
        const done = await look(this.#part(course, key, rows), runner)
        const took = performance.now() - started
        rows = Math.max(1, Math.min(Math.round((rows * SLICE_MS) / took), rows * 4, MAX_ROWS))
        return done ? undefined : end
      }, options)
      if (!next) return
      if (until !== undefined && performance.now() > until) throw tooCostly(course.wanted)
      key = next
      await takeTurn(true)
    }
  }

  /** How many of the next rows have little text to look through. @throws TooCostlyError where one has too much. */
  async #fit(course: Course, key: Key | undefined, rows: number, runner: Runner) {
    const patterns = patternsOf(course.wanted)
    if (patterns === 0) return rows
    const names = new Set(textPaths(course.wanted).map(([name]) => name))
    const texts = this.#mapping.columns.filter(({ name }) => names.has(name))
    for (let fitting = rows; ; fitting = Math.ceil(fitting / 4)) {
      const part = this.#rows(this.#lengths(texts), course, key, fitting)
      const { bytes } = await this.#sizeOf(part, runner.run)
      if (bytes <= SLICE_TEXT) return fitting
      if (fitting > 1) continue
      if (bytes * patterns > MAX_TEXT_OF_ROW) {
        const message = `The texts of ${nameFields(course.wanted)} are too long for this pattern. Use a shorter one, or the filter [prefix].`
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
    const { from, database } = this.#mapping
    const { order } = course
    const after = this.#after(course, key)
    const statement = sql`select ${this.#select(order)} from ${from}${after} limit 1 offset ${rows - 1}`
    const [found] = (await run(compile(database, statement))).rows
    // The values of sort keys are scalars or null.
    return found && (sortKeyOf(this.#decode(found, order), order) as Key)
  }
}

function tooCostly(wanted: Wanted): TooCostlyError {
  const message = `The list takes too long, as no index serves ${nameFields(wanted)} together. Filter and sort by fields with an index.`
  return new TooCostlyError(message, 'index')
}

/** A list, or with no sort a count. */
export type Wanted = Filters & Partial<Pick<Selection, 'sort'>>

/** In which order a table is walked, and by which filters an index leads there. */
export interface WalkPlan {
  readonly order: readonly SortKey[]
  /** Filters by one value: all that the walk sees passes them. */
  readonly narrow: readonly Filter[]
}

/** What an index does for some filters and a sort. */
interface Lead {
  /** The filters by one value, on its first columns. */
  readonly narrow: readonly Filter[]
  /** How many filters it answers. */
  readonly answered: number
  /** Whether what it leads to has the order of the sort. */
  readonly ordered: boolean
}

const RANGES: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'prefix'])

/** What the declared indexes of a table are good for. */
export class WalkPlans {
  readonly #mapping: TableMapping
  readonly #id: string
  /** The columns of each index as dotted paths. */
  readonly #indexes: readonly (readonly string[])[]

  constructor(mapping: TableMapping) {
    const { shape, indexes } = mapping
    this.#mapping = mapping
    const id = shape.identity.name
    this.#id = id
    this.#indexes = [[id], ...indexes.map(({ paths }) => paths)]
  }

  /** Whether little is looked at: the filters name ids, or an index answers all of them and gives the sort. */
  isServed({ where, search, sort = [] }: Wanted): boolean {
    if (where.some(({ operator, path }) => operator === 'in' && path.join('.') === this.#id)) {
      return true
    }
    if (search) return false
    return this.#indexes.some(index => {
      const { answered, ordered } = lead(index, where, sort)
      return answered === where.length && ordered
    })
  }

  /** Finds the order in which least is walked: that of the sort, which may end early, else that of the ids. */
  find({ where, sort }: Wanted): WalkPlan {
    const ids = [{ path: [this.#id], descending: false }]
    // Where there are values and nulls, the place to continue from lies in both.
    const single = sort?.[0] && this.#mapping.find(sort[0].path)?.maybe === false
    return (
      (single && this.#inOrder(where, sort)) ||
      this.#inOrder(where, ids) || { order: ids, narrow: [] }
    )
  }

  #inOrder(where: readonly Filter[], order: readonly SortKey[]): WalkPlan | undefined {
    let best: Lead | undefined
    for (const index of this.#indexes) {
      const found = lead(index, where, order)
      if (found.ordered && (!best || found.narrow.length > best.narrow.length)) best = found
    }
    return best && { order, narrow: best.narrow }
  }
}

/** Filters by one value on the first columns, then a filter on the next one; what follows is in order. */
function lead(index: readonly string[], where: readonly Filter[], sort: readonly SortKey[]): Lead {
  const narrow: Filter[] = []
  const on = (at: number) => where.filter(({ path }) => path.join('.') === index[at])
  const isOne = ({ operator, values }: Filter) => operator === 'in' && values.length === 1
  for (let at = 0; at < index.length; at++) {
    const [filter, ...others] = on(at)
    if (!filter || others.length > 0 || !isOne(filter)) break
    narrow.push(filter)
  }
  const next = on(narrow.length)
  const isRange = next.every(({ operator }) => RANGES.has(operator))
  const [several] = next
  const isIn = next.length === 1 && several?.operator === 'in'
  const free = sort.filter(
    ({ path }) => !narrow.some(each => each.path.join('.') === path.join('.')),
  )
  const ordered = free.every(
    ({ path, descending }, at) =>
      path.join('.') === index[narrow.length + at] && descending === free[0]?.descending,
  )
  return {
    narrow,
    answered: narrow.length + (isRange || isIn ? next.length : 0),
    ordered: ordered && !(isIn && free.length > 0),
  }
}

/** The paths whose texts a list looks through. */
export function textPaths({ where, search }: Filters): readonly Filter['path'][] {
  const patterns = where.filter(({ operator }) => operator === 'like').map(({ path }) => path)
  return search ? [...patterns, ...search.paths] : patterns
}

/** With how many characters each character of a text is compared, at worst. */
export function patternsOf({ where, search }: Filters): number {
  let patterns = search ? searchWords(search.text).length : 0
  for (const { operator, values } of where) {
    if (operator === 'like') patterns += String(values[0]).length
  }
  return patterns
}

/** Names the fields of filters, search and sort. */
export function nameFields({ where, search, sort = [] }: Wanted): string {
  const paths = [...where, ...sort.slice(0, -1)].map(({ path }) => path)
  return [...new Set([...paths, ...(search?.paths ?? [])].map(path => path.join('.')))].join(', ')
}
