// The order of a list (specification, "Query parameters": `sort`): `-created_at,color`, and back.

import { toPath } from '../base/paths.ts'
import { describeField, type Field, isFilterable } from '../schema/fields.ts'
import type { SortKey } from './selection.ts'

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
