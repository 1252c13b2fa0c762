// Changes and removes single rows, if they are still at a version.

import type { Item } from '../schema/values.ts'
import { sameJson } from '../schema/values.ts'
import { createVersion } from '../store/ids.ts'
import {
  assemble,
  buildAnswer,
  type Id,
  type Stored,
  type StoreOptions,
  type WriteOptions,
} from '../store/store.ts'
import { type Column, decodeValue } from './columns.ts'
import type { SqlIdempotencyRecords } from './idempotency.ts'
import { compile, type Prepared, type Runner, type StatementSession } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'

/** Only its place counts: the values are given at each run. */
const value = sql`${''}`

export class SqlChanges {
  readonly #mapping: TableMapping
  readonly #records: SqlIdempotencyRecords
  readonly #own: boolean
  readonly #clock: () => number
  /** `[id]` */
  readonly #get: Prepared
  /** `[id]`; locks the row until the transaction ends. */
  readonly #lock: Prepared
  /** `[...changing columns, version, id, old version]`; gives the creation date. */
  readonly #replace: Prepared
  /** `[id]`, or `[id, version]` where there is a version column. */
  readonly #remove: Prepared

  /** @param own whether the table keeps values exactly, and has one row for each id. */
  constructor(
    mapping: TableMapping,
    records: SqlIdempotencyRecords,
    own: boolean,
    clock: () => number,
  ) {
    this.#mapping = mapping
    this.#records = records
    this.#own = own
    this.#clock = clock
    const { database, all, from, versionColumn, changing, created, id } = mapping
    const isSame = sql`${id.ref} = ${mapping.idValue}`
    const version = versionColumn === undefined ? undefined : sql.id(versionColumn)
    const isAtVersion = version ? sql`${isSame} and ${version} = ${value}` : isSame
    this.#get = compile(database, sql`select ${all} from ${from} where ${isSame}`)
    this.#lock = compile(
      database,
      sql`select ${all} from ${from} where ${isSame}${database.forUpdate}`,
    )
    const returned = created ?? id
    this.#replace = compile(
      database,
      sql`update ${from} set ${this.#set(changing)} where ${isAtVersion} returning ${returned.readable} as ${sql.id(returned.read)}`,
    )
    this.#remove = compile(database, sql`delete from ${from} where ${isAtVersion}`)
  }

  #set(columns: readonly Column[]): Fragment {
    const names = columns.map(({ column }) => sql.id(column))
    const { versionColumn } = this.#mapping
    if (versionColumn !== undefined) names.push(sql.id(versionColumn))
    return sql.join(names.map(name => sql`${name} = ${value}`))
  }

  get(session: StatementSession, id: Id, options?: StoreOptions): Promise<Stored | undefined> {
    return session.read(runner => this.#find(id, this.#get, runner), options)
  }

  async #find(id: Id, statement: Prepared, { run }: Runner): Promise<Stored | undefined> {
    const given = this.#mapping.encodeId(id)
    if (given === undefined) return undefined
    const [row] = (await run(statement, [given])).rows
    return row && this.#mapping.decode(row)
  }

  async update(
    session: StatementSession,
    id: Id,
    version: string,
    values: Item,
    options?: WriteOptions,
  ): Promise<Stored | undefined> {
    const work = (runner: Runner, before: Stored | undefined) =>
      before ? this.#change(before, values, runner) : this.#replaceRow(id, version, values, runner)
    return (await this.#atVersion(session, id, version, work, options)) || undefined
  }

  delete(
    session: StatementSession,
    id: Id,
    version: string,
    options?: WriteOptions,
  ): Promise<boolean> {
    const key = this.#mapping.encodeId(id)
    const parameters = this.#mapping.versionColumn === undefined ? [key] : [key, version]
    const remove = async ({ run }: Runner) => {
      const { numAffectedRows } = await run(this.#remove, parameters)
      this.#requireOne(id, numAffectedRows)
      return numAffectedRows === 1n
    }
    return this.#atVersion(session, id, version, remove, options)
  }

  /** In the store's own table one statement compares the version; in others a transaction does. */
  async #atVersion<T extends Stored | undefined | boolean>(
    session: StatementSession,
    id: Id,
    version: string,
    work: (runner: Runner, before: Stored | undefined) => Promise<T>,
    options: WriteOptions | undefined,
  ): Promise<T | false> {
    if (this.#mapping.encodeId(id) === undefined) return false
    const key = options?.idempotencyKey
    const write = async (runner: Runner) => {
      const before = this.#own ? undefined : await this.#find(id, this.#lock, runner)
      if (!this.#own && before?.version !== version) return false
      const result = await work(runner, before)
      if (key === undefined || !result) return result
      const written = typeof result === 'object' ? result : undefined
      await this.#records.answer(key, buildAnswer(options, written), runner)
      return result
    }
    return session.write(write, options, this.#own && key === undefined)
  }

  async #replaceRow(
    id: Id,
    version: string,
    values: Item,
    { run }: Runner,
  ): Promise<Stored | undefined> {
    const mapping = this.#mapping
    const { created, changing } = mapping
    const item = this.#assemble(id, values)
    const next = createVersion()
    const parameters = [...mapping.encode(item, changing), next, mapping.encodeId(id), version]
    const [found] = (await run(this.#replace, parameters)).rows
    if (!found) return undefined
    if (created) item[created.name] = String(decodeValue(found[created.read], created))
    return mapping.predict(item, next)
  }

  /**
   * Sets only values that differ from what was read of a locked row: a column may hold more than is read
   * of it, such as digits beyond those of a double.
   */
  async #change(before: Stored, values: Item, { run }: Runner): Promise<Stored | undefined> {
    const mapping = this.#mapping
    const { id } = before
    const item = this.#assemble(id, values)
    const columns = mapping.changing.filter(({ name }) => !sameJson(item[name], before.item[name]))
    const next = mapping.versionColumn === undefined ? [] : [createVersion()]
    const set = [...mapping.encode(item, columns), ...next]
    if (set.length === 0) return before
    const statement = sql`update ${mapping.from} set ${this.#set(columns)} where ${mapping.id.ref} = ${mapping.idValue} returning ${mapping.all}`
    const { rows } = await run(compile(mapping.database, statement), [...set, mapping.encodeId(id)])
    this.#requireOne(id, rows.length)
    return rows[0] && mapping.decode(rows[0])
  }

  #assemble(id: Id, values: Item): Item {
    const date = new Date(this.#clock()).toISOString()
    return assemble(this.#mapping.shape, id, values, date, date)
  }

  /** @throws Error, which undoes the transaction, where several rows have the id. */
  #requireOne(id: Id, rows: number | bigint | undefined): void {
    if (rows === undefined || rows <= 1) return
    throw new Error(
      `${this.#mapping.table} has ${rows} rows with the id ${id}: none of them was changed`,
    )
  }
}
