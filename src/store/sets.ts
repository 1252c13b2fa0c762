// Sets of items: several at once, where a store can do so by one statement.
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
