// The keys of an index in memory: the values that it holds of an item, and their order.
import { parseInstant } from '../schema/dates.ts'
import type { Kind } from '../schema/fields.ts'
import type { Path } from '../schema/paths.ts'
import { hasOneType, isOfKind } from '../schema/scalars.ts'
import { compareText, type Json, type Scalar } from '../schema/values.ts'
import { ORDERINGS } from './operators.ts'
import type { Filter } from './selection.ts'

/** A value as an index holds it: date-times as milliseconds, null for what is absent. */
export type Key = Scalar | null
export type Keys = readonly Key[]

export interface Column {
  readonly path: Path
  readonly kind: Kind
}

export function toKey(value: Json | undefined, kind: Kind | undefined): Key {
  if (typeof value === 'string' && kind === 'date-time') return parseInstant(value)
  return typeof value === 'object' || value === undefined ? null : value
}

/** The order of `compareValues`, for values of one field. */
export function compareKey(one: Key = null, other: Key = null): number {
  if (one === other) return 0
  if (typeof one === 'number' && typeof other === 'number') return one - other
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other)
  if (one === null) return -1
  if (other === null) return 1
  return Number(one) - Number(other)
}

export function isSamePath(one: Path, other: Path | undefined): boolean {
  return one.length === other?.length && one.every((name, at) => name === other[at])
}

/** The values of an `in` that a column can have, each once; `undefined` for a column without an order. */
export function toKeys({ values }: Filter, kind: Kind): Key[] | undefined {
  if (!hasOneType(kind)) return undefined
  const [first] = values
  if (values.length === 1 && first !== undefined) {
    return isOfKind(first, kind) ? [toKey(first, kind)] : []
  }
  const fitting = values.filter(value => isOfKind(value, kind))
  return [...new Set(fitting.map(value => toKey(value, kind)))]
}

/** Whether a filter bounds a range of a column's values. */
export function isBound({ operator, values: [value] }: Filter, kind: Kind): boolean {
  return ORDERINGS.has(operator) && value !== undefined && isOfKind(value, kind)
}
