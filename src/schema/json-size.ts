// Counts the bytes of a value as JSON; prints it only where the count is close.
import { isObject, type Json } from '../base/values.ts'

/** Whether a value has at most so many bytes as JSON. Nothing is printed of a value that is far below. */
export function isWithin(value: Json, bytes: number): boolean {
  return maxBytes(value) <= bytes || Buffer.byteLength(JSON.stringify(value)) <= bytes
}

/** Estimates the bytes from above: six for an escape, such as that of U+0001; the longest number has 24. */
function maxBytes(value: Json): number {
  if (typeof value === 'string') return 6 * value.length + 2
  let sum = 24
  if (Array.isArray(value)) for (const each of value) sum += maxBytes(each) + 1
  else if (isObject(value)) {
    // Not by `Object.entries`, which takes twice as long.
    for (const name in value) sum += maxBytes(name) + maxBytes(value[name] ?? null) + 2
  }
  return sum
}
