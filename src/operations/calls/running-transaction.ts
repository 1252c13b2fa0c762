// One run of a transaction: its stores, its calls, and what waits for its end.
import type { Awaitable } from '../../base/values.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { LimitedOptions } from '../../store/abort.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { Store } from '../../store/store.ts'
import { RunningCalls } from './track-calls.ts'
import { beginWork, endWork, requireOutside, runWithin, type Work } from './work-context.ts'

/** One run of the work of a transaction: it may be undone, and run again. */
export class RunningTransaction {
  readonly calls = new RunningCalls()
  /** Whether it is undone at its end in any case. */
  isDryRun = false
  readonly #stores: ReadonlyMap<Store, KeyedStore>
  readonly #limited: LimitedOptions
  readonly #afterCommit: (() => Awaitable<void>)[] = []
  readonly #atEnd: (() => Awaitable<void>)[] = []
  #work: Work | undefined
  #isUndone = false
  /** The first error of a part that is not whole, in an object: any value may be thrown. */
  #failure: { readonly error: unknown } | undefined

  constructor(stores: ReadonlyMap<Store, KeyedStore>, limited: LimitedOptions) {
    this.#stores = stores
    this.#limited = limited
  }

  /** Aborted when the transaction is to end. */
  get signal(): AbortSignal {
    return this.#limited.signal
  }

  /** Whether it is aborted, known without the signal. */
  get aborted(): boolean {
    return this.#limited.aborted
  }

  /** Finds the store of a collection within the transaction; of one in another database the plain one. */
  storeOf({ name, store }: CollectionDefinition): KeyedStore {
    const inside = this.#stores.get(store)
    if (!inside) requireOutside(store, name)
    return inside ?? store
  }

  /** @throws TypeError for a collection in another database. */
  requireMember({ name, store }: CollectionDefinition): void {
    if (this.#stores.has(store)) return
    throw new TypeError(
      `The collection ${name} is not in the database of this transaction: a transaction is in one database`,
    )
  }

  /** Runs the work of a program, or a nested part of it: one that fails undoes the transaction, even if it is caught. */
  run<R>(work: () => Awaitable<R>): Awaitable<R> {
    const [member] = this.#stores.keys()
    this.#work ??= beginWork(member?.database)
    const fail = (error: unknown): never => {
      throw this.fail(error)
    }
    try {
      const done = runWithin(this.#work, work)
      return done instanceof Promise ? done.catch(fail) : done
    } catch (error) {
      return fail(error)
    }
  }

  /** Undoes the transaction at its end, which throws the first of these errors. @returns the error. */
  fail(error: unknown): unknown {
    this.#failure ??= { error }
    return error
  }

  /** @throws the first error of a part, and TypeError for calls that nobody has awaited. */
  requireWhole(): void {
    if (this.#failure) throw this.#failure.error
    const { names } = this.calls
    if (names.length === 0) return
    throw new TypeError(
      `The transaction is undone, since calls in it were not awaited: ${names.join(', ')}`,
    )
  }

  /** Does work once the transaction is committed, and not where it is undone. */
  afterCommit(work: () => Awaitable<void>): void {
    this.#afterCommit.push(work)
  }

  /** Does work at the end in any case, after that of {@link afterCommit}; at once where the transaction is undone by then. */
  atEnd(work: () => Awaitable<void>): Awaitable<void> {
    if (this.#isUndone) return work()
    this.#atEnd.push(work)
  }

  /** @param committed `undefined` where nobody knows: then nothing of it is done. */
  async end(committed: boolean | undefined): Promise<void> {
    if (this.#work) endWork(this.#work)
    this.#isUndone = committed === false
    if (committed === undefined) return
    for (const work of [...(committed ? this.#afterCommit : []), ...this.#atEnd]) await work()
  }
}
