// Prints stored items as JSON, once each, and cuts pages by the size of their items.
import { printJson } from '../base/exact-numbers.ts'
import type { Slice, Stored, StorePage } from './store.ts'

/** Texts of more bytes are printed each time. */
const MAX_KEPT = 64 * 1024

/** The printed form of one stored item. */
interface PrintedItem {
  /** Absent of a large item: to keep its text would take as much memory again. */
  readonly json: string | undefined
  /** The length of the text in bytes of UTF-8. */
  readonly bytes: number
  /** The value of `Last-Modified`, once it has been sent. */
  lastModified: string | undefined
}

/** A stored item that keeps its printed form: no store reads or sets it. */
export interface PrintedStored extends Stored {
  printed?: PrintedItem | undefined
}

/** Prints an item once for as long as its store returns the same object. */
export function printItem(stored: PrintedStored): PrintedItem {
  if (stored.printed) return stored.printed
  const text = printJson(stored.item)
  const bytes = Buffer.byteLength(text)
  stored.printed = { json: bytes > MAX_KEPT ? undefined : text, bytes, lastModified: undefined }
  return stored.printed
}

/**
 * Cuts a page to so many bytes of its items as JSON, always with at least one item: those nearest to the
 * place from which the slice is read stay.
 * @param maxBytes absent: the page stays as it is.
 */
export function cutPage(page: StorePage, slice: Slice, maxBytes: number | undefined): StorePage {
  if (maxBytes === undefined) return page
  const { items } = page
  const backward = 'key' in slice && slice.backward
  let left = maxBytes
  for (const stored of items) left -= printItem(stored).bytes
  if (left >= 0) return page
  // Items are left out at the end that is read last, until the rest fits.
  let kept = items.length
  while (left < 0 && kept > 1) {
    kept--
    const stored = items[backward ? items.length - 1 - kept : kept]
    if (stored) left += printItem(stored).bytes
  }
  if (kept === items.length) return page
  return { ...page, items: backward ? items.slice(-kept) : items.slice(0, kept), more: true }
}
