// Builds the statements of lists and counts: what is selected, in which order, and from which place on.

import { type FilterLeaf, isLeaf, toConjunction } from '../../store/filter.ts'
import type { Selection, SortKey } from '../../store/selection.ts'
import type { KeySlice, PositionSlice } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import type { ColumnExpression } from '../table/column-expression.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { PlaceKey } from './place.ts'
import { bindValue, buildCondition, FALSE, whereClause } from './where.ts'

export type RowFilters = Pick<Selection, 'where' | 'search'>

/** What a statement selects in addition to the items, at the same moment. */
export interface Extras {
  /** `rest_total`: the number of matches; with a number, any above it if there are more. */
  readonly total: boolean | number
  /** `rest_state`: the state of the database. */
  readonly state: boolean
}

/** Selects one row with the total, the state, or both. */
export function selectExtras(filters: RowFilters, extras: Extras, mapping: TableMapping): Fragment {
  return sql`select ${sql.join(listExtras(filters, extras, mapping))}`
}

/** Selects a row for each match, for the planner's estimate. */
export function matchesStatement(filters: RowFilters, mapping: TableMapping): Fragment {
  return sql`select 1 from ${mapping.from}${whereClause([buildCondition(filters, mapping)])}`
}

function listExtras(filters: RowFilters, extras: Extras, mapping: TableMapping): Fragment[] {
  const columns: Fragment[] = []
  if (extras.total !== false) {
    const rows = sql`${mapping.from}${whereClause([buildCondition(filters, mapping)])}`
    const counted =
      extras.total === true
        ? rows
        : sql`(select 1 from ${rows} limit ${sql.lit(extras.total + 1)}) as rest_counted`
    columns.push(sql`(select count(*) from ${counted}) as rest_total`)
  }
  // As a subquery it runs once, not for each row.
  if (extras.state) columns.push(sql`(select ${mapping.database.state}) as rest_state`)
  return columns
}

/** Which part of a selection is read. */
export type RowSlice =
  | PositionSlice
  | (Omit<KeySlice, 'key'> & { readonly key: PlaceKey | undefined })

/** The rows to read. */
export interface WantedRows {
  readonly selection: Selection
  readonly slice: RowSlice
  /** Whether an index has the order and there are no filters: the best plan of others depends on their values. */
  readonly isPlain?: boolean
}

/**
 * Prints a limit that many lists have as it is: PostgreSQL would plan a statement with a bound one anew each time, which
 * takes longer than to run it. Such are 5, 10, … 100, 200, … 1000, and one row more, which shows whether there are more.
 */
function printLimit({ slice: { limit }, isPlain }: WantedRows): Fragment {
  const isCommon = (limit - 1) % (limit <= 101 ? 5 : 100) === 0 && limit <= 1001
  return isPlain && isCommon ? sql.lit(limit) : sql`${limit}`
}

/** Selects columns of the rows of a slice; the rows of a backward slice in reverse order. */
export function listStatement(
  wanted: WantedRows,
  extras: Extras,
  mapping: TableMapping,
  columns: Fragment,
): Fragment {
  const { selection, slice } = wanted
  const limit = printLimit(wanted)
  const sort = markFilled(selection, mapping)
  const condition = buildCondition(selection, mapping)
  const more = listExtras(selection, extras, mapping)
  const backward = 'key' in slice && slice.backward
  const [range, ...ranges] =
    'key' in slice && slice.key
      ? rangesAfter(sort, slice.key, backward, mapping)
      : [{ condition: undefined, order: buildOrder(sort, backward, mapping) }]
  const rows = (columns: readonly Fragment[], part = range) =>
    sql`select ${sql.join(columns)} from ${mapping.from}${whereClause([condition, part.condition])} order by ${part.order} limit ${limit}`
  if (ranges.length === 0) {
    const offset = 'offset' in slice && slice.offset > 0 ? sql` offset ${slice.offset}` : sql``
    return sql`${rows([...more, columns])}${offset}`
  }
  const keys = sortColumns(sort, backward, mapping)
  const keyed = [columns, ...keys.map(({ column }) => column)]
  const parts = [range, ...ranges].map(part => sql`select * from (${rows(keyed, part)}) as part`)
  const selected = sql.join([...more, sql.raw('page.*')])
  return sql`select ${selected} from (${sql.join(parts, ' union all ')}) as page order by ${sql.join(keys.map(({ order }) => order))} limit ${limit}`
}

/** A key of a sort. */
interface PlannedKey extends SortKey {
  /** Whether no null passes: then it sorts as its indexes do, wherever these have their nulls. */
  readonly filled?: boolean
}

function markFilled({ where, sort }: Selection, mapping: TableMapping): readonly PlannedKey[] {
  const leaves = toConjunction(where).filter(isLeaf)
  if (leaves.length === 0) return sort
  return sort.map(key => {
    const name = key.path.join('.')
    const { kind, column, order, canonical } = mapping.find(key.path)
    // A text may be there that is no time, and has none to sort by.
    const isTold = column !== undefined && (kind !== 'date-time' || canonical || order === column)
    // A condition on an absent value does not hold, but for `exists`.
    const excludes = ({ path, operator, values }: FilterLeaf) =>
      path.join('.') === name && (operator !== 'exists' || (values[0] === true && isTold))
    return leaves.some(excludes) ? { ...key, filled: true } : key
  })
}

/** Builds the `order by` of a sort, or of its reverse. */
export function buildOrder(
  sort: readonly PlannedKey[],
  backward: boolean,
  mapping: TableMapping,
): Fragment {
  return sql.join(
    sort.map(({ path, descending, filled = false }) => {
      const { order, nullable, nullsLast = false } = mapping.find(path)
      const asIndexed = filled && nullsLast
      return mapping.database.orderBy(order, descending !== backward, nullable && !asIndexed)
    }),
  )
}

/** A part of the rows after a place, and their order, which an index may have. */
export interface RowRange {
  readonly condition: Fragment
  readonly order: Fragment
}

/**
 * Builds the ranges after a place in a sort (before it, if backward), in their order. If both nulls
 * and values follow, an index finds the place only in two ranges.
 */
export function rangesAfter(
  sort: readonly PlannedKey[],
  key: PlaceKey,
  backward: boolean,
  mapping: TableMapping,
): readonly [RowRange, ...RowRange[]] {
  const keys = sort.map(({ path, descending, filled }, index) => {
    const value = key[index] ?? null
    const found = mapping.find(path)
    const at = filled && value !== null ? { ...found, nullable: false } : found
    return { at, value, down: descending !== backward }
  })
  const { database } = mapping
  const [first, ...others] = keys
  const [by, ...rest] = sort
  const both = first?.at.nullable && (first.value !== null) === first.down && others.length > 0
  // Only values follow.
  const filled = by && (both || (first && first.value !== null && !first.down))
  const order = buildOrder(filled ? [{ ...by, filled }, ...rest] : sort, backward, mapping)
  if (!both || !by) return [{ condition: afterCondition(keys, database), order }]
  // All nulls are equal in the first key: in the direction of the next key, an index has their order.
  const alike = [{ ...by, descending: rest[0]?.descending ?? false }, ...rest]
  const { at, down } = first
  const bounded = { ...first, at: { ...at, nullable: false } }
  const values = down
    ? afterCondition([bounded, ...others], database)
    : sql`${at.order} is not null`
  const isNull = sql`${at.order} is null`
  const nulls = down ? isNull : sql`${isNull} and ${afterCondition(others, database)}`
  const ofValues = { condition: values, order }
  const ofNull = { condition: nulls, order: buildOrder(alike, backward, mapping) }
  return down ? [ofValues, ofNull] : [ofNull, ofValues]
}

/**
 * Builds the condition of the rows after a place. If all keys have one direction, whole rows are compared,
 * as an index orders them. Else a bound of the first key comes first, by which an index finds about the place.
 */
function afterCondition(keys: readonly CursorKey[], database: SqlDatabase): Fragment {
  const beyond = (index: number): Fragment => {
    const each = keys[index]
    if (!each) return FALSE
    const strictly = strictlyAfter(each, database)
    if (index === keys.length - 1) return strictly
    const { at, value } = each
    const same =
      value === null ? sql`${at.order} is null` : sql`${at.order} = ${bindKey(each, database)}`
    return sql`(${strictly} or (${same} and ${beyond(index + 1)}))`
  }
  const whole = keys.length > 1 ? rowCondition(keys, database) : undefined
  if (whole) return whole
  const [first] = keys
  const bound = first && keys.length > 1 ? leadingBound(first, database) : undefined
  return bound ? sql`${bound} and ${beyond(0)}` : beyond(0)
}

interface CursorKey {
  readonly at: ColumnExpression
  readonly value: PlaceKey[number]
  readonly down: boolean
}

function bindKey({ at, value }: CursorKey, database: SqlDatabase): Fragment {
  return typeof value === 'object' ? (value ?? sql`null`) : bindValue(value, at, database)
}

/** Compares whole rows; `undefined` if nulls matter or the keys have different directions. */
function rowCondition(keys: readonly CursorKey[], database: SqlDatabase): Fragment | undefined {
  const down = keys[0]?.down ?? false
  const bound: Fragment[] = []
  for (const each of keys) {
    if (each.down !== down || each.value === null || (down && each.at.nullable)) return undefined
    bound.push(bindKey(each, database))
  }
  const row = sql.join(keys.map(({ at }) => at.order))
  return sql`(${row}) ${sql.raw(down ? '<' : '>')} (${sql.join(bound)})`
}

function strictlyAfter(key: CursorKey, database: SqlDatabase): Fragment {
  const { at, value, down } = key
  if (value === null) return down || !at.nullable ? FALSE : sql`${at.order} is not null`
  const bound = bindKey(key, database)
  if (!down) return sql`${at.order} > ${bound}`
  const less = sql`${at.order} < ${bound}`
  return at.nullable ? sql`(${less} or ${at.order} is null)` : less
}

function leadingBound(key: CursorKey, database: SqlDatabase): Fragment | undefined {
  const { at, value, down } = key
  if (value === null) return down ? sql`${at.order} is null` : undefined
  if (down && at.nullable) return undefined
  return sql`${at.order} ${sql.raw(down ? '<=' : '>=')} ${bindKey(key, database)}`
}

/** Builds a column for each value of a sort, and the order by these columns. */
function sortColumns(sort: readonly SortKey[], backward: boolean, mapping: TableMapping) {
  return sort.map(({ path, descending }, index) => {
    const { order, nullable } = mapping.find(path)
    const name = sql.id(`rest_key_${index}`)
    const column = sql`${order} as ${name}`
    return { column, order: mapping.database.orderBy(name, descending !== backward, nullable) }
  })
}
