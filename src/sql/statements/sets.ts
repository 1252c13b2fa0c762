// Reads rows by their ids, one or several, and removes several: with one statement for all.

import type { ItemVersion } from '../../store/sets.ts'
import type { Id, Stored, StoreOptions } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type Statement, type StatementSession } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'

/** Thrown to undo a deletion in which not every row was at its version. */
const NOT_ALL = new Error('Not every item was at its version')

const NO_ROWS = { rows: [] }

/** An item, or that there is none; `undefined` where the answer has to wait. */
type FoundAtOnce = { readonly stored: Stored | undefined } | undefined

export type SetAccess = ReturnType<typeof buildSetAccess>

/** @param isExact whether the table returns exactly what was written, and has one row for each id. */
export function buildSetAccess(mapping: TableMapping, isExact: boolean) {
  const { database, table, all, from, versionColumn = '', id, idValue } = mapping
  const isOneOf = (size: number) => sql`${id.ref} in (${repeat(idValue, size)})`
  /** Parameters: `[id]`. */
  const findOne = compile(database, sql`select ${all} from ${from} where ${id.ref} = ${idValue}`)
  const find = bySize(database, size => sql`select ${all} from ${from} where ${isOneOf(size)}`)
  const lock = bySize(
    database,
    size => sql`select ${all} from ${from} where ${isOneOf(size)}${database.forUpdate}`,
  )
  const remove = bySize(database, size => sql`delete from ${from} where ${isOneOf(size)}`)
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

  /** Locks the rows and compares their versions, which are a hash of what is read where no column has them. */
  async function requireVersions(
    items: readonly ItemVersion[],
    keys: readonly unknown[],
    runner: Runner,
  ): Promise<void> {
    const found = await select(keys, lock, runner)
    if (found.length > items.length)
      throw new Error(`${table} has several rows with one id: none of them was changed`)
    const versions = new Map<unknown, string>(
      found.map(each => [mapping.encodeId(each.id), each.version]),
    )
    if (items.some(({ version }, at) => versions.get(keys[at]) !== version)) throw NOT_ALL
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
      const work = async (runner: Runner) => {
        if (!isExact) await requireVersions(items, keys, runner)
        const pairs = items.map(({ version }, at) => [keys[at], version])
        const { numAffectedRows } = isExact
          ? await removeAtVersions(runner, keys, pairs)
          : await remove(runner, keys)
        if (numAffectedRows !== BigInt(items.length)) throw NOT_ALL
      }
      try {
        if (items.length > 0) await session.write(work, options)
        return true
      } catch (error) {
        if (error === NOT_ALL) return false
        throw error
      }
    },
  }
}

/** Repeats what binds the values of one row. */
export function repeat(row: Fragment, size: number): Fragment {
  return sql.join(Array.from({ length: size }, () => row))
}

/**
 * Builds a statement on as many rows as there are. It is compiled for 1, 2, 4, … of them, and the last one is
 * repeated, so that there are few statements to prepare.
 */
function bySize(database: SqlDatabase, build: (size: number) => Fragment) {
  const compiled = new Map<number, Statement>()
  /** @param lists of parameters, or of groups of them, one for each row. */
  return (runner: Runner, ...lists: readonly (readonly unknown[])[]) => {
    const length = lists[0]?.length ?? 0
    const size = roundUp(length)
    const statement = compiled.get(size) ?? compile(database, build(size))
    compiled.set(size, statement)
    return runner.run(statement, lists.flatMap(list => fillUp(list, size)).flat())
  }
}

/** Rounds a number of rows up to 1, 2, 4 … */
export function roundUp(length: number): number {
  return 2 ** Math.ceil(Math.log2(length))
}

/** Repeats the last parameter, or the last group of them. */
export function fillUp(list: readonly unknown[], size: number): unknown[] {
  return [...list, ...Array(size - list.length).fill(list.at(-1))]
}
