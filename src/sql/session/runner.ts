// What statements run on: a connection, a database, or one transaction.
import { CompiledQuery, type QueryResult } from 'kysely'
import type { StoreOptions } from '../../store/store.ts'
import { type Fragment, type PlaceholderStyle, print } from '../databases/sql-text.ts'

export type Row = Readonly<Record<string, unknown>>

/** A statement printed once, to be run again with other values. */
export type Statement = CompiledQuery<Row>

/** Runs statements on one connection, in or outside of a transaction. */
export interface Runner {
  /**
   * Whether it is inside a transaction of the user's program, or on the second connection that reads beside one:
   * totals are not remembered then.
   */
  readonly apart: boolean
  run(statement: Statement, parameters?: readonly unknown[]): Promise<QueryResult<Row>>
  /** Runs a statement without values, and drops its rows. */
  exec(text: string): Promise<unknown>
}

/** What a table runs its statements on: its database, or one transaction. */
export interface StatementSession {
  /** How many statements of a program's own run in its transaction. */
  running?: number
  /**
   * Reads by statements that need not see the same moment.
   * @param slow whether the work may take long, so that it leaves some connections to others.
   * @param toKey gives a key that only equal work has: work that has not begun may share its result.
   */
  read<T>(
    work: (runner: Runner) => Promise<T>,
    options?: StoreOptions,
    slow?: boolean,
    toKey?: () => unknown,
  ): Promise<T>
  /** The rows, where the database gives them without waiting; `undefined` where they are to be read by `read`. */
  readAtOnce?(
    statement: Statement,
    parameters: readonly unknown[],
    options?: StoreOptions,
  ): readonly Row[] | undefined
  /** Reads as `read` does. One call of the work may get several inputs that wait for it. */
  readShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options?: StoreOptions,
  ): Promise<Result>
  /**
   * Writes all of the work or nothing of it. The work may be run again from its start.
   * @param single whether the work is one statement, which is a transaction by itself.
   */
  write<T>(
    work: (runner: Runner) => Promise<T>,
    options?: StoreOptions,
    single?: boolean,
  ): Promise<T>
  /**
   * Writes as `write` does. Writes that wait at the same time share a commit. One call of the work gets
   * all inputs that wait for it.
   * @param single whether the work is one statement: of one input, or of all that it gets.
   */
  writeShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options?: StoreOptions,
    single?: SingleStatement,
  ): Promise<Result>
}

/** Whether work is one statement, which is a transaction by itself. */
export type SingleStatement = 'of one' | 'of all' | boolean

/**
 * Does the work for several inputs; returns the results in the order of the inputs. Work that writes may stop before the
 * last one: it is called again for the others.
 */
export type SharedWork<Input, Result> = (
  inputs: readonly Input[],
  runner: Runner,
) => Promise<readonly Result[]>

/** The parts of a compiled query that only Kysely's plugins read. */
export const RAW = CompiledQuery.raw('')

export function compile(database: PlaceholderStyle, statement: Fragment): Statement {
  // Rows have their columns by name, whatever the statement is.
  return { ...RAW, ...print(statement, database) } as Statement
}

/** Waits for the results of one input, of which there is one. */
export async function waitForOnly<Result>(results: Promise<readonly Result[]>): Promise<Result> {
  return (await results)[0] as Result // one input, one result
}

/** Whether a selected condition holds, as either database gives it. */
export function isTrue(value: unknown): boolean {
  return value === true || Number(value) === 1
}
