// The way to a database with one connection: one call after another, writes that wait together in
// one commit, errors in a store's words.
import type { DatabaseConnection, QueryExecutor } from 'kysely'
import { type StoreOptions, throwIfAborted } from '../store/store.ts'
import type { SqlDatabase } from './database.ts'
import {
  answer,
  classifyError,
  closed,
  createRunner,
  type GivenKysely,
  getExecutor,
  inQueue,
  inTransaction,
  nextWrites,
  type Runner,
  runBatch,
  runOne,
  type Session,
  type SharedWork,
  type Write,
} from './session.ts'

/** How long a lock that another process has on the file is waited for, in milliseconds. */
const PATIENCE = 5000
/** How long until it is asked for again: at first, and at most. */
const FIRST_PAUSE = 5
const LONGEST_PAUSE = 100

/** How long to wait after so many tries. */
function pauseAfter(tries: number): number {
  return Math.min(FIRST_PAUSE * 2 ** tries, LONGEST_PAUSE)
}

export class SerialSession implements Session {
  /** One connection is one way. */
  readonly generation = 0
  readonly #db: GivenKysely
  readonly #executor: QueryExecutor
  readonly #dialect: SqlDatabase
  readonly #prepare: ((runner: Runner) => Promise<void>) | undefined
  #prepared = false
  #last: Promise<unknown> = Promise.resolve()
  #writes: Write[] = []
  /** Until the writes that have met a lock are tried again; reads go on. */
  #pause: Promise<void> | undefined
  #tries = 0
  #closed = false

  /** @param prepare makes the tables, before the first statement. */
  constructor(
    db: GivenKysely,
    dialect: SqlDatabase,
    prepare: ((runner: Runner) => Promise<void>) | undefined,
  ) {
    this.#db = db
    this.#executor = getExecutor(db)
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
      return inTransaction(this.#dialect.beginRead, work, runner)
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
      if (this.#writes.length === 1 && !this.#pause) this.#flushInTurn()
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (let last: unknown; last !== this.#last || this.#pause; ) {
      await this.#pause
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
    // What waits is not to ask for the lock before its time.
    if (this.#pause) return
    const writes = nextWrites(this.#writes)
    if (this.#writes.length > 0) this.#flushInTurn()
    const [first] = writes
    if (!first) return
    try {
      if (writes.length === 1) first.resolve(await this.#alone(first, runner))
      else {
        const work = (each: Runner) => runBatch(writes, each, dialect)
        answer(writes, await inTransaction(dialect.begin, work, runner), dialect)
      }
      this.#tries = 0
    } catch (error) {
      this.#fail(writes, error)
    }
  }

  /** Nothing of them was done: who has met a lock waits for it, together with those who come meanwhile. */
  #fail(writes: readonly Write[], error: unknown): void {
    const locked = this.#dialect.failure(error)?.kind === 'again'
    const now = performance.now()
    const patient: Write[] = []
    for (const write of writes) {
      if (locked && now < write.came + PATIENCE) patient.push(write)
      else write.reject(classifyError(error, this.#dialect))
    }
    this.#writes.unshift(...patient)
    if (!locked) {
      this.#tries = 0
      return
    }
    const pause = pauseAfter(this.#tries++)
    this.#pause = new Promise<void>(resolve => setTimeout(resolve, pause)).then(() => {
      this.#pause = undefined
      this.#flushInTurn()
    })
  }

  #alone(write: Write, runner: Runner): Promise<unknown> {
    const work = (each: Runner) => runOne(write, each)
    return write.single ? work(runner) : inTransaction(this.#dialect.begin, work, runner)
  }

  /** One after another: Kysely's own lock for the connection of SQLite wakes all that wait, each time. */
  #inTurn<T>(work: (runner: Runner) => Promise<T>, closing = false): Promise<T> {
    if (this.#closed && !closing) return Promise.reject(closed())
    const result = this.#last.then(() => this.#turn(work))
    this.#last = result.catch(() => undefined)
    return result
  }

  async #turn<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    for (let tries = 0, until = 0; ; tries++) {
      try {
        return await this.#executor.provideConnection(connection => this.#on(connection, work))
      } catch (error) {
        const now = performance.now()
        until ||= now + PATIENCE
        const locked = this.#dialect.failure(error)?.kind === 'again'
        if (!locked || now >= until) throw classifyError(error, this.#dialect)
        await new Promise(resolve => setTimeout(resolve, pauseAfter(tries)))
      }
    }
  }

  async #on<T>(connection: DatabaseConnection, work: (runner: Runner) => Promise<T>): Promise<T> {
    const runner = createRunner(connection)
    if (!this.#prepared) await this.#prepare?.(runner)
    this.#prepared = true
    return work(runner)
  }
}
