// The way to a database: statements compiled and run, errors in a store's words. With one
// connection calls take turns; with a pool they do not.
import { CompiledQuery, type Kysely, type QueryResult } from 'kysely'
import { type StoreOptions, UnavailableError } from '../store.ts'
import type { Fragment, SqlDialect } from './sql-dialect.ts'

export type Row = Readonly<Record<string, unknown>>

/** A statement compiled once, to be run again with other values. */
export type Prepared = CompiledQuery<Row>

/** Where statements are run: the database, or one transaction of it. */
export interface Runner {
  run(statement: Prepared, parameters?: readonly unknown[]): Promise<QueryResult<Row>>
}

export interface WriteOptions {
  /** Whether the work is one statement, which is a transaction by itself. */
  readonly single?: boolean
  /** Whether it waits for a lock that all such work waits for: it may share a commit with them. */
  readonly queued?: boolean
}

/** A write that waits for its turn. */
export interface Write {
  readonly work: (runner: Runner) => Promise<unknown>
  readonly single: boolean
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** How many writes share a commit at most. */
export const MOST_WRITES = 100

/** Each call throws the signal's reason, or an `UnavailableError` for a database that cannot be reached or a session that is closed. */
export interface Session {
  /** Has the tables made again before the next statement. */
  renew(): void
  compile(statement: Fragment): Prepared
  /** Reads by statements that need not be of one moment. */
  read<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T>
  /** Reads by several statements, all of one moment. */
  snapshot<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T>
  /** Writes all of the work or nothing of it; it may be done again from its start. */
  write<T>(
    work: (runner: Runner) => Promise<T>,
    options?: StoreOptions,
    how?: WriteOptions,
  ): Promise<T>
  /** Another one for each way to the database: what was remembered of it before counts no more. */
  readonly generation: number
  /** Ends after what is under way, and closes the database. */
  close(): Promise<void>
}

/** The user's Kysely, as far as a session asks for it. */
export type GivenKysely = Pick<Kysely<unknown>, 'destroy' | 'getExecutor'> & {
  withoutPlugins(): unknown
}

/** Plugins that rename columns would rename the declared ones too. */
export function withoutPlugins(db: GivenKysely): Kysely<unknown> {
  // The names of the user's tables, which are the type of a Kysely, are not the store's business.
  return db.withoutPlugins() as Kysely<unknown>
}

export function compileFor(db: Kysely<unknown>, statement: Fragment): Prepared {
  // Every row has its columns by name.
  return statement.compile(db) as Prepared
}

export function closed(): UnavailableError {
  return new UnavailableError('The store is closed')
}

/** An error as the store throws it. */
export function meaningOf(error: unknown, dialect: SqlDialect): unknown {
  switch (dialect.failure(error)?.kind) {
    case 'unavailable':
      return new UnavailableError('The database cannot be reached', { cause: error })
    case 'again':
      return new UnavailableError('Others were in the way, again and again', { cause: error })
    case 'cancelled':
      return new UnavailableError('The database took too long', { cause: error })
    default:
      return error
  }
}

const SAVEPOINT = 'rest_write'

/**
 * Several writes in one transaction, each undone alone where it fails.
 * @param fatal whether an error is not of one write alone: it is thrown.
 */
export async function together(
  writes: readonly Write[],
  runner: Runner,
  fatal: (error: unknown) => boolean = () => false,
): Promise<PromiseSettledResult<unknown>[]> {
  const results: PromiseSettledResult<unknown>[] = []
  // What it gives is not read.
  const say = (text: string) => runner.run(CompiledQuery.raw(text) as Prepared)
  for (const { work } of writes) {
    await say(`savepoint ${SAVEPOINT}`)
    const result = await settled(work(runner))
    if (result.status === 'rejected') {
      if (fatal(result.reason)) throw result.reason
      await say(`rollback to ${SAVEPOINT}`)
    }
    await say(`release ${SAVEPOINT}`)
    results.push(result)
  }
  return results
}

/** Tells each write what became of it. */
export function answer(
  writes: readonly Write[],
  results: readonly PromiseSettledResult<unknown>[],
  dialect: SqlDialect,
): void {
  for (const [at, result] of results.entries()) {
    if (result.status === 'fulfilled') writes[at]?.resolve(result.value)
    else writes[at]?.reject(meaningOf(result.reason, dialect))
  }
}

export async function settled(work: Promise<unknown>): Promise<PromiseSettledResult<unknown>> {
  const [result] = await Promise.allSettled([work])
  return result
}
