// Filters as objects → the parameters of a list request, which the query grammar reads.

import { memoize } from '../base/memoize.ts'
import { isObject, isScalar } from '../base/values.ts'
import type { Parameter } from '../http/parameters.ts'
import { joinValues } from '../http/value-list.ts'
import type { CollectionDefinition } from '../model/types/definition.ts'
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

/** Finds the reader for the queries of programs. */
export const findProgramReader: (collection: CollectionDefinition) => QueryReader = memoize(
  ({ shape, queryFields, sort, search }: CollectionDefinition) =>
    compileQueryReader({
      fields: queryFields,
      id: shape.identity.name,
      sort,
      limits: LIMITS,
      ...(shape.createdAt !== undefined && { createdAt: shape.createdAt }),
      ...(search && { search }),
    }),
)

/**
 * Prints filters as parameters: `{ price: { gte: 10 } }` as `filter[price][gte]=10`. An object whose keys are
 * all operators is a condition, any other names properties.
 * @param id the name of the id: no item lacks it, so that an empty list of values matches nothing.
 * @param where the start of each message.
 * @throws TypeError for a value that is no filter: `undefined` must not match everything.
 */
export function toParameters(filters: object, id: string, where: string): Parameter[] {
  const found: Parameter[] = []
  const add = (path: string, operator: string, value: unknown): void => {
    if (/[[\]]/.test(path)) {
      throw new TypeError(
        `${where}: "${path}" is no field. Operators stand in an object: { price: { gte: 10 } }`,
      )
    }
    const name = `filter[${path}]${operator === 'eq' ? '' : `[${operator}]`}`
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
      for (const text of joined ? [joinValues(texts)] : texts) found.push(parameter(name, text))
    } else if (operator !== 'ne' && operator !== 'nin') {
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
  for (const [name, value] of Object.entries(filters)) walk(name, value)
  return found
}

/** Converts a date to its ISO text, as JSON does; a value without JSON stays as it is, an invalid date too. */
export function toPlain(value: unknown): unknown {
  const { toJSON }: Partial<Pick<Date, 'toJSON'>> = Object(value)
  return toJSON?.call(value) ?? value
}

export function parameter(name: string, value: string): Parameter {
  return { name, value, raw: '' }
}
