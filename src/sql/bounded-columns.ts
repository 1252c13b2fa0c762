// Rows of bounded size: a value that is too long for its share of a page is not read with the others.
import { randomUUID } from 'node:crypto'
import type { Column } from './columns.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'

/** A character takes at most so many bytes as JSON: U+0001 is `\u0001`. */
const CHARACTER_BYTES = 6
/** The most of a value that is no text, of its quotes and its comma. */
const VALUE_BYTES = 48

type Row = Readonly<Record<string, unknown>>

export class BoundedColumns {
  readonly #mapping: TableMapping
  readonly #long: readonly Column[]
  /** The bytes of a row beside its long values. */
  readonly #fixed: number
  /** Selected in place of a value that is too long. */
  readonly #mark = randomUUID()

  constructor(mapping: TableMapping) {
    const { columns } = mapping
    this.#mapping = mapping
    this.#long = columns.filter(({ long }) => long)
    this.#fixed = columns.reduce(
      (sum, { name }) => sum + CHARACTER_BYTES * name.length + VALUE_BYTES,
      0,
    )
  }

  /** Whether values may be of any length. */
  get hasLong(): boolean {
    return this.#long.length > 0
  }

  /**
   * Selects the columns of `limit` rows that together have at most `maxBytes` as JSON, whatever they hold:
   * longer values are marked.
   */
  select(limit: number, maxBytes: number): Fragment {
    const share = (maxBytes / limit - this.#fixed) / CHARACTER_BYTES / this.#long.length
    const max = Math.max(0, Math.floor(share))
    const mark = sql.lit(this.#mark)
    const { length } = this.#mapping.database
    return this.#mapping.select(({ long, readable }) =>
      long
        ? sql`case when ${length(readable)} > ${max} then ${mark} else ${readable} end`
        : readable,
    )
  }

  /** Whether a value of the row was too long. */
  isMarked(row: Row): boolean {
    return this.#long.some(({ read }) => row[read] === this.#mark)
  }

  /** Selects the size of a row as `rest_size`. */
  get size(): Fragment {
    const { length } = this.#mapping.database
    const sizes = this.#long.map(({ readable }) => sql`coalesce(${length(readable)}, 0)`)
    return sql`${sql.join(sizes, ' + ')} as rest_size`
  }

  /** Counts the rows of these sizes that fit into so many bytes; at least one. */
  fitting(rows: readonly Row[], maxBytes: number): number {
    let left = maxBytes
    const end = rows.findIndex(({ rest_size: size }) => {
      left -= this.#fixed + Number(size)
      return left < 0
    })
    return end === -1 ? rows.length : Math.max(1, end)
  }
}
