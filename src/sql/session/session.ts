// What a store runs its statements on: reads that may be shared, writes that share a commit, transactions of programs.
import { type StoreOptions, throwIfAborted } from '../../store/store.ts'
import { unwatch, watch } from '../../store/watch.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { findEngine } from '../databases/engines.ts'
import { checkServer } from './check-server.ts'
import { Connections } from './connections.ts'
import { findDirect, readAtOnce } from './direct.ts'
import {
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
import { SharedWrites } from './shared-writes.ts'

/** Runs work on a database. Each method rejects with the signal's reason, or an `UnavailableError`. */
export class Session implements StatementSession {
  readonly #shared: SharedDatabase
  readonly #database: SqlDatabase
  readonly #connections: Connections
  /** Reads by id, and lists. */
  readonly #gets: SharedReads
  readonly #lists: SharedReads
  readonly #writes: SharedWrites

  /** @param timeout how long a statement may take in the database, in milliseconds. */
  constructor(shared: SharedDatabase, database: SqlDatabase, timeout: number | undefined) {
    this.#shared = shared
    this.#database = database
    this.#connections = new Connections(shared, database, timeout)
    // What has taken too long once would do so again.
    const isFinal = (error: unknown) => database.failure(Object(error).cause)?.kind === 'cancelled'
    this.#gets = new SharedReads(true, isFinal)
    this.#lists = new SharedReads(false, isFinal)
    this.#writes = new SharedWrites(this.#connections, database)
  }

  /** Runs work in a transaction that looks at tables. It is the first work of a session. */
  async inspect<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    await (this.#database.serial ? findDirect(this.#shared.executor) : checkServer(this.#shared))
    const { name, beginRead } = this.#database
    const engine = name === 'postgres' && findEngine(this.#shared.version ?? '')
    if (engine)
      throw new TypeError(
        `sqlStore: the database is ${engine}, not postgres. Set database: '${engine}'.`,
      )
    return this.#connections.run(beginRead, work, {})
  }

  /** Runs work in a transaction that makes tables, without a time limit: one at a time. */
  setUp<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    // They wait here, and not for the lock of the database: that would occupy connections.
    const { beginSetup } = this.#database
    const result = this.#shared.setUps.then(() => this.#connections.run(beginSetup, work, {}))
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
    if (this.#database.serial)
      return this.#connections.run(undefined, work, options, { reader: this.#shared.reader })
    const read = <R>(each: (runner: Runner) => Promise<R>, call: StoreOptions) =>
      slow ? this.#shared.slowReads.run(() => this.#readNow(each, call)) : this.#readNow(each, call)
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
    return this.#database.serial ? readAtOnce(this.#shared.executor, sql, parameters) : undefined
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
      this.#connections.run(undefined, work, options).then(
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
    if (this.#connections.isSingle) {
      return this.writeShared(undefined, async (_, runner) => [await work(runner)], options, single)
    }
    const begin = single ? undefined : this.#database.begin
    return this.#connections.run(begin, work, options)
  }

  writeShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
    single: SingleStatement = false,
  ): Promise<Result> {
    return this.#writes.run(input, work, options, single)
  }

  /**
   * Runs work in a transaction of the user's program, and again after a conflict.
   * @param work gets whether it must exclude the transactions of other processes: after a conflict, for some seconds.
   */
  async transaction<T>(
    work: (runner: Runner, exclusive: boolean) => Promise<T>,
    options: StoreOptions,
  ): Promise<T> {
    let tries = 0
    this.#shared.transactions++
    try {
      const { beginTransaction } = this.#database
      const counted = (runner: Runner) => work(runner, tries++ > 0 || this.#shared.queue.isCalm)
      // They wait here, and not for a lock of the database: that would occupy connections.
      const enter = <R>(run: () => Promise<R>) => this.#shared.queue.run(run, options, tries > 0)
      return await this.#connections.run(beginTransaction, counted, options, { enter })
    } finally {
      this.#shared.transactions--
    }
  }
}
