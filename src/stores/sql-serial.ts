// The way to a database with one connection: one call after another, writes that wait together in
// one commit, errors in a store's words.
import type { DatabaseConnection, QueryExecutor } from 'kysely'
import { type StoreOptions, throwIfAborted } from '../store.ts'
import type { SqlDialect } from './sql-dialect.ts'
import {
  alone,
  answer,
  between,
  closed,
  executorOf,
  type GivenKysely,
  inQueue,
  meaningOf,
  nextWrites,
  type Runner,
  runnerOf,
  type Session,
  type SharedWork,
  settled,
  together,
  type Write,
} from './sql-session.ts'

export class SerialSession implements Session {
  /** One connection is one way. */
  readonly generation = 0
  readonly #db: GivenKysely
  readonly #executor: QueryExecutor
  readonly #dialect: SqlDialect
  readonly #prepare: ((runner: Runner) => Promise<void>) | undefined
  #prepared = false
  #last: Promise<unknown> = Promise.resolve()
  #writes: Write[] = []
  #closed = false

  /** @param prepare makes the tables, before the first statement. */
  constructor(
    db: GivenKysely,
    dialect: SqlDialect,
    prepare: ((runner: Runner) => Promise<void>) | undefined,
  ) {
    this.#db = db
    this.#executor = executorOf(db)
    this.#dialect = dialect
    this.#prepare = prepare
  }

  renew(): void {
    this.#prepared = false
  }

  read<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T> {
    return this.#inTurn(runner => {
      throwIfAborted(options)
      return work(runner)
    })
  }

  snapshot<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T> {
    return this.#inTurn(runner => {
      throwIfAborted(options)
      return between(this.#dialect.beginRead, work, runner)
    })
  }

  /** With no other writer in between. */
  write<T>(
    work: (runner: Runner) => Promise<T>,
    options?: StoreOptions,
    single?: boolean,
  ): Promise<T> {
    return this.writeTogether(undefined, async (_, runner) => [await work(runner)], options, single)
  }

  /**
   * With no other writer in between. Writes that wait at the same time share a commit, which is most
   * of what they cost; none is answered before it.
   */
  writeTogether<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
    single = false,
  ): Promise<Result> {
    if (this.#closed) return Promise.reject(closed())
    return inQueue(input, work, options, single, write => {
      this.#writes.push(write)
      if (this.#writes.length === 1) this.#flushInTurn()
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (let last: unknown; last !== this.#last; ) {
      last = this.#last
      await last
    }
    await this.#db.destroy()
  }

  #flushInTurn(): void {
    this.#inTurn(runner => this.#flush(runner), true).catch(error => {
      // The tables could not be made: the flush itself does not fail.
      for (const { reject } of this.#writes.splice(0)) reject(error)
    })
  }

  async #flush(runner: Runner): Promise<void> {
    const dialect = this.#dialect
    // Lets the requests that came at the same time add their writes.
    await new Promise(resolve => setImmediate(resolve))
    const writes = nextWrites(this.#writes)
    if (this.#writes.length > 0) this.#flushInTurn()
    const [first] = writes
    if (!first) return
    try {
      const results =
        writes.length === 1
          ? [await settled(this.#alone(first, runner))]
          : await between(dialect.begin, each => together(writes, each, dialect), runner)
      answer(writes, results, dialect)
    } catch (error) {
      for (const { reject } of writes) reject(meaningOf(error, dialect))
    }
  }

  #alone(write: Write, runner: Runner): Promise<unknown> {
    const work = (each: Runner) => alone(write, each)
    return write.single ? work(runner) : between(this.#dialect.begin, work, runner)
  }

  /** One after another: Kysely's own lock for the connection of SQLite wakes all that wait, each time. */
  #inTurn<T>(work: (runner: Runner) => Promise<T>, closing = false): Promise<T> {
    if (this.#closed && !closing) return Promise.reject(closed())
    const result = this.#last.then(async () => {
      try {
        return await this.#executor.provideConnection(connection => this.#on(connection, work))
      } catch (error) {
        throw meaningOf(error, this.#dialect)
      }
    })
    this.#last = result.catch(() => undefined)
    return result
  }

  async #on<T>(connection: DatabaseConnection, work: (runner: Runner) => Promise<T>): Promise<T> {
    const runner = runnerOf(connection)
    if (!this.#prepared) await this.#prepare?.(runner)
    this.#prepared = true
    return work(runner)
  }
}
