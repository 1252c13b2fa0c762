// What every list and count does before it asks the store.

import { type Awaitable, andThen } from '../../base/values.ts'
import type { ParsedQuery } from '../../query.ts'
import type { OperationContext } from '../calls/context.ts'
import { buildReachFilters, requireParent } from '../calls/items.ts'
import { runBefore } from '../calls/run-hooks.ts'
import { resolveRelated } from './related.ts'

/** Prepares a query for the store: finds the parent, runs the `before` hook, adds the row policy. */
export function prepareQuery(
  context: OperationContext,
  query: ParsedQuery,
): Awaitable<ParsedQuery> {
  const admitted = andThen(requireParent(context), () => runBefore(context, {}, undefined))
  return andThen(admitted, () => {
    const scope = buildReachFilters(context)
    if (query.related)
      return andThen(resolveRelated(context, query.related), related => ({
        ...query,
        where: [...scope, ...query.where, ...related],
      }))
    return scope.length === 0 ? query : { ...query, where: [...scope, ...query.where] }
  })
}
