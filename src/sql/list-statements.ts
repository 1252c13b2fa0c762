// Builds the statements of lists and counts: what is selected, in which order, and from which place on.

import type { Scalar } from '../schema/values.ts'
import type { Selection, SortKey } from '../store/selection.ts'
import type { Slice } from '../store/store.ts'
import type { SqlDatabase } from './database.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { ColumnExpression, TableMapping } from './table-mapping.ts'
import { bindValue, buildCondition, FALSE, whereClause } from './where.ts'

export type Filters = Pick<Selection, 'where' | 'search'>

/** What a statement selects beside the items, at the same moment. */
export interface Beside {
  /** `rest_total`: the number of matches. */
  readonly total: boolean
  /** `rest_state`: the state of the database. */
  readonly state: boolean
}

/** Selects one row with the total, the state, or both. */
export function besideStatement(filters: Filters, beside: Beside, mapping: TableMapping): Fragment {
  return sql`select ${sql.join(besideColumns(filters, beside, mapping))}`
}

/** Selects a row for each match, for the planner's estimate. */
export function matchesStatement(filters: Filters, mapping: TableMapping): Fragment {
  return sql`select 1 from ${mapping.from}${whereClause([buildCondition(filters, mapping)])}`
}

function besideColumns(filters: Filters, beside: Beside, mapping: TableMapping): Fragment[] {
  const columns: Fragment[] = []
  if (beside.total) {
    const condition = whereClause([buildCondition(filters, mapping)])
    columns.push(sql`(select count(*) from ${mapping.from}${condition}) as rest_total`)
  }
  // A query of its own runs once, not for each row.
  if (beside.state) columns.push(sql`(select ${mapping.database.state}) as rest_state`)
  return columns
}

/** Selects the rows of a slice, backwards where the slice is; all columns, or others. */
export function listStatement(
  selection: Selection,
  slice: Slice,
  beside: Beside,
  mapping: TableMapping,
  columns: Fragment,
): Fragment {
  const { sort } = selection
  const condition = buildCondition(selection, mapping)
  const more = besideColumns(selection, beside, mapping)
  const backward = 'key' in slice && slice.backward
  const [range, ...ranges] =
    'key' in slice && slice.key
      ? rangesAfter(sort, slice.key, backward, mapping)
      : [{ condition: undefined, order: buildOrder(sort, backward, mapping) }]
  const rows = (columns: readonly Fragment[], part = range) =>
    sql`select ${sql.join(columns)} from ${mapping.from}${whereClause([condition, part.condition])} order by ${part.order} limit ${slice.limit}`
  if (ranges.length === 0) {
    const offset = 'offset' in slice && slice.offset > 0 ? sql` offset ${slice.offset}` : sql``
    return sql`${rows([...more, columns])}${offset}`
  }
  const keys = sortColumns(sort, backward, mapping)
  const keyed = [columns, ...keys.map(({ column }) => column)]
  const parts = [range, ...ranges].map(part => sql`select * from (${rows(keyed, part)}) as part`)
  const selected = sql.join([...more, sql.raw('page.*')])
  return sql`select ${selected} from (${sql.join(parts, ' union all ')}) as page order by ${sql.join(keys.map(({ order }) => order))} limit ${slice.limit}`
}

/** Builds the order, or the same backwards. */
export function buildOrder(
  sort: readonly SortKey[],
  backward: boolean,
  mapping: TableMapping,
): Fragment {
  return sql.join(
    sort.map(({ path, descending }) => {
      const { order, maybe } = mapping.find(path)
      return mapping.database.orderBy(order, descending !== backward, maybe)
    }),
  )
}

type Key = NonNullable<Extract<Slice, { backward: boolean }>['key']>

/** A part of the rows after a place, and the order of them that an index has. */
export interface Range {
  readonly condition: Fragment
  readonly order: Fragment
}

/**
 * Builds the ranges after a place in a sort (before it, if backward), in their order. Where both null
 * and values are left, an index finds the place only in two ranges.
 */
export function rangesAfter(
  sort: readonly SortKey[],
  key: Key,
  backward: boolean,
  mapping: TableMapping,
): readonly [Range, ...Range[]] {
  const keys = sort.map(({ path, descending }, index) => {
    const value = key[index] ?? null
    return { at: mapping.find(path), value, down: descending !== backward }
  })
  const order = buildOrder(sort, backward, mapping)
  const { database } = mapping
  const [first, ...others] = keys
  const [by, ...rest] = sort
  const both = first?.at.maybe && (first.value !== null) === first.down && others.length > 0
  if (!both || !by) return [{ condition: afterCondition(keys, database), order }]
  // Of equals, the direction of what follows is the one of the index.
  const alike = [{ ...by, descending: rest[0]?.descending ?? false }, ...rest]
  const { at, down } = first
  const bounded = { ...first, at: { ...at, maybe: false } }
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
 * Where all keys go one way, rows are compared as they stand in an index; else the first part of the
 * condition bounds the first key alone, which is what a database takes to find about the place.
 */
function afterCondition(keys: readonly CursorKey[], database: SqlDatabase): Fragment {
  const beyond = (index: number): Fragment => {
    const each = keys[index]
    if (!each) return FALSE
    const strictly = strictlyAfter(each, database)
    if (index === keys.length - 1) return strictly
    const { at, value } = each
    const same =
      value === null
        ? sql`${at.order} is null`
        : sql`${at.order} = ${bindValue(value, at, database)}`
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
  readonly value: Scalar | null
  readonly down: boolean
}

/** Compares whole rows; `undefined` where null counts or the keys go both ways. */
function rowCondition(keys: readonly CursorKey[], database: SqlDatabase): Fragment | undefined {
  const down = keys[0]?.down ?? false
  const bound: Fragment[] = []
  for (const { at, value, down: each } of keys) {
    if (each !== down || value === null || (down && at.maybe)) return undefined
    bound.push(bindValue(value, at, database))
  }
  const row = sql.join(keys.map(({ at }) => at.order))
  return sql`(${row}) ${sql.raw(down ? '<' : '>')} (${sql.join(bound)})`
}

function strictlyAfter({ at, value, down }: CursorKey, database: SqlDatabase): Fragment {
  if (value === null) return down || !at.maybe ? FALSE : sql`${at.order} is not null`
  const bound = bindValue(value, at, database)
  if (!down) return sql`${at.order} > ${bound}`
  const less = sql`${at.order} < ${bound}`
  return at.maybe ? sql`(${less} or ${at.order} is null)` : less
}

function leadingBound({ at, value, down }: CursorKey, database: SqlDatabase): Fragment | undefined {
  if (value === null) return down ? sql`${at.order} is null` : undefined
  if (down && at.maybe) return undefined
  return sql`${at.order} ${sql.raw(down ? '<=' : '>=')} ${bindValue(value, at, database)}`
}

/** The values of a sort as columns of their own, and the order by them. */
function sortColumns(sort: readonly SortKey[], backward: boolean, mapping: TableMapping) {
  return sort.map(({ path, descending }, index) => {
    const { order, maybe } = mapping.find(path)
    const name = sql.id(`rest_key_${index}`)
    const column = sql`${order} as ${name}`
    return { column, order: mapping.database.orderBy(name, descending !== backward, maybe) }
  })
}
