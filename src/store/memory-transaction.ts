// Transactions in memory: one runs on a store at a time, and what it has changed is undone where it fails.
import { type Store, type StoreOptions, throwIfAborted } from './store.ts'
import {
  keepTransactions,
  refuseInTransaction,
  runInTurn,
  type Turns,
  untilAborted,
} from './turns.ts'

/** The methods of a store that a transaction calls at once, while other calls wait for its end. */
export type MemoryCalls = Pick<
  Store,
  'get' | 'list' | 'count' | 'stream' | 'create' | 'update' | 'delete'
> &
  Required<Pick<Store, 'complete'>>

/** A store in memory, as its transactions see it. */
export interface MemoryBase {
  readonly turns: Turns
  readonly calls: MemoryCalls
  /** Remembers from now on what is changed. @throws UnavailableError for a store that is closed. */
  begin(): void
  /** @throws UnavailableError where the claim of an idempotency key has expired meanwhile. */
  check(): void
  commit(): void
  /** Undoes what was changed since it has begun. */
  undo(): void
}

/** All stores in memory are one database. */
export const MEMORY: object = { name: 'memory' }

const bases = new WeakMap<Store, MemoryBase>()

/** Lets a store take part in transactions. */
export function registerMemoryStore(store: Store, base: MemoryBase): void {
  bases.set(store, base)
  keepTransactions(store)
}

/** `Store.transaction` of a store in memory. */
export async function runMemoryTransaction<T>(
  stores: readonly Store[],
  work: (stores: readonly Store[]) => Promise<T>,
  options: StoreOptions = {},
): Promise<T> {
  const members = stores.map(store => {
    const base = bases.get(store)
    if (base) return base
    throw new TypeError(
      'A transaction in memory takes stores that memoryStore() has made, and no copies of them',
    )
  })
  const lines = members.map(({ turns }) => turns)
  let begun = false
  const result = runInTurn(lines, async () => {
    begun = true
    throwIfAborted(options)
    const running = new AbortController()
    try {
      for (const base of members) base.begin()
      const bound = members.map(({ calls }) => bindCalls(calls, running.signal))
      const result = await untilAborted(work(bound), options)
      for (const base of members) base.check()
      for (const base of members) base.commit()
      return result
    } catch (error) {
      for (const base of members) base.undo()
      throw error
    } finally {
      running.abort()
    }
  })
  const inLine = untilAborted(result, options)
  return inLine.catch(error => (begun ? result : Promise.reject(error)))
}

/** Makes the store that the work of a transaction gets. @param running aborted at its end. */
function bindCalls(calls: MemoryCalls, running: AbortSignal): Store {
  const guard =
    <P extends unknown[], R>(call: (...parameters: P) => R) =>
    (...parameters: P): R => {
      if (!running.aborted) return call(...parameters)
      throw new TypeError('The transaction has ended: its stores take no more calls')
    }
  return {
    pages: 'key',
    idempotency: 'store',
    database: MEMORY,
    attach: refuseInTransaction,
    claim: refuseInTransaction,
    close: refuseInTransaction,
    get: guard(calls.get),
    list: guard(calls.list),
    count: guard(calls.count),
    stream: guard(calls.stream),
    create: guard(calls.create),
    update: guard(calls.update),
    delete: guard(calls.delete),
    complete: guard(calls.complete),
  }
}
