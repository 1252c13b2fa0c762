// The query grammar (specification, "Query parameters"): `fields`, filters, `sort`, `since` and the
// rest → Query, and back to parameters.
import type { ErrorType, Issue } from './errors.ts'
import { buildLimits, type Limits } from './http/limits.ts'
import { METHOD_PARAMETER, SUPPRESS_PARAMETER } from './http/method-override.ts'
import { type Parameter, printParameters } from './http/parameters.ts'
import { joinValues, splitValues } from './http/value-list.ts'
import { single } from './pagination.ts'
import { isDate, LAST_INSTANT, parseInstant, printInstant } from './schema/dates.ts'
import {
  describeField,
  type Field,
  type Fields,
  findField,
  isFilterable,
  unknownField,
} from './schema/fields.ts'
import { type Path, toPath } from './schema/paths.ts'
import { parseScalars } from './schema/scalars.ts'
import { isUuid, type Scalar } from './schema/values.ts'
import { findOperator, isPattern, OPERATOR_WORDS, unsupportedReason } from './store/operators.ts'
import { type Filter, type Search, type Selection, searchWords } from './store/selection.ts'
import { printSort, readSort, type SortOptions } from './store/sort.ts'

/** A list request read: the selection, and the properties to give (all where absent). */
export interface Query extends Selection {
  readonly fields?: readonly Path[]
}

export interface QueryOptions extends SortOptions {
  /** What `fields` may name, where that is not the same. */
  readonly selectable?: Fields
  /** The name of the creation date, if the items have one: for `since` and `until`. */
  readonly createdAt?: string
  /** The fields that `q` searches; without them `q` is unknown. */
  readonly search?: readonly Path[]
  /** How much a request may ask for. Default: as {@link Limits} say. */
  readonly caps?: Caps
}

type Caps = Pick<Limits, 'parameters' | 'filters' | 'values' | 'pattern' | 'words' | 'sortKeys'>

const CAPS = buildLimits()

/** Parameters with a meaning of their own; `filter[name]=` reaches a field that is so called. */
export const RESERVED = new Set([
  'fields',
  'sort',
  'offset',
  'limit',
  'cursor',
  'since',
  'until',
  'since_id',
  'max_id',
  SUPPRESS_PARAMETER,
  METHOD_PARAMETER,
])

/**
 * Reads the parameters of a list (conventions, "Reading"). Types come from the fields, never from
 * how a value looks. Every issue is added to the list: an unknown field or operator, an ill-typed
 * value, a single-valued parameter given twice, more than the caps allow.
 */
export function readQuery(
  parameters: readonly Parameter[],
  options: QueryOptions,
  issues: Issue[],
): Query {
  const fields = readFields(parameters, options.selectable ?? options.fields, issues, options.caps)
  const search = readSearch(parameters, options, issues)
  const where = [
    ...readFilters(parameters, options, issues),
    ...readBounds(parameters, options, issues),
  ]
  return {
    where,
    sort: readSort(parameters, options, issues),
    ...(fields && { fields }),
    ...(search && { search }),
  }
}

/** The `fields` parameter alone, for requests that have nothing to filter. */
export function readFields(
  parameters: readonly Parameter[],
  fields: Fields,
  issues: Issue[],
  { parameters: most }: Pick<Caps, 'parameters'> = CAPS,
): Path[] | undefined {
  const text = single(parameters, 'fields', issues)
  if (text === undefined) return undefined
  const names = new Set(text.split(',').filter(name => name !== ''))
  const wrong = (message: string, type: ErrorType) => {
    issues.push({ message, field: 'fields', type })
    return []
  }
  if (names.size === 0) return wrong('fields names no field', 'invalid_fields')
  if (names.size > most)
    return wrong(`fields names ${names.size} fields; at most ${most}`, 'too_many_fields')
  for (const name of names) {
    if (!findField(fields, toPath(name))) issues.push(unknownField(name, fields, 'fields'))
  }
  return [...names].map(toPath)
}

function readSearch(
  parameters: readonly Parameter[],
  { search, caps = CAPS }: QueryOptions,
  issues: Issue[],
): Search | undefined {
  if (!search) return undefined
  const text = single(parameters, 'q', issues)?.trim()
  if (!text) return undefined
  const words = searchWords(text)
  const long = words.find(word => word.length > caps.pattern)
  const wrong = (what: string, type: ErrorType) =>
    issues.push({ message: `q has ${what}`, field: 'q', type })
  if (words.length > caps.words)
    wrong(`${words.length} words; at most ${caps.words}`, 'too_many_words')
  if (long !== undefined) wrong(`a word of ${tooLong(long, caps)}`, 'pattern_too_long')
  return { text, paths: search }
}

function tooLong({ length }: string, { pattern }: Caps): string {
  return `${length} characters; at most ${pattern}`
}

// --- Filters ---------------------------------------------------------------------------------

const FILTER = /^(?:filter\[([^[\]]+)\]|([^[\]]+))(?:\[([^[\]]*)\])?$/

function readFilters(
  parameters: readonly Parameter[],
  { fields, search, caps = CAPS }: QueryOptions,
  issues: Issue[],
): Filter[] {
  const texts = new Map<string, { dotted: string; word: string; values: string[] }>()
  for (const { name, value } of parameters) {
    if (RESERVED.has(name) || (search && name === 'q')) continue
    const parts = FILTER.exec(name)
    const dotted = parts?.[1] ?? parts?.[2]
    if (dotted === undefined) {
      issues.push(unknownField(name, fields, name.slice(0, 64)))
      continue
    }
    // `color[]` says, as in a form, that the value is one of several.
    const word = parts?.[3] || 'eq'
    // Neither has a bracket in it.
    const key = `${dotted}[${word}]`
    const known = texts.get(key)
    if (known) known.values.push(value)
    else texts.set(key, { dotted, word, values: [value] })
  }
  if (texts.size > caps.filters) {
    issues.push({
      message: `At most ${caps.filters} filters, not ${texts.size}`,
      type: 'too_many_filters',
    })
    return []
  }
  const filters: Filter[] = []
  for (const { dotted, word, values } of texts.values()) {
    const filter = readFilter(dotted, word, values, fields, caps, issues)
    if (filter) filters.push(filter)
  }
  return filters
}

function readFilter(
  dotted: string,
  word: string,
  texts: string[],
  fields: Fields,
  caps: Caps,
  issues: Issue[],
): Filter | undefined {
  const path = toPath(dotted)
  const field = findField(fields, path)
  const name = word === 'eq' ? dotted : `${dotted}[${word}]`
  const issue = (message: string, type: ErrorType) => {
    issues.push({ message, field: name.slice(0, 128), type })
    return undefined
  }
  if (!field) {
    // A parameter that was meant stands without brackets.
    const others = RESERVED.has(dotted) ? undefined : RESERVED
    issues.push(unknownField(dotted, fields, dotted.slice(0, 64), others))
    return undefined
  }
  const operator = findOperator(word)
  if (!operator) {
    const known = OPERATOR_WORDS.join(', ')
    return issue(
      `There is no operator ${JSON.stringify(word.slice(0, 32))}; there are ${known}`,
      'unknown_operator',
    )
  }
  if (operator !== 'exists' && !isFilterable(field)) {
    return issue(
      `${dotted} is ${describeField(field)}: filter on one of its properties, or with [exists]`,
      'not_filterable',
    )
  }
  const valueField = operator === 'exists' ? EXISTS : field
  const wanted = unsupportedReason(operator, field)
  if (wanted) {
    const message = `[${word}] is for ${wanted}; ${dotted} is ${describeField(field)}`
    return issue(message, 'invalid_operator')
  }
  const pattern = isPattern(operator)
  const takesOne = operator !== 'in' && operator !== 'nin'
  if (takesOne && texts.length > 1) {
    return issue(`${name} is given ${texts.length} times; give it once`, 'repeated_parameter')
  }
  const parts = word === 'in' || word === 'nin' ? texts.flatMap(splitValues) : texts
  if (parts.length > caps.values)
    return issue(`${name} has ${parts.length} values; at most ${caps.values}`, 'too_many_values')
  const long = operator === 'like' && parts.find(part => part.length > caps.pattern)
  if (long) return issue(`${name} has a pattern of ${tooLong(long, caps)}`, 'pattern_too_long')
  const values = parts.flatMap(text => {
    const found = filterValues(text, valueField, pattern)
    if (found.length === 0) {
      issue(
        `${name} must be ${wantedOf(valueField)}, not ${JSON.stringify(text.slice(0, 64))}`,
        'invalid_value',
      )
    }
    return found
  })
  return { path, operator, values: takesOne ? values.slice(0, 1) : [...new Set(values)] }
}

const DAY = 86_400_000

const EXISTS: Field = { kind: 'boolean', nullable: false, optional: false }

/** A filter's values: date-times and UUIDs in one form, so that every store compares the same. */
function filterValues(text: string, field: Field, pattern = false): Scalar[] {
  if (field.uuid) return pattern || isUuid(text) ? [text.toLowerCase()] : []
  if (pattern) return [text]
  const leaf = field.kind === 'array' ? field.element : field
  if (leaf?.kind !== 'date-time') return parseScalars(text, field)
  // A `+` of an offset that was sent unescaped came out of the query as a space.
  const [value] = parseScalars(text.replace(/ (?=\d\d:\d\d$)/, '+'), leaf)
  const time = typeof value === 'string' ? parseInstant(value) : Number.NaN
  return Number.isNaN(time) ? [] : [printInstant(time)]
}

/** What a filter must be: for a moment a day does. */
function wantedOf(field: Field): string {
  const wanted = describeField(field)
  return field.kind === 'date-time' ? `a date such as 2026-01-31 or ${wanted}` : wanted
}

// --- Bounds ----------------------------------------------------------------------------------

function readBounds(
  parameters: readonly Parameter[],
  options: QueryOptions,
  issues: Issue[],
): Filter[] {
  const bounds: Filter[] = []
  for (const name of ['since', 'until', 'since_id', 'max_id'] as const) {
    const text = single(parameters, name, issues)
    if (text === undefined) continue
    const field = name === 'since' || name === 'until' ? options.createdAt : options.id
    const known = field === undefined ? undefined : options.fields.get(field)
    if (field === undefined || !known) {
      issues.push({
        message: `${name} needs a creation date, which these items lack`,
        field: name,
        type: 'not_filterable',
      })
      continue
    }
    const [value] = filterValues(text, known)
    if (value === undefined) {
      const message = `${name} must be ${wantedOf(known)}, not ${JSON.stringify(text.slice(0, 64))}`
      issues.push({ message, field: name, type: 'invalid_value' })
    } else bounds.push(bound(name, [field], value, text))
  }
  return bounds
}

/** `since` and `until` are inclusive, a day as `until` to its end (UTC); `since_id` excludes, `max_id` includes. */
function bound(
  name: 'since' | 'until' | 'since_id' | 'max_id',
  path: Path,
  value: Scalar,
  text: string,
): Filter {
  switch (name) {
    case 'since':
      return { path, operator: 'gte', values: [value] }
    case 'until': {
      if (!isDate(text)) return { path, operator: 'lte', values: [value] }
      const nextDay = parseInstant(String(value)) + DAY
      // The last day has no next one.
      const operator = nextDay > LAST_INSTANT ? 'lte' : 'lt'
      return { path, operator, values: [printInstant(nextDay)] }
    }
    case 'since_id':
      return { path, operator: 'gt', values: [value] }
    case 'max_id':
      return { path, operator: 'lte', values: [value] }
  }
}

// --- Back to parameters ------------------------------------------------------------------------

/**
 * Prints a query so that {@link readQuery} with the same fields gives it back.
 * @throws TypeError for a filter without values, but for `nin`: no parameter says that nothing fulfils it.
 */
export function printQuery(query: Query): string {
  const pairs: [string, string][] = []
  if (query.fields) pairs.push(['fields', query.fields.map(path => path.join('.')).join(',')])
  if (query.search) pairs.push(['q', query.search.text])
  const printed = new Set<string>()
  for (const filter of query.where) {
    const key = `${filter.operator} ${filter.path.join('.')}`
    pairs.push(...printFilter(filter, printed.has(key), query.sort.at(-1)?.path))
    printed.add(key)
  }
  if (query.sort.length > 0) pairs.push(['sort', printSort(query.sort)])
  return printParameters(pairs)
}

/** @param second whether a filter with the same operator on the same field stands before it. */
function printFilter(
  { path, operator, values }: Filter,
  second: boolean,
  id: Path | undefined,
): [string, string][] {
  const name = `filter[${path.join('.')}]`
  const texts = values.map(String)
  const [text] = texts
  if (text === undefined) {
    if (operator === 'nin') return []
    throw new TypeError(`${path.join('.')}: no parameter says "${operator}" without a value`)
  }
  switch (operator) {
    case 'in':
      return second ? [[`${name}[in]`, joinValues(texts)]] : texts.map(text => [name, text])
    case 'nin':
      return second
        ? texts.map(text => [`${name}[ne]`, text])
        : [[`${name}[nin]`, joinValues(texts)]]
    case 'lte':
      if (!second) break
      return [[path.join() === id?.join() ? 'max_id' : 'until', text]]
    case 'lt':
      // A day as `until` was read as "before the next one".
      if (second) return [['until', printInstant(parseInstant(text) - DAY).slice(0, 10)]]
      break
    case 'gt':
      if (second) return [['since_id', text]]
      break
    case 'gte':
      if (second) return [['since', text]]
      break
  }
  return [[`${name}[${operator}]`, text]]
}
