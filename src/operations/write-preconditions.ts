// The item that a write starts from: it exists, it is reachable, and the preconditions hold.
import { HttpError } from '../errors.ts'
import { evaluate, onVersions, preconditionFailed } from '../http/conditional.ts'
import { ConflictError } from '../model/conflict-error.ts'
import type { Stored } from '../store/store.ts'
import type { OperationContext } from './context.ts'
import { protectResult, requireOwner } from './field-roles.ts'
import { giveItem } from './given-items.ts'
import { isReachable, notFound, requireParent } from './items.ts'

/**
 * Finds the item of a write and evaluates the preconditions; `undefined` where there is none.
 * @param creates whether the write creates the item where there is none.
 * @throws HttpError 403 for an item of somebody else, 412, and 428 where the collection requires a precondition and none was sent.
 */
export async function findCurrent(
  context: OperationContext,
  creates = false,
): Promise<Stored | undefined> {
  const { target, method, preconditions } = context
  const { collection, id = '' } = target
  if (target.parent) await requireParent(context)
  const stored = await context.storeOf(collection).get(id, context.request)
  const current = stored && (await isReachable(context, stored.item)) ? stored : undefined
  // Where the answer is 404 anyway no precondition counts (RFC 9110 §13.2.1).
  if (!current && !creates) return undefined
  if (current && collection.owner && !target.action) requireOwner(context, current.item)
  const validators = current && { tag: current.version, lastModified: current.updatedAt }
  if (evaluate(onVersions(preconditions), method, validators) !== 'proceed')
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
export async function requireCurrent(context: OperationContext): Promise<Stored> {
  const { collection, id = '' } = context.target
  const current = await findCurrent(context)
  if (current) return current
  const isConditional = context.inProcess && context.preconditions.ifMatch
  throw isConditional ? conflictWith(context, undefined) : notFound(collection, id)
}

/** Builds the error of a condition that a program gave. */
function conflictWith({ target, body }: OperationContext, theirs: Stored | undefined) {
  return new ConflictError(target.collection.itemName, {
    mine: protectResult(target.collection, body?.value),
    theirs: theirs && giveItem(target.collection, theirs),
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
