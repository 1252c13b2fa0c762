// Lists the items of several ids by one statement. Where they are too many together, or their rows too long, they are
// measured first, and those of as many ids as fit are read.

import { getValue } from '../../base/paths.ts'
import { addFilter, type EachParameters } from '../../store/list-each.ts'
import type { Id, ListOptions, Stored, StorePage } from '../../store/store.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { compile, type Row, type Runner, type StatementSession } from '../session/runner.ts'
import { decodeRow } from '../table/column-values.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { hasIndexFor } from './index-use.ts'
import { buildOrder } from './list-statements.ts'
import { boundColumns } from './long-rows.ts'
import type { PageReader } from './page-reader.ts'
import { buildCondition, whereClause } from './where.ts'

/** A row is long where it takes more than this part of `maxBytes`. */
const LONG_SHARE = 32

export class EachReader {
  readonly #mapping: TableMapping
  readonly #bounded: ReturnType<typeof boundColumns>
  readonly #reads: PageReader

  /** @param reads lists the items of one id, however long their rows are. */
  constructor(mapping: TableMapping, reads: PageReader) {
    this.#mapping = mapping
    this.#bounded = boundColumns(mapping)
    this.#reads = reads
  }

  /** Lists the items of each id, as `Store.listEach` does. */
  async list(
    session: StatementSession,
    [path, ids, selection, limit]: EachParameters,
    options?: ListOptions,
  ): Promise<readonly StorePage[]> {
    const [first] = ids
    if (first === undefined) return []
    const one = addFilter(selection, path, [first])
    if (ids.length > 1) {
      const hasIndex = hasIndexFor({ where: one.where }, this.#mapping)
      const work = (runner: Runner) =>
        this.#read([path, ids, selection, limit], options?.maxBytes, runner)
      const toKey = () => this.#toShareKey([path, ids, selection, limit], options?.maxBytes)
      const pages = await session.read(work, options, !hasIndex, toKey)
      if (pages.length > 0) return pages
    }
    return [await this.#reads.list(session, one, { limit: limit.each, offset: 0 }, 'none', options)]
  }

  /** Only equal reads have the same key. */
  #toShareKey(input: EachParameters, maxBytes: number | undefined): string {
    const { text, values } = this.#selectAll(input, this.#mapping.all)
    return JSON.stringify(['each', text, values, input[3], maxBytes])
  }

  /** Reads the pages of the first ids; nothing where those of the first one alone are too many or too long. */
  async #read(
    input: EachParameters,
    maxBytes: number | undefined,
    runner: Runner,
  ): Promise<StorePage[]> {
    const mapping = this.#mapping
    const bounded = this.#bounded
    const [path, ids, , { each, all }] = input
    const isById = path.join('.') === mapping.shape.identity.name
    const columns = maxBytes === undefined ? undefined : bounded?.select(LONG_SHARE, maxBytes)
    const run = async (statement: Fragment) =>
      (await runner.run(compile(mapping.database, statement))).rows
    // Then they are never too many.
    const isFew = !isById && ids.length * (each + 1) <= all + 1
    const rows = await run(
      isFew
        ? sql`select * from ${this.#selectFirst(input, columns ?? mapping.all)}`
        : this.#selectAll(input, columns ?? mapping.all),
    )
    if (rows.length <= all && !(columns && bounded?.isMarked(rows)))
      return this.#toPages(input, rows)
    const count = await this.#countFitting(input, maxBytes ?? Number.POSITIVE_INFINITY, runner)
    if (count === 1) return []
    const fitting: EachParameters = [path, ids.slice(0, count), input[2], input[3]]
    return this.#toPages(
      fitting,
      await run(sql`select * from ${this.#selectFirst(fitting, mapping.all)}`),
    )
  }

  /** Selects columns of the first rows of each id; `rest_row` counts those of one. */
  #selectFirst(input: EachParameters, columns: Fragment): Fragment {
    const mapping = this.#mapping
    const [path, , { sort }, { each }] = input
    const order = buildOrder(sort, false, mapping)
    const row = sql`row_number() over (partition by ${mapping.find(path).order} order by ${order}) as rest_row`
    const rows = sql`select ${columns}, ${row} from ${mapping.from}${this.#where(input)}`
    return sql`(${rows}) as part where rest_row <= ${each + 1}`
  }

  /** Selects all rows of the ids, in order, but no more than show that these are too many. */
  #selectAll(input: EachParameters, columns: Fragment): Fragment {
    const mapping = this.#mapping
    const [path, , { sort }, { all }] = input
    const order = [{ path, descending: sort[0]?.descending ?? false }, ...sort]
    return sql`select ${columns} from ${mapping.from}${this.#where(input)} order by ${buildOrder(order, false, mapping)} limit ${all + 1}`
  }

  /** The last id is repeated up to a power of two, so that there are few statements to prepare. */
  #where([path, ids, selection]: EachParameters): Fragment {
    const size = 2 ** Math.ceil(Math.log2(ids.length))
    const padded = [...ids, ...Array<Id>(size - ids.length).fill(ids.at(-1) ?? '')]
    return whereClause([buildCondition(addFilter(selection, path, padded), this.#mapping)])
  }

  /** Finds how many of the ids have items that fit together: at least one. */
  async #countFitting(input: EachParameters, maxBytes: number, runner: Runner): Promise<number> {
    const bounded = this.#bounded
    const [[name = ''], ids, , { each, all }] = input
    const key = this.#mapping.columnOf(name)
    const read = sql.id(key.read)
    const columns = sql`${key.readable} as ${read}, ${bounded?.size ?? sql`0 as rest_size`}`
    const statement = sql`select ${read}, count(*) as rest_count, sum(rest_size) as rest_bytes from ${this.#selectFirst(input, columns)} group by ${read}`
    const { rows } = await runner.run(compile(this.#mapping.database, statement))
    const sizes = new Map<unknown, Row>(rows.map(row => [decodeRow(row, [key])[name], row]))
    let items = all
    let bytes = maxBytes
    const tooMany = ids.findIndex(id => {
      const { rest_count: count = 0, rest_bytes: size = 0 } = sizes.get(id) ?? {}
      items -= Math.min(Number(count), each)
      bytes -= bounded?.sizeOf(Number(count), Number(size)) ?? 0
      return items < 0 || bytes < 0
    })
    return tooMany === -1 ? ids.length : Math.max(1, tooMany)
  }

  #toPages([path, ids, , { each }]: EachParameters, rows: readonly Row[]): StorePage[] {
    const found = new Map<unknown, Stored[]>(ids.map(id => [id, []]))
    for (const row of rows) {
      const stored = this.#mapping.decode(row)
      const own = found.get(getValue(stored.item, path))
      if (own) own[row.rest_row === undefined ? own.length : Number(row.rest_row) - 1] = stored
    }
    return ids.map(id => {
      const own = found.get(id) ?? []
      const more = own.length > each
      return { items: more ? own.slice(0, each) : own, more }
    })
  }
}
