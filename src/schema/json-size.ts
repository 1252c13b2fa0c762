// Counts the bytes of a value as JSON; prints its texts only where the count is close.
import { isObject, type Json, type Scalar } from './values.ts'

/** Whether a value has at most so many bytes as JSON. Nothing is printed of a value that is far below. */
export function isWithin(value: Json, bytes: number): boolean {
  return bytesLeft(value, bytes, maxBytes) >= 0 || bytesLeft(value, bytes, exactBytes) >= 0
}

/**
 * Subtracts the bytes of a value, and stops below zero: a JSON Patch can copy parts so often that neither the text
 * nor its count would ever end.
 */
function bytesLeft(value: Json, bytes: number, sizeOf: typeof exactBytes): number {
  if (Array.isArray(value)) {
    // Brackets, and a comma after each element but the last.
    let left = bytes - 1 - Math.max(1, value.length)
    for (let at = 0; at < value.length && left >= 0; at++) {
      left = bytesLeft(value[at] ?? null, left, sizeOf)
    }
    return left
  }
  if (!isObject(value)) return bytes - sizeOf(value)
  const names = Object.keys(value)
  let left = bytes - 1 - Math.max(1, names.length)
  for (const name of names) {
    if (left < 0) break
    left = bytesLeft(value[name] ?? null, left - sizeOf(name) - 1, sizeOf)
  }
  return left
}

function exactBytes(value: Scalar | null): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Six for an escape, such as that of U+0001; the longest number has 24. */
function maxBytes(value: Scalar | null): number {
  return typeof value === 'string' ? 6 * value.length + 2 : 24
}
