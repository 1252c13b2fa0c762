// The items that a request reaches: below the parent of its path, and visible to its principal.
import { HttpError } from '../errors.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import type { CollectionTarget } from '../model/routes.ts'
import { getValue } from '../schema/paths.ts'
import { type Awaitable, andThen, type Item } from '../schema/values.ts'
import type { Filter } from '../store/selection.ts'
import type { Id, Stored } from '../store/store.ts'
import { derive, type OperationContext } from './context.ts'
import { buildRowFilter } from './row-policy.ts'

/** The filters that a parent and the row policy put on every list. */
export function buildScope(context: OperationContext): readonly Filter[] {
  const { parent, collection } = context.target
  const rows = buildRowFilter(context, collection)
  if (!parent) return rows?.where ?? NO_FILTERS
  const below: Filter = { path: [parent.field], operator: 'in', values: [parent.id] }
  return [below, ...(rows?.where ?? [])]
}

const NO_FILTERS: readonly Filter[] = []

/**
 * The target of an item after a change: below the parent of the path only while the item belongs to it,
 * which a hook or an action may have changed.
 */
export function targetAfterChange(target: CollectionTarget, item: Item): CollectionTarget {
  const { parent } = target
  if (!parent || getValue(item, [parent.field]) === parent.id) return target
  return { ...target, parent: undefined }
}

/** The same request at the address that its item has after a change. */
export function atCurrentParent(context: OperationContext, item: Item): OperationContext {
  const target = targetAfterChange(context.target, item)
  return target === context.target ? context : derive(context, { target })
}

/** Whether an item is below the target's parent, if there is one, and visible to the principal. */
export function isReachable(context: OperationContext, item: Item): Awaitable<boolean> {
  const { parent, collection } = context.target
  if (parent && getValue(item, [parent.field]) !== parent.id) return false
  return buildRowFilter(context, collection)?.sees(item) ?? true
}

/**
 * Finds an item of any collection, where it exists and the principal may see it.
 * @param byClient whether the client named it: a collection that hides what exists has none for a client
 * that may not read it.
 */
export function findVisible(
  context: OperationContext,
  collection: CollectionDefinition,
  id: Id,
  byClient = true,
): Awaitable<Stored | undefined> {
  if (byClient && collection.hideExistence && !context.can(collection, 'read')) return undefined
  return andThen(context.storeOf(collection).get(id, context.request), stored => {
    if (!stored || !collection.visible) return stored
    const sees = buildRowFilter(context, collection)?.sees(stored.item) ?? true
    return andThen(sees, visible => (visible ? stored : undefined))
  })
}

/** @throws HttpError 404 where the parent of the target does not exist. */
export function requireParent(context: OperationContext): Awaitable<void> {
  const { parent } = context.target
  if (!parent) return undefined
  const { collection, id } = parent
  return andThen(findVisible(context, collection, id), found => {
    if (!found) throw notFound(collection, id)
  })
}

/** Reads the item of the target. @throws HttpError 404 */
export function requireItem(context: OperationContext): Awaitable<Stored> {
  const { collection, id = '', parent } = context.target
  const find = () =>
    andThen(context.storeOf(collection).get(id, context.request), stored => {
      if (!stored) throw notFound(collection, id)
      if (!parent && !collection.visible) return stored
      return andThen(isReachable(context, stored.item), reachable => {
        if (!reachable) throw notFound(collection, id)
        return stored
      })
    })
  return parent ? andThen(requireParent(context), find) : find()
}

/**
 * Refuses to write an item that its writer could not see.
 * @param values of the item to be, without the id that only the store knows.
 * @throws HttpError 403, or 404 where the collection hides what exists.
 */
export function assertVisible(context: OperationContext, values: Item): Awaitable<void> {
  const { collection, id } = context.target
  const rows = buildRowFilter(context, collection)
  if (!rows) return undefined
  return andThen(rows.sees(withDates(collection, values)), visible => {
    if (visible) return
    if (collection.hideExistence) throw notFound(collection, id ?? '')
    const message = `You could not see this ${collection.itemName} afterwards, so you cannot write it.`
    throw new HttpError(403, [{ message, type: 'forbidden_row' }])
  })
}

/** Values with the dates that a store gives them now. */
function withDates({ shape: { createdAt, updatedAt } }: CollectionDefinition, values: Item): Item {
  const now = new Date().toISOString()
  const created = createdAt === undefined ? {} : { [createdAt]: now }
  const updated = updatedAt === undefined ? {} : { [updatedAt]: now }
  return { ...created, ...values, ...updated }
}

export function notFound({ itemName }: CollectionDefinition, id: Id): HttpError {
  const message = `No ${itemName} has the id ${JSON.stringify(String(id).slice(0, 64))}`
  return new HttpError(404, [{ message, type: 'not_found' }])
}
