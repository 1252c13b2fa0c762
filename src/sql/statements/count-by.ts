// Counts the groups of rows: by one statement, or part by part where a table of SQLite is large and no index serves it.

import { isDate } from '../../base/dates.ts'
import type { Scalar } from '../../base/values.ts'
import type { Kind } from '../../schema/fields.ts'
import { GroupCounters } from '../../store/count-groups.ts'
import {
  DATE_ENDS,
  type DatePart,
  type Group,
  type Grouping,
  type GroupKey,
  MAX_KEY_LENGTH,
  printGroupDate,
  tooGreat,
} from '../../store/groups.ts'
import type { ListOptions } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import {
  compile,
  type Row,
  type Runner,
  type Statement,
  type StatementSession,
} from '../session/runner.ts'
import type { ColumnExpression } from '../table/column-expression.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { hasIndexFor } from './index-use.ts'
import type { RowFilters } from './list-statements.ts'
import type { Look, TableWalk } from './table-walk.ts'
import { buildCondition, whereClause } from './where.ts'

/** One value that a statement computes for each group. */
interface GroupValue {
  readonly expression: Fragment
  /** The expression to select, of the computed value. */
  read(computed: Fragment): Fragment
  decode(selected: unknown): Scalar | null
}

/** How a grouping is computed: its keys, and for each aggregate the value and how many values it is of. */
interface GroupPlan {
  readonly keys: readonly GroupValue[]
  readonly aggregates: readonly {
    readonly value: GroupValue
    readonly count?: GroupValue | undefined
  }[]
}

export type CountRows = ReturnType<typeof buildCountBy>

/** @param walk absent where the database can be stopped. */
export function buildCountBy(mapping: TableMapping, walk: TableWalk | undefined) {
  const { database, from, shape } = mapping

  /** Whether a part of the table is to be looked at at a time. */
  async function needsWalk(
    session: StatementSession,
    filters: RowFilters,
    { keys, aggregates }: Grouping,
    options: ListOptions | undefined,
  ): Promise<boolean> {
    if (!walk) return false
    // Then an index has all that is needed, in the order of the groups.
    const sort = keys.map(({ path }) => ({ path, descending: false }))
    const isPlain = aggregates.length === 0 && keys.every(({ part }) => part === undefined)
    const covers = isPlain && hasIndexFor({ ...filters, sort }, mapping)
    if (covers && (await walk.isQuick(session, options))) return false
    return !(await walk.areFew(session, filters, options))
  }

  return async (
    session: StatementSession,
    filters: RowFilters,
    grouping: Grouping,
    options?: ListOptions,
  ): Promise<readonly Group[]> => {
    const plan = planGroups(grouping, mapping)
    const limit = grouping.limit + 1
    const statements = new Map<string, Statement>()
    /** Adds the groups of some rows; returns whether there are too many. */
    const add = async (counters: GroupCounters, rows: Fragment, runner: Runner) => {
      // Each part of a walk has the same text.
      const { text, values } = rows
      const statement = statements.get(text) ?? compile(database, printStatement(plan, rows, limit))
      statements.set(text, statement)
      const found = await runner.run(statement, [...values, limit])
      for (const row of found.rows) addRow(row, plan, counters)
      return counters.areTooMany
    }
    if (await needsWalk(session, filters, grouping, options)) {
      const counters = new GroupCounters(grouping, shape.fields)
      const look: Look = (part, runner) => add(counters, part, runner)
      if (await walk?.lookAtAll(session, filters, options, look)) return counters.list()
    }
    const rows = sql`${from}${whereClause([buildCondition(filters, mapping)])}`
    const countAll = async (runner: Runner) => {
      const counters = new GroupCounters(grouping, shape.fields)
      await add(counters, rows, runner)
      return counters.list()
    }
    try {
      return await session.read(countAll, options, true, () => JSON.stringify([grouping, rows]))
    } catch (error) {
      // A sum beyond the range of numbers is an error in PostgreSQL.
      throw database.failure(error)?.kind === 'unstorable' ? tooGreat('A sum') : error
    }
  }
}

/** Prints the statement that computes the groups of some rows. What is selected is printed of each group alone. */
function printStatement({ keys, aggregates }: GroupPlan, rows: Fragment, limit: number): Fragment {
  const values = [
    ...keys,
    ...aggregates.flatMap(({ value, count }) => [value, ...(count ? [count] : [])]),
  ]
  const named = values.map((value, at) => ({ ...value, name: sql.id(`rest_${at}`) }))
  const columns = named.map(({ expression, name }) => sql`${expression} as ${name}`)
  const selected = named.map(({ read, name }) => sql`${read(name)} as ${name}`)
  const groups =
    keys.length === 0 ? sql`` : sql` group by ${sql.raw(keys.map((_, at) => at + 1).join())}`
  const inner = sql`select ${sql.join([...columns, sql`count(*) as rest_count`])} from ${rows}${groups} limit ${limit}`
  return sql`select ${sql.join([...selected, sql`rest_count`])} from (${inner}) as rest_groups`
}

function addRow(row: Row, { keys, aggregates }: GroupPlan, counters: GroupCounters): void {
  let at = 0
  const next = ({ decode }: GroupValue) => decode(row[`rest_${at++}`])
  const counter = counters.find(keys.map(next))
  counter.count += Number(row.rest_count)
  for (const [each, { value, count }] of aggregates.entries())
    counter.add(each, next(value), count && Number(next(count)))
}

function planGroups({ keys, aggregates }: Grouping, mapping: TableMapping): GroupPlan {
  return {
    keys: keys.map(key => planKey(key, mapping)),
    aggregates: aggregates.map(({ of, path }) => {
      const found = mapping.find(path)
      const { order } = found
      if (of === 'min' || of === 'max')
        return { value: planValue(found, sql`${sql.raw(of)}(${order})`) }
      const value = { expression: mapping.database.sum(order), read: asItIs, decode: toNumber }
      const count = { expression: sql`count(${order})`, read: asItIs, decode: toNumber }
      return { value, count: of === 'avg' ? count : undefined }
    }),
  }
}

const asItIs = (column: Fragment) => column
const toNumber = (value: unknown) => (isNothing(value) ? null : Number(value))

/** Reads a number; null for one that no answer can say. */
function readNumber(value: unknown, kind: Kind): number | null {
  const number = Number(value)
  const isSaid = kind === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number)
  return isSaid ? number : null
}

/** Prints a time of the years 0 to 9999; null for any other. */
function printTime(time: number, part?: DatePart): string | null {
  const year = new Date(time).getUTCFullYear()
  return year >= 0 && year <= 9999 ? printGroupDate(time, part) : null
}

/** Reads a day, or its month or year; null for a text that is not a date. */
function readDay(value: unknown, part: DatePart = 'day'): string | null {
  const text = String(value)
  return isDate(text + '-01-01'.slice(DATE_ENDS[part] - 4)) ? text : null
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined
}

function planKey({ path, part }: GroupKey, mapping: TableMapping): GroupValue {
  const { database } = mapping
  const found = mapping.find(path)
  const { order, kind, native, canonical } = found
  if (part) {
    // Of a text in UTC the part is its beginning.
    if (!native && (kind === 'date' || canonical)) {
      const expression = sql`substr(${order}, 1, ${sql.lit(DATE_ENDS[part])})`
      const decode = (text: unknown) => (isNothing(text) ? null : readDay(text, part))
      return { expression, read: asItIs, decode }
    }
    const decode = (seconds: unknown) =>
      isNothing(seconds) ? null : printTime(Number(seconds) * 1000, part)
    return {
      expression: database.startOf(part, order, native),
      read: database.startInSeconds,
      decode,
    }
  }
  const value = planValue(found)
  if (kind === 'string' && !native)
    return { ...value, read: text => sql`substr(${text}, 1, ${sql.lit(MAX_KEY_LENGTH + 1)})` }
  const decode = (selected: unknown) => {
    const time = value.decode(selected)
    return typeof time === 'number' ? printTime(time) : time
  }
  return kind === 'date-time' ? { ...value, decode } : value
}

/** Plans a value as it is compared: a date-time that is neither native nor a text in UTC is a number of milliseconds. */
function planValue(
  { kind, native, canonical, order }: ColumnExpression,
  expression = order,
): GroupValue {
  const decode = (selected: unknown): Scalar | null => {
    if (isNothing(selected)) return null
    if (native) return (native.parse(selected) as Scalar | undefined) ?? null // a list is no key
    if (kind === 'boolean') return selected === true || Number(selected) === 1
    if (kind === 'number' || kind === 'integer') return readNumber(selected, kind)
    if (kind === 'date') return readDay(selected)
    return kind === 'date-time' && !canonical ? Number(selected) : String(selected)
  }
  return { expression, read: native ? column => native.read(column) : asItIs, decode }
}
