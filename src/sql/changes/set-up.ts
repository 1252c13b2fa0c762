// Finds the log of changes and the triggers of a table, and makes them if the options allow it.
import { LOG } from '../databases/table-names.ts'
import { compile, type Runner } from '../session/runner.ts'
import type { Session } from '../session/session.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { changeStatements, findLogSql, listPrinted } from './log-sql.ts'

/**
 * Sets up the log of a table. @returns the name of the table in it.
 * @throws TypeError for a table whose changes no trigger can log, and where the triggers are not there and may not be made.
 */
export async function setUpLog(
  mapping: TableMapping,
  session: Session,
  made: {
    readonly create?: boolean | 'records' | undefined
    readonly migrate?: boolean | undefined
  },
): Promise<string> {
  const { table, database } = mapping
  const find = compile(database, findLogSql(database).findTriggers(mapping))
  const look = async (runner: Runner) => {
    const [row] = (await runner.run(find)).rows
    const refusal = row ? row.refusal : 'it is a temporary table'
    if (refusal !== null)
      throw new TypeError(
        `${table}: changes: true cannot log its changes: ${refusal}. Leave it out.`,
      )
    const text = typeof row?.text === 'string' ? row.text : undefined
    const isWhole = text !== undefined && listPrinted(mapping).every(each => text.includes(each))
    return { name: String(row?.name), isWhole, isOwned: row?.owned !== false }
  }
  const found = await session.inspect(look)
  if (found.isWhole) return found.name
  // Triggers are parts of the table itself.
  if ((made.create !== true && !made.migrate) || !found.isOwned) {
    const options = `{ table: '${table}', database: '${database.name}', changes: true }`
    throw new TypeError(
      `${table}: changes: true needs triggers and ${LOG}. ${found.isOwned ? 'Set create: true, or' : 'As the owner of the table'} run the statements of createTableSql(cars.shape, ${options}).`,
    )
  }
  const after = await session.setUp(async runner => {
    // Another process may have made them meanwhile.
    if ((await look(runner)).isWhole) return look(runner)
    for (const each of changeStatements(mapping)) await runner.run(compile(database, each))
    return look(runner)
  })
  return after.name
}
