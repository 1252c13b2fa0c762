// Changes and removes single rows. A write changes a row only if it has the expected version.

import type { Item } from '../../base/values.ts'
import type { Id, Stored, StoreWriteOptions } from '../../store/store.ts'
import { assemble, buildAnswer } from '../../store/written.ts'
import { PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type StatementSession } from '../session/runner.ts'
import { type Column, decodeValue } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { IdempotencyRecords } from './idempotency.ts'

export type RowAccess = ReturnType<typeof buildRowAccess>

/**
 * Builds the functions that change or remove a row if it is still at a version.
 * @param isExact whether the table returns exactly what was written, and has one row for each id.
 */
export function buildRowAccess(
  mapping: TableMapping,
  records: IdempotencyRecords,
  isExact: boolean,
  clock: () => number,
) {
  const { database, all, from, versionColumn, changing, created, id, idValue } = mapping
  const isSame = sql`${id.ref} = ${idValue}`
  const isAtVersion =
    versionColumn === undefined
      ? isSame
      : sql`${isSame} and ${sql.id(versionColumn)} = ${PLACEHOLDER}`
  const set = (columns: readonly Column[]) =>
    sql.join(mapping.nameColumns(columns).map(name => sql`${name} = ${PLACEHOLDER}`))
  /** Parameters: `[id]`. Locks the row until the transaction ends. */
  const lock = compile(
    database,
    sql`select ${all} from ${from} where ${isSame}${database.forUpdate}`,
  )
  const returned = created ?? id
  /** Parameters: `[...changing columns, version, id, old version]`. Returns the creation date. */
  const replace = compile(
    database,
    sql`update ${from} set ${set(changing)} where ${isAtVersion} returning ${returned.readable} as ${sql.id(returned.read)}`,
  )
  /** Parameters: `[id]`, or `[id, version]` if there is a version column. */
  const remove = compile(database, sql`delete from ${from} where ${isAtVersion}`)

  async function lockRow(wanted: Id, { run }: Runner) {
    const [row] = (await run(lock, [mapping.encodeId(wanted)])).rows
    return row && mapping.decode(row)
  }

  function assembleChange(wanted: Id, values: Item): Item {
    const date = new Date(clock()).toISOString()
    return assemble(mapping.shape, wanted, values, date, date)
  }

  /** Writes a row at a version. In an exact table one statement compares it; in others a locked row is read first. */
  async function writeAtVersion<T extends Stored | undefined | boolean>(
    session: StatementSession,
    wanted: Id,
    version: string,
    work: (runner: Runner, before: Stored | undefined) => Promise<T>,
    options: StoreWriteOptions | undefined,
  ): Promise<T | false> {
    if (mapping.encodeId(wanted) === undefined) return false
    const key = options?.idempotencyKey
    const write = async (runner: Runner) => {
      const before = isExact ? undefined : await lockRow(wanted, runner)
      if (!isExact && before?.version !== version) return false
      const result = await work(runner, before)
      if (key === undefined || !result) return result
      const written = typeof result === 'object' ? result : undefined
      await records.keepAnswer(key, buildAnswer(options, written), runner, options)
      return result
    }
    return session.write(write, options, isExact && key === undefined)
  }

  async function replaceRow(wanted: Id, version: string, values: Item, { run }: Runner) {
    const item = assembleChange(wanted, values)
    const next = mapping.makeVersion()
    const key = mapping.encodeId(wanted)
    const parameters = [...mapping.encode(item, changing, next), key, version]
    const [found] = (await run(replace, parameters)).rows
    if (!found) return undefined
    if (created) item[created.name] = String(decodeValue(found[created.read], created))
    return mapping.predict(item, next)
  }

  /**
   * Writes only the values that differ from the locked row. A column may hold more than the store reads of it,
   * such as further digits of a number in `jsonb`.
   */
  async function changeRow(before: Stored, values: Item, { run }: Runner) {
    const item = assembleChange(before.id, values)
    const columns = changing.filter(each => !mapping.isSame(each, item, before.item))
    const next = mapping.makeVersion()
    const parameters = mapping.encode(item, columns, next)
    if (parameters.length === 0) return before
    const statement = sql`update ${from} set ${set(columns)} where ${isSame} returning ${all}`
    const key = mapping.encodeId(before.id)
    const { rows } = await run(compile(database, statement), [...parameters, key])
    requireOne(mapping.table, before.id, rows.length)
    return rows[0] && mapping.decode(rows[0])
  }

  return {
    /** Changes a row that is at the version of an item, within a transaction. */
    async changeLocked({ id, version }: Stored, values: Item, runner: Runner) {
      const before = await lockRow(id, runner)
      return before?.version === version ? changeRow(before, values, runner) : undefined
    },
    async update(
      session: StatementSession,
      wanted: Id,
      version: string,
      values: Item,
      options?: StoreWriteOptions,
    ): Promise<Stored | undefined> {
      const work = (runner: Runner, before: Stored | undefined) =>
        before ? changeRow(before, values, runner) : replaceRow(wanted, version, values, runner)
      return (await writeAtVersion(session, wanted, version, work, options)) || undefined
    },
    delete(
      session: StatementSession,
      wanted: Id,
      version: string,
      options?: StoreWriteOptions,
    ): Promise<boolean> {
      const key = mapping.encodeId(wanted)
      const parameters = versionColumn === undefined ? [key] : [key, version]
      const work = async ({ run }: Runner) => {
        const { numAffectedRows } = await run(remove, parameters)
        requireOne(mapping.table, wanted, numAffectedRows)
        return numAffectedRows === 1n
      }
      return writeAtVersion(session, wanted, version, work, options)
    },
  }
}

/** @throws Error, which undoes the transaction, where several rows have the id. */
function requireOne(table: string, id: Id, rows: number | bigint | undefined): void {
  if (rows === undefined || rows <= 1) return
  throw new Error(`${table} has ${rows} rows with the id ${id}: none of them was changed`)
}
