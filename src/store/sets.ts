// Sets of items: several at once, where a store can do so by one statement.
import type { Item } from '../base/values.ts'
import type { Id, Store, Stored, StoreOptions } from './store.ts'

/** The maximum of items of one call of `getMany`, `createAll` or `deleteAll`, and of ids in a filter. */
export const MAX_SET = 500

/** An item at a version. */
export type ItemVersion = Pick<Stored, 'id' | 'version'>

/**
 * Removes a set of items. A store without `deleteAll` removes them one by one, up to one that has changed.
 * @returns whether each was still at its version.
 */
export async function deleteSet(
  store: Store,
  set: readonly ItemVersion[],
  options?: StoreOptions,
): Promise<boolean> {
  if (store.deleteAll) return store.deleteAll(set, options)
  for (const { id, version } of set) {
    if (!(await store.delete(id, version, options))) return false
  }
  return true
}

/** Adds a set of items, all or none. A store without `createAll` adds them one by one: to be called in a transaction. */
export async function createSet(
  store: Store,
  set: readonly Item[],
  options?: StoreOptions,
): Promise<readonly Stored[]> {
  if (store.createAll) return store.createAll(set, options)
  const created: Stored[] = []
  for (const values of set) created.push(await store.create(values, options))
  return created
}

/** Finds a set of items: those that there are. */
export async function findSet(
  store: Store,
  ids: readonly Id[],
  options?: StoreOptions,
): Promise<readonly (Stored | undefined)[]> {
  if (store.getMany) return store.getMany(ids, options)
  const found: (Stored | undefined)[] = []
  for (const id of ids) found.push(await store.get(id, options))
  return found
}

/** Creates items by a function that answers at once: all of them, or none. @param undo removes one again. */
export function createEach<Values>(
  all: readonly Values[],
  create: (values: Values) => Stored,
  undo: (created: Stored) => void,
): Stored[] {
  const created: Stored[] = []
  try {
    for (const values of all) created.push(create(values))
    return created
  } catch (error) {
    for (const each of created) undo(each)
    throw error
  }
}

/** Whether each item is at its version, and none is named twice. */
export function areAtVersions(
  items: readonly ItemVersion[],
  get: (id: Id) => Stored | undefined,
): boolean {
  const isDistinct = new Set(items.map(({ id }) => id)).size === items.length
  return isDistinct && items.every(({ id, version }) => get(id)?.version === version)
}
