// The statements of lists and counts.

import type { Selection } from '../selection.ts'
import type { Slice } from '../store.ts'
import type { Layout } from './sql-layout.ts'
import { type Fragment, sql } from './sql-text.ts'
import { afterCondition, all, conditionOf, orderOf } from './sql-where.ts'

type Filters = Pick<Selection, 'where' | 'search'>

function whereOf(conditions: readonly (Fragment | undefined)[]): Fragment {
  const given = conditions.filter(condition => condition !== undefined)
  return given.length === 0 ? sql`` : sql` where ${all(given)}`
}

function stateOf({ dialect }: Layout): Fragment {
  // A query of its own is asked once, not for each row.
  return dialect.state ? sql`(select ${dialect.state}) as ${sql.id('rest_state')}` : sql`null`
}

function countOf(filters: Filters, layout: Layout): Fragment {
  return sql`select count(*) from ${layout.from}${whereOf([conditionOf(filters, layout)])}`
}

/** A row for each match: what the planner is asked about. */
export function matchesStatement(filters: Filters, layout: Layout): Fragment {
  return sql`select 1 from ${layout.from}${whereOf([conditionOf(filters, layout)])}`
}

/** What else each row of a list brings along, in columns of its own: of the same moment as the items. */
export interface Beside {
  /** `rest_total`: the number of matches. */
  readonly total: boolean
  /** `rest_state`: the state of the database. */
  readonly state: boolean
}

/** One row with the columns that are asked for. */
export function besideStatement(filters: Filters, beside: Beside, layout: Layout): Fragment {
  return sql`select ${sql.join(besideColumns(filters, beside, layout))}`
}

function besideColumns(filters: Filters, { total, state }: Beside, layout: Layout): Fragment[] {
  return [
    ...(total ? [sql`(${countOf(filters, layout)}) as ${sql.id('rest_total')}`] : []),
    ...(state ? [stateOf(layout)] : []),
  ]
}

/** The rows of a slice, backwards where the slice is. */
export function listStatement(
  selection: Selection,
  slice: Slice,
  beside: Beside,
  layout: Layout,
): Fragment {
  const backward = 'key' in slice && slice.backward
  const after =
    'key' in slice && slice.key
      ? afterCondition(selection.sort, slice.key, backward, layout)
      : undefined
  const columns = sql.join([...besideColumns(selection, beside, layout), layout.all])
  const offset = 'offset' in slice && slice.offset > 0 ? sql` offset ${slice.offset}` : sql``
  return sql`select ${columns} from ${layout.from}${whereOf([conditionOf(selection, layout), after])} order by ${orderOf(selection.sort, backward, layout)} limit ${slice.limit}${offset}`
}
