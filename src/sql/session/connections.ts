// The connections of a database: work on one of them, in a transaction if it has a `begin`, again after a conflict.
import { emitWarning } from 'node:process'
import type { CompiledQuery, DatabaseConnection, QueryExecutor, QueryResult } from 'kysely'
import { UnknownOutcomeError } from '../../store/errors.ts'
import { publishWait, publishWork, workChannel } from '../../store/events.ts'
import { type StoreOptions, throwIfAborted } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type CancelLink, findLink, runCancellable } from './cancel.ts'
import { RAW, type Row, type Runner, type Statement } from './runner.ts'
import type { SharedDatabase } from './shared-database.ts'
import { toStoreError } from './to-store-error.ts'

/** How long work that meets a lock or a conflict is retried, and the pauses in between; milliseconds. */
const RETRY_TIMEOUT_MS = 5000
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 100

/** The longest time of a timer, and of a statement in PostgreSQL, in milliseconds: 24 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** How work runs if it does not take a connection of the pool at once. */
interface RunOptions {
  /** Where it may read while a transaction occupies the only connection. */
  readonly reader?: QueryExecutor | undefined
  /** Waits for its turn among others of its kind, before it takes a connection. */
  readonly enter?: <R>(run: () => Promise<R>) => Promise<R>
}

type OnConnection<T> = (connection: DatabaseConnection, link?: CancelLink | null) => Promise<T>

export class Connections {
  readonly #shared: SharedDatabase
  readonly #database: SqlDatabase
  readonly #timeout: number | undefined
  /** Whose turn it is on the only connection: of this store on SQLite, which Kysely locks, of all stores on PGlite. */
  readonly #only: { turn: Promise<unknown> }

  /** @param timeout how long a statement may take in the database, in milliseconds. */
  constructor(shared: SharedDatabase, database: SqlDatabase, timeout: number | undefined) {
    this.#shared = shared
    this.#database = database
    this.#only = database.serial ? { turn: Promise.resolve() } : shared
    this.#timeout = timeout === undefined ? undefined : Math.min(timeout, LONGEST_TIMEOUT_MS)
  }

  /** Whether all work shares one connection. */
  get isSingle(): boolean {
    return this.#database.serial || this.#shared.single
  }

  /** Keeps the only connection free until then; work that comes later waits. */
  pause(until: Promise<unknown>): void {
    this.#only.turn = this.#only.turn.then(() => until)
  }

  /** Runs work on a connection, in a transaction if it has a `begin`, and again after a conflict. */
  async run<T>(
    begin: readonly string[] | undefined,
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions,
    { reader, enter = run => run() }: RunOptions = {},
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
        return await enter(() => {
          const run = workChannel.hasSubscribers ? measureWait(onConnection) : onConnection
          return this.#connect(onReader ? reader : undefined, run)
        })
      } catch (error) {
        const kind = this.#database.failure(error)?.kind
        if (kind === 'cancelled') throwIfAborted(options)
        until ??= performance.now() + RETRY_TIMEOUT_MS
        if (kind !== 'again' || performance.now() >= until) {
          if (connected && kind === 'unavailable')
            throw new UnknownOutcomeError('The connection was lost', { cause: error })
          throw toStoreError(error, this.#database)
        }
        publishWork({ type: 'retry', tries: tries + 1, error })
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)
        await new Promise(resolve => setTimeout(resolve, pause * (0.5 + Math.random() / 2)))
      }
    }
  }

  /**
   * Limits each statement of a transaction, and what others run on the connection afterwards not. To look at tables and
   * to make them is not limited: a store whose first look took too long could never open.
   */
  #limited(begin: readonly string[], link: CancelLink | null | undefined): readonly string[] {
    const { beginRead, beginSetup } = this.#database
    const limit = this.#timeout === undefined ? undefined : this.#database.limit?.(this.#timeout)
    if (limit === undefined || begin === beginSetup || begin === beginRead) return begin
    // pg sends several statements at once; other drivers may not.
    return link ? [`${begin.join('; ')}; ${limit}`] : [...begin, limit]
  }

  #connect<T>(reader: QueryExecutor | undefined, work: OnConnection<T>): Promise<T> {
    const { executor } = this.#shared
    if (reader) return reader.provideConnection(connection => work(connection))
    if (!this.isSingle) {
      return executor.provideConnection(async connection => {
        const link = await findLink(connection)
        if (link) this.#shared.poolSize ??= link.pool.max
        else this.#warn()
        return work(connection, link)
      })
    }
    // One after another: Kysely's lock would wake all waiting calls each time.
    const result = this.#only.turn.then(() => executor.provideConnection(each => work(each)))
    this.#only.turn = result.catch(() => undefined)
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

/** Wraps work so that it publishes how long it waited for its connection. */
function measureWait<T>(work: OnConnection<T>): OnConnection<T> {
  const since = performance.now()
  return (connection, link) => {
    publishWait('connection', since)
    return work(connection, link)
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
