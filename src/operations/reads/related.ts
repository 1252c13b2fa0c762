// Related items of a query, as the same client would get them from their collections: who may, which rows, which hooks.

import { type Awaitable, andThen } from '../../base/values.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { ParsedFilter } from '../../query/related.ts'
import type { Relation } from '../../query/relation.ts'
import type { Filter, Within } from '../../store/filter.ts'
import { requireAccess } from '../calls/authorize.ts'
import type { OperationContext } from '../calls/context.ts'
import { deriveCall } from '../calls/derive-call.ts'
import { buildRowFilter } from '../calls/items.ts'
import { findWithin, resolveFilter } from '../calls/resolve-filter.ts'
import { runBefore } from '../calls/run-hooks.ts'

/** Finds the collection of a relation, whole. */
function findCollection(context: OperationContext, { scope }: Relation): CollectionDefinition {
  const found = context.target.version.collections.get(scope.name)
  if (!found) throw new TypeError(`${scope.name} is not in the api`)
  return found
}

/** Creates the context of a related collection, for its hooks, row policy and contents. */
export function enterRelated(
  context: OperationContext,
  relation: Relation,
  operation: string,
): OperationContext {
  const { version } = context.target
  const collection = context.resultView(findCollection(context, relation))
  return deriveCall(context, { kind: 'collection', version, collection }, operation)
}

/** Lists the relations that filters go through. */
function listFiltered(filters: readonly ParsedFilter[]): Relation[] {
  return filters.flatMap(filter => {
    switch (filter.operator) {
      case 'related':
        return [filter.relation, ...listFiltered(filter.where)]
      case 'all':
      case 'any':
        return listFiltered(filter.filters)
      case 'not':
        return listFiltered([filter.filter])
      default:
        return []
    }
  })
}

/** Lists the collections that filters reach. */
export function listReached(
  context: OperationContext,
  filters: readonly ParsedFilter[],
): CollectionDefinition[] {
  return listFiltered(filters).map(relation => findCollection(context, relation))
}

/**
 * Makes filters of the store's kind of those through relations. By them the client lists the related collections.
 * @throws HttpError 401, 403 for a collection that it may not list.
 */
export function resolveRelated(
  context: OperationContext,
  filters: readonly ParsedFilter[],
): Awaitable<readonly Filter[]> {
  const levels = new Map<string, OperationContext>()
  for (const relation of listFiltered(filters)) {
    const level = enterRelated(context, relation, 'list')
    requireAccess(context, level.target.collection, ['list'])
    levels.set(relation.scope.name, level)
  }
  let admitted: Awaitable<unknown>
  for (const level of levels.values())
    admitted = andThen(admitted, () => runBefore(level, {}, undefined))
  return andThen(admitted, () =>
    filters.map(filter => resolveFilter(filter, relation => enterVisible(context, relation))),
  )
}

/** Finds the items that a relation leads to, and that the client sees. */
function enterVisible(context: OperationContext, relation: Relation): Within {
  const within = findWithin(context, relation.scope.name)
  const rows = buildRowFilter(context, findCollection(context, relation))
  return rows ? { ...within, where: rows.where } : within
}
