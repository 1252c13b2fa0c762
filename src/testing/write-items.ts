// Writes of single items, and of several, as the cases name them.
import { type Awaitable, andThen, type Item } from '../base/values.ts'
import type {
  Changes,
  ItemVersion,
  Store,
  Stored,
  StoreOptions,
  StoreWriteOptions,
} from '../store/store.ts'

type Written = Awaitable<Stored | undefined>

/** Adds an item. */
export function createOne(
  store: Store,
  values: Item,
  options?: StoreWriteOptions,
): Awaitable<Stored> {
  return writeOne(store, [{ create: values }], options) as Awaitable<Stored> // no other writer can be faster
}

/** Changes an item; `undefined` if it is not at its version. A single one is known by its id and version. */
export function updateOne(
  store: Store,
  before: ItemVersion & Partial<Stored>,
  values: Item,
  options?: StoreWriteOptions,
): Written {
  return writeOne(store, [{ update: values, before: { item: {}, ...before } }], options)
}

/** Removes an item. @returns whether it was at its version. */
export function deleteOne(
  store: Store,
  item: ItemVersion,
  options?: StoreWriteOptions,
): Awaitable<boolean> {
  return deleteAll(store, [item], options)
}

/** Adds items. */
export function createAll(
  store: Store,
  values: readonly Item[],
  options?: StoreOptions,
): Awaitable<readonly Stored[]> {
  const creations = values.map(each => ({ create: each }))
  return andThen(store.write(creations, options), written => written ?? [])
}

/** Changes items; `undefined` if one is not at its version. */
export function updateAll(
  store: Store,
  changes: readonly { readonly before: Stored; readonly values: Item }[],
  options?: StoreOptions,
): Awaitable<readonly Stored[] | undefined> {
  const updates = changes.map(({ before, values }) => ({ update: values, before }))
  return store.write(updates, options)
}

/** Removes items. @returns whether all were at their versions. */
export function deleteAll(
  store: Store,
  items: readonly ItemVersion[],
  options?: StoreWriteOptions,
): Awaitable<boolean> {
  const deletions = items.map(item => ({ delete: item }))
  return andThen(store.write(deletions, options), written => written !== undefined)
}

function writeOne(store: Store, changes: Changes, options?: StoreWriteOptions): Written {
  return andThen(store.write(changes, options), written => written?.[0])
}
