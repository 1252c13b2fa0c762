// The definitions of collections and apis, by the objects that programs have: they are no part of their interface.
import type { AnyCollection } from './types/collection-types.ts'
import type { ApiDefinition, CollectionDefinition } from './types/definition.ts'

/** Any api. */
export interface AnyApi {
  /** Its collections by name; of an api with versions those of its default version. */
  readonly collections: Readonly<Record<string, AnyCollection>>
}

/** What stands behind each collection that a user holds, without showing it as a property. */
const collections = new WeakMap<object, CollectionDefinition>()
/** The same of each api. */
const apis = new WeakMap<object, ApiDefinition>()

export function keepCollectionDefinition(collection: object, definition: CollectionDefinition) {
  collections.set(collection, definition)
}

export function keepApiDefinition(api: object, definition: ApiDefinition): void {
  apis.set(api, definition)
}

export function isCollection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && collections.has(value)
}

/** @throws TypeError for anything but what `defineCollection` gave. */
export function findCollectionDefinition(collection: AnyCollection): CollectionDefinition {
  return require(collections, collection, 'a collection that defineCollection')
}

/** @throws TypeError for anything but what `defineApi` gave. */
export function findApiDefinition(api: AnyApi): ApiDefinition {
  return require(apis, api, 'an api that defineApi')
}

function require<T>(known: WeakMap<object, T>, value: object, what: string): T {
  const definition = known.get(value)
  if (definition) return definition
  throw new TypeError(`This is not ${what} of this package made: pass it itself, and no copy`)
}
