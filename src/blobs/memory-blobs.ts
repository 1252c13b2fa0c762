// Blobs in memory, for tests and for contents that need not survive the process.
import { createBlobKey } from './blob-key.ts'
import type { BlobStore } from './blob-store.ts'
import { oneChunk } from './content.ts'

/** Stores contents in memory, without a bound on their number; the limits of the api bound each upload. */
export function memoryBlobs(): BlobStore {
  const contents = new Map<string, { bytes: Uint8Array; createdAt: number }>()
  return {
    async put(content) {
      const chunks: Uint8Array[] = []
      for await (const chunk of content) chunks.push(chunk)
      const bytes = Buffer.concat(chunks)
      const key = createBlobKey()
      contents.set(key, { bytes, createdAt: Date.now() })
      return { key, size: bytes.length }
    },
    async get(key, range) {
      const found = contents.get(key)
      if (!found) return undefined
      return oneChunk(range ? found.bytes.subarray(range.first, range.last + 1) : found.bytes)
    },
    async delete(key) {
      contents.delete(key)
    },
    async *keys() {
      for (const [key, { createdAt }] of contents) yield { key, createdAt }
    },
  }
}
