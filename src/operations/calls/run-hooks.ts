// The hooks of a collection around an operation.
import type { Principal } from '../../auth/scheme.ts'
import { type Awaitable, freezeDeep, type Item, isObject } from '../../base/values.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import type { Find, FindSql, HookContext, OperationEvent } from '../../model/types/hooks.ts'
import { neverAborted } from '../../store/abort.ts'
import { type Stored, throwIfAborted } from '../../store/store.ts'
import type { CallScope, OperationContext } from './context.ts'
import { createScope } from './derive-call.ts'
import { noteProgramError, toOuterError } from './inner-errors.ts'
import { toProgramItem } from './program-items.ts'
import { createFindSql } from './program-sql.ts'
import { reportFailure } from './report-failure.ts'
import { createFind } from './resolve-collection.ts'
import type { RunningTransaction } from './running-transaction.ts'

type HookState = HookContext['state']

/** What a hook gets besides the context of its operation. */
export interface HookValues {
  /** The operation whose hooks run. Default: that of the call. */
  readonly operation?: string | undefined
  /** The item as it is before the operation. */
  readonly stored?: Stored | undefined
  readonly input?: unknown
  readonly value?: unknown
}

/** What the hooks of a call that runs have been told, and what they share. */
const told = new WeakMap<
  OperationContext,
  { readonly values: HookValues; readonly state: HookState }
>()

/** What hooks and actions get: resources are created when they are first used. */
export class OperationTools implements HookContext {
  readonly principal: Principal | undefined
  readonly system: boolean
  readonly state: HookState
  readonly #context: OperationContext
  readonly #transaction: RunningTransaction | undefined
  readonly #isDone: boolean

  /**
   * @param transaction that the calls are part of.
   * @param isDone whether the operation is done: what comes then does not end with its client.
   */
  constructor(
    context: OperationContext,
    transaction: RunningTransaction | undefined,
    isDone = false,
  ) {
    this.#context = context
    this.#transaction = transaction
    this.#isDone = isDone
    this.principal = context.principal
    this.system = context.system
    this.state = told.get(context)?.state ?? {}
  }

  get signal(): AbortSignal {
    return this.#isDone ? neverAborted() : this.#context.request.signal
  }

  get collection(): Find {
    return createFind(this.#createScope())
  }

  get sql(): FindSql {
    return createFindSql(this.#createScope())
  }

  get transaction(): HookContext['transaction'] {
    const { runtime } = this.#context
    const scope = this.#createScope()
    return work => runtime.runTransaction(scope, work)
  }

  /** Creates the scope of calls within a hook or an action: the same version, principal and signal. */
  #createScope(): CallScope {
    const { request } = this.#context
    const scope = createScope(this.#context, this.#transaction)
    if (this.#isDone) return scope
    return { ...scope, request, signal: (this.#transaction ?? request).signal }
  }
}

class OperationHookEvent extends OperationTools implements OperationEvent {
  readonly collectionName: string
  readonly operation: string
  declare readonly value?: unknown

  constructor(
    context: OperationContext,
    hookValues: HookValues,
    transaction: RunningTransaction | undefined,
    isDone: boolean,
  ) {
    super(context, transaction, isDone)
    this.collectionName = context.target.collection.name
    this.operation = context.operation
    const { id, collection } = context.target
    const { stored, ...values } = hookValues
    const item = stored && { item: toProgramItem(toWhole(collection), stored) }
    const dryRun = transaction?.isDryRun && { dryRun: true }
    Object.assign(this, id !== undefined && { id }, values, item, dryRun)
  }
}

/** Runs the `before` hooks of the collection; an object that one returns replaces the value. */
export function runBefore<T>(
  context: OperationContext,
  values: HookValues,
  value: T,
  transaction = context.transaction,
): Awaitable<T | Item> {
  const { operation = context.operation } = values
  const { before, after, error } = context.target.collection.hooks
  const hooks = before.get(operation)
  // Another attempt begins with nothing of the last one.
  if (hooks || after.has(operation) || error.length > 0) told.set(context, { values, state: {} })
  if (!hooks) return value
  const event = new OperationHookEvent(context, values, transaction, false)
  return runEach(context, hooks, event, value)
}

async function runEach<T>(
  { storeOptions }: OperationContext,
  hooks: readonly ((event: OperationEvent) => unknown)[],
  event: OperationEvent,
  given: T,
): Promise<T | Item> {
  let value: T | Item = given
  for (const before of hooks) {
    const returned = await runHook(before, event)
    // A hook may take long: nothing more is done for a client that has gone.
    throwIfAborted(storeOptions)
    if (!isObject(returned)) continue
    value = returned
    if (event.value !== undefined) Object.assign(event, { value })
  }
  return value
}

/** Runs a hook whose error is answered. */
async function runHook<Given extends unknown[]>(
  hook: (...given: Given) => unknown,
  ...given: Given
): Promise<unknown> {
  try {
    return await hook(...given)
  } catch (error) {
    noteProgramError(error)
    throw toOuterError(error)
  }
}

/** Runs the `after` hooks within the transaction of the operation: what one throws undoes it. */
export async function runAfterWithin(
  context: OperationContext,
  result: unknown,
  transaction: RunningTransaction | undefined,
  values = told.get(context)?.values ?? {},
): Promise<void> {
  if (transaction?.isDryRun) return
  const hooks = findAfter(context, values)
  if (hooks.length === 0) return
  const event = createAfterEvent(context, values, transaction, false)
  for (const after of hooks) await runHook(after, event, result)
}

/**
 * Runs the `after` hooks once the operation is done: in a transaction when that is committed, and not where it is
 * undone. What one throws is reported, and changes neither the answer nor what the others do.
 */
export function runAfter(
  context: OperationContext,
  result: unknown,
  values = told.get(context)?.values ?? {},
): Awaitable<void> {
  const hooks = findAfter(context, values)
  if (hooks.length === 0) return undefined
  const event = createAfterEvent(context, values, undefined, true)
  const run = async () => {
    for (const after of hooks) {
      try {
        await after(event, result)
      } catch (error) {
        reportFailure(context, error)
      }
    }
  }
  return context.transaction ? context.transaction.afterCommit(run) : run()
}

function findAfter({ target, operation: own }: OperationContext, { operation = own }: HookValues) {
  return target.collection.hooks.after.get(operation) ?? []
}

function createAfterEvent(
  context: OperationContext,
  values: HookValues,
  transaction: RunningTransaction | undefined,
  isDone: boolean,
): OperationEvent {
  freezeDeep(values.value)
  return new OperationHookEvent(context, values, transaction, isDone)
}

/** Runs the `error` hooks of the collection. */
export async function runErrorHooks(context: OperationContext, error: unknown): Promise<void> {
  const event = new OperationHookEvent(
    context,
    told.get(context)?.values ?? {},
    context.transaction,
    false,
  )
  for (const failed of context.target.collection.hooks.error) await runHook(failed, event, error)
}
