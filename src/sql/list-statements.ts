// The statements of lists and counts.
import type { Selection, SortKey } from '../store/selection.ts'
import type { Slice } from '../store/store.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import { all, buildCondition, buildOrder, rangesAfter } from './where.ts'

type Filters = Pick<Selection, 'where' | 'search'>

function whereOf(conditions: readonly (Fragment | undefined)[]): Fragment {
  const given = conditions.filter(condition => condition !== undefined)
  return given.length === 0 ? sql`` : sql` where ${all(given)}`
}

function stateOf({ dialect }: TableMapping): Fragment {
  // A query of its own is asked once, not for each row.
  return dialect.state ? sql`(select ${dialect.state}) as ${sql.id('rest_state')}` : sql`null`
}

function countOf(filters: Filters, layout: TableMapping): Fragment {
  return sql`select count(*) from ${layout.from}${whereOf([buildCondition(filters, layout)])}`
}

/** A row for each match: what the planner is asked about. */
export function matchesStatement(filters: Filters, layout: TableMapping): Fragment {
  return sql`select 1 from ${layout.from}${whereOf([buildCondition(filters, layout)])}`
}

/** What else each row of a list brings along, in columns of its own: of the same moment as the items. */
export interface Beside {
  /** `rest_total`: the number of matches. */
  readonly total: boolean
  /** `rest_state`: the state of the database. */
  readonly state: boolean
}

/** One row with the columns that are asked for. */
export function besideStatement(filters: Filters, beside: Beside, layout: TableMapping): Fragment {
  return sql`select ${sql.join(besideColumns(filters, beside, layout))}`
}

function besideColumns(
  filters: Filters,
  { total, state }: Beside,
  layout: TableMapping,
): Fragment[] {
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
  layout: TableMapping,
): Fragment {
  const { sort } = selection
  const condition = buildCondition(selection, layout)
  const more = besideColumns(selection, beside, layout)
  const backward = 'key' in slice && slice.backward
  const [range, ...ranges] =
    'key' in slice && slice.key
      ? rangesAfter(sort, slice.key, backward, layout)
      : [{ condition: undefined, order: buildOrder(sort, backward, layout) }]
  const rows = (columns: readonly Fragment[], part = range) =>
    sql`select ${sql.join(columns)} from ${layout.from}${whereOf([condition, part.condition])} order by ${part.order} limit ${slice.limit}`
  if (ranges.length === 0) {
    const offset = 'offset' in slice && slice.offset > 0 ? sql` offset ${slice.offset}` : sql``
    return sql`${rows([...more, layout.all])}${offset}`
  }
  const keys = keyColumns(sort, backward, layout)
  const columns = [layout.all, ...keys.map(({ column }) => column)]
  const parts = [range, ...ranges].map(part => sql`select * from (${rows(columns, part)}) as part`)
  const all = sql.join([...more, sql.raw('page.*')])
  return sql`select ${all} from (${sql.join(parts, ' union all ')}) as page order by ${sql.join(keys.map(({ order }) => order))} limit ${slice.limit}`
}

/** The values of a sort as columns of their own, and the order by them. */
function keyColumns(sort: readonly SortKey[], backward: boolean, layout: TableMapping) {
  return sort.flatMap(({ path, descending }, at) => {
    const place = layout.at(path)
    if (!place) return []
    const name = sql.id(`rest_key_${at}`)
    const order = layout.dialect.orderBy(name, descending !== backward, place.maybe)
    return [{ column: sql`${place.order} as ${name}`, order }]
  })
}
