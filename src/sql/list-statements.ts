// Builds the statements of lists and counts.
import type { Selection } from '../store/selection.ts'
import type { Slice } from '../store/store.ts'
import { buildOrder, rangesAfter, sortColumns } from './cursor.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import { all, buildCondition } from './where.ts'

export type Filters = Pick<Selection, 'where' | 'search'>

/** What is selected beside the items, as of the same moment. */
export interface Beside {
  /** `rest_total`: the number of matches. */
  readonly total: boolean
  /** `rest_state`: the state of the database. */
  readonly state: boolean
}

export function where(conditions: readonly (Fragment | undefined)[]): Fragment {
  const given = conditions.filter(condition => condition !== undefined)
  return given.length === 0 ? sql`` : sql` where ${all(given)}`
}

/** Selects one row with what is asked for. */
export function besideStatement(filters: Filters, beside: Beside, mapping: TableMapping): Fragment {
  return sql`select ${sql.join(besideColumns(filters, beside, mapping))}`
}

/** Selects a row for each match, for the planner's estimate. */
export function matchesStatement(filters: Filters, mapping: TableMapping): Fragment {
  return sql`select 1 from ${mapping.from}${where([buildCondition(filters, mapping)])}`
}

function besideColumns(filters: Filters, beside: Beside, mapping: TableMapping): Fragment[] {
  const columns: Fragment[] = []
  if (beside.total) {
    const condition = where([buildCondition(filters, mapping)])
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
  columns = mapping.all,
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
    sql`select ${sql.join(columns)} from ${mapping.from}${where([condition, part.condition])} order by ${part.order} limit ${slice.limit}`
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
