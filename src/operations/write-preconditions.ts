// The item that a write starts from: it exists, it is reachable, and the preconditions hold. Writers that meet at
// one item wait in line: each tries again until it has written or given up.
import { HttpError } from '../errors.ts'
import { cutTagsToVersions, evaluate, preconditionFailed } from '../http/conditional.ts'
import { ConflictError } from '../model/conflict-error.ts'
import type { Id, Store, Stored } from '../store/store.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { protectResult, requireOwner } from './enforce-field-roles.ts'
import { findItem, notFound } from './items.ts'
import { toProgramItem } from './program-items.ts'

/**
 * Finds the item of a write and evaluates the preconditions; `undefined` where there is none.
 * @param creates whether the write creates the item where there is none.
 * @throws HttpError 403 for an item of another owner, 412, and 428 where the collection requires a precondition and none was sent.
 */
export async function findForWrite(
  context: OperationContext,
  creates = false,
): Promise<Stored | undefined> {
  const { target, method, preconditions } = context
  const { collection } = target
  const current = await findItem(context)
  // No precondition is evaluated for a 404 (RFC 9110 §13.2.1).
  if (!current && !creates) return undefined
  if (current && collection.owner && !target.action) requireOwner(context, current.item)
  const validators = current && { tag: current.version, lastModified: current.updatedAt }
  if (evaluate(cutTagsToVersions(preconditions), method, validators) !== 'proceed')
    throw context.inProcess ? conflictWith(context, current) : preconditionFailed(preconditions)
  if (current && collection.requirePrecondition && !context.inProcess)
    assertPrecondition(context, current)
  return current
}

/** @throws HttpError 428 (RFC 6585 §3) */
function assertPrecondition({ preconditions }: OperationContext, { updatedAt }: Stored): void {
  const { ifMatch, ifUnmodifiedSince } = preconditions
  // A date is ignored where the item has none (RFC 9110 §13.1.4).
  if (ifMatch || (updatedAt !== undefined && ifUnmodifiedSince !== undefined)) return
  const message = 'Changes here need If-Match: send the ETag of the item that you read.'
  throw new HttpError(428, [{ message, field: 'if-match', type: 'precondition_required' }])
}

/** The same for an item that must exist. @throws HttpError 404 */
export async function requireForWrite(context: OperationContext): Promise<Stored> {
  const { collection, id = '' } = context.target
  const current = await findForWrite(context)
  if (current) return current
  const isConditional = context.inProcess && context.preconditions.ifMatch
  throw isConditional ? conflictWith(context, undefined) : notFound(collection, id)
}

/** Builds the error of a failed condition in process. */
function conflictWith({ target, body }: OperationContext, theirs: Stored | undefined) {
  return new ConflictError(target.collection.itemName, {
    mine: protectResult(target.collection, body?.value),
    theirs: theirs && toProgramItem(target.collection, theirs),
  })
}

/**
 * Refuses `If-Match` on a collection: its lists have tags, the collection has none, so only `*` holds.
 * @throws HttpError 412 (RFC 9110 §13.1.1)
 */
export function refuseIfMatch({ preconditions: { ifMatch } }: OperationContext): void {
  if (!ifMatch || ifMatch === '*') return
  const message = 'A collection has no entity tag for If-Match to name. Leave the header out.'
  throw new HttpError(412, [{ message, field: 'if-match', type: 'precondition_failed' }])
}

/** The maximum of attempts of a write: for each one that failed, another write has succeeded. */
const MAX_ATTEMPTS = 1000

/**
 * Runs an attempt until it gives a result; `undefined` means that another write came in between.
 * @throws HttpError 503 after {@link MAX_ATTEMPTS}.
 */
export async function retryContested(
  context: OperationContext,
  attempt: () => Promise<OperationResult | undefined>,
): Promise<OperationResult> {
  const { collection, id = '' } = context.target
  // Most writes meet no other. The others wait in line: else all but one would lose every round.
  const first = await attempt()
  if (first) return first
  return runInLine(context.storeOf(collection), id, async () => {
    for (let count = 1; count < MAX_ATTEMPTS; count++) {
      const result = await attempt()
      if (result) return result
    }
    const message = 'Too many clients are writing this item at the moment. Try again.'
    throw new HttpError(503, [{ message, type: 'contended' }], { headers: ['Retry-After', '1'] })
  })
}

const lines = new WeakMap<Store, Map<Id, Promise<void>>>()

/** Does work when all earlier work on the item in this process has ended. */
function runInLine<T>(store: Store, id: Id, work: () => Promise<T>): Promise<T> {
  const items = lines.get(store) ?? new Map<Id, Promise<void>>()
  lines.set(store, items)
  const mine = (items.get(id) ?? Promise.resolve()).then(work)
  const end = () => {
    if (items.get(id) === settled) items.delete(id)
  }
  const settled: Promise<void> = mine.then(end, end)
  items.set(id, settled)
  return mine
}
