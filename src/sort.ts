// The order of a list (specification, "Query parameters": `sort`): `-created_at,color`, and back.
import type { Mistake } from './errors.ts'
import {
  expectation,
  type Field,
  type Fields,
  fieldAt,
  isFilterable,
  toPath,
  unknownField,
} from './fields.ts'
import type { Parameter } from './http.ts'
import { type Limits, limitsOf } from './limits.ts'
import { single } from './pagination.ts'
import { type SortKey, withTieBreak } from './selection.ts'

export interface SortOptions {
  /** The fields of the items, the server-owned ones included. */
  readonly fields: Fields
  /** The name of the identifying field: the last sort key of every list. */
  readonly id: string
  /** The order where the request does not say; the id is added. */
  readonly sort?: readonly SortKey[]
  /** How much a request may ask for. Default: as {@link Limits} say. */
  readonly caps?: Pick<Limits, 'sortKeys'>
}

const CAPS = limitsOf()

/** The `sort` parameter, the id at its end. */
export function readSort(
  parameters: readonly Parameter[],
  { fields, id, sort = [], caps = CAPS }: SortOptions,
  mistakes: Mistake[],
): SortKey[] {
  const text = single(parameters, 'sort', mistakes)
  const keys = text === undefined ? [] : parseSort(text)
  if (keys.length === 0) return withTieBreak(sort, id)
  if (keys.length > caps.sortKeys) {
    mistakes.push({
      message: `At most ${caps.sortKeys} sort keys, not ${keys.length}`,
      field: 'sort',
      type: 'too_many_sort_keys',
    })
    return withTieBreak(sort, id)
  }
  for (const { path } of keys) {
    const field = fieldAt(fields, path)
    if (!field) mistakes.push(unknownField(path.join('.'), fields, 'sort'))
    const objection = field && orderObjection(field)
    if (objection === undefined) continue
    const message = `${path.join('.')} ${objection}: it has no order`
    mistakes.push({ message, field: 'sort', type: 'not_sortable' })
  }
  return withTieBreak(keys, id)
}

/** Why items cannot be put in order by a field, `is a list`; `undefined` where they can. */
export function orderObjection(field: Field): string | undefined {
  if (field.kind === 'array') return 'is a list'
  return isFilterable(field) ? undefined : `is ${expectation(field)}`
}

/** Reads `-created_at,color`; what the fields are is not checked. */
export function parseSort(text: string): SortKey[] {
  return text
    .split(',')
    .filter(name => name !== '' && name !== '-')
    .map(name => ({ path: toPath(name.replace(/^[-+ ]/, '')), descending: name.startsWith('-') }))
}

/** Prints sort keys so that {@link parseSort} gives them back. */
export function printSort(sort: readonly SortKey[]): string {
  return sort.map(({ path, descending }) => `${descending ? '-' : ''}${path.join('.')}`).join(',')
}
