// Makes the two methods for items of a store out of functions for one item.

import type { Awaitable, Item } from '../base/values.ts'
import {
  type Id,
  type ItemVersion,
  type Store,
  type Stored,
  type StoreOptions,
  type StoreWriteOptions,
  throwIfAborted,
} from '../store/store.ts'

/** What a store does with one item. */
export interface ItemCalls {
  /** Finds an item; `undefined` if there is none. */
  get(id: Id, options?: StoreOptions): Awaitable<Stored | undefined>
  /** Adds an item. @throws as {@link Store.write} does. */
  create(values: Item, options?: StoreWriteOptions): Awaitable<Stored>
  /** Replaces the values of an item if it is still at its version; else `undefined`. @throws as {@link Store.write} does. */
  update(before: Stored, values: Item, options?: StoreWriteOptions): Awaitable<Stored | undefined>
  /** Removes an item. @returns whether it was still at its version. @throws as {@link Store.write} does. */
  delete(item: ItemVersion, options?: StoreWriteOptions): Awaitable<boolean>
}

/**
 * Makes `find` and `write` of a store without transactions, which writes one item a call. Ids, dates and versions are those
 * that the functions give: docs/write-a-store.md has all four.
 * @example
 * import { memoryStore } from 'rest-conventions'
 * import { createVersion, oneByOne } from 'rest-conventions/store'
 * const items = new Map()
 * const { find, write } = oneByOne({
 *   get: id => items.get(id),
 *   create(values) {
 *     const id = items.size + 1
 *     const stored = { id, item: { id, ...values }, version: createVersion() }
 *     items.set(id, stored)
 *     return stored
 *   },
 *   update: () => undefined,
 *   delete: () => false,
 * })
 * const store = { ...memoryStore(), find, write }
 */
export function oneByOne(calls: ItemCalls): Pick<Store, 'find' | 'write'> {
  return {
    async find(ids, options) {
      throwIfAborted(options)
      const found: (Stored | undefined)[] = []
      for (const id of ids) found.push(await calls.get(id, options))
      return found
    },
    async write(changes, options) {
      throwIfAborted(options)
      const [change, other] = changes
      if (other) throw new TypeError('A store without transactions takes one change a call')
      if (!change) return []
      if ('create' in change) return [await calls.create(change.create, options)]
      if ('delete' in change) return (await calls.delete(change.delete, options)) ? [] : undefined
      const updated = await calls.update(change.before, change.update, options)
      return updated && [updated]
    },
  }
}
