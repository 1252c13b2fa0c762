// Which access rule counts for an operation of an api.
import { type AccessRule, findRule } from '../auth/access.ts'
import type { ApiDefinition, CollectionDefinition } from './definition.ts'

/** Finds the rule for an operation on a collection, or for the root. */
export function findAccessRule(
  { access }: Pick<ApiDefinition, 'access'>,
  collection: Pick<CollectionDefinition, 'access'> | undefined,
  operation: string,
): AccessRule {
  if (!collection) return findRule(access, 'root')
  return findRule(collection.access, operation, findRule(access, 'default'))
}
