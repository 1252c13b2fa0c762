// The way to a database: connections, transactions, and writes that share a commit.
import {
  CompiledQuery,
  type DatabaseConnection,
  type Kysely,
  type QueryExecutor,
  type QueryResult,
} from 'kysely'
import { UnavailableError } from '../store/errors.ts'
import { type StoreOptions, throwIfAborted } from '../store/store.ts'
import type { SqlDatabase } from './database.ts'
import { type Fragment, print } from './sql-text.ts'
import { runBatch, type SharedWork, takeWrites, type Write } from './writes.ts'

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
  /**
   * Reads by statements that need not see the same moment.
   * @param slow whether the work may take long, so that it leaves some connections to others.
   */
  read<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions, slow?: boolean): Promise<T>
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
   */
  writeShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options?: StoreOptions,
    single?: boolean,
  ): Promise<Result>
}

/** How long work that meets a lock or a conflict is retried, and the pauses in between; milliseconds. */
const RETRY_TIMEOUT_MS = 5000
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 100

/** How many slow reads run at the same time. */
const MAX_SLOW = 4

/** When a read starts to watch its signal: making one costs a fifth of a read, and most reads end earlier. */
const SIGNAL_DELAY_MS = 20

/** The parts of a compiled query that only Kysely's plugins read. */
const RAW = CompiledQuery.raw('')

export function compile(database: SqlDatabase, statement: Fragment): Statement {
  // Rows have their columns by name, whatever the statement is.
  return { ...RAW, ...print(statement, database) } as Statement
}

/** Runs work on a database. Each method rejects with the signal's reason, or an `UnavailableError`. */
export class Session implements StatementSession {
  readonly #executor: QueryExecutor
  readonly #shared: SharedDatabase
  readonly #database: SqlDatabase
  readonly #initConnection: string | undefined
  /** The ids of the server's processes, by their connections. */
  readonly #processIds = new WeakMap<DatabaseConnection, number>()
  #queue: Write[] = []
  #flushing = false
  /** The last turn on the only connection. */
  #turn: Promise<unknown> = Promise.resolve()

  /** @param timeout how long a statement may take in the database, in milliseconds. */
  constructor(shared: SharedDatabase, database: SqlDatabase, timeout: number | undefined) {
    this.#executor = shared.executor
    this.#shared = shared
    this.#database = database
    this.#initConnection = database.initConnection?.(timeout)
  }

  /** Runs work in its own transaction: it checks tables, or also makes them, then without a time limit. */
  setUp<T>(work: (runner: Runner) => Promise<T>, makes: boolean): Promise<T> {
    const { beginSetup, beginRead } = this.#database
    return this.#transact(makes ? beginSetup : beginRead, work, {})
  }

  /** If the signal is aborted, the promise rejects at once, even while it waits for a connection. */
  read<T>(
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions = {},
    slow = false,
  ): Promise<T> {
    const run = () => this.#transact(undefined, work, options, this.#shared.reader?.executor)
    if (this.#database.serial) return run()
    const result = slow ? this.#inLine(run) : run()
    return new Promise((resolve, reject) => {
      const stop = onAbort(options, () => reject(options.signal?.reason))
      result.then(resolve, reject).finally(stop)
    })
  }

  write<T>(
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions = {},
    single = false,
  ): Promise<T> {
    if (this.#database.serial) {
      return this.writeShared(undefined, async (_, runner) => [await work(runner)], options, single)
    }
    const begin = single ? undefined : this.#database.begin
    return this.#transact(begin, work, options)
  }

  writeShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
    single = false,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ input, work, options, single, resolve, reject })
      if (!this.#flushing) void this.#flush()
    })
  }

  /**
   * Runs work in a transaction of the user's program, and again after a conflict.
   * @param work gets the number of earlier tries.
   */
  async transaction<T>(
    work: (runner: Runner, tries: number) => Promise<T>,
    options: StoreOptions,
  ): Promise<T> {
    let tries = 0
    this.#shared.transactions++
    try {
      const { beginTransaction } = this.#database
      return await this.#transact(beginTransaction, runner => work(runner, tries++), options)
    } finally {
      this.#shared.transactions--
    }
  }

  /** Runs slow work, a few at a time: more would be no faster, and would occupy all connections of a pool. */
  async #inLine<T>(work: () => Promise<T>): Promise<T> {
    const { slow } = this.#shared
    if (slow.running >= MAX_SLOW) await new Promise<void>(resolve => slow.waiting.push(resolve))
    else slow.running++
    try {
      return await work()
    } finally {
      const next = slow.waiting.shift()
      if (next) next()
      else slow.running--
    }
  }

  async #flush(): Promise<void> {
    this.#flushing = true
    // Requests that came at the same time add their writes first.
    const pause = new Promise(resolve => setImmediate(resolve))
    // Reads of SQLite wait for no event: without this turn they could keep the writes waiting for ever.
    if (this.#database.serial) this.#turn = this.#turn.then(() => pause)
    await pause
    while (this.#queue.length > 0) await this.#commit(takeWrites(this.#queue))
    this.#flushing = false
  }

  async #commit(writes: Write[]): Promise<void> {
    const { begin } = this.#database
    const [first] = writes
    if (!first) return
    try {
      if (writes.length === 1) {
        const work = async (runner: Runner) => (await first.work([first.input], runner))[0]
        first.resolve(await this.#transact(first.single ? undefined : begin, work, first.options))
        return
      }
      const work = (runner: Runner) => runBatch(writes, runner, this.#database)
      for (const [at, result] of (await this.#transact(begin, work, {})).entries()) {
        if (result.status === 'fulfilled') writes[at]?.resolve(result.value)
        else writes[at]?.reject(toStoreError(result.reason, this.#database))
      }
    } catch (error) {
      for (const { reject } of writes) reject(error)
    }
  }

  /** Runs work, in a transaction if it has a `begin`, and again after a conflict. */
  async #transact<T>(
    begin: readonly string[] | undefined,
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions,
    reader?: QueryExecutor,
  ): Promise<T> {
    let until: number | undefined
    for (let tries = 0; ; tries++) {
      try {
        throwIfAborted(options)
        const onReader = reader !== undefined && this.#shared.transactions > 0
        return await this.#onConnection(onReader ? reader : undefined, connection => {
          const runner = createRunner(connection, options, onReader)
          const cancellable = (each: Runner) =>
            this.#cancellable(connection, options, () => work(each))
          return begin ? inTransaction(begin, cancellable, runner) : cancellable(runner)
        })
      } catch (error) {
        const kind = this.#database.failure(error)?.kind
        if (kind === 'cancelled') throwIfAborted(options)
        until ??= performance.now() + RETRY_TIMEOUT_MS
        if (kind !== 'again' || performance.now() >= until) {
          throw toStoreError(error, this.#database)
        }
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)
        await new Promise(resolve => setTimeout(resolve, pause * (0.5 + Math.random() / 2)))
      }
    }
  }

  #onConnection<T>(
    reader: QueryExecutor | undefined,
    work: (connection: DatabaseConnection) => Promise<T>,
  ): Promise<T> {
    if (reader) return reader.provideConnection(work)
    if (!this.#database.serial) {
      return this.#executor.provideConnection(async connection => {
        await this.#init(connection)
        return work(connection)
      })
    }
    // One after another: Kysely's lock would wake all waiting calls each time.
    const result = this.#turn.then(() => this.#executor.provideConnection(work))
    this.#turn = result.catch(() => undefined)
    return result
  }

  async #init(connection: DatabaseConnection): Promise<void> {
    if (this.#processIds.has(connection) || this.#initConnection === undefined) return
    const { rows } = await connection.executeQuery<Row>(CompiledQuery.raw(this.#initConnection))
    this.#processIds.set(connection, Number(rows[0]?.pid))
  }

  /** Runs work. Once the signal is aborted, the server cancels the statement that runs. */
  async #cancellable<T>(
    connection: DatabaseConnection,
    options: StoreOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    const processId = this.#processIds.get(connection)
    if (processId === undefined) return work()
    let ended = false
    let sent: Promise<unknown> | undefined
    const cancel = async (other: DatabaseConnection) => {
      // By now the connection may run another call's work.
      if (ended) return
      sent = other.executeQuery(CompiledQuery.raw(`select pg_cancel_backend(${processId})`))
      await sent
    }
    const stop = onAbort(options, () => {
      this.#executor.provideConnection(cancel).catch(() => undefined)
    })
    try {
      return await work()
    } finally {
      ended = true
      stop()
      if (sent) {
        await sent.catch(() => undefined)
        // If the cancellation is still on its way, this statement receives it.
        await connection.executeQuery(CompiledQuery.raw('select 1')).catch(() => undefined)
      }
    }
  }
}

function createRunner(
  connection: DatabaseConnection,
  options: StoreOptions,
  apart: boolean,
): Runner {
  return {
    apart,
    // The connection of SQLite throws where that of PostgreSQL rejects.
    async run(statement, parameters = statement.parameters) {
      throwIfAborted(options)
      return connection.executeQuery<Row>({ ...statement, parameters })
    },
    exec: async text => connection.executeQuery({ ...RAW, sql: text }),
  }
}

async function inTransaction<T>(
  begin: readonly string[],
  work: (runner: Runner) => Promise<T>,
  runner: Runner,
): Promise<T> {
  let begun = false
  try {
    for (const each of begin) {
      await runner.exec(each)
      begun = true
    }
    const result = await work(runner)
    await runner.exec('commit')
    return result
  } catch (error) {
    // After a lost connection, or an error that ended the transaction, there is nothing to roll back.
    if (begun) await runner.exec('rollback').catch(() => undefined)
    throw error
  }
}

/** Calls back when the signal is aborted. @returns a function that stops this. */
function onAbort(options: StoreOptions, callback: () => void): () => void {
  let signal: AbortSignal | undefined
  const timer = setTimeout(() => {
    signal = options.signal
    if (signal?.aborted) callback()
    else signal?.addEventListener('abort', callback, { once: true })
  }, SIGNAL_DELAY_MS)
  return () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', callback)
  }
}

export function toStoreError(error: unknown, database: SqlDatabase): unknown {
  switch (database.failure(error)?.kind) {
    case 'unavailable':
      return new UnavailableError('The database cannot be reached', { cause: error })
    case 'again':
      return new UnavailableError('The database is busy with other writes', { cause: error })
    case 'cancelled':
      return new UnavailableError('The database took too long', { cause: error })
    default:
      return error
  }
}

/** The user's Kysely, as far as a session needs it. */
export type AnyKysely = Pick<Kysely<unknown>, 'getExecutor'> & { withoutPlugins(): unknown }

export interface SharedDatabase {
  readonly executor: QueryExecutor
  /** A second connection to SQLite, which reads while a transaction occupies the first. */
  reader?: Pick<Kysely<unknown>, 'destroy'> & { readonly executor: QueryExecutor }
  /** How many transactions run, or wait for their connection. */
  transactions: number
  /** Slow reads: how many run, and those that wait. */
  readonly slow: { running: number; readonly waiting: (() => void)[] }
}

/** By the adapter, which all Kyselys derived from one share. */
const databases = new WeakMap<object, SharedDatabase>()

export function findSharedDatabase(db: AnyKysely): SharedDatabase {
  const { adapter } = db.getExecutor()
  const known = databases.get(adapter)
  if (known) return known
  // Plugins that rename columns would rename the declared ones too. `withoutPlugins` returns a Kysely.
  const executor = (db.withoutPlugins() as Kysely<unknown>).getExecutor()
  const made: SharedDatabase = { executor, transactions: 0, slow: { running: 0, waiting: [] } }
  databases.set(adapter, made)
  return made
}

/** Lets another connection read while a transaction runs. */
export async function useReader(
  db: AnyKysely,
  reader: AnyKysely & Pick<Kysely<unknown>, 'destroy' | 'executeQuery'>,
): Promise<void> {
  await reader.executeQuery(CompiledQuery.raw('pragma query_only = 1'))
  const { executor } = findSharedDatabase(reader)
  findSharedDatabase(db).reader = { executor, destroy: () => reader.destroy() }
}
