// The statements of lists and counts.
import { sql } from 'kysely'
import type { Selection } from '../selection.ts'
import type { Slice } from '../store.ts'
import type { Fragment } from './sql-dialect.ts'
import type { Layout } from './sql-layout.ts'
import { afterCondition, all, conditionOf, orderOf } from './sql-where.ts'

type Filters = Pick<Selection, 'where' | 'search'>

function whereOf(conditions: readonly (Fragment | undefined)[]): Fragment {
  const given = conditions.filter(condition => condition !== undefined)
  return given.length === 0 ? sql`` : sql` where ${all(given)}`
}

/** The number of matches, as `total`. */
export function countStatement(filters: Filters, layout: Layout): Fragment {
  return sql`select count(*) as ${sql.id('total')} from ${layout.from}${whereOf([conditionOf(filters, layout)])}`
}

/**
 * The rows of a slice, backwards where the slice is. With the total, each row brings it along as
 * `rest_total`: one statement, so both are of one moment.
 */
export function listStatement(
  selection: Selection,
  slice: Slice,
  withTotal: boolean,
  layout: Layout,
): Fragment {
  const backward = 'key' in slice && slice.backward
  const after =
    'key' in slice && slice.key
      ? afterCondition(selection.sort, slice.key, backward, layout)
      : undefined
  const total = withTotal
    ? sql`(${countStatement(selection, layout)}) as ${sql.id('rest_total')}, `
    : sql``
  const offset = 'offset' in slice && slice.offset > 0 ? sql` offset ${slice.offset}` : sql``
  return sql`select ${total}${layout.all} from ${layout.from}${whereOf([conditionOf(selection, layout), after])} order by ${orderOf(selection.sort, backward, layout)} limit ${slice.limit}${offset}`
}
