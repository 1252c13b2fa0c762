// Sets of items: several at once, where a store can do so by one statement.
import type { Item } from '../base/values.ts'
import { inPlace } from './errors.ts'
import type { Id, Store, Stored, StoredChange, StoreOptions } from './store.ts'

/** The maximum of items of one call of `getMany`, `createAll`, `updateAll` or `deleteAll`, and of ids in a filter. */
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
  for (const [at, { id, version }] of set.entries()) {
    if (!(await inPlace(at, async () => store.delete(id, version, options)))) return false
  }
  return true
}

/** Whether an array of items can be created as a whole. */
export function takesArrays({ transaction, database }: Store): boolean {
  return transaction !== undefined && database !== undefined
}

/** Adds a set of items, all or none. A store without `createAll` adds them one by one: to be called in a transaction. */
export async function createSet(
  store: Store,
  set: readonly Item[],
  options?: StoreOptions,
): Promise<readonly Stored[]> {
  if (store.createAll) return store.createAll(set, options)
  const created: Stored[] = []
  for (const [at, values] of set.entries())
    created.push(await inPlace(at, async () => store.create(values, options)))
  return created
}

/**
 * Changes a set of items, each at its version. A store without `updateAll` changes them one by one, up to one that has
 * changed: to be called in a transaction.
 * @returns `undefined` where one has another version by now.
 */
export async function updateSet(
  store: Store,
  set: readonly StoredChange[],
  options?: StoreOptions,
): Promise<readonly Stored[] | undefined> {
  if (store.updateAll) return store.updateAll(set, options)
  const updated: Stored[] = []
  for (const [at, { before, values }] of set.entries()) {
    const { id, version } = before
    const stored = await inPlace(at, async () => store.update(id, version, values, options))
    if (!stored) return undefined
    updated.push(stored)
  }
  return updated
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

/**
 * Writes items by a function that answers at once: all of them, or none.
 * @param undo takes one back; the last one is the first.
 */
export function writeEach<Input>(
  all: readonly Input[],
  write: (input: Input) => Stored,
  undo: (written: Stored, input: Input) => void,
): Stored[] {
  const written: Stored[] = []
  const undos: (() => void)[] = []
  try {
    for (const input of all) {
      const each = write(input)
      written.push(each)
      undos.push(() => undo(each, input))
    }
    return written
  } catch (error) {
    for (const each of undos.reverse()) each()
    throw error
  }
}

/** Finds the items of changes; `undefined` where one has another version by now, or is named twice. */
export function findUnchanged(
  changes: readonly StoredChange[],
  get: (id: Id) => Stored | undefined,
): StoredChange[] | undefined {
  if (
    !areAtVersions(
      changes.map(({ before }) => before),
      get,
    )
  )
    return undefined
  return changes.map(({ before, values }) => ({ before: get(before.id) ?? before, values }))
}

/** Whether each item is at its version, and none is named twice. */
export function areAtVersions(
  items: readonly ItemVersion[],
  get: (id: Id) => Stored | undefined,
): boolean {
  const isDistinct = new Set(items.map(({ id }) => id)).size === items.length
  return isDistinct && items.every(({ id, version }) => get(id)?.version === version)
}
