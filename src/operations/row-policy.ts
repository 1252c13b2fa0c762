// The row rule of a collection: which of its items a principal sees, and so may read, count and change.
import type { Principal } from '../auth/scheme.ts'
import type { Issue } from '../errors.ts'
import type { Parameter } from '../http/parameters.ts'
import { toFilterTexts } from '../http/value-list.ts'
import type { CollectionDefinition, ListParameters } from '../model/definition.ts'
import { compileQueryReader, RESERVED } from '../query.ts'
import { memoize } from '../schema/memoize.ts'
import { type Item, isScalar } from '../schema/values.ts'
import { type Filter, matcher } from '../store/selection.ts'

export interface RowFilter {
  /** What a list must add to its own filters. */
  readonly where: readonly Filter[]
  readonly sees: (item: Item) => boolean
}

/**
 * What a principal sees of a collection; `undefined` where that is all of it.
 * @throws TypeError for a rule that names no field, or is no filter: it fails closed.
 */
export function buildRowFilter(
  collection: CollectionDefinition,
  principal: Principal | undefined,
): RowFilter | undefined {
  if (!collection.visible) return undefined
  const rule = collection.visible(principal)
  const where = rule === undefined ? undefined : filtersOf(collection, rule)
  if (where?.length === 0) return undefined
  if (!where) return { where: [nothing(collection)], sees: () => false }
  return { where, sees: matcher({ where }, collection.shape.fields) }
}

/** No item is without an id. */
function nothing({ shape }: CollectionDefinition): Filter {
  return { path: [shape.identity.name], operator: 'exists', values: [false] }
}

const FILTERS_ONLY = { parameters: 0, words: 0, sortKeys: 0 }
const CAPS = { ...FILTERS_ONLY, filters: 100, values: 100_000, pattern: 8192 }

const readerOf = memoize(({ shape: { fields, identity } }: CollectionDefinition) =>
  compileQueryReader({ fields, id: identity.name, caps: CAPS }),
)

/** The rule compiled like the filters of a query; `undefined` where no item can fulfil it. */
function filtersOf(
  collection: CollectionDefinition,
  rule: ListParameters,
): readonly Filter[] | undefined {
  const { name } = collection
  const parameters: Parameter[] = []
  for (const [parameter, given] of Object.entries(rule)) {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given]
    if (values.length === 0) return undefined
    if (RESERVED.has(parameter) || !values.every(isScalar)) {
      throw new TypeError(`${name}: visible must give filters with values; "${parameter}" is none`)
    }
    for (const value of toFilterTexts(parameter, given)) {
      parameters.push({ name: parameter, value, raw: '' })
    }
  }
  const issues: Issue[] = []
  const { where } = readerOf(collection)(parameters, issues)
  const wrong = issues.find(({ type }) => type !== 'invalid_value')
  if (wrong) throw new TypeError(`${name}: visible is no filter: ${wrong.message}`)
  // A value that the field cannot have: nobody's items.
  return issues.length > 0 ? undefined : where
}
