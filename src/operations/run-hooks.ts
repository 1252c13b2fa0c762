// The hooks of a collection around an operation.
import type { Principal } from '../auth/scheme.ts'
import { type Awaitable, type Item, isObject } from '../base/values.ts'
import type { Find, HookContext, OperationEvent } from '../model/types/hooks.ts'
import type { Stored } from '../store/store.ts'
import { type CallScope, createFind, type OperationContext } from './context.ts'
import { toProgramItem } from './in-process/program-items.ts'
import type { RunningTransaction } from './running-transaction.ts'

/** What hooks and actions get: resources are created when they are first used. */
export class OperationTools implements HookContext {
  readonly principal: Principal | undefined
  readonly #context: OperationContext
  readonly #transaction: RunningTransaction | undefined

  /** @param transaction that the calls are part of. */
  constructor(context: OperationContext, transaction = context.transaction) {
    this.#context = context
    this.#transaction = transaction
    this.principal = context.principal
  }

  get signal(): AbortSignal {
    return this.#context.request.signal
  }

  get collection(): Find {
    return createFind(createScope(this.#context, this.#transaction))
  }

  get transaction(): HookContext['transaction'] {
    const { runtime } = this.#context
    const scope = createScope(this.#context, this.#transaction)
    return work => runtime.runTransaction(scope, work)
  }
}

/** Creates the scope of calls within a hook or an action: the same version, principal and signal. */
function createScope(
  context: OperationContext,
  transaction: RunningTransaction | undefined,
): CallScope {
  const { runtime, target, base, principal, request } = context
  const { version, collection: own } = target
  const { signal } = transaction ?? request
  return { runtime, version, base, transaction, request, own, principal, signal }
}

class OperationHookEvent extends OperationTools implements OperationEvent {
  readonly collectionName: string
  readonly operation: string

  constructor(
    context: OperationContext,
    hookValues: HookValues,
    transaction?: RunningTransaction | undefined,
  ) {
    super(context, transaction)
    this.collectionName = context.target.collection.name
    this.operation = context.operation
    const { id, collection } = context.target
    const { stored, ...values } = hookValues
    const item = stored && { item: toProgramItem(collection, stored) }
    const dryRun = transaction?.isDryRun && { dryRun: true }
    Object.assign(this, id !== undefined && { id }, values, item, dryRun)
  }
}

/** What a hook gets besides the context of its operation. */
export interface HookValues {
  /** The item as it is before the operation. */
  readonly stored?: Stored | undefined
  readonly input?: unknown
  readonly value?: unknown
}

export function createEvent(
  context: OperationContext,
  hookValues: HookValues = {},
  transaction = context.transaction,
): OperationEvent {
  return new OperationHookEvent(context, hookValues, transaction)
}

/** Runs the collection's `before` hook; an object that it returns replaces the value. */
export function runBefore<T>(
  context: OperationContext,
  hookValues: HookValues,
  value: T,
  transaction = context.transaction,
): Awaitable<T | Item> {
  const before = context.target.collection.hooks.before.get(context.operation)
  if (!before) return value
  return replaceValue(before, createEvent(context, hookValues, transaction), value)
}

/** Runs the collection's `after` hook. */
export async function runAfter(
  context: OperationContext,
  result: unknown,
  transaction = context.transaction,
): Promise<void> {
  if (transaction?.isDryRun) return
  const after = context.target.collection.hooks.after.get(context.operation)
  await after?.(createEvent(context, {}, transaction), result)
}

async function replaceValue<T>(
  before: (event: OperationEvent) => unknown,
  event: OperationEvent,
  value: T,
): Promise<T | Item> {
  const returned = await before(event)
  // A hook may take long: nothing more is done for a client that has gone.
  event.signal.throwIfAborted()
  return isObject(returned) ? returned : value
}
