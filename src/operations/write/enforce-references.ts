// A deletion deletes the items that refer to the item, or is refused.

import { takeTurn } from '../../base/turns.ts'
import { removeContents } from '../../blobs/store-content.ts'
import { HttpError } from '../../errors.ts'
import { ConflictError } from '../../model/conflict-error.ts'
import type { Child, CollectionDefinition } from '../../model/types/definition.ts'
import { listBlobKeys } from '../../schema/blob.ts'
import { withTieBreak } from '../../store/selection.ts'
import { deleteSet, MAX_SET } from '../../store/sets.ts'
import type { Id, Stored } from '../../store/store.ts'
import type { OperationContext } from '../context.ts'
import { toWriteOptions } from './idempotency-key.ts'
import { Contested } from './store.ts'
import type { Doomed, Write } from './write.ts'

/** The maximum of items that are deleted with one. */
const MAX_CASCADE = 10_000

/**
 * Deletes them.
 * @throws Contested where the item has another version by now: nothing is deleted. ConflictError where another call
 * of the same transaction changed it meanwhile, which undoes that.
 */
export async function deleteDoomed(write: Write<'current'>): Promise<Stored> {
  const { call, current, transaction } = write
  const { collection } = call.target
  const progress = { begun: false }
  try {
    let { doomed = [] } = write
    while (!(await deleteReferrers(write, doomed.slice(1).reverse(), progress))) {
      // What is deleted stays so in a transaction that goes on: the rest must be deleted too, or everything is undone.
      if (!call.transaction || !progress.begun) throw new Contested()
      doomed = await findDoomed(write)
    }
    const store = call.storeOf(collection, transaction)
    const options = toWriteOptions(write, 'deleted')
    if (!(await store.delete(current.id, current.version, options))) throw new Contested()
  } catch (error) {
    if (!call.transaction || !progress.begun) throw error
    const conflict = new ConflictError(collection.itemName, { mine: undefined, theirs: undefined })
    throw call.transaction.fail(error instanceof Contested ? conflict : error)
  }
  return current
}

/** Deletes items that refer to others, before those. @returns whether all were still at their versions. */
async function deleteReferrers(
  write: Write,
  referrers: readonly Doomed[],
  progress: { begun: boolean },
): Promise<boolean> {
  const { call, transaction } = write
  for (const [collection, set] of listSets(referrers)) {
    // A store in memory answers at once: other requests are served in between.
    if (progress.begun) await takeTurn()
    const store = call.storeOf(collection, transaction)
    // Without sets some may be deleted before one is contested.
    progress.begun ||= !store.deleteAll
    if (!(await deleteSet(store, set, call.storeOptions))) return false
    progress.begun = true
    const { blobs } = collection
    const contents = set.flatMap(each => each.contents)
    if (blobs) await write.afterCommit(() => removeContents(blobs, contents))
  }
  return true
}

/** Groups items that follow each other in one collection, in sets that a store takes. */
function listSets(items: readonly Doomed[]) {
  const sets: [CollectionDefinition, Doomed[]][] = []
  for (const item of items) {
    const [collection, set = []] = sets.at(-1) ?? []
    if (collection === item.collection && set.length < MAX_SET) set.push(item)
    else sets.push([item.collection, [item]])
  }
  return sets
}

function toDoomed(collection: CollectionDefinition, { id, version, item }: Stored): Doomed {
  return { collection, id, version, contents: listBlobKeys(collection.shape.fields, item) }
}

/**
 * Finds the items that are deleted with one, each before those that refer to it.
 * @throws HttpError 409 for an item that others refer to, and for too many.
 */
export async function findDoomed(write: Write<'current'>): Promise<readonly Doomed[]> {
  const { call, transaction, current } = write
  const { collection } = call.target
  const root = toDoomed(collection, current)
  const doomed = [root]
  const seen = new Map([[root.collection, new Set([root.id])]])
  for (let level = [root]; level.length > 0; ) {
    const next: Doomed[] = []
    for (const { child, selection } of listReferrers(level, 'cascade')) {
      const known = seen.get(child) ?? new Set<Id>()
      seen.set(child, known)
      for await (const batch of call
        .storeOf(child, transaction)
        .stream(selection, call.storeOptions)) {
        for (const stored of batch) {
          if (known.has(stored.id)) continue
          known.add(stored.id)
          next.push(toDoomed(child, stored))
        }
        if (doomed.length + next.length > MAX_CASCADE + 1) throw tooMany(root.collection)
      }
    }
    doomed.push(...next)
    level = next
  }
  for (const { child, selection } of listReferrers(doomed, 'restrict')) {
    const known = seen.get(child) ?? new Set<Id>()
    const slice = { limit: known.size + 1, offset: 0 }
    const store = call.storeOf(child, transaction)
    const { items } = await store.list(selection, slice, 'none', call.storeOptions)
    if (items.some(({ id }) => !known.has(id))) throw referenced(call, root.collection, child)
  }
  return doomed
}

/** Selects the items that refer to others, by the collections of both. */
function* listReferrers(items: readonly Doomed[], onDelete: Child['onDelete']) {
  for (const parent of new Set(items.map(({ collection }) => collection))) {
    const ids = items.flatMap(({ collection, id }) => (collection === parent ? [id] : []))
    for (const { collection: child, field, onDelete: declared } of parent.children) {
      if (declared !== onDelete) continue
      const sort = withTieBreak([], child.shape.identity.name)
      for (let at = 0; at < ids.length; at += MAX_SET) {
        const values = ids.slice(at, at + MAX_SET)
        yield {
          child,
          selection: { where: [{ path: [field], operator: 'in', values } as const], sort },
        }
      }
    }
  }
}

/** Builds the 409 of an item that others refer to; it names no collection that the client may not know of. */
function referenced(
  context: OperationContext,
  { itemName }: CollectionDefinition,
  child: CollectionDefinition,
): HttpError {
  const hidden = child.hideExistence && !context.can(child, 'list')
  const message = `This ${itemName} cannot be deleted: ${hidden ? 'other items' : child.name} refer to it.`
  return new HttpError(409, [{ message, type: 'referenced' }])
}

function tooMany({ itemName }: CollectionDefinition): HttpError {
  const message = `More than ${MAX_CASCADE} items would be deleted with this ${itemName}. Delete some of them first.`
  return new HttpError(409, [{ message, type: 'cascade_too_large' }])
}
