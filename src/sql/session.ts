// The way to a database: statements compiled and run, errors in a store's words. With one
// connection calls take turns; with a pool they do not.
import {
  CompiledQuery,
  type DatabaseConnection,
  type Kysely,
  type QueryExecutor,
  type QueryResult,
} from 'kysely'
import { type StoreOptions, throwIfAborted, UnavailableError } from '../store/store.ts'
import type { Failure, SqlDatabase } from './database.ts'
import { type Fragment, print } from './sql-text.ts'

export type Row = Readonly<Record<string, unknown>>

/** A statement printed once, to be run again with other values. */
export type Prepared = CompiledQuery<Row>

/** Where statements are run: the database, or one transaction of it. */
export interface Runner {
  run(statement: Prepared, parameters?: readonly unknown[]): Promise<QueryResult<Row>>
  /** Runs a statement without values, of which no row is read. */
  say(text: string): Promise<unknown>
}

/** Does what is asked for by each of the inputs; gives what came of each, in their order. */
export type SharedWork<Input, Result> = (
  inputs: readonly Input[],
  runner: Runner,
) => Promise<readonly Result[]>

/** A write that waits for its turn. Its work is given only inputs that came with the same work. */
export interface Write {
  readonly input: unknown
  readonly options: StoreOptions
  /** When it came, by `performance.now()`. */
  readonly came: number
  /** Whether the work on its input alone is one statement, which is a transaction by itself. */
  readonly single: boolean
  // Methods, so that a queue holds writes of all types.
  work(inputs: readonly unknown[], runner: Runner): Promise<readonly unknown[]>
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * Has a write wait for its turn.
 * @param add is called at once, with the write.
 * @returns what comes of it.
 */
export function inQueue<Input, Result>(
  input: Input,
  work: SharedWork<Input, Result>,
  options: StoreOptions,
  single: boolean,
  add: (write: Write) => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    add({ input, work, options, came: performance.now(), single, resolve, reject })
  })
}

/** How many writes share a commit at most. */
const MOST_WRITES = 100

/** Takes out of a queue those whose turn it is; who has gone by now has lost it. */
export function nextWrites(queue: Write[]): Write[] {
  return queue.splice(0, MOST_WRITES).filter(({ options, reject }) => {
    try {
      throwIfAborted(options)
      return true
    } catch (reason) {
      reject(reason)
      return false
    }
  })
}

/** Whether nobody waits for a write any more. */
export function isGivenUp({ options }: Write): boolean {
  return options.aborted ?? options.signal?.aborted ?? false
}

/** The signal of writes that share a commit, once one of them is given up: without it they are done again. */
const SOME_GONE = AbortSignal.abort()

export function sharedOptions(writes: readonly Write[]): StoreOptions {
  return {
    get aborted() {
      return writes.some(isGivenUp)
    },
    signal: SOME_GONE,
  }
}

/** Whether an error says that nothing was done, since one of the writes was given up. */
export function isSomeGone(error: unknown): boolean {
  return error === SOME_GONE.reason
}

/** A write by itself. */
export async function runOne(
  { work, input }: Pick<Write, 'work' | 'input'>,
  runner: Runner,
): Promise<unknown> {
  const [result] = await work([input], runner)
  return result
}

/** Each call throws the signal's reason, or an `UnavailableError` for a database that cannot be reached or a session that is closed. */
export interface Session {
  /** Has the tables made again before the next statement. */
  renew(): void
  /** Reads by statements that need not be of one moment. */
  read<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T>
  /** Reads by several statements, all of one moment. */
  snapshot<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T>
  /**
   * Writes all of the work or nothing of it; it may be done again from its start.
   * @param single whether the work is one statement, which is a transaction by itself; default false.
   */
  write<T>(
    work: (runner: Runner) => Promise<T>,
    options?: StoreOptions,
    single?: boolean,
  ): Promise<T>
  /**
   * The same for work that waits for a lock which all such work waits for: inputs that wait at the
   * same time share a commit, and those of the same work are given to one call of it.
   * @param single whether the work on one input is one statement.
   */
  writeTogether<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options?: StoreOptions,
    single?: boolean,
  ): Promise<Result>
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
export function getExecutor(db: GivenKysely): QueryExecutor {
  // A Kysely without plugins is one, whatever its tables are.
  return (db.withoutPlugins() as Kysely<unknown>).getExecutor()
}

/** What Kysely has beside the text and the values of a statement: only its plugins read that. */
const RAW = CompiledQuery.raw('')

export function compileFor(dialect: SqlDatabase, statement: Fragment): Prepared {
  // Every row has its columns by name.
  return { ...RAW, ...print(statement, dialect) } as Prepared
}

export function createRunner(connection: DatabaseConnection): Runner {
  return {
    run: (statement, parameters = statement.parameters) =>
      connection.executeQuery<Row>({ ...statement, parameters }),
    // SQLite's connection throws at once: who handles what is said wrong handles a promise.
    say: async text => connection.executeQuery({ ...RAW, sql: text }),
  }
}

/**
 * All of the work in a transaction, or nothing of it.
 * @param leave is awaited before the transaction ends.
 * @param options whose signal undoes the work until the commit begins.
 */
export async function inTransaction<T>(
  begin: readonly string[],
  work: (runner: Runner) => Promise<T>,
  runner: Runner,
  leave: () => Promise<void> = async () => {},
  options?: StoreOptions,
): Promise<T> {
  let begun = false
  try {
    for (const each of begin) {
      await runner.say(each)
      begun = true
    }
    const result = await work(runner)
    await leave()
    throwIfAborted(options)
    await runner.say('commit')
    return result
  } catch (error) {
    await leave()
    if (!begun) throw error
    // An error that undid the transaction itself leaves nothing to roll back, nor does a connection that is lost.
    await runner.say('rollback').catch(() => undefined)
    throw error
  }
}

export function closed(): UnavailableError {
  return new UnavailableError('The store is closed')
}

/** An error as the store throws it. */
export function classifyError(error: unknown, dialect: SqlDatabase): unknown {
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
 * @throws an error that is not of one write alone.
 */
export async function runBatch(
  writes: readonly Write[],
  runner: Runner,
  dialect: SqlDatabase,
): Promise<PromiseSettledResult<unknown>[]> {
  // Mostly none fails: one savepoint is enough then, and creates go into the table together.
  const all = await undoable(() => everyOne(writes, runner), runner, dialect)
  if (all.status === 'fulfilled') {
    return all.value.map(value => ({ status: 'fulfilled', value }))
  }
  const results: PromiseSettledResult<unknown>[] = []
  for (const write of writes) {
    results.push(await undoable(() => runOne(write, runner), runner, dialect))
  }
  return results
}

/** Those that follow each other with the same work, by one call of it. */
async function everyOne(writes: readonly Write[], runner: Runner): Promise<unknown[]> {
  const results: unknown[] = []
  for (let first = writes[0]; first; first = writes[results.length]) {
    const inputs: unknown[] = []
    for (const { work, input } of writes.slice(results.length)) {
      if (work !== first.work) break
      inputs.push(input)
    }
    results.push(...(await first.work(inputs, runner)))
  }
  return results
}

/** Failures that may have undone the transaction, or that all of it would meet. */
const SHARED = new Set<Failure['kind'] | undefined>(['unavailable', 'again', 'cancelled'])

/** A part of a transaction, undone alone where it fails. */
async function undoable<T>(
  work: () => Promise<T>,
  runner: Runner,
  dialect: SqlDatabase,
): Promise<PromiseSettledResult<T>> {
  await runner.say(`savepoint ${SAVEPOINT}`)
  const result = await settled(work())
  if (result.status === 'rejected') {
    const { reason } = result
    if (isSomeGone(reason) || SHARED.has(dialect.failure(reason)?.kind)) throw reason
    await runner.say(`rollback to ${SAVEPOINT}`)
  }
  await runner.say(`release savepoint ${SAVEPOINT}`)
  return result
}

/** Tells each write what became of it. */
export function answer(
  writes: readonly Write[],
  results: readonly PromiseSettledResult<unknown>[],
  dialect: SqlDatabase,
): void {
  for (const [at, result] of results.entries()) {
    if (result.status === 'fulfilled') writes[at]?.resolve(result.value)
    else writes[at]?.reject(classifyError(result.reason, dialect))
  }
}

export async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [result] = await Promise.allSettled([work])
  return result
}
