// Counts the bytes of a value as JSON.
import type { Json } from './values.ts'

/** Whether a value has at most so many bytes as JSON. A value that is far below is not printed. */
export function isWithin(value: Json, bytes: number): boolean {
  return maxBytes(value) <= bytes || Buffer.byteLength(JSON.stringify(value)) <= bytes
}

/** The most bytes that a value may have as JSON. */
function maxBytes(value: Json): number {
  // Six for an escape, such as that of U+0001; the longest number has 24.
  if (typeof value === 'string') return 6 * value.length + 2
  if (typeof value !== 'object' || value === null) return 24
  let bytes = 2
  if (Array.isArray(value)) for (const each of value) bytes += maxBytes(each) + 1
  else for (const name in value) bytes += maxBytes(name) + maxBytes(value[name] ?? null) + 2
  return bytes
}
