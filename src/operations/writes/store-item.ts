// The step of a write that its store does, and the transaction around it.
import { type Awaitable, andThen } from '../../base/values.ts'
import type { Stored } from '../../store/store.ts'
import { copyCall } from '../calls/derive-call.ts'
import { runInTransaction } from '../calls/run-transaction.ts'
import { keepAnswer, toWriteOptions } from './idempotency-key.ts'
import { listStored } from './many.ts'
import { runSteps, type Write, WriteState, type WriteStep } from './steps.ts'

export function storeNew(write: Write<'values'>): Awaitable<Stored> {
  const { storeTurn } = write.call
  const store = () =>
    write.store.write([{ create: write.values }], toWriteOptions(write, 'created'))
  const written = storeTurn ? storeTurn.run(store) : store()
  // No other writer can be faster.
  return andThen(written, takeFirst) as Awaitable<Stored>
}

/** Stores the item at the version that was read; `undefined` where it has another one by now. */
export function storeChange(write: Write<'values' | 'current'>): Awaitable<Stored | undefined> {
  const { store, current, values } = write
  const update = [{ update: values, before: current }]
  return andThen(store.write(update, toWriteOptions(write, 'changed')), takeFirst)
}

/** Deletes an item that no other refers to; `undefined` where it has another version by now. */
export function deleteItem(write: Write<'current'>): Awaitable<Stored | undefined> {
  const { store, current } = write
  const deleted = store.write([{ delete: current }], toWriteOptions(write, 'deleted'))
  // In a trash the item has a new version.
  return andThen(deleted, done => done && (done[0] ?? current))
}

function takeFirst(written: readonly Stored[] | undefined): Stored | undefined {
  return written?.[0]
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
      for (const each of write.many?.items ?? [write]) each.stored = undefined
      await runSteps(steps, write)
      await keepAll(write)
    })
    // Not after a failure: a step that is late must not go on outside of the transaction.
    write.transaction = outer
  } catch (error) {
    if (!(error instanceof Contested)) throw error
    write.stored = undefined
  }
  return write
}

/** Keeps the answer of several items under the key of their call, within their transaction. */
export async function keepAll(write: WriteState): Promise<void> {
  const { call, key, many, transaction } = write
  if (many && key !== undefined)
    await keepAnswer(call, transaction, key, many.toAnswer(listStored(write)))
}

/**
 * Runs steps in a transaction, in which the filter is judged too, and keeps the answer of the key.
 * @returns the write of the call within the transaction.
 */
export function runMatching(write: WriteState, steps: readonly WriteStep[]): Promise<WriteState> {
  const { call, key, many } = write
  return runInTransaction(call, call.transaction, running => {
    const inner = new WriteState(copyCall(call, { transaction: running }))
    const run = async () => {
      await runSteps(steps, Object.assign(inner, { key, many }))
      await keepAll(inner)
      return inner
    }
    // What fails is undone alone in a transaction that goes on, unless hooks have written before.
    const { before, after } = call.target.collection.hooks
    return call.transaction && before.size + after.size === 0 ? run() : running.run(run)
  })
}
