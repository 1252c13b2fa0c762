// Writes that share a commit: on most disks the commit costs more than the write. The savepoints
// of writes are here too.

import { HttpError } from '../../errors.ts'
import { type StoreOptions, throwIfAborted } from '../../store/store.ts'
import type { DriverFailure, SqlDatabase } from '../databases/database.ts'
import type { Connections } from './connections.ts'
import type { Runner, SharedWork, SingleStatement } from './runner.ts'
import { toStoreError } from './to-store-error.ts'

/** A call that waits for its turn. */
export interface WaitingCall {
  readonly input: unknown
  readonly options: StoreOptions
  // Methods, so that a queue holds writes of all types: work gets only inputs that came with it.
  work(inputs: readonly unknown[], runner: Runner): Promise<readonly unknown[]>
  resolve(result: unknown): void
  reject(error: unknown): void
}

interface WaitingWrite extends WaitingCall {
  readonly single: SingleStatement
}

const MAX_WRITES = 100

/** Writes that wait at the same time and share a commit. */
export class SharedWrites {
  readonly #connections: Connections
  readonly #database: SqlDatabase
  readonly #waiting: WaitingWrite[] = []
  #flushing = false

  constructor(connections: Connections, database: SqlDatabase) {
    this.#connections = connections
    this.#database = database
  }

  run<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions,
    single: SingleStatement,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, work, options, single, resolve, reject })
      if (!this.#flushing) void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#flushing = true
    // Requests that came at the same time add their writes first.
    const pause = new Promise(resolve => setImmediate(resolve))
    // Reads of SQLite wait for no event: without this turn they could keep the writes waiting for ever.
    if (this.#connections.isSingle) this.#connections.pause(pause)
    await pause
    while (this.#waiting.length > 0) await this.#commit(takeWrites(this.#waiting))
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
        first.resolve(
          await this.#connections.run(first.single ? undefined : begin, work, first.options),
        )
        return
      }
      const work = (runner: Runner) => runBatch(() => writes, runner, this.#database)
      for (const [at, result] of (await this.#connections.run(begin, work, {})).entries()) {
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
      const results = await this.#connections.run(undefined, runner => work(inputs, runner), {})
      for (const [at, result] of results.entries()) writes[at]?.resolve(result)
      this.#waiting.unshift(...writes.slice(results.length))
    } catch (error) {
      // It concerns the whole database.
      if (error instanceof HttpError && error.status === 503) {
        for (const { reject } of writes) reject(error)
        return
      }
      const half = writes.length >> 1
      await this.#commit(writes.slice(0, half))
      await this.#commit(writes.slice(half))
    }
  }
}

/**
 * Takes the next writes out of a queue: those that one statement does, or others. Those whose signal is aborted by now
 * are rejected.
 */
function takeWrites(queue: WaitingWrite[]): WaitingWrite[] {
  const [first] = queue
  const together = first?.single === 'of all' ? first.work : undefined
  const taken: WaitingWrite[] = []
  for (const write of queue.splice(0)) {
    const own = write.single === 'of all' ? write.work : undefined
    if (own !== together || taken.length === MAX_WRITES) queue.push(write)
    else if (!rejectAborted(write)) taken.push(write)
  }
  return taken
}

export function rejectAborted({ options, reject }: WaitingCall): boolean {
  try {
    throwIfAborted(options)
    return false
  } catch (reason) {
    reject(reason)
    return true
  }
}

const SAVEPOINT = 'rest_write'

/**
 * Does several writes in one transaction. Each can fail alone.
 * @param take gives them at the last moment.
 * @throws an error that all of them share.
 */
export async function runBatch(
  take: () => readonly WaitingCall[],
  runner: Runner,
  database: SqlDatabase,
): Promise<PromiseSettledResult<unknown>[]> {
  let writes: readonly WaitingCall[] = []
  const takeAll = () => {
    writes = take()
    return runAll(writes, runner)
  }
  // Usually none fails: then one savepoint is enough, and rows are inserted together.
  const all = await undoable(takeAll, runner, database)
  if (all.status === 'fulfilled') {
    return all.value.map(value => ({ status: 'fulfilled', value }))
  }
  if (writes.length === 1) return [all]
  const results: PromiseSettledResult<unknown>[] = []
  for (const { work, input } of writes) {
    const runOne = async () => (await work([input], runner))[0]
    results.push(await undoable(runOne, runner, database))
  }
  return results
}

/** Does all writes. Neighbours with the same work share one call of it. */
async function runAll(writes: readonly WaitingCall[], runner: Runner): Promise<unknown[]> {
  const results: unknown[] = []
  for (let first = writes[0]; first; first = writes[results.length]) {
    const { work } = first
    const rest = writes.slice(results.length)
    const end = rest.findIndex(write => write.work !== work)
    const inputs = rest.slice(0, end < 0 ? undefined : end).map(({ input }) => input)
    results.push(...(await work(inputs, runner)))
  }
  return results
}

/** Failures that end the whole transaction, or concern every write in it. */
const SHARED: ReadonlySet<DriverFailure['kind'] | undefined> = new Set([
  'unavailable',
  'full',
  'read-only',
  'again',
  'cancelled',
] as const)

/** Runs work within a savepoint: a failure undoes only the work. */
export async function undoable<T>(
  work: () => Promise<T>,
  runner: Runner,
  database: SqlDatabase,
): Promise<PromiseSettledResult<T>> {
  await runner.exec(`savepoint ${SAVEPOINT}`)
  const [result] = await Promise.allSettled([work()])
  if (result.status === 'rejected') {
    if (SHARED.has(database.failure(result.reason)?.kind)) throw result.reason
    await runner.exec(`rollback to ${SAVEPOINT}`)
  }
  await runner.exec(`release savepoint ${SAVEPOINT}`)
  return result
}
