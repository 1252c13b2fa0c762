// Properties of items whose stored values cannot be read: null stands for them.

import type { Item } from '../base/values.ts'

/** By item, as long as the item: what is not stored in it is not printed, compared or written. */
const unreadable = new WeakMap<Item, Set<string>>()
/** Whether there has ever been one: until then nobody looks for them. */
let hasAny = false

/** Remembers that a property of an item could not be read. */
export function markUnreadable(item: Item, name: string): void {
  hasAny = true
  const names = unreadable.get(item)
  if (names) names.add(name)
  else unreadable.set(item, new Set([name]))
}

/** Finds the properties of an item that could not be read; `undefined` if there are none. */
export function findUnreadable(item: Item): ReadonlySet<string> | undefined {
  return hasAny ? unreadable.get(item) : undefined
}
