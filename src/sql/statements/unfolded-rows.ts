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
import { type Column, decodeValue } from '../table/columns.ts'
import { foldValue } from '../table/folded.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { fillUp, repeat } from './sets.ts'
import { buildCondition, type TableSearch, whereClause } from './where.ts'

/** How many rows are read at once, and how many of them one search may find. */
const BATCH_ROWS = 200
const MAX_FOUND = 10_000
/** How many batches of a migration share a commit. */
const MAX_BATCHES = 10

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
    const found = new Set<Id>()
    for (const column of folded)
      await this.#find(session, column, selection, search, found, options)
    const prepared: TableSearch = { ...search, found: [...found] }
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
    const { rows } = await session.read(({ run }) => run(compile(database, statement)), options)
    return rows.length > 0
  }

  /** Finds the matching items in which one text is not folded, batch by batch in the order of their ids. */
  async #find(
    session: StatementSession,
    column: Column,
    { where }: FilterSet,
    { text, paths }: Search,
    found: Set<Id>,
    options: ListOptions | undefined,
  ): Promise<void> {
    const mapping = this.#mapping
    const { database, from, id } = mapping
    const words = searchWords(text, true)
    const until = performance.now() + (options?.maxTime ?? Number.POSITIVE_INFINITY)
    const ids = sql`${id.readable} as ${sql.id(id.read)}`
    const texts = paths.map((path, at) => sql`${mapping.find(path).value} as ${textName(at)}`)
    const idOf = (row: Row) => decodeValue(row[id.read], id) as Id // no id is null
    const read = async (selected: Fragment, filters: readonly Filter[], rest = sql``) => {
      const condition = buildCondition({ where: filters }, mapping)
      const rows = whereClause([sql`${column.ref} is null`, condition])
      const statement = compile(database, sql`select ${selected} from ${from}${rows}${rest}`)
      return (await session.read(({ run }) => run(statement), options)).rows
    }
    const bound = (operator: 'gt' | 'lte', value: Id): Filter => {
      return { path: [id.name], operator, values: [value] }
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
      if (end) batch.push(bound('lte', idOf(end)))
      const rows = await read(sql.join([ids, ...texts]), [...where, ...batch])
      for (const row of rows) if (matches(row)) found.add(idOf(row))
      if (found.size > MAX_FOUND || performance.now() > until) throw tooMany(mapping)
      if (!end) return
      batch = [bound('gt', idOf(end))]
      await takeTurn(true)
    }
  }

  /** Folds all texts that are not. */
  async fold(session: StatementSession): Promise<void> {
    for (const column of this.#mapping.folded) {
      let folded: boolean
      do {
        folded = await session.write(runner => this.#foldSome(column, runner))
      } while (folded)
    }
  }

  /** @returns whether there may be more. */
  async #foldSome(column: Column, { run }: Runner): Promise<boolean> {
    const { database, from, id, idValue, all, versionColumn = '' } = this.#mapping
    const version = sql.id(versionColumn)
    const statement = sql`select ${all} from ${from} where ${column.ref} is null limit ${BATCH_ROWS}`
    const select = compile(database, statement)
    const row = sql`(${idValue}, ${PLACEHOLDER}, ${PLACEHOLDER})`
    // A row that is changed meanwhile is folded by that write, or emptied again.
    const isSame = sql`${from}.${id.ref} = rest_given.column1 and ${from}.${version} = rest_given.column2`
    const update = compile(
      database,
      sql`update ${from} set ${column.ref} = rest_given.column3 from (values ${repeat(row, BATCH_ROWS)}) as rest_given where ${isSame} and ${from}.${column.ref} is null`,
    )
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const stored = (await run(select)).rows.map(each => this.#mapping.decode(each))
      if (stored.length === 0) return false
      const rows = stored.map(({ id: key, version: known, item }) => [
        this.#mapping.encodeId(key),
        known,
        foldValue(item, column.folds ?? []),
      ])
      const { numAffectedRows } = await run(update, fillUp(rows, BATCH_ROWS).flat())
      // Others are writing all of them.
      if (numAffectedRows === 0n) return false
    }
    return true
  }
}

function textName(at: number): Fragment {
  return sql.id(`rest_text_${at}`)
}

function tooMany({ table }: TableMapping): TooCostlyError {
  const message = `The search takes too long: other programs have written many ${table}, which are not prepared for it yet.`
  return new TooCostlyError(message, 'index')
}
