// Properties of items whose stored values cannot be read: null stands for them. Which filters only a store can judge.

import { getValue } from '../base/paths.ts'
import { type Awaitable, andThen, type Item, type Json } from '../base/values.ts'
import { type Fields, findField } from '../schema/fields.ts'
import {
  type Filter,
  type FilteredOptions,
  type FilteredStore,
  listLeaves,
  type NamedId,
} from './filter.ts'
import { withTieBreak } from './selection.ts'
import type { Id } from './store.ts'

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

/** Whether filters name a property of an item that could not be read. */
export function namesUnreadable(item: Item, where: readonly Filter[]): boolean {
  const names = findUnreadable(item)
  return names !== undefined && listLeaves(where).some(({ path: [name = ''] }) => names.has(name))
}

/** Whether a text has digits of a second that `matcher` does not compare. */
const isFiner = (value: Json | undefined) =>
  typeof value === 'string' && value.length > 24 && /\.\d{4}/.test(value)

/**
 * Whether its store alone can tell if filters hold for a stored item: they name a property that could not be read, or a date
 * and time of more digits than `matcher` compares.
 */
export function needsStore(item: Item, where: readonly Filter[], fields: Fields): boolean {
  if (namesUnreadable(item, where)) return true
  return listLeaves(where).some(({ path, operator, values }) => {
    const isFine = isFiner(getValue(item, path)) || values.some(isFiner)
    return isFine && operator !== 'exists' && findField(fields, path)?.kind === 'date-time'
  })
}

/** What lists an item. */
interface Listing {
  readonly store: FilteredStore
  readonly identity: NamedId
  readonly options: FilteredOptions | undefined
}

/** Asks the store whether filters hold for an item that it has. */
export function isListed(
  id: Id,
  where: readonly Filter[],
  { store, identity, options }: Listing,
): Awaitable<boolean> {
  const one: Filter = { path: [identity.name], operator: 'in', values: [id] }
  const selection = { where: [one, ...where], sort: withTieBreak([], identity) }
  const page = store.list(selection, { limit: 1, offset: 0 }, 'none', options)
  return andThen(page, ({ items }) => items.length > 0)
}
