// The order of a list (specification, "Query parameters": `sort`): `-created_at,color`, and back.
import type { Issue } from '../errors.ts'
import { buildLimits, type Limits } from '../http/limits.ts'
import {
  describeField,
  type Field,
  type Fields,
  findField,
  isFilterable,
  unknownField,
} from '../schema/fields.ts'
import { toPath } from '../schema/paths.ts'
import { type SortKey, withTieBreak } from './selection.ts'

export interface SortOptions {
  /** The fields of the items, the server-owned ones included. */
  readonly fields: Fields
  /** The name of the identifying field: the last sort key of every list. */
  readonly id: string
  /** The order where the request does not say; the id is added. */
  readonly sort?: readonly SortKey[] | undefined
  /** How much a request may ask for. Default: the `limits` of an api. */
  readonly caps?: Pick<Limits, 'sortKeys'> | undefined
}

const CAPS = buildLimits()

/** Reads the value of the `sort` parameter, and ends the sort with the id; an empty one means the default. */
export function readSortText(
  text: string,
  { fields, id, sort = [], caps = CAPS }: SortOptions,
  issues: Issue[],
): SortKey[] {
  const keys = parseSort(text)
  if (keys.length === 0) return withTieBreak(sort, id)
  if (keys.length > caps.sortKeys) {
    const message = `sort has ${keys.length} keys; at most ${caps.sortKeys} are allowed`
    issues.push({ message, field: 'sort', type: 'too_many_sort_keys' })
    return withTieBreak(sort, id)
  }
  for (const { path } of keys) {
    const field = findField(fields, path)
    if (!field) issues.push(unknownField(path.join('.'), fields, 'sort'))
    const reason = field && invalidSortReason(field)
    if (reason === undefined) continue
    const message = `${path.join('.')} ${reason}: it has no order`
    issues.push({ message, field: 'sort', type: 'not_sortable' })
  }
  return withTieBreak(keys, id)
}

/** Why items cannot be put in order by a field, `is a list`; `undefined` where they can. */
export function invalidSortReason(field: Field): string | undefined {
  if (field.kind === 'array') return 'is a list'
  return isFilterable(field) ? undefined : `is ${describeField(field)}`
}

/** Parses `-created_at,color`; whether the fields exist is not checked. */
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
