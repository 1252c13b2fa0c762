// Several items that are stored in one transaction, in sets.

import { HttpError } from '../../errors.ts'
import {
  KeptError,
  ReferenceConflictError,
  RefusedError,
  UniqueError,
  UnstorableError,
} from '../../store/errors.ts'
import type { Store } from '../../store/store.ts'
import { MAX_SET } from '../../store/writes.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import { conflictOf } from './enforce-references.ts'
import { locateError, locateKept, type Many, runEach } from './many.ts'
import { requireAllReferences } from './references-of-many.ts'
import type { WriteState } from './write-state.ts'

/**
 * Stores all items that are not stored yet, within a transaction.
 * @param store fills in what is stored of each.
 * @throws HttpError 400, 403, 409, 413
 */
export async function storeAll(
  many: Many,
  transaction: RunningTransaction,
  store: () => Promise<void>,
): Promise<void> {
  await runEach(many, many.steps.require, false)
  await requireAllReferences(many, transaction)
  await store()
  await runEach(many, many.steps.follow, true)
}

/** Stores items with their `values`, in their order. */
type StoreSet = (store: Store, set: readonly WriteState[]) => ReturnType<Store['write']>

/** Errors of a store that are about the values of one item. */
const OF_ITEM = [UniqueError, UnstorableError, ReferenceConflictError, RefusedError]

/**
 * Stores items in sets. One that fails behind another undoes the transaction, even if that goes on.
 */
export async function storeInSets(
  many: Many,
  transaction: RunningTransaction,
  storeSet: StoreSet,
): Promise<void> {
  const { call, writes } = many
  const store = transaction.storeOf(call.target.collection)
  // A program that catches the error may go on, with nothing of a set.
  const searches = !(call.inProcess && call.transaction)
  let begun = false
  /** Stores a part; where it fails, the item that does is looked for in each half. */
  const storePart = async (part: readonly number[]): Promise<void> => {
    const set = part.flatMap(at => writes[at] ?? [])
    try {
      const stored = await storeSet(store, set)
      // Only a hook of the same transaction can have changed one meanwhile.
      if (!stored) throw conflictOf(call)
      begun = true
      for (const [place, write] of set.entries()) write.stored = stored[place]
    } catch (error) {
      const [at = 0] = part
      if (error instanceof KeptError) throw locateKept(many, error, part[error.at ?? 0] ?? at)
      const isOfItem = error instanceof HttpError && OF_ITEM.some(type => error instanceof type)
      if (!isOfItem) throw error
      if (part.length === 1)
        throw locateError(
          many,
          error,
          error.errors.map(issue => ({ at, issue })),
        )
      if (!searches) throw error
      const half = part.length >> 1
      await storePart(part.slice(0, half))
      await storePart(part.slice(half))
    }
  }
  const open = [...writes.keys()].filter(at => writes[at]?.stored === undefined)
  try {
    for (let at = 0; at < open.length; at += MAX_SET) await storePart(open.slice(at, at + MAX_SET))
  } catch (error) {
    throw begun ? transaction.fail(error) : error
  }
}
