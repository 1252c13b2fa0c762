// The way to a database with many connections: calls run side by side, others' conflicts are tried
// again, a signal or a timeout reaches the database.
import { CompiledQuery, type DatabaseConnection, type QueryExecutor } from 'kysely'
import { type StoreOptions, throwIfAborted } from '../store/store.ts'
import type { SessionCommands, SqlDatabase } from './database.ts'
import {
  answer,
  classifyError,
  closed,
  createRunner,
  type GivenKysely,
  getExecutor,
  inQueue,
  inTransaction,
  isSomeGone,
  nextWrites,
  type Row,
  type Runner,
  runBatch,
  runOne,
  type Session,
  type SharedWork,
  settled,
  sharedOptions,
  type Write,
} from './session.ts'

/** How often work is tried where others are in the way. */
const TRIES = 10

/**
 * How long work goes on before its caller's signal is listened to, in milliseconds. To make a signal
 * and to listen to it took a fifth of a read.
 */
const PATIENCE = 20

/**
 * How long a connection may say nothing where it must: after a cancellation, or of a commit; milliseconds,
 * or the timeout, whichever is longer.
 */
const SILENCE = 5000

/** How long after there was no connection to cancel by another one is asked for, in milliseconds. */
const PAUSE = 200

/**
 * How often writes that share a commit are done again without those given up meanwhile: then the rest is
 * done, so that who gives up again and again keeps nobody waiting.
 */
const MOST_UNDONE = 2

/** Work that somebody waits for. */
interface Task {
  readonly options: StoreOptions
  /** Lets the caller go before the work has come to its end. */
  readonly letGo?: (reason: unknown) => void
  /** Has the statement that runs at the moment cancelled. */
  cancel?: (() => void) | undefined
  /** When its time is over, where there is a timeout, by `performance.now()`. */
  until?: number
}

/** The backend of each connection: what to cancel. */
const backends = new WeakMap<DatabaseConnection, number>()

export class PoolSession implements Session {
  generation = 0
  readonly #db: GivenKysely
  readonly #executor: QueryExecutor
  readonly #dialect: SqlDatabase
  readonly #words: SessionCommands
  readonly #prepare: ((runner: Runner) => Promise<void>) | undefined
  readonly #timeout: number | undefined
  /** What each connection is told. */
  readonly #meeting: readonly string[]
  /** The connections that were told it. */
  readonly #met = new WeakSet<DatabaseConnection>()
  #running = 0
  #idle = () => {}
  #queue: Write[] = []
  #flushing = false
  #prepared: Promise<void> | undefined
  #closed = false

  /**
   * @param prepare makes the tables, before the first statement.
   * @param timeout how long a call may take in the database, in milliseconds.
   */
  constructor(
    db: GivenKysely,
    dialect: SqlDatabase,
    words: SessionCommands,
    prepare: ((runner: Runner) => Promise<void>) | undefined,
    timeout: number | undefined,
  ) {
    this.#db = db
    this.#executor = getExecutor(db)
    this.#dialect = dialect
    this.#words = words
    this.#prepare = prepare
    this.#timeout = timeout
    this.#meeting = words.meet(timeout)
  }

  renew(): void {
    this.#prepared = undefined
  }

  read<T>(work: (runner: Runner) => Promise<T>, options: StoreOptions = {}): Promise<T> {
    return this.#read(work, options)
  }

  snapshot<T>(work: (runner: Runner) => Promise<T>, options: StoreOptions = {}): Promise<T> {
    return this.#read(work, options, this.#dialect.beginRead)
  }

  /** Waits for its end even when the signal comes: whether it was done must be known. */
  write<T>(
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions = {},
    single = false,
  ): Promise<T> {
    return this.#call(work, { options }, single ? undefined : this.#dialect.begin)
  }

  writeTogether<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
    single = false,
  ): Promise<Result> {
    if (this.#closed) return Promise.reject(closed())
    return this.#track(() => inQueue(input, work, options, single, write => this.#enqueue(write)))
  }

  #enqueue(write: Write): void {
    this.#queue.push(write)
    if (this.#queue.length === 1 && !this.#flushing) void this.#flush()
  }

  /** They would wait for each other in the database, a connection each, and for each other's commit. */
  async #flush(): Promise<void> {
    this.#flushing = true
    // Lets the requests that came at the same time add their writes.
    await new Promise(resolve => setImmediate(resolve))
    let undone: Write[] = []
    let times = 0
    while (undone.length > 0 || this.#queue.length > 0) {
      const writes = nextWrites(undone.length > 0 ? undone : this.#queue)
      try {
        answer(writes, await this.#batch(writes, times < MOST_UNDONE), this.#dialect)
        times = 0
      } catch (error) {
        // Those who are still there go on without the others, and before those who came meanwhile.
        if (isSomeGone(error)) {
          undone = writes
          times++
          continue
        }
        for (const { reject } of writes) reject(error)
        times = 0
      }
    }
    this.#flushing = false
  }

  /** @param undoable whether nothing is to be done where one of the writes is given up. */
  async #batch(
    writes: readonly Write[],
    undoable: boolean,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const { begin } = this.#dialect
    const [first] = writes
    if (!first) return []
    if (writes.length === 1) {
      const work = (runner: Runner) => runOne(first, runner)
      const task = { options: first.options }
      return [await settled(this.#heard(work, task, first.single ? undefined : begin))]
    }
    const work = (runner: Runner) => runBatch(writes, runner, this.#dialect)
    const task: Task = { options: undoable ? sharedOptions(writes) : {} }
    const stop = whenAllAborted(writes, () => task.cancel?.())
    try {
      return await this.#tried(work, task, begin)
    } finally {
      stop()
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    while (this.#running > 0) {
      await new Promise<void>(resolve => {
        this.#idle = resolve
      })
    }
    await this.#db.destroy()
  }

  /** What was asked for, or at once the reason of the signal. */
  #read<T>(
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions,
    begin?: readonly string[],
  ): Promise<T> {
    return new Promise((resolve, letGo) => {
      this.#call(work, { options, letGo }, begin).then(resolve, letGo)
    })
  }

  async #call<T>(
    work: (runner: Runner) => Promise<T>,
    task: Task,
    begin: readonly string[] | undefined,
  ): Promise<T> {
    if (this.#closed) throw closed()
    return this.#track(() => this.#heard(work, task, begin))
  }

  /** Work that its caller's signal ends. */
  async #heard<T>(
    work: (runner: Runner) => Promise<T>,
    task: Task,
    begin: readonly string[] | undefined,
  ): Promise<T> {
    const stop = whenAborted(task.options, () => {
      task.cancel?.()
      task.letGo?.(task.options.signal?.reason)
    })
    try {
      return await this.#tried(work, task, begin)
    } finally {
      stop()
    }
  }

  async #tried<T>(
    work: (runner: Runner) => Promise<T>,
    task: Task,
    begin: readonly string[] | undefined,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        throwIfAborted(task.options)
        await this.#tables()
        return await this.#executor.provideConnection(async connection => {
          await this.#meet(connection)
          return this.#watched(connection, task, (runner, leave) =>
            begin === undefined
              ? work(runner)
              : inTransaction(begin, work, runner, leave, task.options),
          )
        })
      } catch (error) {
        const kind = this.#dialect.failure(error)?.kind
        if (kind === 'cancelled') throwIfAborted(task.options)
        const late = task.until !== undefined && performance.now() >= task.until
        if (kind !== 'again' || tries === TRIES || late) throw classifyError(error, this.#dialect)
        await new Promise(resolve => setTimeout(resolve, Math.random() * 2 ** tries))
      }
    }
  }

  #tables(): Promise<void> {
    this.#prepared ??= this.#make().catch(error => {
      this.#prepared = undefined
      throw error
    })
    return this.#prepared
  }

  async #make(): Promise<void> {
    const prepare = this.#prepare
    if (!prepare) return
    const { lock, meet } = this.#words
    await this.#executor.provideConnection(async connection => {
      // To make an index takes as long as it takes.
      const patient = this.#timeout === undefined ? this.#meeting : meet(0)
      await this.#tell(connection, patient)
      const runner = createRunner(connection)
      try {
        await inTransaction(lock, prepare, runner)
      } finally {
        // Another store, which has met it already, may be the next on it.
        if (patient !== this.#meeting) {
          await this.#tell(connection, this.#meeting).catch(() => this.#met.delete(connection))
        }
      }
    })
  }

  /** Says to a connection that is new what each is told, and learns its backend. */
  async #meet(connection: DatabaseConnection): Promise<void> {
    if (!this.#met.has(connection)) await this.#tell(connection, this.#meeting)
  }

  async #tell(connection: DatabaseConnection, words: readonly string[]): Promise<void> {
    let backend = 0
    for (const each of words) {
      const { rows } = await connection.executeQuery<Row>(CompiledQuery.raw(each))
      backend = Number(rows[0]?.backend ?? 0)
    }
    backends.set(connection, backend)
    this.#met.add(connection)
    this.generation++
  }

  /** Gives a connection up that says nothing more, as after a failover that has ended none. */
  #expectWord(connection: DatabaseConnection): NodeJS.Timeout | undefined {
    if (this.#timeout === undefined) return undefined
    const lost = () => this.#words.hangUp?.(backends.get(connection) ?? 0)
    return setTimeout(lost, Math.max(this.#timeout, SILENCE))
  }

  /** Runs statements on a connection until the task or the timeout has the running one cancelled. */
  async #watched<T>(
    connection: DatabaseConnection,
    task: Task,
    work: (runner: Runner, leave: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    let over = false
    let sent: Promise<unknown> | undefined
    const cancel = async () => {
      let reached = false
      while (!over && !reached) {
        const sending = this.#executor.provideConnection(async other => {
          reached = true
          // By now somebody else may be served by that backend.
          if (over) return
          const backend = backends.get(connection) ?? 0
          const late = this.#expectWord(other)
          sent = other.executeQuery(CompiledQuery.raw(this.#words.cancel(backend)))
          await sent.finally(() => clearTimeout(late))
        })
        await sending.catch(() => undefined)
        if (!reached) await new Promise(resolve => setTimeout(resolve, PAUSE))
      }
    }
    const onEnd = () => {
      void this.#track(cancel)
    }
    let timer: NodeJS.Timeout | undefined
    if (this.#timeout !== undefined) {
      task.until ??= performance.now() + this.#timeout
      const onTime = () => {
        onEnd()
        timer = this.#expectWord(connection)
      }
      timer = setTimeout(onTime, task.until - performance.now())
    }
    task.cancel = onEnd
    const leave = async () => {
      if (over) return
      over = true
      clearTimeout(timer)
      task.cancel = undefined
      if (!sent) return
      timer = this.#expectWord(connection)
      await sent.catch(() => undefined)
      // Meets the cancellation, should it be on its way still.
      await connection.executeQuery(CompiledQuery.raw('select 1')).catch(() => undefined)
    }
    const { run, say } = createRunner(connection)
    const unlessAborted: Runner['run'] = async (statement, parameters) => {
      throwIfAborted(task.options)
      return run(statement, parameters)
    }
    try {
      return await work({ run: unlessAborted, say }, async () => {
        // From here on nothing cancels: what ends a transaction must come to its end.
        await leave()
        clearTimeout(timer)
        timer = this.#expectWord(connection)
      })
    } finally {
      await leave()
      clearTimeout(timer)
    }
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
      if (this.#running === 0) this.#idle()
    }
  }
}

/** @returns what ends the waiting for the signal. */
function whenAborted(options: StoreOptions, onAbort: () => void): () => void {
  let signal: AbortSignal | undefined
  const timer = setTimeout(() => {
    signal = options.signal
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  }, PATIENCE)
  return () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/**
 * The same for writes that share a commit: while somebody waits for one of them, they go on.
 * @returns what ends the waiting for the signals.
 */
function whenAllAborted(writes: readonly Write[], onAbort: () => void): () => void {
  let left = writes.length
  const onEach = () => {
    left--
    if (left === 0) onAbort()
  }
  const stops = writes.map(({ options }) => whenAborted(options, onEach))
  return () => {
    for (const stop of stops) stop()
  }
}
