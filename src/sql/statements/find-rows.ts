// Reads rows by their ids, one or several, with one statement for all.

import type { Id, Stored, StoreOptions } from '../../store/store.ts'
import { sql } from '../databases/sql-text.ts'
import { compile, type Runner, type StatementSession } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { bySize } from './by-size.ts'

const NO_ROWS = { rows: [] }

/** Builds the functions that find rows by their ids. */
export function buildFinder(mapping: TableMapping) {
  const { database, table, all, from, isRow } = mapping
  /** Parameters: `[id]`. */
  const findOne = compile(database, sql`select ${all} from ${from} where ${isRow}`)
  const find = bySize(
    database,
    size => sql`select ${all} from ${from} where ${mapping.isOneOf(size)}`,
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
    /** Finds an item for each id, in their order. */
    async find(session: StatementSession, ids: readonly Id[], options?: StoreOptions) {
      const [only] = ids
      return only !== undefined && ids.length === 1
        ? [await session.readShared(only, findAll, options)]
        : session.read(runner => findAll(ids, runner), options)
    },
    /** Finds an item where it is there without waiting; `undefined` where the answer has to wait. */
    findAtOnce(
      session: StatementSession,
      wanted: Id,
      options?: StoreOptions,
    ): readonly (Stored | undefined)[] | undefined {
      const key = mapping.encodeId(wanted)
      const rows = key === undefined ? [] : session.readAtOnce?.(findOne, [key], options)
      return rows && [rows[0] && mapping.decode(rows[0])]
    },
  }
}
