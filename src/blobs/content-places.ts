// Where the items of a store have contents: a fact of the store, of which each version may declare a part.
import type { Item } from '../base/values.ts'
import { findBlobRecord, listBlobFields } from '../schema/blob.ts'
import type { Fields } from '../schema/fields.ts'
import type { Store } from '../store/store.ts'
import type { BlobStore } from './blob-store.ts'

/** The blob stores of binary properties, by name. */
export type ContentPlaces = ReadonlyMap<string, BlobStore>

/** The content of a binary property. */
export interface BlobContent {
  readonly blobs: BlobStore
  readonly key: string
}

/** By store: collections that share one know of the binary properties of all. */
const placesOf = new WeakMap<Store, Map<string, BlobStore>>()

/** Adds the binary properties of a collection to those of its store, and returns all: later collections add to the same map. */
export function addContentPlaces(
  store: Store,
  fields: Fields,
  blobs: BlobStore | undefined,
): ContentPlaces {
  const places = placesOf.get(store) ?? new Map<string, BlobStore>()
  placesOf.set(store, places)
  if (blobs) for (const name of listBlobFields(fields)) places.set(name, blobs)
  return places
}

/** Lists the contents that a stored item holds. */
export function listContents(places: ContentPlaces, item: Item): BlobContent[] {
  return [...places].flatMap(([name, blobs]) => {
    const key = findBlobRecord(item, name)?.key
    return key === undefined ? [] : [{ blobs, key }]
  })
}
