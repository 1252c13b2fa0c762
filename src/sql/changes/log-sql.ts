// The statements of the log of changes.
import type { SqlDatabase } from '../databases/database.ts'
import type { Fragment } from '../databases/sql-text.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { type LogSql, listLogged } from './log-shape.ts'
import { postgresLog } from './postgres-log.ts'
import { sqliteLog } from './sqlite-log.ts'

export function findLogSql({ name }: SqlDatabase): LogSql {
  return name === 'sqlite' ? sqliteLog : postgresLog
}

/** Lists what triggers that log all columns have in their text. */
export function listPrinted(mapping: TableMapping): string[] {
  const { printColumn } = findLogSql(mapping.database)
  return listLogged(mapping, 'old').map(each => printColumn(each).text)
}

/** Builds the statements that create the log and the triggers of a table. */
export function changeStatements(mapping: TableMapping): Fragment[] {
  const { createLog, createTriggers } = findLogSql(mapping.database)
  return [...createLog, ...createTriggers(mapping)]
}
