// The hooks of a collection around an operation.
import type { Principal } from '../../auth/scheme.ts'
import { type Awaitable, andThen, freezeDeep, type Item, isObject } from '../../base/values.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import type { AfterHook, HookValues } from '../../model/types/compiled-hooks.ts'
import type { Find, FindSql, HookContext, OperationEvent } from '../../model/types/hooks.ts'
import { neverAborted } from '../../store/abort.ts'
import { type Id, throwIfAborted } from '../../store/store.ts'
import type { CallScope, OperationContext } from './context.ts'
import { createScope } from './derive-call.ts'
import { noteProgramError, toOuterError } from './inner-errors.ts'
import { type ProgramItem, toProgramItem } from './program-items.ts'
import { createFindSql } from './program-sql.ts'
import { reportFailure } from './report-failure.ts'
import { createFind } from './resolve-collection.ts'
import type { RunningTransaction } from './running-transaction.ts'

/** What hooks and actions get: resources are created when they are first used. */
export class OperationTools implements HookContext {
  readonly principal: Principal | undefined
  readonly system: boolean
  readonly state: HookContext['state']
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
    this.state = context.runningHooks?.state ?? {}
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

  /** Creates the scope of calls within a hook or an action: the same version and principal. They end with the transaction or the request. */
  #createScope(): CallScope {
    const scope = createScope(this.#context, this.#transaction)
    return this.#isDone ? scope : { ...scope, request: this.#context.request }
  }
}

class OperationHookEvent extends OperationTools implements OperationEvent {
  readonly collectionName: string
  readonly operation: string
  declare readonly id?: Id
  declare readonly item?: ProgramItem
  declare readonly input?: unknown
  declare value?: unknown
  declare readonly dryRun?: true

  constructor(
    context: OperationContext,
    { operation = context.operation, stored, input, value }: HookValues,
    transaction: RunningTransaction | undefined,
    isDone: boolean,
  ) {
    super(context, transaction, isDone)
    const { id, collection } = context.target
    this.collectionName = collection.name
    this.operation = operation
    // One by one, as each write pays for it: `Object.assign` takes five times as long.
    if (id !== undefined) this.id = id
    if (input !== undefined) this.input = input
    if (value !== undefined) this.value = value
    if (stored) this.item = toProgramItem(toWhole(collection), stored)
    if (transaction?.isDryRun) this.dryRun = true
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
  if (hooks || after.has(operation) || error.length > 0) context.beginHooks({ values, state: {} })
  if (!hooks) return value
  const event = new OperationHookEvent(context, values, transaction, false)
  const { storeOptions } = context
  return reduce(hooks, value, (given: T | Item, before) =>
    andThen(runHook(before, event), returned => {
      // A hook may take long: nothing more is done for a client that has gone.
      throwIfAborted(storeOptions)
      if (!isObject(returned)) return given
      if (event.value !== undefined) event.value = returned
      return returned
    }),
  )
}

/** Runs a function for each element, one after another, with the last result; waits only for those that give a promise. */
function reduce<E, R>(
  elements: readonly E[],
  given: R,
  run: (last: R, element: E) => Awaitable<R>,
): Awaitable<R> {
  let last: Awaitable<R> = given
  for (const element of elements) last = andThen(last, known => run(known, element))
  return last
}

/** Runs a hook whose error is answered. One that waits may give any thenable, such as a query. */
function runHook<Given extends unknown[]>(
  hook: (...given: Given) => unknown,
  ...given: Given
): Awaitable<unknown> {
  try {
    const returned = hook(...given)
    return isThenable(returned) ? Promise.resolve(returned).catch(rethrow) : returned
  } catch (error) {
    return rethrow(error)
  }
}

function isThenable(value: unknown): boolean {
  const isAny = typeof value === 'object' || typeof value === 'function'
  return isAny && value !== null && 'then' in value && typeof value.then === 'function'
}

function rethrow(error: unknown): never {
  noteProgramError(error)
  throw toOuterError(error)
}

/** Runs the `after` hooks within the transaction of the operation: what one throws undoes it. */
export function runAfterWithin(
  context: OperationContext,
  result: unknown,
  transaction: RunningTransaction | undefined,
  values = context.runningHooks?.values ?? {},
): Awaitable<void> {
  if (transaction?.isDryRun) return undefined
  const hooks = findAfter(context, values)
  if (hooks.length === 0) return undefined
  const event = createAfterEvent(context, values, transaction, false)
  return reduce(hooks, undefined, (_, after) => andThen(runHook(after, event, result), ignore))
}

function ignore(): undefined {}

/**
 * Runs the `after` hooks once the operation is done: in a transaction when that is committed, and not where it is
 * undone. What one throws is reported, and changes neither the answer nor what the others do.
 */
export function runAfter(
  context: OperationContext,
  result: unknown,
  values = context.runningHooks?.values ?? {},
): Awaitable<void> {
  const hooks = findAfter(context, values)
  if (hooks.length === 0) return undefined
  const event = createAfterEvent(context, values, undefined, true)
  const report = (error: unknown): undefined => {
    reportFailure(context, error)
  }
  const runOne = (after: AfterHook): Awaitable<undefined> => {
    try {
      const returned = after(event, result)
      if (isThenable(returned)) return Promise.resolve(returned).then(ignore, report)
    } catch (error) {
      report(error)
    }
    return undefined
  }
  const run = () => reduce(hooks, undefined, (_, after) => runOne(after))
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
    context.runningHooks?.values ?? {},
    context.transaction,
    false,
  )
  for (const failed of context.target.collection.hooks.error) await runHook(failed, event, error)
}
