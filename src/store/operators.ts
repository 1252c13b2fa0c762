// The operators of filters: their words in a query, and which fields they are for.
import { namesOf } from '../base/values.ts'
import type { Field } from '../schema/fields.ts'
import type { Operator } from './filter.ts'

/** The words of the grammar: each operator is one; `eq` and `ne` are `in` and `nin` of one value. */
const OPERATORS = {
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
} as const satisfies Readonly<Record<Operator | 'eq' | 'ne', Operator>>

/** A word that stands for an operator in a query. */
export type OperatorWord = keyof typeof OPERATORS

type Effect = 'equals' | 'orders' | 'starts' | 'searches' | 'tells'

/**
 * What an operator does with its operand. `equals` compares it with a value of the field, `orders` bounds the values
 * of a field that have an order, `starts` compares the start of a text, `searches` looks at all of it, `tells` asks whether
 * there is a value.
 */
const EFFECTS: Readonly<Record<Operator, Effect>> = {
  in: 'equals',
  nin: 'equals',
  gt: 'orders',
  gte: 'orders',
  lt: 'orders',
  lte: 'orders',
  like: 'searches',
  prefix: 'starts',
  exists: 'tells',
}

function isOperatorWord(word: string): word is OperatorWord {
  return Object.hasOwn(OPERATORS, word)
}

/** Finds the operator that a word means; `undefined` for an unknown word. */
export function findOperator(word: string): Operator | undefined {
  return isOperatorWord(word) ? OPERATORS[word] : undefined
}

export const OPERATOR_WORDS = namesOf(OPERATORS)

/** Lists the words of the operators that a field's filters may use. */
export function listOperators(field: Field): OperatorWord[] {
  return OPERATOR_WORDS.filter(word => !unsupportedReason(OPERATORS[word], field))
}

/** Names the kind of values that an operator needs, where a filterable field holds others. */
export function unsupportedReason(operator: Operator, field: Field): string | undefined {
  const leaf = field.kind === 'array' ? field.element : field
  const effect = EFFECTS[operator]
  if (isPattern(operator) && leaf?.kind !== 'string') return 'strings'
  if (effect === 'orders' && leaf?.kind === 'boolean') return 'values with an order'
  return undefined
}

/** Whether the operand is a part of a text, rather than a value of the field. */
export function isPattern(operator: Operator): boolean {
  return EFFECTS[operator] === 'starts' || readsWhole(operator)
}

/** Whether the operator reads a text to its end, however long that is. */
export function readsWhole(operator: Operator): boolean {
  return EFFECTS[operator] === 'searches'
}

/** Whether the operator compares with several values. */
export function takesSeveral(operator: Operator): boolean {
  return EFFECTS[operator] === 'equals'
}
