// Transactions of programs: calls on several tables, one after another on one connection. What begins and commits
// it is in connections.ts.

import { untilAborted } from '../../store/abort.ts'
import { type StoreOptions, throwIfAborted } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { SEQUENCES } from '../databases/table-names.ts'
import type { Runner, SharedWork, StatementSession } from './runner.ts'
import type { Session } from './session.ts'
import { rejectAborted, runBatch, undoable, type WaitingCall } from './shared-writes.ts'
import { toStoreError } from './to-store-error.ts'

/** An error that the work itself has thrown: it is never retried, even if it looks like one of the database. */
class Undone {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}

/**
 * Runs work in one transaction. After a conflict with another it runs again alone, so that each succeeds in
 * the end.
 * @param rethrow throws an error of the commit as one of stores.
 */
export async function runTransaction<T>(
  session: Session,
  database: SqlDatabase,
  work: (session: StatementSession) => Promise<T>,
  options: StoreOptions,
  rethrow: (error: unknown) => never,
): Promise<T> {
  let begin = () => {}
  let commits = false
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  const run = async (runner: Runner, exclusive: boolean) => {
    begin()
    commits = false
    throwIfAborted(options)
    if (database.lockTransaction) await runner.exec(database.lockTransaction(SEQUENCES, exclusive))
    const transaction = new TransactionSession(runner, database)
    try {
      const result = await untilAborted(work(transaction), options)
      if (transaction.running > 0) transaction.failure ??= new TypeError(UNAWAITED)
      await transaction.end()
      commits = transaction.failure === undefined
      if (commits) return result
    } catch (error) {
      await transaction.end()
      throw transaction.failure ?? new Undone(error)
    }
    throw transaction.failure
  }
  try {
    const running = session.transaction(run, options)
    // While it waits for a connection there is nothing to undo.
    await Promise.race([running, untilAborted(begun, options)])
    return await running
  } catch (error) {
    if (error instanceof Undone) throw error.reason
    if (commits) rethrow(error)
    throw error
  }
}

const UNAWAITED =
  'A statement of sql() still runs at the end of the transaction, so everything is undone. Await it.'

/** Runs statements inside of a transaction of the user's program. */
class ApartRunner implements Runner {
  readonly apart = true
  readonly #runner: Runner

  constructor(runner: Runner) {
    this.#runner = runner
  }

  run(...input: Parameters<Runner['run']>) {
    return this.#runner.run(...input)
  }

  exec(text: string): Promise<unknown> {
    return this.#runner.exec(text)
  }
}

/** Calls that wait for the same turn. */
interface CallGroup {
  /** Only calls of one kind are in a group: reads by one function, or writes. */
  readonly kind: unknown
  calls: WaitingCall[]
}

/** Runs the calls of one transaction, one after another. Some failures end the whole transaction. */
class TransactionSession implements StatementSession {
  /** Why the transaction cannot be committed, even if the work catches the error. */
  failure: unknown
  /** How many statements of the program's own run, or wait for their turn. */
  running = 0
  readonly #runner: Runner
  readonly #database: SqlDatabase
  #turn: Promise<unknown> = Promise.resolve()
  /** The last group in line, until its turn comes. */
  #open: CallGroup | undefined
  #ended = false

  constructor(runner: Runner, database: SqlDatabase) {
    this.#runner = new ApartRunner(runner)
    this.#database = database
  }

  read<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T> {
    return this.#inTurn(() => work(this.#runner), options)
  }

  readShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
  ): Promise<Result> {
    return this.#share(work, { input, work, options }, async take => {
      const calls = take()
      // All inputs of one function are of one type.
      const results = await work(calls.map(each => each.input) as Input[], this.#runner)
      return results.map(value => ({ status: 'fulfilled', value }))
    })
  }

  async write<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T> {
    const run = () => undoable(() => work(this.#runner), this.#runner, this.#database)
    const result = await this.#inTurn(run, options)
    if (result.status === 'rejected') throw result.reason
    return result.value
  }

  writeShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options: StoreOptions = {},
  ): Promise<Result> {
    return this.#share('write', { input, work, options }, take =>
      runBatch(take, this.#runner, this.#database),
    )
  }

  /**
   * Runs a call together with those of its kind that wait for the same turn.
   * @param run gets the calls by a function; others may join until it is called.
   */
  #share<Result>(
    kind: unknown,
    call: Pick<WaitingCall, 'input' | 'work' | 'options'>,
    run: (take: () => readonly WaitingCall[]) => Promise<readonly PromiseSettledResult<unknown>[]>,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiting = { ...call, resolve, reject } as WaitingCall // its result is of its own input
      const open = this.#open
      if (open && open.kind === kind) {
        open.calls.push(waiting)
        return
      }
      const group = { kind, calls: [waiting] }
      const take = () => {
        if (this.#open === group) this.#open = undefined
        group.calls = group.calls.filter(each => !rejectAborted(each))
        return group.calls
      }
      const runGroup = async () => {
        for (const [at, result] of (await run(take)).entries()) {
          if (result.status === 'fulfilled') group.calls[at]?.resolve(result.value)
          else group.calls[at]?.reject(result.reason)
        }
      }
      this.#inTurn(runGroup, undefined).catch(error => {
        take()
        for (const each of group.calls) each.reject(error)
      })
      this.#open = group
    })
  }

  /** Refuses further calls, and waits for the running ones. */
  async end(): Promise<void> {
    this.#ended = true
    await this.#turn
  }

  #inTurn<T>(work: () => Promise<T>, options: StoreOptions | undefined): Promise<T> {
    if (this.#ended) {
      const message = 'The transaction has ended: its stores take no more calls'
      return Promise.reject(new TypeError(message))
    }
    this.#open = undefined
    const result = this.#turn.then(async () => {
      throwIfAborted(options)
      try {
        return await work()
      } catch (error) {
        this.failure ??= error
        throw toStoreError(error, this.#database)
      }
    })
    this.#turn = result.catch(() => undefined)
    return result
  }
}
