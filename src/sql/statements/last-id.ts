// The last id of a table stands in a row of another table. Whoever makes the next one locks that row until its
// transaction ends, so that ids become visible in their order.

import type { Id } from '../../store/store.ts'
import type { IdSequence } from '../databases/database.ts'
import { PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { SEQUENCES } from '../databases/table-names.ts'
import { compile, type Runner, type Statement } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { drawIds } from './id-sequence.ts'

const name = sql.id('name')
const lastId = sql.id('last_id')
const sequences = sql.table(SEQUENCES)

export class LastId {
  readonly #table: string
  readonly #isInteger: boolean
  /**
   * Parameters: `[table]`. Locks the last id that the store has made, and selects the greatest id. If clients
   * choose ids, it selects the last made one.
   */
  readonly #lock: Statement
  /** Parameters: `[id, table]`. */
  readonly #keep: Statement
  /** Parameters: `[table]`. */
  readonly #start: Statement
  /** Parameters: `[last, count]`. */
  readonly #draw: Statement | undefined

  constructor({ database, table, shape, greatestId }: TableMapping, sequence?: IdSequence) {
    const { kind } = shape.identity
    this.#table = table
    this.#isInteger = kind === 'integer'
    const last = this.#isInteger ? sql`cast(${lastId} as bigint)` : lastId
    const greatest = this.#isInteger ? sql.raw('last') : database.text(sql.raw('last'))
    const both = sql`select max(${greatest}) from (select ${last} as last union all select (${greatestId})) as ids`
    this.#lock = compile(
      database,
      sql`select (${kind === 'text' ? lastId : both}) as last from ${sequences} where ${name} = ${PLACEHOLDER}${database.forUpdate}`,
    )
    this.#keep = compile(
      database,
      sql`update ${sequences} set ${lastId} = ${PLACEHOLDER} where ${name} = ${PLACEHOLDER}`,
    )
    this.#start = compile(
      database,
      sql`insert into ${sequences} (${name}, ${lastId}) values (${PLACEHOLDER}, ${sql.lit(this.#isInteger ? '0' : '')}) on conflict do nothing`,
    )
    const [floor, count] = [sql.raw('given.last'), sql.raw('given.count')]
    this.#draw =
      sequence &&
      compile(
        database,
        sql`with given (last, count) as (values (${PLACEHOLDER}::bigint, ${PLACEHOLDER}::int)) select ids.id from given cross join lateral (${drawIds(sequence, floor, count)}) as ids order by ids.id`,
      )
  }

  /** Reads and locks it. @throws Error for one after which JavaScript has no exact number. */
  async read(runner: Runner): Promise<string> {
    const table = this.#table
    let [row] = (await runner.run(this.#lock, [table])).rows
    if (!row) {
      await runner.run(this.#start, [table])
      row = (await runner.run(this.#lock, [table])).rows[0]
    }
    const last = String(row?.last ?? '')
    if (!this.#isInteger || Number(last) < Number.MAX_SAFE_INTEGER) return last
    throw new Error(`${table} takes no row: its greatest id, ${last}, is beyond 2^53`)
  }

  /** Takes the next ids from the sequence, where there is one; they may be fewer. */
  async draw(last: Id, count: number, runner: Runner): Promise<number[]> {
    if (!this.#draw) return []
    const { rows } = await runner.run(this.#draw, [last, count])
    return rows.map(({ id }) => Number(id))
  }

  /** Writes the one that was made, once it is locked. */
  async keep(last: Id, runner: Runner): Promise<void> {
    await runner.run(this.#keep, [String(last), this.#table])
  }
}
