// The item that the values of a unique set name, in place of its id: each attempt finds it, or creates it.

import type { ValueFilter } from '../../store/filter.ts'
import { withTieBreak } from '../../store/selection.ts'
import type { Stored } from '../../store/store.ts'
import { authorize } from '../calls/authorize.ts'
import type { OperationContext } from '../calls/context.ts'
import { buildReachFilters } from '../calls/items.ts'
import { createUnlessTaken } from './preconditions.ts'
import type { Write, WriteState, WriteStep } from './steps.ts'

/** The values of a unique set: a filter for each of its properties. */
export type Key = readonly ValueFilter[]

/**
 * Finds the item: the call becomes that of its replacement, or of a create.
 * @throws HttpError 401, 403, or 404 where the collection hides what exists
 */
export async function findNamed({ call, named = [] }: Write): Promise<Stored | undefined> {
  const current = await findByKey(call, named)
  const operation = current ? 'replace' : 'create'
  authorize(call, [operation])
  const kind = current ? 'item' : 'collection'
  Object.assign(call, { operation, target: { ...call.target, kind, id: current?.id } })
  return current
}

/** Creates it. */
export function retryIfNamed(write: WriteState, steps: readonly WriteStep[]): Promise<WriteState> {
  return createUnlessTaken(write, steps, call => findByKey(call, write.named ?? []))
}

/** Finds the item of a key, if the client can reach it. */
async function findByKey(call: OperationContext, key: Key): Promise<Stored | undefined> {
  const where = [...buildReachFilters(call), ...key]
  const { collection } = call.target
  const sort = withTieBreak([], collection.shape.identity)
  const page = await call.storeOf(collection).list({ where, sort }, ONE, 'none', call.listOptions)
  return page.items[0]
}

const ONE = { limit: 1, offset: 0 }
