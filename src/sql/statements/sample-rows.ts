// A sample of the rows of a table whose database keeps values of any type in its columns.

import { sql } from '../databases/sql-text.ts'
import { compile } from '../session/runner.ts'
import type { Session } from '../session/session.ts'
import { decodeRow } from '../table/column-values.ts'
import type { TableMapping } from '../table/table-mapping.ts'

const SIZE = 100

/**
 * Reads the newest rows at the start, which warns of columns whose values do not have the declared form.
 * @param rowid the number that each row has; `undefined` where it has none.
 */
export async function sampleRows(
  { database, all, from, columns }: TableMapping,
  rowid: string | undefined,
  session: Session,
): Promise<void> {
  const newest = rowid === undefined ? sql`` : sql` order by ${sql.id(rowid)} desc`
  const statement = sql`select ${all} from ${from}${newest} limit ${sql.lit(SIZE)}`
  const { rows } = await session.read(runner => runner.run(compile(database, statement)))
  for (const row of rows) decodeRow(row, columns)
}
