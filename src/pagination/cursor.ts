// Cursors: opaque texts that name a place in a sorted list, `<seal>-<position><direction>[-<key>]`.
import { memoize } from '../base/memoize.ts'
import type { Json } from '../base/values.ts'
import type { SortKey } from '../store/selection.ts'
import { printSort } from '../store/sort.ts'

/** A place in a sorted list: pages continue from it, whatever is created or deleted meanwhile. */
export interface Cursor {
  /** The values of the sort keys at the place, the id last; absent: one end of the list. */
  readonly key: readonly Json[] | undefined
  /** Whether the page ends before the place rather than starting after it. */
  readonly backward: boolean
  /** The position of the place when the cursor was made: for `Content-Range` only. */
  readonly position: number
}

/**
 * Prints a cursor as an opaque text safe in a URL. Its seal of 32 bits covers the sort and the place. It
 * finds damage, not malice: a cursor's values are checked, bound and filtered like any parameter.
 */
export function printCursor({ key, backward, position }: Cursor, sort: readonly SortKey[]): string {
  const place = `${position}${backward ? 'p' : 'n'}${key === undefined ? '' : `-${printKey(key)}`}`
  return `${sealOf(place, sort)}-${place}`
}

const CURSOR = /^([0-9a-z]{1,7})-((0|[1-9]\d{0,15})([np])(?:-([\w-]+))?)$/

/**
 * Parses a cursor of a sort.
 * @returns `undefined` for a text that was changed, belongs to another sort, or is no cursor. The types
 * of its key are not checked.
 */
export function parseCursor(text: string, sort: readonly SortKey[]): Cursor | undefined {
  const [, seal, place = '', digits, direction, keyText] = CURSOR.exec(text) ?? []
  if (seal === undefined || seal !== sealOf(place, sort)) return undefined
  const position = Number(digits)
  const key = keyText === undefined ? undefined : parseKey(keyText)
  if (!Number.isSafeInteger(position) || (keyText !== undefined && !key)) return undefined
  return { key, backward: direction === 'p', position }
}

/** One number stands as it is, everything else as JSON in base64url, which begins with `W`. */
function printKey(key: readonly Json[]): string {
  const [value] = key
  if (key.length === 1 && Number.isSafeInteger(value) && Number(value) >= 0) return String(value)
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

function parseKey(text: string): Json[] | undefined {
  if (/^\d+$/.test(text)) return [Number(text)]
  try {
    const key: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(key) ? key : undefined
  } catch {
    return undefined
  }
}

const OFFSET_BASIS = 0x811c9dc5
const PRIME = 0x01000193

/** The hashes of the sorts, which readers remember. */
const hashSort = memoize((sort: readonly SortKey[]) => hash(`${printSort(sort)} `, OFFSET_BASIS))

/** FNV-1a over the sort and the place: any one changed character changes it. */
function sealOf(place: string, sort: readonly SortKey[]): string {
  return (hash(place, hashSort(sort)) >>> 0).toString(36)
}

function hash(text: string, start: number): number {
  let value = start
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), PRIME)
  return value
}
