// Hands out rows, each to one process alone: a row that another one is about to take is skipped.
import type { Filter } from '../../store/filter.ts'
import type { TakeRequest } from '../../store/program-store.ts'
import type { Stored, StoreOptions } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { compile, type StatementSession } from '../session/runner.ts'
import { encodeValue } from '../table/column-values.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { buildCondition, whereClause } from './where.ts'

export type TakeRow = ReturnType<typeof buildTakeRow>

/** @param clock the time in milliseconds since 1970. Default: that of the database, which its processes share. */
export function buildTakeRow(mapping: TableMapping, clock: (() => number) | undefined) {
  const { database, from, all, id, versionColumn } = mapping
  const locked = database.serial ? sql`` : sql` for update skip locked`
  const where = (filters: readonly Filter[]) => buildCondition({ where: filters }, mapping)

  /** Changes one row, by one statement. */
  async function change(
    session: StatementSession,
    set: readonly Fragment[],
    condition: Fragment,
    options: StoreOptions | undefined,
  ): Promise<Stored | undefined> {
    const version = mapping.makeVersion()
    const changes =
      versionColumn === undefined ? set : [...set, sql`${sql.id(versionColumn)} = ${version}`]
    const statement = compile(
      database,
      sql`update ${from} set ${sql.join(changes)} where ${condition} returning ${all}`,
    )
    const { rows } = await session.write(runner => runner.run(statement), options, true)
    return rows[0] && mapping.decode(rows[0])
  }

  async function readClock(session: StatementSession, options: StoreOptions | undefined) {
    const read = compile(database, sql`select ${database.now} as now`)
    return Number((await session.read(runner => runner.run(read), options)).rows[0]?.now)
  }

  return async (
    session: StatementSession,
    { lease, attempts, milliseconds, maxAttempts, held }: TakeRequest<Stored>,
    options?: StoreOptions,
  ): Promise<Stored | undefined> => {
    const now = clock?.() ?? (await readClock(session, options))
    const until = new Date(now + milliseconds).toISOString()
    const column = mapping.columnOf(lease)
    const set = [sql`${column.ref} = ${encodeValue(until, column, database)}`]
    const path = [lease]
    if (held) {
      const isHeld: Filter = { path, operator: 'in', values: [String(held.item[lease])] }
      const isSame =
        versionColumn === undefined
          ? where([isHeld])
          : sql`${sql.id(versionColumn)} = ${held.version}`
      const key = mapping.encodeId(held.id)
      return change(session, set, sql`${id.ref} = ${key} and ${isSame}`, options)
    }
    const counted: Filter[] = []
    if (attempts !== undefined) {
      const { ref } = mapping.columnOf(attempts)
      set.push(sql`${ref} = coalesce(${ref}, 0) + 1`)
      const tooMany = { path: [attempts], operator: 'gt', values: [maxAttempts ?? 0] } as const
      if (maxAttempts !== undefined) counted.push({ operator: 'not', filter: tooMany })
    }
    const isNew: Filter = { path, operator: 'exists', values: [false] }
    const isOver: Filter = { path, operator: 'lte', values: [new Date(now).toISOString()] }
    const take = (free: Filter, order: Fragment) => {
      const first = sql`select ${id.ref} from ${from}${whereClause([where([free, ...counted])])} order by ${order} limit 1${locked}`
      return change(session, set, sql`${id.ref} = (${first})`, options)
    }
    // Two statements: an index serves each, and one alone would read all that wait.
    const found = await take(isNew, id.ref)
    return found ?? take(isOver, sql`${mapping.find(path).order}, ${id.ref}`)
  }
}
