// References between items: a deletion deletes those that refer to the item, or is refused; a write finds those that
// its item refers to. Each is one transaction.
import { removeContents } from '../blobs/store-content.ts'
import { HttpError } from '../errors.ts'
import { takeTurn } from '../http/turns.ts'
import type { Reference } from '../model/compile-references.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { listBlobKeys } from '../schema/blob.ts'
import type { Awaitable, Item } from '../schema/values.ts'
import { withTieBreak } from '../store/selection.ts'
import type { Id, Stored, WriteOptions } from '../store/store.ts'
import type { OperationContext } from './context.ts'
import { runInTransaction } from './run-transaction.ts'

/** The maximum of items that are deleted with one. */
const MAX_CASCADE = 10_000

/** The maximum of ids in a filter: databases limit the parameters of a statement. */
const MAX_IDS = 500

/** An item that is deleted: what its store needs, and the keys of its contents. */
interface Doomed extends Pick<Stored, 'id' | 'version'> {
  readonly collection: CollectionDefinition
  readonly contents: readonly string[]
}

/** Another write came in between: the transaction is undone and tried again. */
class Contested extends Error {}

/**
 * Deletes an item, and what its children declare to be deleted with it.
 * @returns whether it was still at this version: nothing is deleted otherwise.
 * @throws HttpError 409 for an item that others refer to, and for too many items.
 */
export async function deleteWithChildren(
  context: OperationContext,
  current: Stored,
  options: WriteOptions,
): Promise<boolean> {
  const root = toDoomed(context.target.collection, current)
  const work = async (inside: OperationContext) => {
    const doomed = await findDoomed(inside, root)
    // Items that refer to others are deleted before those.
    for (const [count, each] of doomed.toReversed().entries()) {
      // A store in memory answers at once: other requests are served in between.
      if (count % 100 === 99) await takeTurn()
      const { collection, id, version } = each
      const deleteOptions = each === root ? options : context.storeOptions
      if (!(await inside.storeOf(collection).delete(id, version, deleteOptions)))
        throw new Contested()
    }
    // The contents of the item itself are removed when its answer is built.
    for (const { collection, contents } of doomed.slice(1)) {
      const { blobs } = collection
      if (blobs) await inside.afterCommit(() => removeContents(blobs, contents))
    }
  }
  try {
    await runInTransaction(context, work)
    return true
  } catch (error) {
    if (error instanceof Contested) return false
    throw error
  }
}

function toDoomed(collection: CollectionDefinition, { id, version, item }: Stored): Doomed {
  return { collection, id, version, contents: listBlobKeys(collection.shape.fields, item) }
}

/** Finds the items to delete, each before those that refer to it. */
async function findDoomed(context: OperationContext, root: Doomed): Promise<readonly Doomed[]> {
  const { collections } = context.target.version
  const doomed = [root]
  const seen = new Map([[root.collection, new Set([root.id])]])
  for (let level = [root]; level.length > 0; ) {
    const next: Doomed[] = []
    for (const { child, selection } of listReferrers(level, collections, 'cascade')) {
      const known = seen.get(child) ?? new Set<Id>()
      seen.set(child, known)
      for await (const batch of context.storeOf(child).stream(selection, context.storeOptions)) {
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
  for (const { child, selection } of listReferrers(doomed, collections, 'restrict')) {
    const known = seen.get(child) ?? new Set<Id>()
    const slice = { limit: known.size + 1, offset: 0 }
    const store = context.storeOf(child)
    const { items } = await store.list(selection, slice, 'none', context.storeOptions)
    if (items.some(({ id }) => !known.has(id))) throw referenced(context, root.collection, child)
  }
  return doomed
}

/** Selects the items that refer to others, by the collections of both. */
function* listReferrers(
  items: readonly Doomed[],
  collections: ReadonlyMap<string, CollectionDefinition>,
  onDelete: 'cascade' | 'restrict',
) {
  for (const parent of new Set(items.map(({ collection }) => collection))) {
    const ids = items.flatMap(({ collection, id }) => (collection === parent ? [id] : []))
    for (const { name, field, onDelete: declared } of parent.children) {
      const child = collections.get(name)
      if (!child || declared !== onDelete) continue
      const sort = withTieBreak([], child.shape.identity.name)
      for (let at = 0; at < ids.length; at += MAX_IDS) {
        const values = ids.slice(at, at + MAX_IDS)
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

/**
 * Runs the write of an item. It is a transaction where a new reference declares `onDelete`, so that the named
 * item cannot be deleted meanwhile.
 */
export function writeReferring<T>(
  context: OperationContext,
  values: Item,
  current: Item | undefined,
  write: (context: OperationContext) => Awaitable<T>,
): Awaitable<T> {
  const { hasOnDelete, references } = context.target.collection
  if (!hasOnDelete) return write(context)
  const names = ([field, { onDelete }]: readonly [string, Reference]) => {
    const value = values[field] ?? null
    return onDelete !== undefined && value !== null && value !== current?.[field]
  }
  return [...references].some(names)
    ? runInTransaction(context, async inside => write(inside))
    : write(context)
}
