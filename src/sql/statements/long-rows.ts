// Rows that may be long: what one takes as JSON, known before its values are read.

import { randomUUID } from 'node:crypto'
import { type Fragment, sql } from '../databases/sql-text.ts'
import type { Row } from '../session/runner.ts'
import type { TableMapping } from '../table/table-mapping.ts'

/** How many bytes a character may take as JSON: U+0001 is `\u0001`. */
const CHARACTER_BYTES = 6
/** How many bytes any other value may take; for a text its quotes and comma. */
const VALUE_BYTES = 48

/**
 * Bounds the size of rows: a value that is too long for its share of a page is not read.
 * `undefined` where no value can be long.
 */
export function boundColumns(mapping: TableMapping) {
  const { columns } = mapping
  const longColumns = columns.filter(({ long }) => long)
  if (longColumns.length === 0) return undefined
  /** The bytes of a row without its long values. */
  const fixed = columns.reduce(
    (sum, { name }) => sum + CHARACTER_BYTES * name.length + VALUE_BYTES,
    0,
  )
  /** Replaces a long value. */
  const mark = randomUUID()
  const sizes = longColumns.map(({ readable }) => sql`coalesce(octet_length(${readable}), 0)`)
  return {
    /**
     * Selects the columns of `limit` rows that together have at most `maxBytes` as JSON, whatever they hold:
     * longer values are marked.
     */
    select(limit: number, maxBytes: number): Fragment {
      const share = (maxBytes / limit - fixed) / CHARACTER_BYTES / longColumns.length
      const max = Math.max(0, Math.floor(share))
      return mapping.select(({ long, readable }) =>
        long
          ? sql`case when octet_length(${readable}) > ${max} then ${sql.lit(mark)} else ${readable} end`
          : readable,
      )
    },
    /** Whether a value of the rows was too long. */
    isMarked(rows: readonly Row[]): boolean {
      return rows.some(row => longColumns.some(({ read }) => row[read] === mark))
    },
    /** Selects the size of a row. */
    size: sql`${sql.join(sizes, ' + ')} as rest_size`,
    /** How many bytes rows may take, whose values have this size together. */
    sizeOf: (rows: number, size: number) => rows * fixed + size,
    /** Counts the rows of these sizes that fit into so many bytes, at least one. */
    countFitting(rows: readonly Row[], maxBytes: number): number {
      let left = maxBytes
      const fitting = rows.filter(({ rest_size: size }) => {
        left -= fixed + Number(size)
        return left >= 0
      })
      return Math.max(1, fitting.length)
    },
  }
}
