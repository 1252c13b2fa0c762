// The transactions whose work runs in this async context. A call on the api itself is refused there: it would be
// outside of them, and wait for them.
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { Store } from '../../store/store.ts'

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
