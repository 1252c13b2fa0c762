// The row rule of a collection: which of its items a principal sees, and so may read, count and change.
import type { Issue } from '../errors.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { type Awaitable, andThen, type Item } from '../schema/values.ts'
import { createWithin, type Filter, matcher } from '../store/selection.ts'
import type { OperationContext } from './context.ts'
import { findReader, toParameters } from './filter-parameters.ts'

export interface RowFilter {
  /** What a list must add to its own filters. */
  readonly where: readonly Filter[]
  readonly sees: (item: Item) => Awaitable<boolean>
}

/**
 * What a principal sees of a collection; `undefined` where that is all of it.
 * @throws TypeError for a rule that names no field, or is no filter: it fails closed.
 */
export function buildRowFilter(
  context: OperationContext,
  collection: CollectionDefinition,
): RowFilter | undefined {
  const { visible } = collection
  if (!visible) return undefined
  if (typeof visible !== 'function') return seeThrough(context, collection, visible.through)
  const rule = visible(context.principal)
  const where = rule === undefined ? undefined : filtersOf(collection, rule)
  if (where?.length === 0) return undefined
  if (!where) return { where: [nothing(collection)], sees: () => false }
  return { where, sees: matcher({ where }, collection.shape.fields) }
}

/** What is seen of the items that a field refers to is seen of those that refer to them. */
function seeThrough(
  context: OperationContext,
  { references }: CollectionDefinition,
  field: string,
): RowFilter | undefined {
  const name = references.get(field)?.collection ?? ''
  const parent = context.target.version.collections.get(name)
  if (!parent) throw new TypeError(`visible goes through ${name}, which is not in the api`)
  const rows = buildRowFilter(context, parent)
  if (!rows) return undefined
  const store = context.storeOf(parent)
  const within = { name, store, fields: parent.shape.fields, where: rows.where }
  return {
    where: [createWithin([field], within)],
    sees: item => {
      const id = item[field]
      if (typeof id !== 'string' && typeof id !== 'number') return false
      return andThen(store.get(id, context.request), found =>
        found ? rows.sees(found.item) : false,
      )
    },
  }
}

/** No item is without an id. */
function nothing({ shape }: CollectionDefinition): Filter {
  return { path: [shape.identity.name], operator: 'exists', values: [false] }
}

/** The rule compiled like the filters of a query; `undefined` where no item can fulfil it. */
function filtersOf(
  collection: CollectionDefinition,
  rule: Readonly<Record<string, unknown>>,
): readonly Filter[] | undefined {
  const { name, shape } = collection
  const parameters = toParameters(rule, shape.identity.name, `${name}: visible`)
  const issues: Issue[] = []
  const { where } = findReader(collection)(parameters, issues)
  const wrong = issues.find(({ type }) => type !== 'invalid_value')
  if (wrong) throw new TypeError(`${name}: visible is no filter: ${wrong.message}`)
  // A value that the field cannot have: nobody's items.
  return issues.length > 0 ? undefined : where
}
