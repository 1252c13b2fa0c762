// Places in a list that a program reads: its start, the parts beside a part, and cursors as clients have them.

import { HttpError } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { parseCursor, printCursor } from '../../pagination/cursor.ts'
import type { ParsedQuery } from '../../query.ts'
import { isSortKey, sortKeyOf } from '../../store/selection.ts'
import type { Slice, Stored } from '../../store/store.ts'

/** A place in a list. Its position, as far as it is known, is for the `Content-Range` of clients. */
export interface ListStart {
  readonly slice: Slice
  readonly position: number
}

/** What a part of a list says about the parts beside it. */
interface PlacedPart extends ListStart {
  readonly query: ParsedQuery
  readonly stored: readonly Stored[]
  readonly more: boolean
}

/** Reads the cursor of a call. @throws TypeError */
export function readCursor(query: object = {}): string | undefined {
  const { cursor, offset }: { readonly cursor?: unknown; readonly offset?: unknown } = query
  if (cursor === undefined) return undefined
  if (typeof cursor !== 'string')
    throw new TypeError(`cursor must be the cursor of a page, a string, not ${String(cursor)}`)
  if (offset === undefined) return cursor
  throw new TypeError('offset and cursor exclude each other: name one of them')
}

/**
 * Finds the place of a cursor.
 * @throws HttpError 400 for one that was changed, or belongs to another sort
 */
export function findStart(
  { shape }: CollectionDefinition,
  { sort }: ParsedQuery,
  text: string,
  limit: number,
): ListStart {
  // Where the store cannot seek it is an offset.
  if (/^\d{1,15}$/.test(text))
    return { slice: { limit, offset: Number(text) }, position: Number(text) }
  const { key, backward = false, position = 0 } = parseCursor(text, sort) ?? {}
  if (key && isSortKey(key, sort, shape.fields))
    return { slice: { limit, key, backward }, position }
  const message = 'This cursor was changed or belongs to another sort: take it from a page'
  throw new HttpError(400, [{ message, field: 'cursor', type: 'invalid_cursor' }])
}

/** Finds the place before or after a part; `undefined` where there is nothing. */
export function findBeside(
  { store }: CollectionDefinition,
  { query, slice, stored, more, position }: PlacedPart,
  backward: boolean,
): ListStart | undefined {
  const { limit } = slice
  const cameBackward = 'backward' in slice && slice.backward
  if (limit === 0 || (!backward && !cameBackward && !more)) return undefined
  const beside = backward ? Math.max(0, position - limit) : position + stored.length
  if (store.pages === 'offset' && 'offset' in slice) {
    if (backward && slice.offset === 0) return undefined
    const offset = backward ? beside : slice.offset + limit
    return { slice: { limit, offset }, position: beside }
  }
  const edge = backward ? stored[0] : stored.at(-1)
  // Before a position behind the end comes the last page.
  if (!edge && !backward) return undefined
  const key = edge && sortKeyOf(edge.item, query.sort)
  return { slice: { limit, key, backward }, position: beside }
}

/** Prints the cursor of the part after a part; `undefined` where there is none. */
export function printNext(collection: CollectionDefinition, part: PlacedPart): string | undefined {
  const next = findBeside(collection, part, false)
  if (!next) return undefined
  const { slice, position } = next
  if ('offset' in slice) return String(slice.offset)
  return printCursor({ key: slice.key, backward: false, position }, part.query.sort)
}
