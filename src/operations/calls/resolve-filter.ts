// Filters through relations, as stores take them: what lies beyond a relation is another selection.

import { isOwn, type ParsedFilter } from '../../query/related.ts'
import type { Relation } from '../../query/relation.ts'
import { createWithin, type Filter, type Within } from '../../store/filter.ts'
import type { OperationContext } from './context.ts'
import { requireOutside } from './running-transaction.ts'

/** Finds all items of a collection, for filters that reach them. @throws TypeError for one that is not in the api. */
export function findWithin(
  context: OperationContext,
  name: string,
  transaction = context.transaction,
): Within {
  const { version } = context.target
  const collection = version.collections.get(name)
  if (!collection) throw new TypeError(`${name} is not in the api`)
  const { rows, shape } = collection
  // With all items, those of a trash too: the filters leave them out.
  const store = transaction?.storeOf(collection) ?? collection.store
  if (!transaction) requireOutside(store, name)
  const { fields, identity } = shape
  return { name: `${version.name} ${name}`, store, fields, identity, where: rows }
}

/** @param enter finds the items that a relation leads to, before these filters. */
export function resolveFilter(filter: ParsedFilter, enter: (relation: Relation) => Within): Filter {
  if (isOwn(filter)) return filter
  switch (filter.operator) {
    case 'not':
      return { operator: 'not', filter: resolveFilter(filter.filter, enter) }
    case 'related': {
      const { from, to, many } = filter.relation
      const within = enter(filter.relation)
      const where = [...within.where, ...filter.where.map(each => resolveFilter(each, enter))]
      return createWithin([from], { ...within, where, key: many ? [to] : undefined })
    }
    case 'all':
    case 'any':
      return { ...filter, filters: filter.filters.map(each => resolveFilter(each, enter)) }
  }
}
