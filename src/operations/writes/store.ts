// The step of a write that its store does, and the transaction around it.
import { type Awaitable, andThen } from '../../base/values.ts'
import type { Stored } from '../../store/store.ts'
import { runInTransaction } from '../calls/run-transaction.ts'
import { toWriteOptions } from './idempotency-key.ts'
import { runSteps, type WriteStep } from './steps.ts'
import type { Write, WriteState } from './write-state.ts'

export function storeNew(write: Write<'values'>): Awaitable<Stored> {
  return write.store.create(write.values, toWriteOptions(write, 'created'))
}

/** Stores the item at the version that was read; `undefined` where it has another one by now. */
export function storeChange(write: Write<'values' | 'current'>): Awaitable<Stored | undefined> {
  const { store, current, values } = write
  return store.update(current.id, current.version, values, toWriteOptions(write, 'changed'))
}

/** Deletes an item that no other refers to; `undefined` where it has another version by now. */
export function deleteItem(write: Write<'current'>): Awaitable<Stored | undefined> {
  const { store, current } = write
  const deleted = store.delete(current.id, current.version, toWriteOptions(write, 'deleted'))
  return andThen(deleted, done => (done ? current : undefined))
}

/** Another write came in between: the transaction is undone and tried again. */
export class Contested extends Error {}

/** Runs steps in a transaction, which may run them more than once. Where it is contested nothing is stored. */
export async function runAtomically(
  write: WriteState,
  steps: readonly WriteStep[],
): Promise<WriteState> {
  const outer = write.transaction
  try {
    await runInTransaction(write.call, outer, async running => {
      write.transaction = running
      // An earlier run may have filled it in.
      write.stored = undefined
      await runSteps(steps, write)
    })
    // Not after a failure: a step that is late must not go on outside of the transaction.
    write.transaction = outer
  } catch (error) {
    if (!(error instanceof Contested)) throw error
    write.stored = undefined
  }
  return write
}
