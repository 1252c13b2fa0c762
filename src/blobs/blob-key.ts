// The keys that blob stores make: a sweep lists and deletes nothing else that stands beside them.
import { randomBytes } from 'node:crypto'

const BYTES = 18
const KEY = /^[A-Za-z0-9_-]{24}$/

/** Makes a key that no content has. */
export function createBlobKey(): string {
  return randomBytes(BYTES).toString('base64url')
}

export function isBlobKey(text: string): boolean {
  return KEY.test(text)
}
