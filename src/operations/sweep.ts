// Orphans: contents that no item holds, left where a process ended between a content and its record.
import type { BlobStore } from '../blobs/blob-store.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { findBlobRecord, listBlobFields } from '../schema/blob.ts'
import { withTieBreak } from '../store/selection.ts'

/**
 * Removes every content of a blob store that is older than `olderThan` milliseconds (a day) and that
 * no item of the given collections holds. Safe while the api runs: a younger content may belong to a
 * request that is still running.
 * @param collections all that keep their contents in this blob store: what only another one holds
 * would be removed. That they are all is not checked.
 * @returns how many contents were removed.
 */
export async function sweepBlobs(
  blobs: BlobStore,
  collections: readonly { readonly definition: CollectionDefinition }[],
  { olderThan = 86_400_000 }: { olderThan?: number | undefined } = {},
): Promise<number> {
  const before = Date.now() - olderThan
  const old: string[] = []
  for await (const { key, createdAt } of blobs.keys()) if (createdAt < before) old.push(key)
  const held = new Set<string>()
  for (const { definition } of collections) {
    for await (const key of keysOf(definition)) held.add(key)
  }
  const orphans = old.filter(key => !held.has(key))
  for (const key of orphans) await blobs.delete(key)
  return orphans.length
}

async function* keysOf({ store, shape }: CollectionDefinition): AsyncGenerator<string> {
  const names = listBlobFields(shape.fields)
  for await (const batch of store.stream({
    where: [],
    sort: withTieBreak([], shape.identity.name),
  })) {
    for (const { item } of batch) {
      for (const name of names) {
        const record = findBlobRecord(item, name)
        if (record) yield record.key
      }
    }
  }
}
