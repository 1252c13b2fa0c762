// How much is read at once, and a page of what was found for a slice.

import type { Slice, Stored, StorePage } from './store.ts'

/** The number of items that a stream yields at a time. */
export const BATCH_ITEMS = 200
/** The bytes of such a batch as JSON, where one item is not larger. */
export const BATCH_BYTES = 256 * 1024

/** Makes a page of the items found for a slice with one more item than its limit. */
export function toPage(
  found: readonly Stored[],
  slice: Slice,
  total: number | undefined,
): StorePage {
  const more = found.length > slice.limit
  const backward = 'key' in slice && slice.backward
  const items = more ? (backward ? found.slice(1) : found.slice(0, -1)) : found
  return total === undefined ? { items, more } : { items, more, total }
}
