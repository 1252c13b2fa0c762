// Places of rows whose sort keys cannot be read: a cursor has null for them, and the row itself the value.
import type { Scalar } from '../../base/values.ts'
import { listIdFields } from '../../store/relation-ids.ts'
import type { SortKey } from '../../store/selection.ts'
import type { StoreOptions } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { compile, type StatementSession } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { buildCondition, whereClause } from './where.ts'

/** The values of the sort keys at a place; SQL for one that cannot be read. */
export type PlaceKey = readonly (Scalar | null | Fragment)[]

interface SortPlace {
  readonly sort: readonly SortKey[]
  readonly key: readonly (Scalar | null)[]
}

/** Finds where null stands for a value that is there: the row of the place has it. */
export async function findPlace(
  session: StatementSession,
  { sort, key }: SortPlace,
  mapping: TableMapping,
  options: StoreOptions | undefined,
): Promise<PlaceKey> {
  const ids = new Set(listIdFields(mapping.shape.identity))
  const where = sort.flatMap(({ path }, at) =>
    ids.has(path.join('.')) ? [{ path, operator: 'in', values: [key[at] ?? ''] } as const] : [],
  )
  const row = sql` from ${mapping.from}${whereClause([buildCondition({ where }, mapping)])}`
  const orders = sort.map(({ path }) => mapping.find(path).order)
  const tests = orders.flatMap((order, at) =>
    key[at] === null ? [sql`${order} is not null as ${sql.id(`rest_${at}`)}`] : [],
  )
  const statement = compile(mapping.database, sql`select ${sql.join(tests)}${row}`)
  const { rows } = await session.read(runner => runner.run(statement), options)
  const isThere = (at: number) => Number(rows[0]?.[`rest_${at}`]) === 1
  return key.map((value, at) => (isThere(at) ? sql`(select ${orders[at]}${row})` : value))
}
