// The unique sets that can name an item instead of its id: `PUT /cars?plate=AB-123`.

import { toPath } from '../../base/paths.ts'
import { findField } from '../../schema/fields.ts'
import type { CollectionDefinition } from '../types/definition.ts'

/** The operation of a PUT that names an item by a unique set: it needs `create` and `replace`. */
export const UPSERT = 'upsert'

/** Lists the unique sets that clients can name: they write and filter by each property of them. */
export function listKeys({
  keys,
  operations,
  inputFields,
  queryFields,
}: CollectionDefinition): readonly (readonly string[])[] {
  if (!operations.has('create') || !operations.has('replace')) return NO_KEYS
  const isNamed = (dotted: string) =>
    [inputFields, queryFields].every(fields => findField(fields, toPath(dotted)) !== undefined)
  return keys.filter(set => set.every(isNamed))
}

const NO_KEYS: readonly (readonly string[])[] = []
