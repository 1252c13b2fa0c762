// The items of an array that the values of a unique set name: each attempt finds those that exist.

import { getValue, toPath } from '../../base/paths.ts'
import { isScalar, type Json, type Scalar } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { parseFilterValues } from '../../query/filters.ts'
import { findField } from '../../schema/fields.ts'
import { UniqueError } from '../../store/errors.ts'
import type { Filter } from '../../store/filter.ts'
import { withTieBreak } from '../../store/selection.ts'
import type { Stored } from '../../store/store.ts'
import { MAX_SET } from '../../store/writes.ts'
import type { OperationContext } from '../calls/context.ts'
import { buildReachFilters } from '../calls/items.ts'
import { manyOf } from './many.ts'
import { MAX_ATTEMPTS } from './preconditions.ts'
import { runSteps, type WriteState, type WriteStep } from './steps.ts'

/** The dotted paths of a unique set. */
export type KeyNames = readonly string[]

/** The values of a set in one item. */
export interface ItemKey {
  /** Empty if one of them is of another type: then the checks of the item refuse it. */
  readonly values: readonly Scalar[]
  /** The same for equal values. */
  readonly text: string
}

/** Reads the values of a set; `undefined` if one is absent or null. */
export function readKey(
  { queryFields }: CollectionDefinition,
  names: KeyNames,
  item: Json,
): ItemKey | undefined {
  const values: Scalar[] = []
  for (const name of names) {
    const path = toPath(name)
    const value = getValue(item, path) ?? null
    if (value === null) return undefined
    const field = findField(queryFields, path)
    const read = field && isScalar(value) ? parseFilterValues(String(value), field) : []
    // A text of a union can mean several values.
    const own = read.find(each => each === value) ?? read[0]
    if (own === undefined) return { values: [], text: '' }
    values.push(own)
  }
  return { values, text: JSON.stringify(values) }
}

/** The maximum of keys of several properties in one filter, which has a condition for each. */
const MAX_ROWS = 100

/** Finds the items that have one of these keys, as far as the client can reach them. @returns them by the text of their key. */
export async function findByKeys(
  call: OperationContext,
  names: KeyNames,
  keys: readonly ItemKey[],
): Promise<ReadonlyMap<string, Stored>> {
  const { collection } = call.target
  const known = keys.filter(({ values }) => values.length > 0)
  const sort = withTieBreak([], collection.shape.identity)
  const store = call.storeOf(collection)
  const found = new Map<string, Stored>()
  const most = names.length === 1 ? MAX_SET : MAX_ROWS
  for (let at = 0; at < known.length; at += most) {
    const where = [...buildReachFilters(call), toFilter(names, known.slice(at, at + most))]
    for await (const batch of store.stream({ where, sort }, call.storeOptions))
      for (const stored of batch) {
        const key = readKey(collection, names, stored.item)
        if (key) found.set(key.text, stored)
      }
  }
  return found
}

function toFilter(names: KeyNames, keys: readonly ItemKey[]): Filter {
  const [first = '', ...others] = names
  const path = toPath(first)
  if (others.length === 0)
    return { path, operator: 'in', values: keys.flatMap(({ values }) => values) }
  const filters = keys.map(({ values }): Filter => {
    const own = names.map(
      (name, at): Filter => ({
        path: toPath(name),
        operator: 'in',
        values: values.slice(at, at + 1),
      }),
    )
    return { operator: 'all', filters: own }
  })
  return { operator: 'any', filters }
}

/**
 * Stores all items, or none. If another request was faster with one of them, there is an item to change now: the next
 * attempt finds it.
 */
export async function retryIfAnyTaken(
  write: WriteState,
  steps: readonly WriteStep[],
): Promise<WriteState> {
  for (let count = 1; ; count++) {
    try {
      return await runSteps(steps, write)
    } catch (error) {
      const { call } = write
      // A transaction of a program does not see what others have committed since.
      if (call.transaction || !isTaken(error) || count === MAX_ATTEMPTS) throw error
      if (!(await manyOf(write).isOutdated?.(call))) throw error
    }
  }
}

function isTaken(error: unknown): boolean {
  return (
    error instanceof HttpError && [error, error.cause].some(each => each instanceof UniqueError)
  )
}
