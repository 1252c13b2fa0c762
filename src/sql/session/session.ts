// The way to a database: connections, transactions, and writes that share a commit.
import { emitWarning } from 'node:process'
import type { CompiledQuery, DatabaseConnection, QueryExecutor, QueryResult } from 'kysely'
import { DiskFullError, UnavailableError, UnknownOutcomeError } from '../../store/errors.ts'
import { type StoreOptions, throwIfAborted } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type CancelLink, findLink, runCancellable } from './cancel.ts'
import { checkServer } from './check-server.ts'
import { findDirect, readAtOnce } from './direct.ts'
import {
  RAW,
  type Row,
  type Runner,
  type SharedWork,
  type SingleStatement,
  type Statement,
  type StatementSession,
  waitForOnly,
} from './runner.ts'
import type { SharedDatabase } from './shared-database.ts'
import { SharedReads } from './shared-reads.ts'
import { runBatch, takeWrites, type WaitingWrite } from './shared-writes.ts'
import { unwatch, watch } from './watch.ts'

/** How long work that meets a lock or a conflict is retried, and the pauses in between; milliseconds. */
const RETRY_TIMEOUT_MS = 5000
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 100

/** The longest time of a timer, and of a statement in PostgreSQL, in milliseconds: 24 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** How many slow reads run at the same time. */
const MAX_SLOW = 4

/** Runs work on a database. Each method rejects with the signal's reason, or an `UnavailableError`. */
export class Session implements StatementSession {
  readonly #executor: QueryExecutor
  readonly #shared: SharedDatabase
  readonly #database: SqlDatabase
  readonly #timeout: number | undefined
  #queue: WaitingWrite[] = []
  #flushing = false
  /** Reads by id, and lists. */
  readonly #gets: SharedReads
  readonly #lists: SharedReads
  /** The last turn on the only connection: of this store on SQLite, which Kysely locks, of all stores on PGlite. */
  readonly #line: { turn: Promise<unknown> }

  /** @param timeout how long a statement may take in the database, in milliseconds. */
  constructor(shared: SharedDatabase, database: SqlDatabase, timeout: number | undefined) {
    this.#executor = shared.executor
    this.#shared = shared
    this.#database = database
    this.#line = database.serial ? { turn: Promise.resolve() } : shared
    this.#timeout = timeout === undefined ? undefined : Math.min(timeout, LONGEST_TIMEOUT_MS)
    // What has taken too long once would do so again.
    const isFinal = (error: unknown) => database.failure(Object(error).cause)?.kind === 'cancelled'
    this.#gets = new SharedReads(true, isFinal)
    this.#lists = new SharedReads(false, isFinal)
  }

  /** Whether all work shares one connection. */
  get #isSingle(): boolean {
    return this.#database.serial || this.#shared.single
  }

  /** Runs work in a transaction that looks at tables. It is the first work of a session. */
  async inspect<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    await (this.#database.serial ? findDirect(this.#executor) : checkServer(this.#shared))
    return this.#transact(this.#database.beginRead, work, {})
  }

  /** Runs work in a transaction that makes tables, without a time limit: one at a time. */
  setUp<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    // In line here, and not for the lock of the database: that would occupy connections.
    const { beginSetup } = this.#database
    const result = this.#shared.setUps.then(() => this.#transact(beginSetup, work, {}))
    this.#shared.setUps = result.catch(() => undefined)
    return result
  }

  /** If the signal is aborted, the promise rejects, even while it waits for a connection. */
  read<T>(
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions = {},
    slow = false,
    toKey?: () => unknown,
  ): Promise<T> {
    if (this.#database.serial) return this.#transact(undefined, work, options, this.#shared.reader)
    const read = <R>(each: (runner: Runner) => Promise<R>, call: StoreOptions) =>
      slow ? this.#inLine(() => this.#readNow(each, call)) : this.#readNow(each, call)
    if (!toKey) return read(work, options)
    const equal: SharedWork<undefined, T> = async (inputs, runner) => {
      const result = await work(runner)
      return inputs.map(() => result)
    }
    return this.#lists.run(toKey, undefined, equal, read, options)
  }

  readAtOnce(
    { sql }: Statement,
    parameters: readonly unknown[],
    options: StoreOptions = {},
  ): readonly Row[] | undefined {
    throwIfAborted(options)
    return this.#database.serial ? readAtOnce(this.#executor, sql, parameters) : undefined
  }

  readShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
  ): Promise<Result> {
    if (this.#database.serial) {
      // One input, one result.
      return this.read(runner => waitForOnly(work([input], runner)), options)
    }
    return this.#gets.run(() => work, input, work, this.#readNow, options)
  }

  readonly #readNow = <T>(work: (runner: Runner) => Promise<T>, options: StoreOptions) =>
    new Promise<T>((resolve, reject) => {
      const watched = watch(options, undefined, () => reject(options.signal?.reason))
      this.#transact(undefined, work, options).then(
        result => {
          unwatch(watched)
          resolve(result)
        },
        error => {
          unwatch(watched)
          reject(error)
        },
      )
    })

  write<T>(
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions = {},
    single = false,
  ): Promise<T> {
    if (this.#isSingle) {
      return this.writeShared(undefined, async (_, runner) => [await work(runner)], options, single)
    }
    const begin = single ? undefined : this.#database.begin
    return this.#transact(begin, work, options)
  }

  writeShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
    single: SingleStatement = false,
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
      const counted = (runner: Runner) => work(runner, tries++)
      // In line here, and not for a lock of the database: that would occupy connections.
      const inLine = <R>(run: () => Promise<R>) => this.#shared.queue.run(run, options, tries > 0)
      return await this.#transact(beginTransaction, counted, options, undefined, inLine)
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
    if (this.#isSingle) this.#line.turn = this.#line.turn.then(() => pause)
    await pause
    while (this.#queue.length > 0) await this.#commit(takeWrites(this.#queue))
    this.#flushing = false
  }

  async #commit(writes: WaitingWrite[]): Promise<void> {
    const { begin } = this.#database
    const [first] = writes
    if (!first) return
    if (writes.length > 1 && first.single === 'of all') return this.#writeTogether(writes, first)
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

  /** Does writes by one statement. Where one of them fails, it is looked for in each half. */
  async #writeTogether(writes: WaitingWrite[], { work }: WaitingWrite): Promise<void> {
    try {
      const inputs = writes.map(({ input }) => input)
      const results = await this.#transact(undefined, runner => work(inputs, runner), {})
      for (const [at, result] of results.entries()) writes[at]?.resolve(result)
      this.#queue.unshift(...writes.slice(results.length))
    } catch (error) {
      if (error instanceof UnavailableError || error instanceof DiskFullError) {
        for (const { reject } of writes) reject(error)
        return
      }
      const half = writes.length >> 1
      await this.#commit(writes.slice(0, half))
      await this.#commit(writes.slice(half))
    }
  }

  /** Runs work, in a transaction if it has a `begin`, and again after a conflict. */
  async #transact<T>(
    begin: readonly string[] | undefined,
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions,
    reader?: QueryExecutor,
    enter: <R>(run: () => Promise<R>) => Promise<R> = run => run(),
  ): Promise<T> {
    let until: number | undefined
    for (let tries = 0; ; tries++) {
      let connected = false
      try {
        throwIfAborted(options)
        const onReader = reader !== undefined && this.#shared.transactions > 0
        const onConnection = (connection: DatabaseConnection, link?: CancelLink | null) => {
          connected = true
          // In a transaction the server itself limits each statement.
          const limit = begin ? undefined : this.#timeout
          const runner = new ConnectionRunner(connection, options, onReader, link, limit)
          if (!begin) return work(runner)
          const plain = new ConnectionRunner(connection, options, onReader)
          return inTransaction(this.#limited(begin, link), () => work(runner), plain)
        }
        return await enter(() => this.#onConnection(onReader ? reader : undefined, onConnection))
      } catch (error) {
        const kind = this.#database.failure(error)?.kind
        if (kind === 'cancelled') throwIfAborted(options)
        until ??= performance.now() + RETRY_TIMEOUT_MS
        if (kind !== 'again' || performance.now() >= until) {
          if (connected && kind === 'unavailable')
            throw new UnknownOutcomeError('The connection was lost', { cause: error })
          throw toStoreError(error, this.#database)
        }
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)
        await new Promise(resolve => setTimeout(resolve, pause * (0.5 + Math.random() / 2)))
      }
    }
  }

  /** Limits each statement of a transaction, and what others run on the connection afterwards not. */
  #limited(begin: readonly string[], link: CancelLink | null | undefined): readonly string[] {
    const limit = this.#timeout === undefined ? undefined : this.#database.limit?.(this.#timeout)
    if (limit === undefined || begin === this.#database.beginSetup) return begin
    // pg sends several statements at once; other drivers may not.
    return link ? [`${begin.join('; ')}; ${limit}`] : [...begin, limit]
  }

  #onConnection<T>(
    reader: QueryExecutor | undefined,
    work: (connection: DatabaseConnection, link?: CancelLink | null) => Promise<T>,
  ): Promise<T> {
    if (reader) return reader.provideConnection(connection => work(connection))
    if (!this.#isSingle) {
      return this.#executor.provideConnection(async connection => {
        const link = await findLink(connection)
        if (link) this.#shared.poolSize ??= link.pool.max
        else this.#warn()
        return work(connection, link)
      })
    }
    // One after another: Kysely's lock would wake all waiting calls each time.
    const result = this.#line.turn.then(() =>
      this.#executor.provideConnection(connection => work(connection)),
    )
    this.#line.turn = result.catch(() => undefined)
    return result
  }

  /** Says once for each database that its statements run on when nobody waits for them any more. */
  #warn(): void {
    if (this.#shared.warned) return
    this.#shared.warned = true
    emitWarning(
      'Statements on this PostgreSQL cannot be cancelled: what is aborted, or takes longer than `timeout`, runs on in the database. Let a pool of pg go through preparePostgres() before it is used',
      { code: 'REST_CONVENTIONS_NO_CANCEL' },
    )
  }
}

/** Runs statements on a connection; on one of a client of pg so that each can be cancelled. */
class ConnectionRunner implements Runner {
  readonly apart: boolean
  readonly #connection: DatabaseConnection
  readonly #options: StoreOptions
  readonly #link: CancelLink | null
  readonly #limit: number | undefined

  constructor(
    connection: DatabaseConnection,
    options: StoreOptions,
    apart: boolean,
    link: CancelLink | null = null,
    limit?: number,
  ) {
    this.apart = apart
    this.#connection = connection
    this.#options = options
    this.#link = link
    this.#limit = limit
  }

  async run(statement: Statement, parameters = statement.parameters): Promise<QueryResult<Row>> {
    throwIfAborted(this.#options)
    return this.#send({ ...statement, parameters })
  }

  /** Although it is aborted: a transaction has to end. */
  exec(text: string): Promise<unknown> {
    return this.#send({ ...RAW, sql: text })
  }

  // The connection of SQLite throws where that of PostgreSQL rejects.
  async #send(query: CompiledQuery): Promise<QueryResult<Row>> {
    const [connection, link] = [this.#connection, this.#link]
    if (!link) return connection.executeQuery<Row>(query)
    const context = { connection, link, options: this.#options, limit: this.#limit }
    return runCancellable(() => connection.executeQuery<Row>(query), context)
  }
}

async function inTransaction<T>(
  begin: readonly string[],
  work: () => Promise<T>,
  runner: Runner,
): Promise<T> {
  let begun = false
  try {
    for (const each of begin) {
      await runner.exec(each)
      begun = true
    }
    const result = await work()
    await runner.exec('commit')
    return result
  } catch (error) {
    // After a lost connection, or an error that ended the transaction, there is nothing to roll back.
    if (begun) await runner.exec('rollback').catch(() => undefined)
    throw error
  }
}

/** Why a call is unavailable, by the kind of the failure. */
const REASONS: Readonly<Record<string, string>> = {
  unavailable: 'The database cannot be reached',
  again: 'The database is busy with other writes',
  locked: 'A lock was not free in time',
  cancelled: 'The database took too long',
}

export function toStoreError(error: unknown, database: SqlDatabase): unknown {
  const kind = database.failure(error)?.kind ?? ''
  if (kind === 'full') return new DiskFullError({ cause: error })
  const reason = REASONS[kind]
  return reason === undefined ? error : new UnavailableError(reason, { cause: error })
}
