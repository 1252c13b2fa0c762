// The filters of programs and of row policies: objects, with the values of a program.

import { memoize } from '../../base/memoize.ts'
import { isObject, isScalar } from '../../base/values.ts'
import type { Issue } from '../../errors.ts'
import type { Parameter } from '../../http/parameters.ts'
import { CollectionScope } from '../../model/compile/relations.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { ParsedFilter } from '../../query/related.ts'
import type { QueryScope } from '../../query/relation.ts'
import { readWhere } from '../../query/where.ts'
import { compileQueryReader, type QueryReader } from '../../query.ts'

/** The limits of a program's queries are wider than those of a client. */
const LIMITS = {
  parameters: 1000,
  words: 100,
  sortKeys: 32,
  filters: 100,
  values: 100_000,
  pattern: 8192,
}

/** Finds a collection as programs and row policies query it: with all that belongs to its items. */
export const findProgramScope = memoize(
  (collection: CollectionDefinition): QueryScope =>
    new CollectionScope(collection, related => related.collection, false),
)

/** Finds the reader for the queries of programs. */
export const findProgramReader: (collection: CollectionDefinition) => QueryReader = memoize(
  (collection: CollectionDefinition) => {
    const { shape, queryFields, sort, search } = collection
    return compileQueryReader({
      fields: queryFields,
      scope: findProgramScope(collection),
      id: shape.identity.name,
      idParts: shape.identity.parts,
      sort,
      limits: LIMITS,
      ...(shape.createdAt !== undefined && { createdAt: shape.createdAt }),
      ordered: shape.identity.ordered !== false,
      ...(search && { search }),
      folds: shape.search !== undefined,
    })
  },
)

/** Reads the plain filters of a row policy. Issues are added to the list. */
export function readRuleFilters(
  plain: object,
  collection: CollectionDefinition,
  issues: Issue[],
): readonly ParsedFilter[] {
  const place = { at: 'visible', scope: findProgramScope(collection) }
  const read = readWhere(plain, place, LIMITS, issues)
  // What is above the limit was not read.
  if (read.count > LIMITS.filters) {
    const message = `At most ${LIMITS.filters} conditions are read, not ${read.count} or more`
    issues.push({ message, type: 'too_many_filters' })
  }
  return read.filters
}

/**
 * Copies filters as JSON, with dates as texts.
 * @param above what stands before their names in messages.
 * @throws TypeError for a value that is no filter: `undefined` must not match everything.
 */
export function toPlainFilters(filters: object, above: string): object {
  const entries = Object.entries(filters)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, toPlainFilter(name, value, above)]),
  )
}

function toPlainFilter(name: string, value: unknown, above: string): unknown {
  const plain = toPlain(value)
  if (isScalar(plain)) return plain
  const where = `${above}${name}`
  // Only the lists of groups hold objects: in another one a mistake must not be a value that merely matches nothing.
  const wrong =
    Array.isArray(plain) && !/^(?:or|and)$/.test(name)
      ? plain.map(toPlain).find(each => typeof each === 'object' && each !== null)
      : undefined
  if (Array.isArray(plain) && wrong === undefined)
    return plain.map(each => toPlainFilter(name, each, above))
  // An object without keys, such as a `Set`, must not match everything.
  if (isObject(plain) && Object.keys(plain).length > 0) return toPlainFilters(plain, `${where}.`)
  throw new TypeError(
    `${where} must be a value, list or object of filters, not ${String(wrong ?? plain)}. Leave it out, or write { exists: false }`,
  )
}

/** Converts a date to its ISO text, as JSON does; a value without JSON stays as it is, an invalid date too. */
export function toPlain(value: unknown): unknown {
  const { toJSON }: Partial<Pick<Date, 'toJSON'>> = Object(value)
  return toJSON?.call(value) ?? value
}

export function parameter(name: string, value: string): Parameter {
  return { name, value, raw: '' }
}
