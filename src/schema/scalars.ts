// Single values of a field: parses them from text, compares them by the kind of the field.
import { isDate, isDateTime, parseInstant } from '../base/dates.ts'
import { describeInexact, isInexact } from '../base/exact-numbers.ts'
import { compareText, type Json, type Scalar } from '../base/values.ts'
import { type Field, type Kind, TYPE_OF_KIND } from './fields.ts'

/**
 * Compares two values of one field, which have one type: absent and null first; texts by code point, date-times by
 * their instant, false before true.
 */
export function compareValues(one: Json = null, other: Json = null, kind?: Kind): number {
  if (one === other) return 0
  if (one === null) return -1
  if (other === null) return 1
  if (typeof one === 'string' && typeof other === 'string') {
    return kind === 'date-time' ? parseInstant(one) - parseInstant(other) : compareText(one, other)
  }
  return Number(one) - Number(other)
}

/** Whether a value can be of a kind that has one type; false for kinds that have several. */
export function isOfKind(value: unknown, kind: Kind): boolean {
  if (typeof value !== TYPE_OF_KIND[kind]) return false
  return kind !== 'date-time' || !Number.isNaN(parseInstant(String(value)))
}

const INTEGER = /^[+-]?\d{1,16}$/
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/
const TRUE = new Set(['true', '1', 'on', 'yes'])
const FALSE = new Set(['false', '0', 'off', 'no'])

/**
 * Parses a text to the values that it can mean for a field, by its kind and never by how the text
 * looks: one value, none where it is ill-typed, one for each fitting option of a union.
 */
export function parseScalars(text: string, field: Field): Scalar[] {
  if (field.kind === 'union') {
    const all = (field.options ?? []).flatMap(option => parseScalars(text, option))
    return [...new Set(all)]
  }
  if (field.kind === 'array') return field.element ? parseScalars(text, field.element) : []
  const value = parseScalar(text, field.kind)
  if (value === undefined || (field.choices && !field.choices.includes(value))) return []
  return [value]
}

/** Says why a text is no value of a field: JavaScript would round the number. `undefined` where the reason is another. */
export function inexactReason(text: string, field: Field): string | undefined {
  return isInexact(text) && takesNumbers(field) ? describeInexact(text) : undefined
}

function takesNumbers({ kind, element, options = [] }: Field): boolean {
  if (kind === 'array') return element !== undefined && takesNumbers(element)
  return kind === 'number' || kind === 'integer' || options.some(takesNumbers)
}

function parseScalar(text: string, kind: Kind): Scalar | undefined {
  switch (kind) {
    case 'string':
    case 'any':
      return text
    case 'number':
      if (!NUMBER.test(text) || isInexact(text)) return undefined
      return Number.isFinite(Number(text)) ? Number(text) : undefined
    case 'integer':
      return INTEGER.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'boolean':
      if (TRUE.has(text.toLowerCase())) return true
      return FALSE.has(text.toLowerCase()) ? false : undefined
    case 'date':
      return isDate(text) ? text : undefined
    case 'date-time':
      return isDateTime(text) || isDate(text) ? text : undefined
    default:
      return undefined
  }
}
