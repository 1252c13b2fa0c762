// Changes single rows. A write changes a row only if it has the expected version.

import type { Item } from '../../base/values.ts'
import { KeptError } from '../../store/errors.ts'
import type { Id, Stored, Update } from '../../store/store.ts'
import { assemble, findNextDate } from '../../store/written.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type Statement } from '../session/runner.ts'
import { decodeValue } from '../table/column-values.ts'
import { type Column, nextDate } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { LockedRows } from './locked-rows.ts'

/** Changes a row if it is still at a version. */
export class RowAccess {
  readonly #mapping: TableMapping
  readonly #locked: LockedRows
  /** Parameters: `[id]`. Reads a row that may be another one than the statement has returned. */
  readonly #find: Statement | undefined
  readonly #clock: () => number
  /** The condition of the row with an id. */
  readonly #isRow: Fragment
  /** Parameters: `[...changing columns, version, id, old version]`. Returns the dates. */
  readonly #replace: Statement

  /** @param changesLater whether a row may be another one than the statement that writes it returns. */
  constructor(
    mapping: TableMapping,
    locked: LockedRows,
    changesLater: boolean,
    clock: () => number,
  ) {
    const { database, from, all, versionColumn, changing, id, created, updated } = mapping
    this.#mapping = mapping
    this.#locked = locked
    this.#clock = clock
    this.#isRow = mapping.isRow
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
  }

  /**
   * Changes a row that is at the version of an item, within a transaction.
   * @throws KeptError where the database does not change it.
   */
  async changeLocked({ before, update }: Update, runner: Runner): Promise<Stored | undefined> {
    const now = await this.#locked.lock(before, runner)
    return now && this.#changeRow(now, update, runner)
  }

  /** Replaces a row that is at the version of an item, by one statement. */
  async replace({ before, update }: Update, runner: Runner): Promise<Stored | undefined> {
    const mapping = this.#mapping
    const { created, updated, changing } = mapping
    const { id, version } = before
    const item = this.#assemble(id, update, undefined)
    const next = mapping.makeVersion()
    const parameters = [...mapping.encode(item, changing, next), mapping.encodeId(id), version]
    const [found] = (await runner.run(this.#replace, parameters)).rows
    if (!found) return undefined
    for (const date of [created, updated])
      if (date) item[date.name] = decodeValue(found[date.read], date) ?? null
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
