// The unique sets that can name an item instead of its id: `PUT /cars?plate=AB-123`.

import { toPath } from '../../base/paths.ts'
import { findField } from '../../schema/fields.ts'
import { takesArrays } from '../../store/writes.ts'
import type { CollectionDefinition } from '../types/definition.ts'

/** The operation of a PUT that names an item by a unique set: it needs `create` and `replace`. */
export const UPSERT = 'upsert'

/**
 * Lists the unique sets that clients can name: they write and filter by each property of them.
 * @param change how an item that exists is changed: the collection has this operation, and `create`.
 */
export function listKeys(
  { keys, operations, inputFields, queryFields }: CollectionDefinition,
  change: 'replace' | 'patch' = 'replace',
): readonly (readonly string[])[] {
  if (!operations.has('create') || !operations.has(change)) return NO_KEYS
  const isNamed = (dotted: string) =>
    [inputFields, queryFields].every(fields => findField(fields, toPath(dotted)) !== undefined)
  return keys.filter(set => set.every(isNamed))
}

const NO_KEYS: readonly (readonly string[])[] = []

/** The parameter of a POST that names the set by which items of its array are found. */
export const ON_CONFLICT = 'on_conflict'

/** Lists the sets by which clients can name items of an array: unique ones, and the id if they choose it. */
export function listArrayKeys(collection: CollectionDefinition): readonly (readonly string[])[] {
  const { store, inputFields, operations, shape } = collection
  if (!takesArrays(store)) return NO_KEYS
  const { name } = shape.identity
  const byId = inputFields.has(name) && operations.has('create') && operations.has('patch')
  return [...(byId ? [[name]] : []), ...listKeys(collection, 'patch')]
}
