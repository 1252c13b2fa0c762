// The hooks of a collection around an operation.
import type { OperationEvent } from '../model/definition.ts'
import { type Awaitable, freezeDeep, type Item, isObject } from '../schema/values.ts'
import type { OperationContext } from './context.ts'
import { protect } from './field-roles.ts'

export function createEvent(
  { target, operation, principal, request }: OperationContext,
  more: Partial<OperationEvent> = {},
): OperationEvent {
  const { item } = more
  return {
    collection: target.collection.name,
    operation,
    principal,
    signal: request.signal,
    ...(target.id !== undefined && { id: target.id }),
    ...more,
    ...(item && { item: Object.freeze(protect(target.collection, item)) }),
  }
}

/** Runs the collection's `before` hook; what it returns takes the place of the value. */
export function runBefore<T>(
  context: OperationContext,
  more: Partial<OperationEvent>,
  value: T,
): Awaitable<T | Item> {
  const { before } = context.target.collection.hooks
  if (!before) return value
  freezeDeep(more.item)
  return replaceValue(before, createEvent(context, more), value)
}

async function replaceValue<T>(
  before: (event: OperationEvent) => unknown,
  event: OperationEvent,
  value: T,
): Promise<T | Item> {
  const returned = await before(event)
  // A hook may take long: nothing is done any more for a client that has gone meanwhile.
  event.signal.throwIfAborted()
  return isObject(returned) ? returned : value
}
