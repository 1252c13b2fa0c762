// What refers to an item: deleted with it or in the way of its deletion, in one transaction.
import { HttpError, throwIfAny } from '../errors.ts'
import { takeTurn } from '../http/turns.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { isBlobRecord } from '../schema/blob.ts'
import type { Item } from '../schema/values.ts'
import { withTieBreak } from '../store/selection.ts'
import type { Id, Store, Stored, WriteOptions } from '../store/store.ts'
import { removeBlobs } from './blob-inputs.ts'
import { type OperationContext, withTarget } from './context.ts'
import { unknownReference } from './input.ts'

/** How many items are deleted with one, at most. */
const MAX_CASCADE = 10_000

/** How many ids a filter has, at most: databases bound the parameters of a statement. */
const MAX_IDS = 500

type Collections = ReadonlyMap<string, CollectionDefinition>

/** Finds the store of a collection within a transaction. */
type FindStore = (collection: CollectionDefinition) => Store

/** Runs work on the stores of collections in one transaction: in that of the context, where it has one. */
function transact<T>(
  context: OperationContext,
  collections: readonly CollectionDefinition[],
  work: (find: FindStore) => Promise<T>,
): Promise<T> {
  const stores = collections.map(each => context.storeOf(each))
  const [first] = stores
  if (!first?.transaction) return work(each => context.storeOf(each))
  return first.transaction(
    stores,
    // The same stores in the same order.
    bound => work(collection => bound[collections.indexOf(collection)] as Store),
    context.request,
  )
}

/** An item that is deleted: what its store needs, and the records of its contents. */
interface Doomed extends Pick<Stored, 'id' | 'version'> {
  readonly collection: CollectionDefinition
  readonly contents: Item
}

/** Another write came between, so that everything is undone and tried again. */
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
  const { collection, version } = context.target
  const root = toDoomed(collection, current)
  const work = async (find: FindStore) => {
    const doomed = await findDoomed(context, root, find)
    // Those that refer go before what they refer to.
    for (const [count, each] of doomed.toReversed().entries()) {
      // A store in memory answers at once: others are served in between.
      if (count % 100 === 99) await takeTurn()
      const given = each === root ? options : context.request
      if (!(await find(each.collection).delete(each.id, each.version, given))) throw new Contested()
    }
    return doomed
  }
  let doomed: readonly Doomed[]
  try {
    doomed = await transact(context, listReached(collection, version.collections), work)
  } catch (error) {
    if (error instanceof Contested) return false
    throw error
  }
  for (const { collection: each, contents } of doomed.slice(1)) {
    if (each.blobs)
      await removeBlobs(withTarget(context, { ...context.target, collection: each }), contents)
  }
  return true
}

function toDoomed(collection: CollectionDefinition, { id, version, item }: Stored): Doomed {
  const contents = Object.entries(item).filter(([, value]) => isBlobRecord(value))
  return { collection, id, version, contents: Object.fromEntries(contents) }
}

/** Lists the collections that a deletion reads: those that refer to it, and so on where they cascade. */
function listReached(collection: CollectionDefinition, collections: Collections) {
  const cascading = new Set([collection])
  const reached = new Set([collection])
  for (const each of cascading) {
    for (const { name, onDelete } of each.children) {
      const child = collections.get(name)
      if (child) reached.add(child)
      if (child && onDelete === 'cascade') cascading.add(child)
    }
  }
  return [...reached]
}

/** Finds the items to delete, each before those that refer to it. */
async function findDoomed(
  context: OperationContext,
  root: Doomed,
  find: FindStore,
): Promise<readonly Doomed[]> {
  const { collections } = context.target.version
  const doomed = [root]
  const seen = new Map([[root.collection, new Set([root.id])]])
  for (let level = [root]; level.length > 0; ) {
    const next: Doomed[] = []
    for (const { child, field, ids } of listReferrers(level, collections, 'cascade')) {
      const selection = { where: [refersTo(field, ids)], sort: byId(child) }
      const known = seen.get(child) ?? new Set<Id>()
      seen.set(child, known)
      for await (const batch of find(child).stream(selection, context.request)) {
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
  for (const { child, field, ids } of listReferrers(doomed, collections, 'restrict')) {
    const known = seen.get(child) ?? new Set<Id>()
    const selection = { where: [refersTo(field, ids)], sort: byId(child) }
    const slice = { limit: known.size + 1, offset: 0 }
    const { items } = await find(child).list(selection, slice, 'none', context.request)
    if (items.some(({ id }) => !known.has(id))) throw referenced(context, root.collection, child)
  }
  return doomed
}

/** Groups items by what refers to them. */
function* listReferrers(
  items: readonly Doomed[],
  collections: Collections,
  onDelete: 'cascade' | 'restrict',
) {
  for (const parent of new Set(items.map(({ collection }) => collection))) {
    const all = items.flatMap(({ collection, id }) => (collection === parent ? [id] : []))
    for (const { name, field, onDelete: declared } of parent.children) {
      const child = collections.get(name)
      if (!child || declared !== onDelete) continue
      for (let at = 0; at < all.length; at += MAX_IDS)
        yield { child, field, ids: all.slice(at, at + MAX_IDS) }
    }
  }
}

function refersTo(field: string, values: readonly Id[]) {
  return { path: [field], operator: 'in', values } as const
}

function byId({ shape }: CollectionDefinition) {
  return withTieBreak([], shape.identity.name)
}

/** The message names no collection that the client may not know of. */
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
 * Writes an item while the items that it comes to name cannot be deleted, where its references say what
 * their deletion does.
 * @throws HttpError 400 for an item that is gone by now.
 */
export function writeReferring<T>(
  context: OperationContext,
  values: Item,
  current: Item | undefined,
  write: (store: Store) => T | Promise<T>,
): T | Promise<T> {
  const { collection, version } = context.target
  if (!collection.guarded) return write(context.storeOf(collection))
  const named = [...collection.references].flatMap(([field, { collection: name, onDelete }]) => {
    const parent = version.collections.get(name)
    const value = values[field] ?? null
    const isNew = onDelete !== undefined && value !== null && value !== current?.[field]
    return parent && isNew ? [{ parent, field, value }] : []
  })
  if (named.length === 0) return write(context.storeOf(collection))
  const collections = [...new Set([collection, ...named.map(({ parent }) => parent)])]
  return transact(context, collections, async find => {
    for (const { parent, field, value } of named) {
      const id = typeof value === 'number' ? value : String(value)
      if (!(await find(parent).get(id, context.request)))
        throwIfAny([unknownReference(field, parent, value)])
    }
    return write(find(collection))
  })
}
