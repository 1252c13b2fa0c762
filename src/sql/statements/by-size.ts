// Statements on several rows by their number.

import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { compile, type Runner, type Statement } from '../session/runner.ts'

/** Repeats what binds the values of one row. */
export function repeat(row: Fragment, size: number): Fragment {
  return sql.join(Array.from({ length: size }, () => row))
}

/**
 * Builds a statement on as many rows as there are. It is compiled for 1, 2, 4, … of them, and the last one is
 * repeated, so that there are few statements to prepare.
 */
export function bySize(database: SqlDatabase, build: (size: number) => Fragment) {
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

/** Limits of one insert: rows, values (SQLite allows 32,766), characters of text. */
const MAX_ROWS = 64
const MAX_VALUES = 30_000
const MAX_TEXT = 100_000

/** Splits rows into parts of 64, 32, 16 … and one, so that there are few statements to prepare. */
export function* inParts(
  rows: readonly (readonly unknown[])[],
): Generator<readonly (readonly unknown[])[]> {
  for (let from = 0; from < rows.length; ) {
    let count = MAX_ROWS
    let part = rows.slice(from, from + count)
    while (count > 1 && (part.length < count || isLarge(part))) {
      count /= 2
      part = part.slice(0, count)
    }
    yield part
    from += count
  }
}

function isLarge(rows: readonly (readonly unknown[])[]): boolean {
  const values = rows.flat()
  let text = 0
  for (const each of values) if (typeof each === 'string') text += each.length
  return values.length > MAX_VALUES || text > MAX_TEXT
}
