// The steps of a batch, each as an ordinary request one floor below its endpoint, in one transaction.

import type { Awaitable, Json } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import { evaluateRead } from '../../http/conditional.ts'
import { getHeader } from '../../http/message.ts'
import { isConditional } from '../../http/methods.ts'
import { AS_JSON } from '../../negotiate.ts'
import { authorize } from '../../operations/calls/authorize.ts'
import type {
  CallContext,
  CollectionContext,
  OperationContext,
  OperationResult,
  RequestContext,
} from '../../operations/calls/context.ts'
import { deriveRequest, InnerRequest } from '../../operations/calls/derive-call.ts'
import { toOperationError, toOuterError } from '../../operations/calls/inner-errors.ts'
import { runInTransaction } from '../../operations/calls/run-transaction.ts'
import type { RunningTransaction } from '../../operations/calls/running-transaction.ts'
import {
  compiledOperations,
  compileOperation,
} from '../../operations/programs/compile-operation.ts'
import { requireRollback, rollBack } from '../../operations/writes/dry-run.ts'
import type { Id } from '../../store/store.ts'
import { readOperationHead } from '../request-head.ts'
import {
  addStep,
  fillBody,
  fillPath,
  findTarget,
  invalidBatch,
  isRead,
  type ParsedStep,
  withStep,
} from './parse-steps.ts'

/** The answer to a step, without what HTTP alone has. */
interface PlainAnswer {
  readonly status: number
  readonly location?: string
  readonly etag?: string
  readonly body?: Json
}

/** What is known of a step that is done: of one that only reads nothing is kept. */
export type DoneStep = PlainAnswer & {
  readonly id?: Id | undefined
  /** The view of its item, where that is not the whole. */
  readonly view?: string | undefined
}

/** Creates the context of a step, as far as it is known before its turn. */
function createContext(batch: RequestContext, step: ParsedStep): CollectionContext {
  const { method, path, query, headers } = step
  const target = query === '' ? path : `${path}?${query}`
  const inner = new InnerRequest(batch.request, { method, target, headers })
  return deriveRequest(batch, inner, {
    match: step.match,
    target: step.match.target,
    operation: step.operation,
    parameters: step.parameters,
    negotiated: AS_JSON,
  })
}

/** @throws HttpError 401, 403 for the first step that its client may not do. */
export function authorizeSteps(batch: RequestContext, steps: readonly ParsedStep[]): void {
  for (const step of steps) {
    const { operation, at } = step
    withStep(at, () => authorize(createContext(batch, step), [operation]))
  }
}

interface StepsOptions {
  /** What the steps have done before: then only those that read are done. */
  readonly kept?: readonly DoneStep[]
  /** Is called with all responses before the commit. */
  complete?(done: readonly DoneStep[], transaction: RunningTransaction): Promise<void>
}

/**
 * Runs all steps in one transaction, or none. Where it is contested they run again, from the first.
 * @throws HttpError of the first step that fails; its issues have the number of the step.
 */
export async function runBatchSteps(
  batch: RequestContext,
  call: OperationContext,
  steps: readonly ParsedStep[],
  { kept, complete }: StepsOptions,
): Promise<readonly DoneStep[]> {
  let at: number | undefined
  const work = async (transaction: RunningTransaction) => {
    const done: DoneStep[] = []
    const budget = { bytes: batch.api.limits.page }
    while (done.length < steps.length) {
      const together = takeTogether(steps.slice(done.length))
      let turn: TurnAfter | undefined
      const results = await Promise.allSettled(
        together.map(async step => {
          const earlier = isRead(step) ? undefined : kept?.[step.at]
          if (earlier) return repeat(batch, step, earlier)
          turn = together.length > 1 ? new TurnAfter(turn) : undefined
          return runStep({ batch, steps, done, transaction, turn }, step).finally(turn?.end)
        }),
      )
      for (const result of results) {
        at = done.length
        if (result.status === 'rejected') throw result.reason
        budget.bytes -= JSON.stringify(result.value).length
        if (budget.bytes < 0) throw tooLarge(batch.api.limits.page)
        done.push(result.value)
      }
    }
    at = undefined
    await complete?.(done, transaction)
    return done
  }
  try {
    const run = (transaction: RunningTransaction) => transaction.run(() => work(transaction))
    if (batch.preferences.tx === undefined) return await runInTransaction(call, undefined, run)
    for (const { match } of steps) requireRollback(match.target)
    return await rollBack(call, run)
  } catch (error) {
    throw at === undefined ? error : addStep(toOuterError(error), at)
  }
}

/** Lets a create come to its store after the one before it, once that has begun there or has failed. */
class TurnAfter {
  readonly begun: Promise<void>
  readonly #before: Promise<void> | undefined
  #begin = () => {}

  constructor(before: TurnAfter | undefined) {
    this.#before = before?.begun
    this.begun = new Promise(resolve => {
      this.#begin = resolve
    })
  }

  async run<R>(store: () => Awaitable<R>): Promise<R> {
    await this.#before
    const stored = store()
    this.#begin()
    return stored
  }

  readonly end = () => this.#begin()
}

/** Takes the next step; with it creates in its collection that a store may do as one write, as nothing tells their order. */
function takeTogether(steps: readonly ParsedStep[]): readonly ParsedStep[] {
  const [first] = steps
  if (!first || !isPlainCreate(first)) return steps.slice(0, 1)
  let named = false
  const end = steps.findIndex(step => {
    const isNext = isPlainCreate(step) && step.path === first.path && !(named && namesSteps(step))
    named ||= step.as !== undefined
    return !isNext
  })
  return steps.slice(0, end < 0 ? undefined : end)
}

function namesSteps({ path, references }: ParsedStep): boolean {
  return references.size > 0 || path.includes('{')
}

/** Whether a step creates one item, by which nothing else of the batch is changed or judged. */
function isPlainCreate({ operation, body, match }: ParsedStep): boolean {
  const { collection } = match.target
  const { hooks, targets, visible } = collection
  return (
    operation === 'create' &&
    !Array.isArray(body) &&
    hooks.before.size + hooks.error.length === 0 &&
    !hooks.transaction &&
    !visible &&
    [...targets.values()].every(target => target.collection.store !== collection.store)
  )
}

function tooLarge(limit: number): HttpError {
  const message = `The answers of the batch have more than ${limit} bytes together. Send fewer steps, or Prefer: return=minimal with them.`
  return new HttpError(413, [{ message, type: 'batch_too_large' }])
}

/** Repeats the answer of a step: without the item to who would see other properties of it by now. */
function repeat(batch: RequestContext, { match }: ParsedStep, done: DoneStep): DoneStep {
  const { view } = batch.view(match.target.collection)
  if ((view?.tag ?? '') === (done.view ?? '')) return done
  const { body: _body, etag: _etag, ...rest } = done
  return rest
}

/** A batch that runs: what its steps have done so far. */
interface RunningBatch {
  readonly batch: RequestContext
  readonly steps: readonly ParsedStep[]
  readonly done: readonly DoneStep[]
  readonly transaction: RunningTransaction
  readonly turn: TurnAfter | undefined
}

async function runStep(running: RunningBatch, step: ParsedStep): Promise<DoneStep> {
  const { batch, steps, done, transaction, turn } = running
  const idOf = (name: string): Id => {
    const id = done[steps.findIndex(({ as }) => as === name)]?.id
    if (id === undefined) throw invalidBatch(`The step ${name} has no item`, name)
    return id
  }
  const { path, operation } = step
  const body = fillBody(step, idOf)
  const context = createContext(batch, step)
  const { target } = findTarget(batch, fillPath(path, idOf, steps.slice(0, step.at)))
  const seen = context.viewTarget(target)
  Object.assign(context, {
    target: seen,
    transaction,
    storeTurn: turn,
    body: body === undefined ? undefined : { value: body, type: 'application/json' },
  })
  readOperationHead(context)
  // There is no redirect to follow.
  if (context.writeResponse === 'redirect') context.writeResponse = 'representation'
  const operate = compiledOperations(batch.api)(seen.collection).get(operation, () =>
    compileOperation(batch.api, seen, operation),
  )
  try {
    const result = await operate(context)
    // So that the error names this step.
    transaction.requireWhole()
    const tag = seen.collection.view?.tag
    return { ...toPlainAnswer(context, result), id: result.stored?.id, ...(tag && { view: tag }) }
  } catch (error) {
    throw toOperationError(context, error)
  } finally {
    await context.discardUploads()
  }
}

/** Converts a result to plain data. @throws HttpError 412 */
function toPlainAnswer(context: CallContext, result: OperationResult): PlainAnswer {
  const { preconditions, method } = context
  const { headers, validators } = result
  const isReading = isConditional(method) && result.status === 200
  const unmodified = isReading && evaluateRead(preconditions, method, validators)
  const location = getHeader(headers, 'Location')
  const body = unmodified ? undefined : toBody(result)
  return {
    status: unmodified ? 304 : result.status,
    ...(location !== undefined && { location }),
    ...(validators?.tag !== undefined && { etag: `"${validators.tag}"` }),
    ...(body !== undefined && { body }),
  }
}

function toBody({ representation }: OperationResult): Json | undefined {
  switch (representation?.kind) {
    case 'item':
    case 'document':
      return representation.data
    case 'list':
      return [...representation.data]
    default:
      return undefined
  }
}
