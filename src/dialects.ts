// The parameters of stock admin clients rewritten into ours before anything reads them, and the
// headers they look for. No rule of its own: what is rewritten is then read like any request.
import { HttpError } from './errors.ts'
import { isObject } from './fields.ts'
import { type HeaderList, headerOf, type Parameter } from './http.ts'

export interface Dialect {
  readonly name: string
  /** Ours for theirs; parameters that are not of the dialect stay as they are. */
  rewrite(parameters: readonly Parameter[]): readonly Parameter[]
  /** Headers that the client looks for, beside ours. */
  headers?(headers: HeaderList): HeaderList
}

function parameter(name: string, value: string): Parameter {
  return { name, value, raw: `${encodeURIComponent(name)}=${encodeURIComponent(value)}` }
}

/** ra-data-simple-rest: `sort=["color","ASC"]`, `range=[0,24]`, `filter={"color":"red"}`. */
export const simpleRest: Dialect = {
  name: 'simpleRest',
  rewrite: parameters =>
    parameters.flatMap(each => {
      const value = /^[[{]/.test(each.value) ? jsonOf(each) : undefined
      if (value === undefined) return [each]
      if (each.name === 'sort' && Array.isArray(value)) {
        return [parameter('sort', `${value[1] === 'DESC' ? '-' : ''}${String(value[0])}`)]
      }
      if (each.name === 'range' && Array.isArray(value)) return rangeParameters(value)
      if (each.name === 'filter' && isObject(value))
        return Object.entries(value).flatMap(filterParameters)
      return [each]
    }),
}

function jsonOf({ name, value }: Parameter): unknown {
  if (name !== 'sort' && name !== 'range' && name !== 'filter') return undefined
  try {
    return JSON.parse(value)
  } catch {
    const message = `${name} starts like JSON but is none`
    throw new HttpError(400, [{ message, field: name, type: 'invalid_value' }])
  }
}

function rangeParameters([first, last]: unknown[]): Parameter[] {
  const size = Number(last) - Number(first) + 1
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(size) || size < 0) {
    const message = 'range must be two positions, such as [0,24]'
    throw new HttpError(400, [{ message, field: 'range', type: 'invalid_value' }])
  }
  return [parameter('offset', String(first)), parameter('limit', String(size))]
}

function filterParameters([name, value]: [string, unknown]): Parameter[] {
  if (name === 'q') return [parameter('q', String(value))]
  const values = Array.isArray(value) ? value : [value]
  return values.map(each => parameter(`filter[${name}]`, String(each)))
}

const JSON_SERVER_OPERATORS: Readonly<Record<string, string>> = {
  _gte: 'gte',
  _lte: 'lte',
  _ne: 'ne',
  _like: 'like',
}

/** json-server 0.17: `_start`, `_end`, `_limit`, `_page`, `_sort`, `_order`, `price_gte`; `X-Total-Count`. */
export const jsonServer: Dialect = {
  name: 'jsonServer',
  rewrite(parameters) {
    const of = (name: string) => parameters.find(each => each.name === name)?.value
    const start = whole('_start', of('_start'))
    const end = whole('_end', of('_end'))
    const size = whole('_limit', of('_limit'))
    const page = whole('_page', of('_page'))
    const [names, orders] = [of('_sort')?.split(',') ?? [], of('_order')?.split(',') ?? []]
    const given = parameters.filter(({ name }) => !OWN.has(name)).map(filterParameter)
    const limit = size ?? (end === undefined ? undefined : Math.max(0, end - (start ?? 0)))
    const offset = start ?? (page === undefined ? undefined : Math.max(0, page - 1) * (limit ?? 10))
    if (names.length > 0) {
      const keys = names.map((name, at) =>
        orders[at]?.toLowerCase() === 'desc' ? `-${name}` : name,
      )
      given.push(parameter('sort', keys.join(',')))
    }
    if (offset !== undefined) given.push(parameter('offset', String(offset)))
    if (limit !== undefined || page !== undefined)
      given.push(parameter('limit', String(limit ?? 10)))
    return given
  },
  headers(headers) {
    const total = headerOf(headers, 'X-Result-Count')
    return total === undefined ? [] : ['X-Total-Count', total]
  },
}

const OWN = new Set(['_start', '_end', '_limit', '_page', '_sort', '_order'])

function whole(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new HttpError(400, [
    { message: `${name} must be a whole number from 0`, field: name, type: 'invalid_number' },
  ])
}

function filterParameter(each: Parameter): Parameter {
  const suffix = /_(?:gte|lte|ne|like)$/.exec(each.name)?.[0]
  if (suffix === undefined) return each
  const name = each.name.slice(0, -suffix.length)
  // json-server's `_like` finds the text anywhere.
  const value = suffix === '_like' ? `%${each.value.replace(/[\\%_*]/g, '\\$&')}%` : each.value
  return parameter(`${name}[${JSON_SERVER_OPERATORS[suffix]}]`, value)
}
