// The log of changes: a table that triggers write, so that no program can forget it. A row has the columns of its item.
import { type Fragment, sql } from '../databases/sql-text.ts'
import type { Column } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'

/** What differs between the databases. */
export interface LogSql {
  /** Creates the log; each statement may run again. */
  readonly createLog: readonly Fragment[]
  /** Prints a column of a row in a trigger. */
  printColumn(column: LoggedColumn): Fragment
  /** Creates the triggers of a table; each statement may run again. */
  createTriggers(mapping: TableMapping): readonly Fragment[]
  /**
   * Selects what a table has, in one row: the `text` of its triggers, null without; as `refusal` why it can have none, null
   * where it can; whether its triggers may be made, as `owned` if that is known; and its `name` in the log.
   */
  findTriggers(mapping: TableMapping): Fragment
  /** Selects the last number of the log as `last`, its name as `log`, and how far it is pruned as `pruned`. */
  readonly last: Fragment
  /** Takes a number of a transaction as `own`; absent where transactions commit in the order of their numbers in the log. */
  readonly own?: Fragment
  /** Selects as `ended` whether all transactions before an own number have ended. */
  ended?(own: string): Fragment
  /** A condition that a row of the log is older than so many seconds. */
  olderThan(seconds: number): Fragment
}

/** Whether a column is in the log: a write-only one is not. */
export function isListed({ name }: Column, { shape }: TableMapping): boolean {
  return !shape.writeOnly?.includes(name)
}

/** A column of a row as it is read, and its name in the table: versions over one table may give it names of their own. */
export interface LoggedColumn {
  readonly value: Fragment
  readonly name: string
}

export function listLogged(mapping: TableMapping, row: string): LoggedColumn[] {
  const { columns, database } = mapping
  return columns
    .filter(column => isListed(column, mapping))
    .map(({ native, ref, type, column: name }) => {
      const column = sql`${sql.raw(row)}.${ref}`
      return { value: native?.read(column) ?? database.read(column, type), name }
    })
}
