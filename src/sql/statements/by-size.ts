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
