// A deletion deletes the items that refer to the item, or is refused.

import { takeTurn } from '../../base/turns.ts'
import { removeContents } from '../../blobs/store-content.ts'
import { ConflictError } from '../../model/conflict-error.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { KeptError } from '../../store/errors.ts'
import type { Store, Stored } from '../../store/store.ts'
import { MAX_SET } from '../../store/writes.ts'
import type { OperationContext } from '../calls/context.ts'
import { findAllDoomed, findDoomed, nameItemsOf } from './find-doomed.ts'
import { toWriteOptions } from './idempotency-key.ts'
import type { Doomed, Write } from './steps.ts'
import { Contested } from './store-item.ts'

/**
 * Deletes them.
 * @throws Contested where the item has another version by now: nothing is deleted. ConflictError where another call
 * of the same transaction changed it meanwhile, which undoes that.
 */
export async function deleteDoomed(write: Write<'current'>): Promise<Stored> {
  const { call, current, transaction } = write
  const { collection } = call.target
  const progress = { begun: false, repeated: write.repeated }
  const isRoot = (each: Doomed) =>
    each.collection.store === collection.store && each.id === current.id
  try {
    let { doomed = [] } = write
    while (!(await deleteSets(write, doomed.slice(0, doomed.findIndex(isRoot)), progress))) {
      // What is deleted stays so in a transaction that goes on: the rest must be deleted too, or everything is undone.
      if (!call.transaction || !progress.begun) throw new Contested()
      progress.repeated = true
      doomed = await findDoomed(write)
    }
    const store = call.storeOf(collection, transaction)
    const options = toWriteOptions(write, 'deleted')
    const done = await store.write([{ delete: current }], options)
    if (!done) throw new Contested()
    progress.begun = true
    const others = doomed.slice(doomed.findIndex(isRoot) + 1)
    if (!(await deleteSets(write, others, progress, true))) throw new Contested()
    return done[0] ?? current
  } catch (error) {
    if (!call.transaction || !progress.begun) throw error
    throw call.transaction.fail(error instanceof Contested ? conflictOf(call) : error)
  }
}

/**
 * Deletes several items, with all that is deleted with them, within a transaction.
 * @throws ConflictError where one was changed meanwhile by another call of the transaction, which undoes that.
 */
export async function deleteAllDoomed(write: Write, items: readonly Stored[]): Promise<void> {
  const { call, transaction } = write
  const progress = { begun: false, repeated: false }
  try {
    const { sorted, circular } = await findAllDoomed(call, transaction, items)
    const isDone =
      (await deleteSets(write, sorted, progress)) &&
      (await deleteSets(write, circular, progress, true))
    if (!isDone) throw conflictOf(call)
  } catch (error) {
    throw progress.begun && transaction ? transaction.fail(error) : error
  }
}

export function conflictOf({ target }: Write['call']): ConflictError {
  return new ConflictError(target.collection.itemName, { mine: undefined, theirs: undefined })
}

/** How far a deletion is. */
interface Progress {
  begun: boolean
  /** Whether a set of it was not deleted before. */
  repeated: boolean
}

/**
 * Deletes items in sets.
 * @param circular whether they refer to each other: then they are deleted one by one.
 * @returns whether all were still at their versions.
 */
async function deleteSets(
  write: Write,
  items: readonly Doomed[],
  progress: Progress,
  circular = false,
): Promise<boolean> {
  const { call, transaction } = write
  for (const [collection, set] of listSets(items, circular ? 1 : MAX_SET)) {
    // A store in memory answers at once: other requests are served in between.
    if (progress.begun) await takeTurn()
    const store = call.storeOf(collection, transaction)
    if (!(await deleteFound(call, store, set, progress))) return false
    progress.begun = true
    const contents = set.flatMap(each => each.contents)
    if (contents.length > 0) await write.afterCommit(() => removeContents(contents))
  }
  return true
}

/** Deletes a set. What is gone by then was deleted with others: by the database, or by another store of its table. */
async function deleteFound(
  call: OperationContext,
  store: Store,
  set: readonly Doomed[],
  { repeated }: Progress,
): Promise<boolean> {
  const { storeOptions } = call
  const options = repeated ? { signal: storeOptions.signal, repeated } : storeOptions
  const remove = async (all: readonly Doomed[]) => {
    try {
      return (
        (await store.write(
          all.map(each => ({ delete: each })),
          options,
        )) !== undefined
      )
    } catch (error) {
      throw error instanceof KeptError ? keptWith(call, all[error.at ?? 0], error) : error
    }
  }
  if (await remove(set)) return true
  const ids = set.map(({ id }) => id)
  const found = await store.find(ids, storeOptions)
  const left = set.filter((_, at) => found[at])
  return left.length < set.length && (left.length === 0 || remove(left))
}

/** Builds the error of a deletion whose item, or one that is deleted with it, the database keeps. */
function keptWith(call: OperationContext, kept: Doomed | undefined, cause: KeptError): KeptError {
  const { collection } = call.target
  if (!kept || kept.collection.store === collection.store)
    return new KeptError({ at: kept?.root, issues: cause.errors, cause })
  const message = `This ${collection.itemName} cannot be deleted: the database keeps ${nameItemsOf(call, kept.collection)} that refer to it.`
  return new KeptError({ at: kept.root, issues: [{ message, type: 'kept_by_database' }], cause })
}

/**
 * Groups items that follow each other in one collection, in sets that a store takes. One statement must not delete an
 * item and what refers to it: SQLite counts a row that a key has deleted on the way as not found.
 */
function listSets(items: readonly Doomed[], limit: number) {
  const sets: [CollectionDefinition, Doomed[]][] = []
  for (const item of items) {
    const [collection, set = []] = sets.at(-1) ?? []
    const isSame = collection === item.collection && set[0]?.wave === item.wave
    if (isSame && set.length < limit) set.push(item)
    else sets.push([item.collection, [item]])
  }
  return sets
}
