// The operators of filters: their words in a query, and which fields they are for.
import type { Field } from '../schema/fields.ts'
import type { Operator } from './filter.ts'

/** The operators of the grammar; `eq` and `ne` are `in` and `nin` of one value. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  eq: 'in',
  ne: 'nin',
  in: 'in',
  nin: 'nin',
  gt: 'gt',
  gte: 'gte',
  lt: 'lt',
  lte: 'lte',
  like: 'like',
  prefix: 'prefix',
  exists: 'exists',
}

/** Finds the operator that a word means; `undefined` for an unknown word. */
export function findOperator(word: string): Operator | undefined {
  return Object.hasOwn(OPERATORS, word) ? OPERATORS[word] : undefined
}

export const OPERATOR_WORDS: readonly string[] = Object.keys(OPERATORS)

/** Lists the words of the operators that a field's filters may use. */
export function listOperators(field: Field): string[] {
  const words = Object.entries(OPERATORS)
  return words.flatMap(([word, operator]) => (unsupportedReason(operator, field) ? [] : [word]))
}

/** Names the kind of values that an operator needs, where a filterable field holds others. */
export function unsupportedReason(operator: Operator, field: Field): string | undefined {
  const leaf = field.kind === 'array' ? field.element : field
  if (PATTERNS.has(operator) && leaf?.kind !== 'string') return 'texts'
  if (ORDERINGS.has(operator) && leaf?.kind === 'boolean') return 'values with an order'
  return undefined
}

/** The operators whose value is part of a text, rather than a value of the field. */
export const PATTERNS: ReadonlySet<Operator> = new Set<Operator>(['like', 'prefix'])
/** The operators that bound the values of a field. */
export const ORDERINGS: ReadonlySet<string> = new Set<Operator>(['gt', 'gte', 'lt', 'lte'])
