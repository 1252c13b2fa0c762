// Filters of a list request: `color=red`, `price[gte]=10`, `since=2024-01-01` → what a store compares.

import { isDate, LAST_INSTANT, parseInstant, printInstant, toUtc } from '../base/dates.ts'
import { type Path, toPath } from '../base/paths.ts'
import { isUuid, type Scalar } from '../base/values.ts'
import { type ErrorType, type Issue, listNames, quote } from '../errors.ts'
import type { Limits } from '../http/limits.ts'
import { joinValues, splitValues } from '../http/value-list.ts'
import {
  describeField,
  type Field,
  type Fields,
  findField,
  isFilterable,
  unknownField,
  unknownParameter,
} from '../schema/fields.ts'
import { inexactReason, isOfKind, parseScalars } from '../schema/scalars.ts'
import type { Filter, Operator, ValueFilter } from '../store/filter.ts'
import {
  findOperator,
  isPattern,
  listOperators,
  readsWhole,
  takesSeveral,
  unsupportedReason,
} from '../store/operators.ts'
import { RESERVED } from './list-parameters.ts'
import type { Relation } from './relation.ts'

export type QueryLimits = Pick<
  Limits,
  'parameters' | 'filters' | 'values' | 'pattern' | 'words' | 'sortKeys'
>

/** A filter without its values: found once for each name of a parameter. */
export interface FilterName {
  /** The name in one form: `color[eq]` for `color`, `filter[color]`, `color[]` and `color[0]`. */
  readonly key: string
  /** The name in messages. */
  readonly name: string
  readonly word: string
  readonly path: Path
  readonly operator: Operator
  /** The field that its values are of. */
  readonly field: Field
  /** The relations that lead to the item whose field it is; absent for a field of the list's own items. */
  readonly steps?: readonly Relation[]
}

// `color[]` and `color[0]` say, as in a form, that the value is one of several.
const FILTER = /^(?:filter\[([^[\]]+)\]|([^[\]]+))(?:\[((?!\d*\])[^[\]]+)\])?(?:\[\d*\])?$/

/** The operand of `exists`. */
export const EXISTS: Field = { kind: 'boolean', nullable: false, optional: false }

/** Parses the name of a parameter to a field's path and an operator's word. */
export function parseFilterName(name: string): { dotted: string; word: string } | undefined {
  const parts = FILTER.exec(name)
  const dotted = parts?.[1] ?? parts?.[2]
  return dotted === undefined ? undefined : { dotted, word: parts?.[3] ?? 'eq' }
}

/** A name that is no filter, and why. */
export interface InvalidName {
  readonly key: string
  readonly issue: Issue
}

/**
 * Finds the filter that a field and an operator name.
 * @param hint what to send if the name is unknown.
 */
export function findFilter(
  dotted: string,
  word: string,
  fields: Fields,
  hint?: string,
): FilterName | InvalidName {
  const path = toPath(dotted)
  const field = findField(fields, path)
  const key = `${dotted}[${word}]`
  const name = word === 'eq' ? dotted : key
  const issue = (message: string, type: ErrorType) => ({
    key,
    issue: { message, field: name.slice(0, 128), type },
  })
  if (!field) {
    // A reserved parameter stands without brackets: `filter[limit]` means a field.
    if (RESERVED.has(dotted)) return { key, issue: unknownField(dotted, fields, dotted) }
    return { key, issue: unknownParameter(dotted, fields, RESERVED, hint) }
  }
  const operator = findOperator(word)
  if (!operator) {
    const unknown = quote(word, 32)
    const message = `Unknown operator ${unknown} for ${dotted}${listNames(listOperators(field))}`
    return issue(message, 'unknown_operator')
  }
  if (operator !== 'exists' && !isFilterable(field)) {
    const others = field.properties ? 'on one of its properties, or ' : ''
    const message = `${dotted} is ${describeField(field)}. Filter ${others}with ${dotted}[exists]=true or ${dotted}[exists]=false`
    return issue(message, 'not_filterable')
  }
  const wanted = unsupportedReason(operator, field)
  if (wanted) {
    const others = listNames(listOperators(field))
    const message = `[${word}] is for ${wanted}; ${dotted} is ${describeField(field)}${others}`
    return issue(message, 'invalid_operator')
  }
  const valueField = operator === 'exists' ? EXISTS : field
  return { key, name, word, path, operator, field: valueField }
}

/** Reads a filter of parameters; `undefined`, with an issue, where there are too many values or they are too long. */
export function readFilter(
  found: FilterName,
  texts: readonly string[],
  limits: QueryLimits,
  issues: Issue[],
): Filter | undefined {
  const { word } = found
  const isList = word === 'in' || word === 'nin'
  return readValues(found, isList ? texts.flatMap(splitValues) : texts, limits, issues)
}

/** Reads the values of a filter, as {@link readFilter} does; none of them is split. */
export function readValues(
  { name, path, operator, field, word }: FilterName,
  parts: readonly string[],
  limits: QueryLimits,
  issues: Issue[],
): Filter | undefined {
  const add = (message: string, type: ErrorType) => {
    issues.push({ message, field: name.slice(0, 128), type })
    return undefined
  }
  if (!takesSeveral(operator) && parts.length > 1) {
    return add(`${name} is sent ${parts.length} times; send it once`, 'repeated_parameter')
  }
  if (parts.length > limits.values) {
    const message = `${name} has ${parts.length} values; at most ${limits.values} are allowed`
    return add(message, 'too_many_values')
  }
  const long = readsWhole(operator) && parts.find(part => part.length > limits.pattern)
  if (long) return add(`${name} has a pattern of ${tooLong(long, limits)}`, 'pattern_too_long')
  const pattern = isPattern(operator)
  const values: Scalar[] = []
  for (const text of parts) {
    const found = parseFilterValues(text, field, pattern)
    if (found.length === 0) {
      const [what, type] = explainValue(text, field)
      const several = splitValues(text)
      const areValues =
        operator === 'in' &&
        several.length > 1 &&
        parts.length === 1 &&
        word === 'eq' &&
        several.every(each => parseFilterValues(each, field).length > 0)
      const hint = areValues
        ? `. For several values send ${name}[in]=${joinValues(several.slice(0, 2))},…`
        : ''
      add(`${name} ${what}${hint}`, type)
    }
    values.push(...found)
  }
  return { path, operator, values: values.length < 2 ? values : [...new Set(values)] }
}

export function tooLong({ length }: string, { pattern }: Pick<QueryLimits, 'pattern'>): string {
  return `${length} characters; at most ${pattern} are allowed`
}

/** Parses a filter's value: date-times and UUIDs get one form, so that every store compares the same. */
export function parseFilterValues(text: string, field: Field, pattern = false): Scalar[] {
  if (field.uuid) return pattern || isUuid(text) ? [text.toLowerCase()] : []
  if (pattern) return [text]
  const leaf = field.kind === 'array' ? field.element : field
  if (leaf?.kind !== 'date-time') return parseScalars(text, field)
  // A `+` of an offset that was sent unescaped came out of the query as a space.
  const [value] = parseScalars(text.replace(/ (?=\d\d:\d\d$)/, '+'), leaf)
  return typeof value === 'string' && isOfKind(value, 'date-time') ? [toUtc(value)] : []
}

/** Says why a text is no value of a filter. */
function explainValue(text: string, field: Field): readonly [what: string, type: ErrorType] {
  const inexact = inexactReason(text, field)
  if (inexact !== undefined) return [inexact, 'inexact_number']
  return [`must be ${describeValue(field)}, not ${quote(text)}`, 'invalid_value']
}

/** Describes the value of a filter: a day will do for a moment. */
function describeValue(field: Field): string {
  const wanted = describeField(field)
  return field.kind === 'date-time' ? `a date such as 2026-01-31 or ${wanted}` : wanted
}

// --- Bounds ----------------------------------------------------------------------------------

/** A day in milliseconds. */
const DAY_MS = 86_400_000

/** Reads the value of a bound on the creation date or the id. */
export function readBound(
  [name, operator]: readonly [string, Operator],
  text: string,
  field: Field,
  issues: Issue[],
): Omit<ValueFilter, 'path'> | undefined {
  const [value] = parseFilterValues(text, field)
  if (value === undefined) {
    const [what, type] = explainValue(text, field)
    issues.push({ message: `${name} ${what}`, field: name, type })
    return undefined
  }
  if (name !== 'until' || !isDate(text)) return { operator, values: [value] }
  const nextDay = parseInstant(String(value)) + DAY_MS
  // The last day has no next one.
  const before = nextDay > LAST_INSTANT ? 'lte' : 'lt'
  return { operator: before, values: [printInstant(nextDay)] }
}
