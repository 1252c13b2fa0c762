// A full disk shows in writes alone. So after one has failed for it, `/health` writes too, until that succeeds.
import { randomUUID } from 'node:crypto'
import type { ApiDefinition } from '../model/types/definition.ts'
import { DiskFullError } from '../store/errors.ts'

const full = new WeakSet<ApiDefinition>()

/** Enough for new pages of a database. */
const PROBE = 'x'.repeat(8192)

/** Remembers that a request has met a full disk. */
export function noteDiskFull(api: ApiDefinition, error: unknown): void {
  if (error instanceof DiskFullError) full.add(api)
}

/**
 * Writes to each store, and removes it again, after a disk was full.
 * @throws DiskFullError
 */
export async function requireDiskSpace(
  api: ApiDefinition,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  if (!full.has(api)) return
  for (const { collections } of api.versions)
    for (const { store, blobs } of collections.values()) {
      const name = randomUUID()
      await store.claim(name, PROBE, options)
      await store.complete(name, undefined, options)
      if (!blobs) continue
      const { key } = await blobs.put(printProbe(), options)
      await blobs.delete(key)
    }
  full.delete(api)
}

async function* printProbe(): AsyncGenerator<Uint8Array> {
  yield Buffer.from(PROBE)
}
