// Changes and removes single rows. A write changes a row only if it has the expected version.

import type { Item } from '../../base/values.ts'
import { KeptError } from '../../store/errors.ts'
import type { ItemVersion } from '../../store/sets.ts'
import type { Id, Stored, StoreWriteOptions } from '../../store/store.ts'
import { assemble, buildAnswer, findNextDate } from '../../store/written.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type Statement, type StatementSession } from '../session/runner.ts'
import { type Column, decodeValue, nextDate } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { IdempotencyRecords } from './idempotency.ts'
import type { LockedRows } from './locked-rows.ts'

/** Changes or removes a row if it is still at a version. */
export class RowAccess {
  readonly #mapping: TableMapping
  readonly #records: IdempotencyRecords
  readonly #locked: LockedRows
  readonly #isExact: boolean
  /** Parameters: `[id]`. Reads a row that may be another one than the statement has returned. */
  readonly #find: Statement | undefined
  readonly #clock: () => number
  /** The condition of the row with an id. */
  readonly #isRow: Fragment
  /** Parameters: `[...changing columns, version, id, old version]`. Returns the dates. */
  readonly #replace: Statement
  /** Parameters: `[id]`, or `[id, version]` if there is a version column. */
  readonly #remove: Statement

  /**
   * @param isExact whether the table returns exactly what was written, and has one row for each id.
   * @param changesLater whether a row may be another one than the statement that writes it returns.
   */
  constructor(
    mapping: TableMapping,
    records: IdempotencyRecords,
    locked: LockedRows,
    { isExact, changesLater }: { readonly isExact: boolean; readonly changesLater: boolean },
    clock: () => number,
  ) {
    const { database, from, all, versionColumn, changing, id, idValue, created, updated } = mapping
    this.#mapping = mapping
    this.#records = records
    this.#locked = locked
    this.#isExact = isExact
    this.#clock = clock
    this.#isRow = sql`${id.ref} = ${idValue}`
    const isAtVersion =
      versionColumn === undefined
        ? this.#isRow
        : sql`${this.#isRow} and ${sql.id(versionColumn)} = ${PLACEHOLDER}`
    const returned = [created, updated ?? id].flatMap(column =>
      column ? [sql`${column.readable} as ${sql.id(column.read)}`] : [],
    )
    this.#replace = compile(
      database,
      sql`update ${from} set ${this.#set(changing, updated)} where ${isAtVersion} returning ${sql.join(returned)}`,
    )
    this.#find = changesLater
      ? compile(database, sql`select ${all} from ${from} where ${this.#isRow}`)
      : undefined
    this.#remove = compile(database, sql`delete from ${from} where ${isAtVersion}`)
  }

  async update(
    session: StatementSession,
    id: Id,
    version: string,
    values: Item,
    options?: StoreWriteOptions,
  ): Promise<Stored | undefined> {
    const work = this.#locks(options)
      ? (runner: Runner) => this.changeLocked({ id, version }, values, runner)
      : (runner: Runner) => this.#replaceRow(id, version, values, runner)
    return (await this.#write(session, id, work, options)) || undefined
  }

  delete(
    session: StatementSession,
    id: Id,
    version: string,
    options?: StoreWriteOptions,
  ): Promise<boolean> {
    const key = this.#mapping.encodeId(id)
    const parameters = this.#mapping.versionColumn === undefined ? [key] : [key, version]
    const work = this.#locks(options)
      ? (runner: Runner) => this.#locked.deleteAll([{ id, version }], runner)
      : async (runner: Runner) =>
          (await runner.run(this.#remove, parameters)).numAffectedRows === 1n
    return this.#write(session, id, work, options)
  }

  /**
   * Changes a row that is at the version of an item, within a transaction.
   * @throws KeptError where the database does not change it.
   */
  async changeLocked(item: ItemVersion, values: Item, runner: Runner): Promise<Stored | undefined> {
    const before = await this.#locked.lock(item, runner)
    return before && this.#changeRow(before, values, runner)
  }

  /** Whether a row is read and locked before it is written. In an exact table the statement itself compares its version. */
  #locks(options: StoreWriteOptions | undefined): boolean {
    return !this.#isExact || options?.repeated === true || this.#mapping.unreadable.size > 0
  }

  /** Does the work of a write, and keeps the answer of its key. */
  async #write<T extends Stored | undefined | boolean>(
    session: StatementSession,
    id: Id,
    work: (runner: Runner) => Promise<T>,
    options: StoreWriteOptions | undefined,
  ): Promise<T | false> {
    if (this.#mapping.encodeId(id) === undefined) return false
    const key = options?.idempotencyKey
    const write = async (runner: Runner) => {
      const result = await work(runner)
      if (key === undefined || !result) return result
      const written = typeof result === 'object' ? result : undefined
      await this.#records.keepAnswer(key, buildAnswer(options, written), runner, options)
      return result
    }
    return session.write(write, options, key === undefined && !this.#locks(options))
  }

  async #replaceRow(
    id: Id,
    version: string,
    values: Item,
    runner: Runner,
  ): Promise<Stored | undefined> {
    const mapping = this.#mapping
    const { created, updated, changing } = mapping
    const item = this.#assemble(id, values, undefined)
    const next = mapping.makeVersion()
    const parameters = [...mapping.encode(item, changing, next), mapping.encodeId(id), version]
    const [found] = (await runner.run(this.#replace, parameters)).rows
    if (!found) return undefined
    for (const date of [created, updated])
      if (date) item[date.name] = String(decodeValue(found[date.read], date))
    return mapping.predict(item, next)
  }

  /**
   * Writes only the values that differ from the locked row. A column may hold more than the store reads of it,
   * such as further digits of a number in `jsonb`.
   */
  async #changeRow(before: Stored, values: Item, runner: Runner): Promise<Stored> {
    const mapping = this.#mapping
    const { database, all, from } = mapping
    const item = this.#assemble(before.id, values, before.updatedAt)
    const columns = mapping.changing.filter(each => !mapping.isSame(each, item, before.item))
    const next = mapping.makeVersion()
    const parameters = mapping.encode(item, columns, next)
    if (parameters.length === 0) return before
    const statement = sql`update ${from} set ${this.#set(columns)} where ${this.#isRow} returning ${all}`
    const key = mapping.encodeId(before.id)
    const [row] = (await runner.run(compile(database, statement), [...parameters, key])).rows
    if (!row) throw new KeptError()
    // A view may not show it any more.
    const [after = row] = this.#find ? (await runner.run(this.#find, [key])).rows : []
    return mapping.decode(after)
  }

  #assemble(id: Id, values: Item, before: number | undefined): Item {
    const date = new Date(findNextDate(this.#clock(), before)).toISOString()
    return assemble(this.#mapping.shape, id, values, date, date)
  }

  /** @param later the date that must be later than the one in the row. */
  #set(columns: readonly Column[], later?: Column): Fragment {
    const { database } = this.#mapping
    const names = this.#mapping.nameColumns(columns)
    const values = this.#mapping.fillColumns(columns, 'changed')
    const set = names.map((name, at) => {
      const isLater = later !== undefined && columns[at] === later
      const value = isLater ? nextDate(later, PLACEHOLDER, database) : values[at]
      return sql`${name} = ${value}`
    })
    return sql.join(set)
  }
}
