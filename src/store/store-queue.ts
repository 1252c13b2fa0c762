// Lines of work on stores: transactions run one after another, and other calls wait for their end.
import type { Store } from './store.ts'

/** The line of one store. */
export class StoreQueue {
  /** How many are in line, the running one included; 0 for a store that is free. */
  waiting = 0
  last: Promise<unknown> = Promise.resolve()

  /** Runs work when all earlier work in line has ended. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    return runInTurn([this], work)
  }
}

/** Runs work when it is its turn in all of these lines. */
export function runInTurn<T>(lines: readonly StoreQueue[], work: () => T | Promise<T>): Promise<T> {
  const isFree = lines.every(({ waiting }) => waiting === 0)
  const earlier = lines.map(({ last }) => last)
  // All lines are entered at once, so that two calls never wait for each other.
  for (const line of lines) line.waiting++
  const result = isFree ? start(work) : Promise.all(earlier).then(work)
  const end = () => {
    for (const line of lines) line.waiting--
  }
  const ended = result.then(end, end)
  for (const line of lines) line.last = ended
  return result
}

async function start<T>(work: () => T | Promise<T>): Promise<T> {
  return work()
}

/** Keeps copies of a store (`{ ...store }`) from taking part in its transactions: their methods may differ. */
export function keepTransactions(store: Store): void {
  Object.defineProperty(store, 'database', { enumerable: false })
  Object.defineProperty(store, 'transaction', { enumerable: false })
  // A copy may have its own `list` or `write`, which these would pass by.
  for (const name of ['listEach', 'changes', 'take'])
    Object.defineProperty(store, name, { enumerable: false })
}

/** Replaces the methods that a store does not have in a transaction. */
export function refuseInTransaction(): never {
  throw new TypeError('A transaction takes items alone: call this on the store itself')
}
