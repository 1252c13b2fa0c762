// Changes and removes single rows. A write changes a row only if it has the expected version.

import type { Item } from '../../base/values.ts'
import type { Id, Stored, StoreWriteOptions } from '../../store/store.ts'
import { assemble, buildAnswer } from '../../store/written.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type Statement, type StatementSession } from '../session/runner.ts'
import { type Column, decodeValue } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { IdempotencyRecords } from './idempotency.ts'

/** Changes or removes a row if it is still at a version. */
export class RowAccess {
  readonly #mapping: TableMapping
  readonly #records: IdempotencyRecords
  readonly #isExact: boolean
  readonly #clock: () => number
  /** The condition of the row with an id. */
  readonly #isRow: Fragment
  /** Parameters: `[id]`. Locks the row until the transaction ends. */
  readonly #lock: Statement
  /** Parameters: `[...changing columns, version, id, old version]`. Returns the creation date. */
  readonly #replace: Statement
  /** Parameters: `[id]`, or `[id, version]` if there is a version column. */
  readonly #remove: Statement

  /** @param isExact whether the table returns exactly what was written, and has one row for each id. */
  constructor(
    mapping: TableMapping,
    records: IdempotencyRecords,
    isExact: boolean,
    clock: () => number,
  ) {
    const { database, all, from, versionColumn, changing, id, idValue } = mapping
    this.#mapping = mapping
    this.#records = records
    this.#isExact = isExact
    this.#clock = clock
    this.#isRow = sql`${id.ref} = ${idValue}`
    const isAtVersion =
      versionColumn === undefined
        ? this.#isRow
        : sql`${this.#isRow} and ${sql.id(versionColumn)} = ${PLACEHOLDER}`
    const returned = mapping.created ?? id
    this.#lock = compile(
      database,
      sql`select ${all} from ${from} where ${this.#isRow}${database.forUpdate}`,
    )
    this.#replace = compile(
      database,
      sql`update ${from} set ${this.#set(changing)} where ${isAtVersion} returning ${returned.readable} as ${sql.id(returned.read)}`,
    )
    this.#remove = compile(database, sql`delete from ${from} where ${isAtVersion}`)
  }

  async update(
    session: StatementSession,
    id: Id,
    version: string,
    values: Item,
    options?: StoreWriteOptions,
  ): Promise<Stored | undefined> {
    const work = (runner: Runner, before: Stored | undefined) =>
      before
        ? this.#changeRow(before, values, runner)
        : this.#replaceRow(id, version, values, runner)
    return (await this.#writeAtVersion(session, id, version, work, options)) || undefined
  }

  delete(
    session: StatementSession,
    id: Id,
    version: string,
    options?: StoreWriteOptions,
  ): Promise<boolean> {
    const { table, versionColumn } = this.#mapping
    const key = this.#mapping.encodeId(id)
    const parameters = versionColumn === undefined ? [key] : [key, version]
    const work = async (runner: Runner) => {
      const { numAffectedRows } = await runner.run(this.#remove, parameters)
      requireOne(table, id, numAffectedRows)
      return numAffectedRows === 1n
    }
    return this.#writeAtVersion(session, id, version, work, options)
  }

  /** Changes a row that is at the version of an item, within a transaction. */
  async changeLocked(
    { id, version }: Stored,
    values: Item,
    runner: Runner,
  ): Promise<Stored | undefined> {
    const before = await this.#lockRow(id, runner)
    return before?.version === version ? this.#changeRow(before, values, runner) : undefined
  }

  /** Writes a row at a version. In an exact table one statement compares it; in others a locked row is read first. */
  async #writeAtVersion<T extends Stored | undefined | boolean>(
    session: StatementSession,
    id: Id,
    version: string,
    work: (runner: Runner, before: Stored | undefined) => Promise<T>,
    options: StoreWriteOptions | undefined,
  ): Promise<T | false> {
    if (this.#mapping.encodeId(id) === undefined) return false
    const isExact = this.#isExact
    const key = options?.idempotencyKey
    const write = async (runner: Runner) => {
      const before = isExact ? undefined : await this.#lockRow(id, runner)
      if (!isExact && before?.version !== version) return false
      const result = await work(runner, before)
      if (key === undefined || !result) return result
      const written = typeof result === 'object' ? result : undefined
      await this.#records.keepAnswer(key, buildAnswer(options, written), runner, options)
      return result
    }
    return session.write(write, options, isExact && key === undefined)
  }

  async #lockRow(id: Id, runner: Runner): Promise<Stored | undefined> {
    const [row] = (await runner.run(this.#lock, [this.#mapping.encodeId(id)])).rows
    return row && this.#mapping.decode(row)
  }

  async #replaceRow(
    id: Id,
    version: string,
    values: Item,
    runner: Runner,
  ): Promise<Stored | undefined> {
    const mapping = this.#mapping
    const { created, changing } = mapping
    const item = this.#assemble(id, values)
    const next = mapping.makeVersion()
    const parameters = [...mapping.encode(item, changing, next), mapping.encodeId(id), version]
    const [found] = (await runner.run(this.#replace, parameters)).rows
    if (!found) return undefined
    if (created) item[created.name] = String(decodeValue(found[created.read], created))
    return mapping.predict(item, next)
  }

  /**
   * Writes only the values that differ from the locked row. A column may hold more than the store reads of it,
   * such as further digits of a number in `jsonb`.
   */
  async #changeRow(before: Stored, values: Item, runner: Runner): Promise<Stored | undefined> {
    const mapping = this.#mapping
    const { database, all, from } = mapping
    const item = this.#assemble(before.id, values)
    const columns = mapping.changing.filter(each => !mapping.isSame(each, item, before.item))
    const next = mapping.makeVersion()
    const parameters = mapping.encode(item, columns, next)
    if (parameters.length === 0) return before
    const statement = sql`update ${from} set ${this.#set(columns)} where ${this.#isRow} returning ${all}`
    const key = mapping.encodeId(before.id)
    const { rows } = await runner.run(compile(database, statement), [...parameters, key])
    requireOne(mapping.table, before.id, rows.length)
    return rows[0] && mapping.decode(rows[0])
  }

  #assemble(id: Id, values: Item): Item {
    const date = new Date(this.#clock()).toISOString()
    return assemble(this.#mapping.shape, id, values, date, date)
  }

  #set(columns: readonly Column[]): Fragment {
    const names = this.#mapping.nameColumns(columns)
    return sql.join(names.map(name => sql`${name} = ${PLACEHOLDER}`))
  }
}

/** @throws Error, which undoes the transaction, where several rows have the id. */
function requireOne(table: string, id: Id, rows: number | bigint | undefined): void {
  if (rows === undefined || rows <= 1) return
  throw new Error(`${table} has ${rows} rows with the id ${id}: none of them was changed`)
}
