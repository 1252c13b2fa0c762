// The item that a write starts from: it exists, it is reachable, and the preconditions hold. Writers that meet at
// one item wait in line: each tries again until it has written or given up.

import { Lines } from '../../base/lines.ts'
import { type Awaitable, andThen } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import { cutTagsToVersions, evaluate, preconditionFailed } from '../../http/conditional.ts'
import { ConflictError } from '../../model/conflict-error.ts'
import { UniqueError } from '../../store/errors.ts'
import type { Id, Stored } from '../../store/store.ts'
import { findOne } from '../../store/writes.ts'
import { authorize } from '../calls/authorize.ts'
import type { OperationContext } from '../calls/context.ts'
import { findItem, isVisible, notFound, requireParent } from '../calls/items.ts'
import { toProgramItem } from '../calls/program-items.ts'
import { protectResult } from '../calls/protect.ts'
import { runSteps, type Write, type WriteState, type WriteStep } from './steps.ts'

/** @throws HttpError 404 where the parent that the path names does not exist. */
export function requireParentOfPath({ call, transaction }: Write): Awaitable<void> {
  return requireParent(call, transaction)
}

/** Finds the item of the target; a PUT may create it. @throws HttpError 404 without its parent. */
export function findCurrent({ call, transaction }: Write): Awaitable<Stored | undefined> {
  return findItem(call, transaction)
}

/** Finds the item of the target. No precondition is evaluated for a 404 (RFC 9110 §13.2.1). @throws HttpError 404 */
export function requireCurrent({ call, transaction }: Write): Awaitable<Stored> {
  return andThen(findItem(call, transaction), stored => {
    if (stored) return stored
    const { collection, id = '' } = call.target
    const isConditional = call.inProcess && call.preconditions.ifMatch
    throw isConditional ? conflictWith(call, undefined) : notFound(collection, id)
  })
}

/** @throws HttpError 412; in process ConflictError */
export function evaluatePreconditions({ call, current }: Write): void {
  const { preconditions, method } = call
  const validators = current && { tag: current.version, lastModified: dateOf(current) }
  if (evaluate(cutTagsToVersions(preconditions), method, validators) === 'proceed') return
  throw call.inProcess ? conflictWith(call, current) : preconditionFailed(preconditions)
}

/** The date to compare; later than any where another server's clock is ahead: nobody was told it as `Last-Modified`. */
function dateOf({ updatedAt }: Stored): number | undefined {
  return updatedAt !== undefined && updatedAt > Date.now() ? Number.POSITIVE_INFINITY : updatedAt
}

/** @throws HttpError 428 for a change by a client without a precondition (RFC 6585 §3) */
export function requirePrecondition({ call, current }: Write): void {
  if (!current || call.inProcess) return
  const { ifMatch, ifUnmodifiedSince } = call.preconditions
  // A date is ignored where the item has none (RFC 9110 §13.1.4).
  if (ifMatch || (current.updatedAt !== undefined && ifUnmodifiedSince !== undefined)) return
  const message = 'Changes here need If-Match: send the ETag of the item that you read.'
  throw new HttpError(428, [{ message, field: 'if-match', type: 'precondition_required' }])
}

/** Builds the error of a failed condition in process. */
function conflictWith(call: OperationContext, theirs: Stored | undefined) {
  const { target, body } = call
  return new ConflictError(target.collection.itemName, {
    mine: protectResult(target.collection, body?.value),
    theirs: theirs && toProgramItem(call.resultView(target.collection), theirs),
  })
}

/**
 * Refuses `If-Match` on a collection: its lists have tags, the collection has none, so only `*` holds.
 * @throws HttpError 412 (RFC 9110 §13.1.1)
 */
export function refuseIfMatch({ call }: Pick<Write, 'call'>): void {
  const { ifMatch } = call.preconditions
  if (!ifMatch || ifMatch === '*') return
  const message = 'A collection has no entity tag for If-Match to name. Leave the header out.'
  throw new HttpError(412, [{ message, field: 'if-match', type: 'precondition_failed' }])
}

/** The maximum of attempts of a write: for each one that failed, another write has succeeded. */
export const MAX_ATTEMPTS = 1000

/** Of the items that several requests write. */
const lines = new Lines<Id>()

/**
 * Runs an attempt until it has stored something; where it has not, another write came in between.
 * @throws HttpError 503 after {@link MAX_ATTEMPTS}.
 */
export function retryContested(
  write: WriteState,
  steps: readonly WriteStep[],
): Awaitable<WriteState> {
  // Most writes meet no other. The others wait in line: else all but one would lose every round.
  return andThen(runSteps(steps, write), done => {
    if (done.stored) return done
    const { call } = write
    // Not that of the transaction that has failed.
    const store = call.storeOf(call.target.collection)
    return lines.run(store, call.target.id ?? '', () => runAttempts(write, steps))
  })
}

/**
 * Runs the one attempt of `update()` in an action.
 * @throws ConflictError where the item has another version by now: 412 where the client named one.
 */
export async function tryOnce(write: WriteState, steps: readonly WriteStep[]): Promise<WriteState> {
  const done = await runSteps(steps, write)
  if (done.stored) return done
  const { call, store, body, transaction } = write
  const { collection, id = '' } = call.target
  // `*` matches the changed item, too.
  const { ifMatch } = call.preconditions
  const now = await findOne(store, id, call.storeOptions)
  const theirs =
    now && (await isVisible(call, collection, now.item, transaction))
      ? toProgramItem(call.resultView(collection), now)
      : undefined
  const mine = protectResult(collection, body)
  const status = ifMatch && ifMatch !== '*' ? 412 : 409
  throw new ConflictError(collection.itemName, { mine, theirs }, status)
}

async function runAttempts(write: WriteState, steps: readonly WriteStep[]): Promise<WriteState> {
  for (let count = 1; count < MAX_ATTEMPTS; count++) {
    const done = await runSteps(steps, write.again())
    if (done.stored) return done
  }
  const message = 'Too many clients are writing this item at the moment. Try again.'
  throw new HttpError(503, [{ message, type: 'contended' }], { headers: ['Retry-After', '1'] })
}

/** @throws HttpError 401, 403 for a PUT of an item that does not exist by a client that may not create it. */
export function authorizeCreate({ call }: Write): void {
  authorize(call, ['create'])
}

/** Creates by PUT. */
export function retryIfTaken(write: WriteState, steps: readonly WriteStep[]): Promise<WriteState> {
  return createUnlessTaken(write, steps, findItem)
}

/** Creates an item. If another request was faster there is an item to replace now: the next attempt finds it. */
export async function createUnlessTaken(
  write: WriteState,
  steps: readonly WriteStep[],
  find: (call: OperationContext) => Awaitable<Stored | undefined>,
): Promise<WriteState> {
  try {
    return await runSteps(steps, write)
  } catch (error) {
    if (error instanceof UniqueError && (await find(write.call))) return write.again()
    throw error
  }
}
