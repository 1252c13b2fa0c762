// The order of every write, chosen at definition: a step that a collection does not need is not in its list. Each
// line names the field that its step fills in, and the statuses that it may end in.

import { memoize } from '../../base/memoize.ts'
import { andThen, type Item } from '../../base/values.ts'
import type { CompiledHooks } from '../../model/types/compiled-hooks.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { Stored } from '../../store/store.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import * as contents from './blob-inputs.ts'
import * as refs from './check-references.ts'
import * as fields from './enforce-field-roles.ts'
import { deleteDoomed } from './enforce-references.ts'
import { findDoomed } from './find-doomed.ts'
import * as around from './hooks.ts'
import * as keys from './idempotency-key.ts'
import * as input from './input.ts'
import * as conditions from './preconditions.ts'
import * as results from './results.ts'
import { runSteps, Steps } from './steps.ts'
import * as store from './store.ts'
import { type Write, WriteState } from './write-state.ts'

/** `POST /<collection>`. `If-None-Match: *` asks for what it does anyway. */
export function planCreate(collection: CollectionDefinition): Steps<'result'> {
  const { blobs, hooks, parents } = collection
  return new Steps()
    .check(parents.size > 0 && conditions.requireParentOfPath, 404)
    .check(conditions.refuseIfMatch, 412)
    .set('body', input.requireBody, 400)
    .within(keys.claimKey, [409, 422], keyed =>
      createItem(keyed, collection, false)
        .check(blobs && contents.keepUploads)
        .check(runsAfter(hooks, 'create') && around.runAfterHook)
        .set('result', results.answerCreated),
    )
}

/** `PUT /<collection>/<id>` and `PATCH`. A contested attempt starts again. */
export function planChange(
  collection: CollectionDefinition,
  operation: 'replace' | 'patch',
): Steps<'result'> {
  const { blobs, hooks, owner, roles } = collection
  const creates = operation === 'replace' && collection.putCreates
  return new Steps().set('body', input.requireBody, 400).within(keys.claimKey, [409, 422], keyed =>
    keyed
      .attempts(conditions.retryContested, [503], attempt => {
        const found = attempt
          .try('current', creates ? conditions.findCurrent : conditions.requireCurrent, 404)
          .check(owner && fields.requireOwnItem, 401, 403, 404)
          .check(conditions.evaluatePreconditions, 412)
          .check(collection.requirePrecondition && conditions.requirePrecondition, 428)
          .otherwise('current', creates && (absent => createByPut(absent, collection)))
          .check(roles && roles.immutable.size > 0 && fields.refuseHiddenImmutable, 400)
        return changeItem(found, collection, operation)
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
      .check(collection.contents.size > 0 && contents.removeAllContents),
  )
}

/** `update()` of an action: it has no key, no hook and one attempt. */
export function planUpdate(collection: CollectionDefinition): Steps {
  const { blobs } = collection
  return new Steps<'body' | 'current'>()
    .attempts(conditions.tryOnce, [409, 412], attempt => changeItem(attempt, collection, 'update'))
    .check(blobs && contents.keepUploads)
    .check(blobs && contents.removeReplacedContents)
}

/** Whether hooks run once the write is committed. In one transaction with it they are run there. */
export function runsAfter(
  { after, transaction }: CompiledHooks,
  operation: string,
  creates = false,
): boolean {
  return !transaction && (after.has(operation) || (creates && after.has('create')))
}

/** Whether references need a transaction of their own. */
function guards({ targets, hooks }: CollectionDefinition, isUpdate = false): boolean {
  return [...targets.values()].some(({ guarded }) => guarded) && (isUpdate || !hooks.transaction)
}

/** A new item, from its body to the store; a PUT names it. */
function createItem(
  start: Steps<'body'>,
  collection: CollectionDefinition,
  isNamed: boolean,
): Steps<'body' | 'stored'> {
  const { hooks, targets } = collection
  const refers = targets.size > 0
  const hasHook = hooks.before.has('create')
  return start
    .within(input.reportIssuesTogether, [], issues => checkNewItem(issues, collection, isNamed))
    .check(hasHook && refers && refs.requireReferences, 400)
    .within(hooks.transaction && around.runWithHooks, [], whole =>
      completeNewItem(whole, collection).within(
        guards(collection) && refs.guardReferences,
        [400],
        atomic =>
          requireStorable(atomic, collection)
            .check(refers && (hasHook ? refs.requireReferencesAgain : refs.requireReferences), 400)
            .set('stored', store.storeNew, 400, 409),
      ),
    )
}

/** What a client sent of a new item, checked by itself. */
export function checkNewItem(
  issues: Steps<'body'>,
  collection: CollectionDefinition,
  isNamed: boolean,
): Steps<'body' | 'checked'> {
  const { blobs, targets, roles, unknown } = collection
  const ownId = input.choosesId(collection)
  return issues.within(unknown.size > 0 && input.refuseUnknown, [400], known =>
    known
      .set('candidate', input.takeBody, 400)
      .check(isNamed ? input.requireSameId : !ownId && input.refuseId, 400)
      .refine('candidate', input.omitServerValues)
      .refine('candidate', ownId && (isNamed ? input.setId : input.omitNullId))
      .refine('candidate', roles && fields.setReadOnly, 401)
      .refine('candidate', targets.size > 0 && refs.fillParents, 400)
      .refine('candidate', blobs && contents.receiveContents, 400, 413)
      .set('checked', input.validateNew, 400),
  )
}

/** What the `before` hooks make of it. */
export function completeNewItem(
  checked: Steps<'body' | 'checked'>,
  { hooks }: CollectionDefinition,
): Steps<'body' | 'checked' | 'values'> {
  const hasHook = hooks.before.has('create')
  return checked
    .set('values', hasHook ? around.runBeforeHook : input.takeChecked)
    .refine('values', hasHook && input.validateAgain, 400)
}

/** Whether it may be stored, as far as no other collection says so. */
export function requireStorable(
  atomic: Steps<'body' | 'checked' | 'values'>,
  collection: CollectionDefinition,
): Steps<'body' | 'checked' | 'values'> {
  return atomic
    .check(input.choosesId(collection) && input.requireValidId, 400)
    .check(input.requireSize, 413)
    .check(collection.visible && input.requireVisible, 403)
}

/** A PUT of an item that does not exist. */
function createByPut(
  absent: Steps<'body'>,
  collection: CollectionDefinition,
): Steps<'body' | 'stored'> {
  return absent
    .check(conditions.authorizeCreate, 401, 403)
    .within(conditions.retryIfTaken, [], taken => createItem(taken, collection, true))
}

/** An item that is changed, from the body to the store. */
function changeItem(
  start: Steps<'body' | 'current'>,
  collection: CollectionDefinition,
  operation: 'replace' | 'patch' | 'update',
): Steps<'body'> {
  const { hooks, targets } = collection
  const isUpdate = operation === 'update'
  const refers = targets.size > 0
  const hasHook = !isUpdate && hooks.before.has(operation)
  return start
    .set('own', input.takeOwnValues)
    .within(!isUpdate && input.reportIssuesTogether, [], issues =>
      checkChange(issues, collection, operation),
    )
    .check(hasHook && refers && refs.requireReferences, 400)
    .within(!isUpdate && hooks.transaction && around.runWithHooks, [], whole =>
      completeChange(whole, collection, operation).within(
        guards(collection, isUpdate) && refs.guardReferences,
        [400],
        atomic =>
          requireStorableChange(atomic, collection)
            .check(refers && (hasHook ? refs.requireReferencesAgain : refs.requireReferences), 400)
            .try('stored', store.storeChange, 400, 409),
      ),
    )
}

/** What the `before` hooks make of a change; it ends where nothing is changed. */
export function completeChange(
  checked: Steps<CheckedChange>,
  { hooks }: CollectionDefinition,
  operation: 'replace' | 'patch' | 'update',
): Steps<CheckedChange | 'values'> {
  const hasHook = operation !== 'update' && hooks.before.has(operation)
  return checked
    .set('values', hasHook ? around.runBeforeHook : input.takeChecked)
    .refine('values', hasHook && input.validateAgain, 400)
    .endWith('stored', operation !== 'replace' && input.stopIfUnchanged)
}

/** Whether a change may be stored, as far as no other collection says so. */
export function requireStorableChange(
  atomic: Steps<CheckedChange | 'values'>,
  { visible }: CollectionDefinition,
): Steps<CheckedChange | 'values'> {
  return atomic.check(input.requireSize, 413).check(visible && input.requireVisible, 403)
}

/** What is filled in of a change that is checked. */
export type CheckedChange = 'body' | 'current' | 'own' | 'checked'

/** What a client sent of a change, checked by itself. */
export function checkChange(
  issues: Steps<'body' | 'current' | 'own'>,
  collection: CollectionDefinition,
  operation: 'replace' | 'patch' | 'update',
): Steps<CheckedChange> {
  const { blobs, targets, roles, unknown } = collection
  const replaces = operation === 'replace'
  const isUpdate = operation === 'update'
  const refers = targets.size > 0
  return issues.within(!isUpdate && unknown.size > 0 && input.refuseUnknown, [400], known =>
    known
      .try('printed', blobs && !replaces && contents.printCurrent)
      .set(
        'candidate',
        replaces ? input.takeBody : isUpdate ? input.applyChanges : input.applyPatch,
        ...(operation === 'patch' ? [400, 409, 413] : [400]),
      )
      .check(
        roles && roles.readOnly.size > 0 && operation === 'patch' && fields.refuseReadOnly,
        400,
      )
      .refine('candidate', blobs && !replaces && contents.omitUnchangedContents)
      .check(!replaces && input.requireId, 400)
      .check(!replaces && refers && refs.requireParentKept, 400)
      .check(input.requireSameId, 400)
      .refine('candidate', input.omitServerValues)
      .refine('candidate', input.choosesId(collection) && input.setId)
      .refine('candidate', roles && replaces && fields.restoreProtected)
      .refine('candidate', roles && operation === 'patch' && fields.restoreReadOnly)
      .refine('candidate', refers && refs.fillParents, 400)
      .refine('candidate', blobs && contents.receiveContents, 400, 413)
      .set('checked', replaces ? input.validateReplacement : input.validatePatched, 400, 409)
      .check(roles && roles.immutable.size > 0 && fields.refuseImmutable, 400),
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
  replace: toPerform(planChange(collection, 'replace')),
  patch: toPerform(planChange(collection, 'patch')),
  delete: toPerform(planDelete(collection)),
  find: planFind(collection),
  update: planUpdate(collection).list,
}))

function toPerform(steps: Steps<'result'>): Perform {
  return context => andThen(steps.run(new WriteState(context)), takeResult)
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
