// Rows whose texts are not folded, as other programs write them. A search folds them as it reads them, and a migration
// once and for all.

import { takeTurn } from '../../base/turns.ts'
import { TooCostlyError } from '../../store/errors.ts'
import type { Filter } from '../../store/filter.ts'
import { foldText, searchWords } from '../../store/search.ts'
import type { FilterSet, Search } from '../../store/selection.ts'
import { type Id, type ListOptions, throwIfAborted } from '../../store/store.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Row, type Runner, type StatementSession } from '../session/runner.ts'
import { decodeId } from '../table/column-values.ts'
import type { Column } from '../table/columns.ts'
import { foldValue } from '../table/folded.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { fillUp, repeat } from './by-size.ts'
import { buildCondition, type TableSearch, whereClause } from './where.ts'

/** How many rows are read at once, and how many of them one search may find. */
const BATCH_ROWS = 200
const MAX_FOUND = 10_000
/** How many batches of a migration share a commit. */
const MAX_BATCHES = 10

/** A search of rows that are not folded. */
interface UnfoldedSearch {
  readonly where: FilterSet['where']
  readonly search: Search
  /** The items found so far. */
  readonly found: Set<Id>
}

export class UnfoldedRows {
  readonly #mapping: TableMapping

  constructor(mapping: TableMapping) {
    this.#mapping = mapping
  }

  /**
   * Prepares a search: it finds the matching items whose texts are not folded.
   * @throws TooCostlyError where there are too many.
   */
  async prepare<T extends FilterSet>(
    session: StatementSession,
    selection: T,
    options?: ListOptions,
  ): Promise<T> {
    const { search } = selection
    if (!search?.fold) return selection
    const folded = search.paths.flatMap(path => this.#mapping.findFolded(path) ?? [])
    if (!(await this.exist(session, folded, options))) return selection
    const wanted = { where: selection.where, search, found: new Set<Id>() }
    for (const column of folded) await this.#find(session, column, wanted, options)
    const prepared: TableSearch = { ...search, found: [...wanted.found] }
    return { ...selection, search: prepared }
  }

  /** Whether there are rows in which a text is not folded. */
  async exist(
    session: StatementSession,
    folded = this.#mapping.folded,
    options?: ListOptions,
  ): Promise<boolean> {
    if (folded.length === 0) return false
    const { database, from } = this.#mapping
    const some = folded.map(({ ref }) => sql`exists (select 1 from ${from} where ${ref} is null)`)
    const statement = sql`select 1 where ${sql.join(some, ' or ')}`
    const { rows } = await session.read(runner => runner.run(compile(database, statement)), options)
    return rows.length > 0
  }

  /** Finds the matching items in which one text is not folded, batch by batch in the order of their ids. */
  async #find(
    session: StatementSession,
    column: Column,
    { where, search: { text, paths }, found }: UnfoldedSearch,
    options: ListOptions | undefined,
  ): Promise<void> {
    const mapping = this.#mapping
    const { database, from, id } = mapping
    const words = searchWords(text, true)
    const until = performance.now() + (options?.maxTime ?? Number.POSITIVE_INFINITY)
    const ids = sql`${id.readable} as ${sql.id(id.read)}`
    const texts = paths.map((path, at) => sql`${mapping.find(path).value} as ${textName(at)}`)
    const read = async (selected: Fragment, filters: readonly Filter[], rest = sql``) => {
      const condition = buildCondition({ where: filters }, mapping)
      const rows = whereClause([sql`${column.ref} is null`, condition])
      const statement = compile(database, sql`select ${selected} from ${from}${rows}${rest}`)
      return (await session.read(runner => runner.run(statement), options)).rows
    }
    const matches = (row: Row) => {
      const folded = paths.map((_, at) => foldText(String(row[`rest_text_${at}`] ?? '')))
      return words.every(word => folded.some(each => each.includes(word)))
    }
    const rest = sql` order by ${id.ref} limit 1 offset ${sql.lit(BATCH_ROWS - 1)}`
    let batch: Filter[] = []
    for (;;) {
      throwIfAborted(options)
      // The end of the batch first: the filters may find few of its rows.
      const [end] = await read(ids, batch, rest)
      if (end) batch.push(bound(id, 'lte', decodeId(end, id)))
      const rows = await read(sql.join([ids, ...texts]), [...where, ...batch])
      for (const row of rows) if (matches(row)) found.add(decodeId(row, id))
      if (found.size > MAX_FOUND || performance.now() > until) throw tooMany(mapping)
      if (!end) return
      batch = [bound(id, 'gt', decodeId(end, id))]
      await takeTurn(true)
    }
  }

  /** Folds all texts that are not, in the order of the ids. */
  async fold(session: StatementSession): Promise<void> {
    for (const column of this.#mapping.folded) {
      let last: Id | undefined
      do {
        last = await session.write(runner => this.#foldSome(column, last, runner))
      } while (last !== undefined)
    }
  }

  /**
   * Folds all texts of some rows in which one is not folded.
   * @param after the id after which they begin. Further rows are not looked for among those that were folded.
   * @returns the last id; `undefined` where no row is left.
   */
  async #foldSome(column: Column, after: Id | undefined, runner: Runner): Promise<Id | undefined> {
    const mapping = this.#mapping
    const { database, folded } = mapping
    const update = compile(database, this.#printUpdate())
    let last = after
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const select = compile(database, this.#printSelect(column, last))
      const stored = (await runner.run(select)).rows.map(row => mapping.decode(row))
      if (stored.length === 0) return undefined
      const keys = stored.map(({ id }) => mapping.encodeId(id))
      const rows = stored.map(({ item }, at) => {
        return [keys[at], ...folded.map(({ folds = [] }) => foldValue(item, folds))]
      })
      await runner.run(update, [...fillUp(rows, BATCH_ROWS).flat(), ...fillUp(keys, BATCH_ROWS)])
      last = stored.at(-1)?.id
    }
    return last
  }

  /** Prints the statement that selects and locks rows in which one text is not folded. */
  #printSelect({ ref }: Column, after: Id | undefined): Fragment {
    const { from, id, all, database } = this.#mapping
    const where = after === undefined ? [] : [bound(id, 'gt', after)]
    const rows = whereClause([sql`${ref} is null`, buildCondition({ where }, this.#mapping)])
    return sql`select ${all} from ${from}${rows} order by ${id.ref} limit ${BATCH_ROWS}${database.forUpdate}`
  }

  /** Prints the update with the parameters `[id, ...folded texts]` of each row, and all ids once more. */
  #printUpdate(): Fragment {
    const { from, id, idValue, folded } = this.#mapping
    const given = (at: number) => sql.raw(`rest_given.column${at}`)
    const set = folded.map((each, at) => sql`${each.ref} = ${given(at + 2)}`)
    const row = sql`(${idValue}, ${sql.join(folded.map(() => PLACEHOLDER))})`
    // The ids alone too: by the join PostgreSQL may read the whole table.
    const isGiven = sql`${from}.${id.ref} in (${repeat(idValue, BATCH_ROWS)})`
    return sql`update ${from} set ${sql.join(set)} from (values ${repeat(row, BATCH_ROWS)}) as rest_given where ${isGiven} and ${from}.${id.ref} = ${given(1)}`
  }
}

function bound({ name }: Column, operator: 'gt' | 'lte', value: Id): Filter {
  return { path: [name], operator, values: [value] }
}

function textName(at: number): Fragment {
  return sql.id(`rest_text_${at}`)
}

function tooMany({ table }: TableMapping): TooCostlyError {
  const message = `The search takes too long: other programs have written many ${table}, which are not prepared for it yet.`
  return new TooCostlyError(message, 'index')
}
