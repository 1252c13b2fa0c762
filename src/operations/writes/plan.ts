// The order of every write, chosen at definition: a step that a collection does not need is not in its list. Each
// line names the field that its step fills in, and the statuses that it may end in.

import { memoize } from '../../base/memoize.ts'
import { andThen, type Item } from '../../base/values.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { Stored } from '../../store/store.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import * as contents from './blob-inputs.ts'
import * as fields from './enforce-field-roles.ts'
import { deleteDoomed } from './enforce-references.ts'
import { findDoomed } from './find-doomed.ts'
import * as around from './hooks.ts'
import * as keys from './idempotency-key.ts'
import * as input from './input.ts'
import {
  addChangeSteps,
  addCreateSteps,
  addUpsertSteps,
  runsAfter,
  runWithin,
} from './item-steps.ts'
import * as several from './many.ts'
import { findNamed, retryIfNamed } from './named-item.ts'
import { retryIfAnyTaken } from './named-items.ts'
import * as conditions from './preconditions.ts'
import * as results from './results.ts'
import { type Many, runSteps, Steps, type Write, WriteState } from './steps.ts'
import * as store from './store-item.ts'
import * as storing from './store-many.ts'
import { refuseDeleted } from './trash.ts'

/** `POST /<collection>`. `If-None-Match: *` asks for what it does anyway. */
export function planCreate(collection: CollectionDefinition): Steps<'result'> {
  const { blobs, hooks } = collection
  return requireCreatable(collection)
    .set('body', input.requireBody, 400)
    .within(keys.claimKey, [409, 422], keyed =>
      addCreateSteps(keyed, collection)
        .check(blobs && contents.keepUploads)
        .check(runsAfter(hooks, 'create') && around.runAfterHook)
        .set('result', results.answerCreated),
    )
}

/** The same of an array: all of its items, or none. */
export function planCreateMany(collection: CollectionDefinition): Steps<'result'> {
  const { blobs, hooks } = collection
  return requireCreatable(collection)
    .set('body', input.requireArray, 413)
    .within(keys.claimKey, [409, 422], keyed =>
      keyed
        .within(several.withItems, [], items =>
          addCreateSteps(items.fill<'body'>(several.findItems), collection, { many: true }).within(
            several.eachStored,
            [],
            item =>
              item
                .check(blobs && contents.keepUploads)
                .check(runsAfter(hooks, 'create') && around.runAfterHook),
          ),
        )
        .set('result', several.answerAll),
    )
}

/** The same with the items that a unique set finds: these are changed. They are found within the transaction. */
export function planUpsertMany(collection: CollectionDefinition): Steps<'result'> {
  const { blobs, hooks } = collection
  return requireCreatable(collection)
    .set('body', input.requireArray, 413)
    .within(keys.claimKey, [409, 422], keyed =>
      keyed
        .within(retryIfAnyTaken, [], attempt =>
          attempt.within(store.runMatching, [], atomic =>
            atomic.within(several.withItems, [], items =>
              addUpsertSteps(items.fill<'body'>(several.findItems, 400), collection).within(
                several.eachStored,
                [],
                item =>
                  item
                    .check(blobs && contents.keepUploads)
                    .check(blobs && contents.removeReplacedContents)
                    .check(runsAfter(hooks, 'patch', true) && around.runAfterHook),
              ),
            ),
          ),
        )
        .set('result', several.answerAll),
    )
}

function requireCreatable({ parents }: CollectionDefinition): Steps {
  return new Steps()
    .check(parents.size > 0 && conditions.requireParentOfPath, 404)
    .check(conditions.refuseIfMatch, 412)
}

/** `PUT /<collection>/<id>` and `PATCH`. */
export function planChange(
  collection: CollectionDefinition,
  operation: 'replace' | 'patch',
): Steps<'result'> {
  const creates = operation === 'replace' && collection.putCreates
  return planFound(collection, operation, {
    find: attempt =>
      attempt
        .check(collection.trash && operation === 'replace' && refuseDeleted, 404, 409)
        .try('current', creates ? conditions.findCurrent : conditions.requireCurrent, 404),
    create: creates && (absent => createByPut(absent, collection)),
  })
}

/** `PUT /<collection>?plate=AB-123`: the values of a unique set name the item. */
export function planUpsert(collection: CollectionDefinition): Steps<'result'> {
  return planFound(collection, 'replace', {
    find: attempt => attempt.try('current', findNamed, 401, 403, 404),
    create: absent => absent.within(retryIfNamed, [], taken => addCreateSteps(taken, collection)),
  })
}

/** How the item of a change is found, and what creates one that is not there. */
interface FindPlan {
  find(attempt: Steps<'body'>): Steps<'body'>
  readonly create: false | ((absent: Steps<'body'>) => Steps<'body' | 'stored'>)
}

/** The change of an item that is found first. A contested attempt starts again. */
function planFound(
  collection: CollectionDefinition,
  operation: 'replace' | 'patch',
  { find, create }: FindPlan,
): Steps<'result'> {
  const { blobs, hooks, owner, roles } = collection
  const creates = create !== false
  return new Steps().set('body', input.requireBody, 400).within(keys.claimKey, [409, 422], keyed =>
    keyed
      .attempts(conditions.retryContested, [503], attempt => {
        const found = find(attempt)
          .check(owner && fields.requireOwnItem, 401, 403, 404)
          .check(conditions.evaluatePreconditions, 412)
          .check(collection.requirePrecondition && conditions.requirePrecondition, 428)
          .otherwise('current', create)
          .check(roles && roles.immutable.size > 0 && fields.refuseHiddenImmutable, 400)
        return addChangeSteps(found, collection, { operation }, storable =>
          storable.try('stored', store.storeChange, 400, 409),
        )
      })
      .check(blobs && contents.keepUploads)
      .check(blobs && contents.removeReplacedContents)
      .check(runsAfter(hooks, operation, creates) && around.runAfterHook)
      .set('result', creates ? results.answerReplaced : results.answerChanged),
  )
}

/** `DELETE /<collection>/<id>`. */
export function planDelete(collection: CollectionDefinition): Steps<'result'> {
  const { children, hooks, owner } = collection
  const cascades = children.length > 0
  return new Steps().within(keys.claimKey, [409, 422], keyed =>
    keyed
      .attempts(conditions.retryContested, [503], attempt =>
        attempt
          .set('current', conditions.requireCurrent, 404)
          .check(owner && fields.requireOwnItem, 401, 403, 404)
          .check(conditions.evaluatePreconditions, 412)
          .check(collection.requirePrecondition && conditions.requirePrecondition, 428)
          .within(hooks.transaction && around.runWithHooks, [], whole =>
            whole
              .check(hooks.before.has('delete') && around.runBeforeDelete)
              .within(cascades && store.runAtomically, [], atomic =>
                atomic
                  .try('doomed', cascades && findDoomed, 409)
                  .try('stored', cascades ? deleteDoomed : store.deleteItem, 409),
              ),
          ),
      )
      .check(runsAfter(hooks, 'delete') && around.runAfterHook)
      // Before its contents are removed: small ones are inline.
      .set('result', results.answerDeleted)
      .check(collection.contents.size > 0 && !collection.trash && contents.removeAllContents),
  )
}

/** `PATCH /<collection>`: all items that match the filter, or none. They are found within the transaction. */
export function planPatchMany(collection: CollectionDefinition): Steps<'result'> {
  const { blobs, hooks } = collection
  return new Steps().within(keys.claimKey, [409, 422], keyed =>
    keyed
      .within(store.runMatching, [], atomic =>
        atomic.within(several.withItems, [], items => {
          const found = items.fill<'body' | 'current'>(several.findItems, 400, 412, 413, 428)
          return addChangeSteps(found, collection, { operation: 'patch', many: true }, storable =>
            runWithin(storable.fill<'stored'>(storing.storeAll, 400, 409), collection, 'patch'),
          ).within(several.eachStored, [], item =>
            item
              .check(blobs && contents.keepUploads)
              .check(blobs && contents.removeReplacedContents)
              .check(runsAfter(hooks, 'patch') && around.runAfterHook),
          )
        }),
      )
      .set('result', several.answerAll),
  )
}

/** `DELETE /<collection>`: the same. */
export function planDeleteMany(collection: CollectionDefinition): Steps<'result'> {
  const { hooks, owner } = collection
  return new Steps().within(keys.claimKey, [409, 422], keyed =>
    keyed
      .within(store.runMatching, [], atomic =>
        atomic.within(several.withItems, [], items => {
          const deleted = items
            .fill<'current'>(several.findItems, 400, 412, 413, 428)
            .within(input.reportIssuesTogether, [], issues =>
              issues.within(several.eachOpen, [], item =>
                item.check(owner && fields.requireOwnListed, 401, 403),
              ),
            )
            .within(several.eachOpen, [], item =>
              item.check(hooks.before.has('delete') && around.runBeforeDelete),
            )
            .fill<'stored'>(storing.deleteAll, 409)
          return runWithin(deleted, collection, 'delete').within(several.eachStored, [], item =>
            item.check(runsAfter(hooks, 'delete') && around.runAfterHook),
          )
        }),
      )
      .set('result', several.answerAll),
  )
}

/** `update()` of an action: it has no key, no hook and one attempt. */
export function planUpdate(collection: CollectionDefinition): Steps {
  const { blobs } = collection
  return new Steps<'body' | 'current'>()
    .attempts(conditions.tryOnce, [409, 412], attempt =>
      addChangeSteps(attempt, collection, { operation: 'update' }, storable =>
        storable.try('stored', store.storeChange, 400, 409),
      ),
    )
    .check(blobs && contents.keepUploads)
    .check(blobs && contents.removeReplacedContents)
}

/** A PUT of an item that does not exist. */
function createByPut(
  absent: Steps<'body'>,
  collection: CollectionDefinition,
): Steps<'body' | 'stored'> {
  return absent
    .check(conditions.authorizeCreate, 401, 403)
    .within(conditions.retryIfTaken, [], taken =>
      addCreateSteps(taken, collection, { isNamed: true }),
    )
}

/** Finds the item of an action that changes something. */
function planFind(collection: CollectionDefinition): Steps<'current'> {
  return new Steps()
    .set('current', conditions.requireCurrent, 404)
    .check(conditions.evaluatePreconditions, 412)
    .check(collection.requirePrecondition && conditions.requirePrecondition, 428)
}

/** Compiles the writes of a collection. */
export const compileWrites = memoize((collection: CollectionDefinition) => ({
  create: toPerform(planCreate(collection)),
  createMany: toPerformMany(planCreateMany(collection)),
  patchMany: toPerformMany(planPatchMany(collection)),
  deleteMany: toPerformMany(planDeleteMany(collection)),
  replace: toPerform(planChange(collection, 'replace')),
  patch: toPerform(planChange(collection, 'patch')),
  delete: toPerform(planDelete(collection)),
  find: planFind(collection),
  update: planUpdate(collection).list,
}))

function toPerform(steps: Steps<'result'>): Perform {
  return context => andThen(steps.run(new WriteState(context)), takeResult)
}

export function toPerformMany(steps: Steps<'result'>) {
  return (call: OperationContext, many: Many) =>
    andThen(steps.run(Object.assign(new WriteState(call), { many })), takeResult)
}

function takeResult({ result }: Write<'result'>): OperationResult {
  return result
}

/** Finds the item of an action that changes something. @throws HttpError 404, 412, 428 */
export async function findActedOn(
  call: OperationContext,
  transaction: RunningTransaction | undefined,
): Promise<Stored> {
  const { find } = compileWrites(call.target.collection)
  const { current } = await find.run(new WriteState(call, transaction))
  return current
}

/**
 * Changes the item of an action at the version that was read.
 * @throws ConflictError where it has another one by now, and what the steps of the plan throw.
 */
export async function updateItem(
  call: OperationContext,
  transaction: RunningTransaction | undefined,
  current: Stored,
  changes: Item,
): Promise<Stored> {
  const write = new WriteState(call, transaction)
  write.current = current
  write.body = changes
  try {
    const { stored = current } = await runSteps(compileWrites(call.target.collection).update, write)
    return stored
  } catch (error) {
    // The transaction may have ended without it, and the request with that.
    if (transaction) await call.uploads?.discard(transaction)
    throw error
  }
}
