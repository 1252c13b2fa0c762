// One run of a transaction: its stores, its calls, and what waits for its end. While its work runs, a call on the api
// itself is refused there: it would be outside of the transaction, and wait for it.
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { Awaitable } from '../../base/values.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { LimitedOptions } from '../../store/abort.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { Store } from '../../store/store.ts'

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

/** The calls of a transaction: those that still run when its work ends were not awaited. */
export class RunningCalls {
  readonly #names = new Map<Promise<unknown>, string>()

  /** The names of the calls that run, each once. */
  get names(): readonly string[] {
    return [...new Set(this.#names.values())]
  }

  track<T>(name: string, call: Promise<T>): Promise<T> {
    const tracked = call.finally(() => this.#names.delete(tracked))
    this.#names.set(tracked, name)
    return tracked
  }

  /** Takes care of the errors of those that run: nobody else does. */
  abandon(): void {
    for (const call of this.#names.keys()) call.catch(() => undefined)
  }
}

/** The work of a transaction that runs. */
export interface Work {
  readonly database: object | undefined
  /** The work that has begun it: of a transaction in another database. */
  readonly outer: Work | undefined
}

/** `undefined` before the first transaction, and where the runtime has none. */
let storage: AsyncLocalStorage<Work> | undefined
/** The works that run. Only while there are some is the storage asked: it makes each `await` of the process slower. */
const running = new Set<Work>()

/** Begins the work of a transaction: {@link endWork} must follow. */
export function beginWork(database: object | undefined): Work {
  // A module that is imported by name would be missing in other runtimes. Node has this function as of 20.16.
  storage ??= createStorage()
  const work = { database, outer: storage?.getStore() }
  running.add(work)
  return work
}

function createStorage(): AsyncLocalStorage<Work> | undefined {
  const hooks = process.getBuiltinModule?.('node:async_hooks')
  return hooks && new hooks.AsyncLocalStorage<Work>()
}

/** Runs a function as a part of the work. */
export function runWithin<R>(work: Work, run: () => R): R {
  return storage ? storage.run(work, run) : run()
}

/** Ends work; what it has started and left may call the api again. */
export function endWork(work: Work): void {
  running.delete(work)
  if (running.size > 0) return
  try {
    storage?.disable()
  } catch {
    // Workers do not implement it, and need it not: there a storage costs nothing.
  }
}

/**
 * Refuses a call on the api itself within a transaction of the same database.
 * @param name what is called: a collection, with its operation where that is known.
 * @throws TypeError
 */
export function requireOutside(store: Store, name: string, operation?: string): void {
  if (running.size > 0) refuseWithin(store, operation === undefined ? name : `${name}.${operation}`)
}

function refuseWithin({ database }: Store, name: string): void {
  if (!database) return
  for (let work = storage?.getStore(); work; work = work.outer) {
    if (work.database !== database || !running.has(work)) continue
    throw new TypeError(
      `${name} is outside of the transaction that runs here. Inside a transaction call tx.collection(), in its hooks and actions context.collection().`,
    )
  }
}
