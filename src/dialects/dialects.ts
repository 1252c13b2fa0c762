// The query languages of stock admin clients: rewrites their parameters into ours before anything reads
// them, and adds the headers they look for.

import { describeInexact, findInexact } from '../base/exact-numbers.ts'
import { isObject, type Json } from '../base/values.ts'
import { HttpError, type Issue, throwIfAny } from '../errors.ts'
import { getHeader } from '../http/message.ts'
import { type Parameter, printParameters, readWholeNumber, single } from '../http/parameters.ts'
import { checkOptions, oneOf, type Rules } from '../options.ts'
import { listParameters } from '../query/list-parameters.ts'
import type { Dialect, DialectErrors, DialectList } from '../query.ts'

function parameter(givenName: string, givenValue: string): Parameter {
  const [name, value] = [givenName.toWellFormed(), givenValue.toWellFormed()]
  if (`${name}${value}`.includes('\0')) throw invalid(name, 'it holds the character U+0000')
  return { name, value, raw: printParameters([[name, value]]) }
}

function invalid(field: string, why: string): HttpError {
  const name = field.slice(0, 64)
  const message = `${name} cannot be read: ${why}`
  return new HttpError(400, [{ message, field: name, type: 'invalid_value' }])
}

/** How {@link simpleRest} answers. */
export interface SimpleRestOptions {
  /**
   * How `errors` look in JSON: a list, or an object of messages by their fields, with those of the whole as
   * `root.serverError`. The latter is what react-admin reads, for an api that admin clients alone use. Default
   * `list`.
   */
  readonly errors?: 'list' | 'byField' | undefined
}

const OPTIONS: Rules<SimpleRestOptions> = { errors: oneOf('list', 'byField') }

/**
 * ra-data-simple-rest: `sort=["color","ASC"]`, `range=[0,24]`, `filter={"color":"red"}`. It is a dialect itself,
 * and makes one with options.
 * @throws HttpError 400 for any other JSON.
 * @example
 * import { simpleRest } from 'rest-conventions/dialects'
 * const dialects = [simpleRest({ errors: 'byField' })]
 */
export function simpleRest(options: SimpleRestOptions = {}): Dialect {
  checkOptions('simpleRest', options, OPTIONS)
  const { name, rewrite } = simpleRest
  return { name, rewrite, errors: options.errors === 'byField' ? BY_FIELD : undefined }
}

simpleRest.rewrite = (parameters: readonly Parameter[], list: DialectList) =>
  withLimit(parameters.flatMap(readJson), list)

const BY_FIELD: DialectErrors = {
  schema: {
    type: 'object',
    description: 'The message of each property that was sent, by its dotted path',
    properties: {
      root: {
        type: 'object',
        properties: { serverError: { type: 'string', description: 'The other messages' } },
        required: ['serverError'],
      },
    },
    additionalProperties: { type: 'string' },
    minProperties: 1,
  },
  /**
   * A form whose error stands at a field that it lacks sends nothing any more: such errors are of the whole. An
   * empty input is not sent: what is required is said at the property too.
   */
  print(errors, body) {
    const fields = new Map<string, string[]>()
    const others: string[] = []
    for (const { field = 'root', message, type } of errors) {
      const isRoot = /^root(?:\.|$)/.test(field)
      const isSent = !isRoot && hasPath(body, field)
      if (!isSent) others.push(message)
      if (isSent || (!isRoot && type === 'required' && isObject(body)))
        fields.set(field, [...(fields.get(field) ?? []), message])
    }
    const byField = Array.from(fields, ([field, messages]) => [field, joinMessages(messages)])
    const root = others.length > 0 && { root: { serverError: joinMessages(others) } }
    return { ...Object.fromEntries(byField), ...root }
  },
}

/** Whether a body has a property, null included, or an entry of a list. */
function hasPath(body: Json | undefined, dotted: string): boolean {
  let value: unknown = body
  for (const name of dotted.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false
    value = Reflect.get(value, name)
  }
  return true
}

function joinMessages(messages: readonly string[]): string {
  return messages.join('. ').replaceAll('.. ', '. ')
}

/** Parameters that name a page, in any dialect. */
const PAGE = new Set([
  ...listParameters('places', 'sizes'),
  ...['range', '_start', '_end', '_limit', '_page'],
])

/**
 * Adds a `limit` of as many items as there are ids, unless the query names a page: clients that look up
 * references expect all of them.
 * @throws HttpError 400 for more ids than a page may have.
 */
function withLimit(
  parameters: readonly Parameter[],
  { id, maxLimit }: DialectList,
): readonly Parameter[] {
  const ids = parameters.filter(({ name }) => name === id || name === `filter[${id}]`).length
  if (ids < 2 || parameters.some(({ name }) => PAGE.has(name))) return parameters
  if (ids <= maxLimit) return [...parameters, parameter('limit', String(ids))]
  const message = `${id} has ${ids} values; at most ${maxLimit} items are returned at once`
  throw new HttpError(400, [{ message, field: id, type: 'too_many_values' }])
}

const READERS: ReadonlyMap<string, (value: unknown) => Parameter[]> = new Map([
  ['sort', sortParameters],
  ['range', rangeParameters],
  ['filter', value => filterParameters(value)],
])

/** Reads a parameter of JSON; a value that begins like neither array nor object is in our own language. */
function readJson(each: Parameter): Parameter[] {
  const { name, value } = each
  const read = READERS.get(name)
  if (!read || !/^[[{]/.test(value)) return [each]
  try {
    const parsed: unknown = JSON.parse(value)
    const inexact = findInexact(value)
    if (inexact) {
      const message = `${name} ${describeInexact(inexact.digits)}`
      throw new HttpError(400, [{ message, field: name, type: 'inexact_number' }])
    }
    return read(parsed)
  } catch (error) {
    if (error instanceof SyntaxError)
      throw invalid(name, 'it starts like JSON but is not valid JSON')
    throw error
  }
}

function sortParameters(value: unknown): Parameter[] {
  const [field, order = 'ASC', ...rest]: unknown[] = Array.isArray(value) ? value : []
  const direction = typeof order === 'string' ? order.toUpperCase() : ''
  if (typeof field !== 'string' || !/^(?:ASC|DESC)$/.test(direction) || rest.length > 0) {
    throw invalid('sort', 'it must be a field and an order, such as ["color","ASC"]')
  }
  return [parameter('sort', direction === 'DESC' ? `-${field}` : field)]
}

function rangeParameters(value: unknown): Parameter[] {
  const [first, last, ...rest]: unknown[] = Array.isArray(value) ? value : []
  const size = isWhole(first) && typeof last === 'number' ? last - first + 1 : -1
  if (!isWhole(size) || rest.length > 0) {
    throw invalid('range', 'it must be two positions, such as [0,24]')
  }
  return [parameter('offset', String(first)), parameter('limit', String(size))]
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** The maximum nesting of a filter's objects. */
const MAX_LEVELS = 32

function filterParameters(value: unknown, path = '', levels = MAX_LEVELS): Parameter[] {
  if (!isObject(value)) throw invalid('filter', 'it must be an object')
  if (levels === 0) throw invalid('filter', `it is nested deeper than ${MAX_LEVELS} levels`)
  return Object.entries(value).flatMap(([name, operand]) => {
    if (name === 'q' && path === '' && typeof operand !== 'object') {
      return [parameter('q', String(operand))]
    }
    if (isObject(operand)) return filterParameters(operand, `${path}${name}.`, levels - 1)
    const [, field = name, operator = ''] = /^([^[\]]+)(\[[^[\]]*\])$/.exec(name) ?? []
    const whole = `filter[${path}${field}]`
    if (operand === null) return [parameter(`${whole}[exists]`, 'false')]
    const values: unknown[] = Array.isArray(operand) ? operand : [operand]
    if (values.length === 0 || values.some(each => typeof each === 'object')) {
      throw invalid('filter', `${path}${field} must have a value, or a list of at least one`)
    }
    return values.map(each => parameter(whole + operator, String(each)))
  })
}

/** json-server 0.17: `_embed`, `_expand`, `_start`, `_end`, `_limit`, `_page`, `_sort`, `_order`, `price_gte`; `X-Total-Count`. */
export const jsonServer: Dialect = {
  name: 'jsonServer',
  rewrite(parameters, list) {
    const issues: Issue[] = []
    const of = (name: string) => single(parameters, name, issues)
    const [start, end, size, page] = ['_start', '_end', '_limit', '_page'].map(name =>
      readWholeNumber(name, of(name), issues),
    )
    const [names, orders] = [of('_sort')?.split(',') ?? [], of('_order')?.split(',') ?? []]
    throwIfAny(issues)
    const rewritten = parameters.filter(({ name }) => !OWN.has(name)).map(filterParameter)
    const related = parameters.filter(({ name }) => RELATED.has(name)).map(({ value }) => value)
    if (related.length > 0) rewritten.push(parameter('include', related.join(',')))
    const limit = size ?? (end === undefined ? undefined : Math.max(0, end - (start ?? 0)))
    const offset = start ?? (page === undefined ? undefined : Math.max(0, page - 1) * (limit ?? 10))
    if (names.length > 0) {
      const keys = names.map((name, at) =>
        orders[at]?.toLowerCase() === 'desc' ? `-${name}` : name,
      )
      rewritten.push(parameter('sort', keys.join(',')))
    }
    if (offset !== undefined) rewritten.push(parameter('offset', String(offset)))
    if (limit !== undefined || page !== undefined)
      rewritten.push(parameter('limit', String(limit ?? 10)))
    return withLimit(rewritten, list)
  },
  headers(headers) {
    const total = getHeader(headers, 'X-Result-Count')
    return total === undefined ? [] : ['X-Total-Count', total]
  },
}

/** The names of children, and of what an item refers to: to us both are names of relations. */
const RELATED = new Set(['_embed', '_expand'])

const OWN = new Set(['_start', '_end', '_limit', '_page', '_sort', '_order', ...RELATED])

function filterParameter(each: Parameter): Parameter {
  const suffix = /_(?:gte|lte|ne|like)$/.exec(each.name)?.[0]
  if (suffix === undefined) return each
  const name = each.name.slice(0, -suffix.length)
  // json-server's `_like` finds the text anywhere.
  const value = suffix === '_like' ? `%${each.value.replace(/[\\%_*]/g, '\\$&')}%` : each.value
  return parameter(`${name}[${suffix.slice(1)}]`, value)
}
