// Rows that are locked and compared before they are written: a statement that then changes none of them is kept out by
// the database itself, by a trigger, a rule, a policy or a view, and not by another writer.

import { KeptError } from '../../store/errors.ts'
import type { ItemVersion, Stored } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import type { Row, Runner } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { bySize } from './by-size.ts'

type RowStatement = ReturnType<typeof bySize>

interface FoundRow {
  readonly stored: Stored
  /** It as the driver returned it. */
  readonly row: Row
}

interface LockedRow extends FoundRow {
  /** False where the row can be read and not locked, since a policy lets nobody update it. */
  readonly isLocked: boolean
}

/** Locks rows, and deletes locked ones. Each method runs within a transaction. */
export class LockedRows {
  readonly #mapping: TableMapping
  /** How the columns are selected that the store does not serve. */
  readonly #others: readonly string[]
  readonly #lock: RowStatement
  /** The same two with all columns. */
  readonly #lockWhole: RowStatement
  readonly #findWhole: RowStatement
  readonly #remove: RowStatement
  /** The same, returning what it has deleted. */
  readonly #removeAndTell: RowStatement

  /** @param unserved the columns of the table that the mapping does not have. */
  constructor(mapping: TableMapping, unserved: readonly string[]) {
    const { database, all, from } = mapping
    this.#mapping = mapping
    this.#others = unserved.map((_, at) => `rest_other_${at}`)
    const others = unserved.map(
      (column, at) => sql`${database.print(sql.id(column))} as ${sql.id(`rest_other_${at}`)}`,
    )
    const whole = sql.join([all, ...others])
    const find = (columns: Fragment, lock: Fragment) =>
      bySize(
        database,
        size => sql`select ${columns} from ${from} where ${mapping.isOneOf(size)}${lock}`,
      )
    this.#lock = find(all, database.forUpdate)
    this.#lockWhole = find(whole, database.forUpdate)
    this.#findWhole = find(whole, sql``)
    const remove = (returning: Fragment) =>
      bySize(database, size => sql`delete from ${from} where ${mapping.isOneOf(size)}${returning}`)
    this.#remove = remove(sql``)
    this.#removeAndTell = remove(sql` returning ${all}`)
  }

  /**
   * Locks the row of an item to change it.
   * @returns `undefined` where another writer has changed or deleted it.
   * @throws KeptError where it can be read and not locked.
   */
  async lock(item: ItemVersion, runner: Runner): Promise<Stored | undefined> {
    const [found] = (await this.#lockAll([item], this.#lock, runner)) ?? []
    if (found?.isLocked === false) throw new KeptError()
    return found?.stored
  }

  /**
   * Deletes the rows of items. A row that stays is deleted all the same where the deletion has changed it, as a trigger
   * that marks it does.
   * @returns false, with nothing deleted, where another writer has changed or deleted one.
   * @throws KeptError for the first that stays as it is.
   */
  async deleteAll(items: readonly ItemVersion[], runner: Runner): Promise<boolean> {
    const before = await this.#lockAll(items, this.#lockWhole, runner)
    if (!before) return false
    const keys = this.#encodeIds(items)
    const unlocked = before.findIndex(({ isLocked }) => !isLocked)
    if (unlocked >= 0) {
      // Only what was deleted tells whether another writer came in between.
      const gone = await this.#read(this.#removeAndTell, keys, runner)
      const isSame = ({ stored }: FoundRow, at: number) =>
        gone.get(keys[at])?.stored.version === stored.version
      if (before.every(isSame)) return true
      throw new KeptError({ at: unlocked })
    }
    const { numAffectedRows } = await this.#remove(runner, keys)
    if (numAffectedRows === BigInt(items.length)) return true
    const after = await this.#read(this.#findWhole, keys, runner)
    const kept = before.findIndex((each, at) => {
      const now = after.get(keys[at])
      return now && this.#print(now) === this.#print(each)
    })
    if (kept >= 0) throw new KeptError({ at: kept })
    return true
  }

  /** @returns a row for each item, in their order; `undefined` where one has another version by now, or is gone. */
  async #lockAll(
    items: readonly ItemVersion[],
    lock: RowStatement,
    runner: Runner,
  ): Promise<LockedRow[] | undefined> {
    const keys = this.#encodeIds(items)
    const locked = await this.#read(lock, keys, runner)
    const missing = keys.filter(key => !locked.has(key))
    const shown =
      missing.length > 0 ? await this.#read(this.#findWhole, missing, runner) : undefined
    const rows = items.flatMap(({ version }, at) => {
      const key = keys[at]
      const found = locked.get(key) ?? shown?.get(key)
      return found?.stored.version === version ? [{ ...found, isLocked: locked.has(key) }] : []
    })
    return rows.length === items.length ? rows : undefined
  }

  /** Reads rows by their keys. @throws Error where several rows have one id. */
  async #read(
    statement: RowStatement,
    keys: readonly unknown[],
    runner: Runner,
  ): Promise<Map<unknown, FoundRow>> {
    const { rows } = await statement(runner, keys)
    const found = new Map<unknown, FoundRow>()
    for (const row of rows) {
      const stored = this.#mapping.decode(row)
      const key = this.#mapping.encodeId(stored.id)
      if (found.has(key)) throw this.#tooMany(stored, rows)
      found.set(key, { stored, row })
    }
    return found
  }

  #tooMany({ id }: Stored, rows: readonly Row[]): Error {
    const { length } = rows.filter(row => this.#mapping.decode(row).id === id)
    return new Error(
      `${this.#mapping.table} has ${length} rows with the id ${id}: no row was changed`,
    )
  }

  #encodeIds(items: readonly ItemVersion[]): unknown[] {
    return items.map(({ id }) => this.#mapping.encodeId(id))
  }

  /** Prints all that is known of a row. */
  #print({ stored: { version, item }, row }: FoundRow): string {
    return JSON.stringify([version, item, this.#others.map(name => row[name])])
  }
}
