// Filters as objects → the parameters of a list request, which the query grammar reads.

import { memoize } from '../base/memoize.ts'
import { isObject, isScalar } from '../base/values.ts'
import type { Issue } from '../errors.ts'
import type { Parameter } from '../http/parameters.ts'
import { joinValues } from '../http/value-list.ts'
import { CollectionScope } from '../model/compile/relations.ts'
import type { CollectionDefinition } from '../model/types/definition.ts'
import type { ParsedFilter } from '../query/related.ts'
import { followRelations, type QueryScope } from '../query/relation.ts'
import { isGroup, isGroupWord, readWhere } from '../query/where.ts'
import { compileQueryReader, type QueryReader } from '../query.ts'
import { findOperator } from '../store/operators.ts'

/** The limits of a program's queries are wider than those of a client. */
const LIMITS = {
  parameters: 1000,
  words: 100,
  sortKeys: 32,
  filters: 100,
  values: 100_000,
  pattern: 8192,
}

/** Finds a collection as programs query it: with all that belongs to its items. */
export const findProgramScope = memoize(
  (collection: CollectionDefinition): QueryScope =>
    new CollectionScope(collection, related => related.collection, false),
)

/** Finds a collection as its row policy filters it: by its own fields. */
export const findRuleScope = memoize(
  (collection: CollectionDefinition): QueryScope =>
    new CollectionScope(collection, () => undefined),
)

/** Finds the reader for the queries of programs. */
export const findProgramReader: (collection: CollectionDefinition) => QueryReader = memoize(
  (collection: CollectionDefinition) => {
    const { shape, queryFields, sort, search } = collection
    return compileQueryReader({
      fields: queryFields,
      scope: findProgramScope(collection),
      id: shape.identity.name,
      sort,
      limits: LIMITS,
      ...(shape.createdAt !== undefined && { createdAt: shape.createdAt }),
      ordered: shape.identity.ordered !== false,
      ...(search && { search }),
      folds: shape.search !== undefined,
    })
  },
)

/**
 * Prints filters as parameters: `{ price: { gte: 10 } }` as `filter[price][gte]=10`. An object whose keys are
 * all operators is a condition, any other names properties. Groups and filters through relations are left out: see
 * {@link readGroups}.
 * @param where the start of each message.
 * @param seen the filters of other objects of the same query: a repeated parameter would mean either value.
 * @throws TypeError for a value that is no filter: `undefined` must not match everything.
 */
export function toParameters(
  filters: object,
  { shape }: CollectionDefinition,
  scope: QueryScope,
  where: string,
  seen = new Set<string>(),
): Parameter[] {
  const id = shape.identity.name
  const found: Parameter[] = []
  const add = (path: string, operator: string, value: unknown): void => {
    if (/[[\]]/.test(path)) {
      throw new TypeError(
        `${where}: "${path}" is no field. Operators stand in an object: { price: { gte: 10 } }`,
      )
    }
    const name = `filter[${path}]${operator === 'eq' ? '' : `[${operator}]`}`
    if (seen.has(name)) {
      throw new TypeError(
        `${where}: the filter ${path} stands there twice. Write { and: [{ … }, { … }] }`,
      )
    }
    seen.add(name)
    const values = (Array.isArray(value) ? value : [value]).map(toPlain)
    const wrong = values.find(each => !isScalar(each))
    if (!values.every(isScalar)) {
      throw new TypeError(
        `${where}: the filter ${path} must be a text, number, boolean, date or list of them, not ${String(wrong)}. Leave it out, or write { exists: false }`,
      )
    }
    if (values.length > 0) {
      const joined = operator === 'in' || operator === 'nin'
      const texts = values.map(String)
      const odd = texts.find(text => text.includes('\0') || !text.isWellFormed())
      if (odd !== undefined) {
        throw new TypeError(
          `${where}: the filter ${path} has a text with the character U+0000 or half of a surrogate pair, which no item has`,
        )
      }
      for (const text of joined ? [joinValues(texts)] : texts) found.push(parameter(name, text))
    } else if (operator !== 'ne' && operator !== 'nin') {
      // No item lacks its id: an empty list of values matches nothing.
      found.push(parameter(`filter[${id}][exists]`, 'false'))
    }
  }
  const walk = (path: string, value: unknown): void => {
    const own = isObject(value) ? Object.entries(value) : []
    // An object without keys is a date or no filter: `{}` and a `Set` must not match everything.
    const keys = own.length > 0 ? own : [['eq', value] as const]
    const isCondition = keys.every(([key]) => findOperator(key))
    for (const [key, each] of keys) {
      if (isCondition) add(path, key, each)
      else walk(`${path}.${key}`, each)
    }
  }
  for (const [name, value] of Object.entries(filters)) {
    if (!isTree(name, scope)) walk(name, value)
  }
  return found
}

/**
 * Reads the groups of filters, and those through relations: `{ or: [{ color: 'red' }, { model: { name: 'Clio' } }] }`.
 * Issues are added to the list.
 * @throws TypeError as {@link toParameters} does.
 */
export function readGroups(
  filters: object,
  scope: QueryScope,
  where: string,
  issues: Issue[],
): readonly ParsedFilter[] {
  const groups = Object.entries(filters).filter(([name]) => isTree(name, scope))
  return readFilters(Object.fromEntries(groups), scope, where, issues)
}

/**
 * Reads filters of every kind, without the parameters of a list. Issues are added to the list.
 * @throws TypeError as {@link toParameters} does.
 */
export function readFilters(
  filters: object,
  scope: QueryScope,
  where: string,
  issues: Issue[],
): readonly ParsedFilter[] {
  const entries = Object.entries(filters)
  if (entries.length === 0) return NO_FILTERS
  const plain = entries.map(([name, value]) => [name, toPlainFilter(name, value, `${where}: `)])
  const read = readWhere(Object.fromEntries(plain), '', scope, LIMITS, issues)
  // What is above the limit was not read.
  if (read.count > LIMITS.filters) {
    const message = `At most ${LIMITS.filters} conditions are read, not ${read.count} or more`
    issues.push({ message, type: 'too_many_filters' })
  }
  return read.filters
}

const NO_FILTERS: readonly ParsedFilter[] = []

/** Whether a property of a filter object is no filter of a field of the items themselves. */
function isTree(name: string, scope: QueryScope): boolean {
  return isGroup(name, scope.fields) || followRelations(name, scope).steps.length > 0
}

/** Copies a filter as JSON, with dates as texts. @throws TypeError for a value that JSON would lose. */
function toPlainFilter(name: string, value: unknown, above: string): unknown {
  const where = `${above}${name}`
  const plain = toPlain(value)
  if (isScalar(plain)) return plain
  if (Array.isArray(plain) && (isGroupWord(name) || plain.map(toPlain).every(isScalar)))
    return plain.map(each => toPlainFilter(name, each, above))
  const entries = isObject(plain) ? Object.entries(plain) : []
  if (entries.length > 0)
    return Object.fromEntries(
      entries.map(([key, each]) => [key, toPlainFilter(key, each, `${where}.`)]),
    )
  throw new TypeError(
    `${where} must be a text, number, boolean, date, list of them or an object of filters, not ${String(plain)}. Leave it out, or write { exists: false }`,
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
