// Reads rows by their ids, one or several, and removes several: with one statement for all.

import type { ItemVersion } from '../../store/sets.ts'
import type { Id, Stored, StoreOptions } from '../../store/store.ts'
import { PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type StatementSession } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { bySize, repeat } from './by-size.ts'
import type { LockedRows } from './locked-rows.ts'

/** Thrown to undo a deletion in which not every row was at its version. */
const NOT_ALL = new Error('Not every item was at its version')

const NO_ROWS = { rows: [] }

/** An item, or that there is none; `undefined` where the answer has to wait. */
type FoundAtOnce = { readonly stored: Stored | undefined } | undefined

export type SetAccess = ReturnType<typeof buildSetAccess>

/** @param isExact whether the table returns exactly what was written, and has one row for each id. */
export function buildSetAccess(mapping: TableMapping, locked: LockedRows, isExact: boolean) {
  const { database, table, all, from, versionColumn = '', id, idValue } = mapping
  const isOneOf = (size: number) => sql`${id.ref} in (${repeat(idValue, size)})`
  /** Parameters: `[id]`. */
  const findOne = compile(database, sql`select ${all} from ${from} where ${id.ref} = ${idValue}`)
  const find = bySize(database, size => sql`select ${all} from ${from} where ${isOneOf(size)}`)
  // The ids alone too: by the pairs PostgreSQL may read, and lock, the whole table.
  const removeAtVersions = bySize(
    database,
    size =>
      sql`delete from ${from} where ${isOneOf(size)} and (${id.ref}, ${sql.id(versionColumn)}) in (values ${repeat(sql`(${idValue}, ${PLACEHOLDER})`, size)})`,
  )

  async function select(keys: readonly unknown[], statement: typeof find, runner: Runner) {
    const { rows } = await statement(runner, keys)
    return rows.map(row => mapping.decode(row))
  }

  /** Finds an item for each id, in their order. @throws Error where the database compares ids in a way of its own. */
  async function findAll(ids: readonly Id[], runner: Runner): Promise<(Stored | undefined)[]> {
    const keys = ids.map(each => mapping.encodeId(each))
    if (keys.length === 1) {
      const { rows } = keys[0] === undefined ? NO_ROWS : await runner.run(findOne, keys)
      return [rows[0] && mapping.decode(rows[0])]
    }
    const wanted = [...new Set(keys.filter(key => key !== undefined && key !== null))]
    const found = wanted.length > 0 ? await select(wanted, find, runner) : []
    const byKey = new Map<unknown, Stored | undefined>(wanted.map(key => [key, undefined]))
    for (const each of found) {
      const key = mapping.encodeId(each.id)
      if (!byKey.has(key)) throw new Error(`${table} has the id ${each.id} for another one`)
      // Several rows may have one id: one of them is as good as another.
      byKey.set(key, each)
    }
    return keys.map(key => byKey.get(key))
  }

  return {
    get: (session: StatementSession, wanted: Id, options?: StoreOptions) =>
      session.readShared(wanted, findAll, options),
    /** Finds the rows of an item, at most one, where they are there without waiting. */
    getAtOnce(session: StatementSession, wanted: Id, options?: StoreOptions): FoundAtOnce {
      const key = mapping.encodeId(wanted)
      const rows = key === undefined ? [] : session.readAtOnce?.(findOne, [key], options)
      return rows && { stored: rows[0] && mapping.decode(rows[0]) }
    },
    /** Finds an item for each id, in their order. */
    getMany: (session: StatementSession, ids: readonly Id[], options?: StoreOptions) =>
      session.read(runner => findAll(ids, runner), options),
    /** Removes all rows, or none where one is not at its version. */
    async deleteAll(
      session: StatementSession,
      items: readonly ItemVersion[],
      options?: StoreOptions,
    ): Promise<boolean> {
      const keys = items.map(each => mapping.encodeId(each.id))
      if (keys.includes(undefined) || new Set(keys).size < keys.length) return false
      if (items.length === 0) return true
      if (!isExact || options?.repeated)
        return session.write(runner => locked.deleteAll(items, runner), options)
      const work = async (runner: Runner) => {
        const pairs = items.map(({ version }, at) => [keys[at], version])
        const { numAffectedRows } = await removeAtVersions(runner, keys, pairs)
        if (numAffectedRows !== BigInt(items.length)) throw NOT_ALL
      }
      try {
        await session.write(work, options)
        return true
      } catch (error) {
        if (error === NOT_ALL) return false
        throw error
      }
    },
  }
}
