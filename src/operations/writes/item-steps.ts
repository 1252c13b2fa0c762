// The steps of a write from its body to the store, of one item or of each of several: a step that a collection does not
// need is not in its list.

import type { CompiledHooks } from '../../model/types/compiled-hooks.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import * as contents from './blob-inputs.ts'
import * as refs from './check-references.ts'
import * as fields from './enforce-field-roles.ts'
import * as around from './hooks.ts'
import * as input from './input.ts'
import * as several from './many.ts'
import * as conditions from './preconditions.ts'
import type { FieldName, Steps } from './steps.ts'
import * as store from './store-item.ts'
import { storeAll } from './store-many.ts'

/** Whether hooks run once the write is committed. In one transaction with it they are run there. */
export function runsAfter(
  { after, transaction }: CompiledHooks,
  operation: string,
  creates = false,
): boolean {
  return !transaction && (after.has(operation) || (creates && after.has('create')))
}

/** Runs the `after` hooks of several items within the transaction of the write. */
export function runWithin<Filled extends FieldName>(
  stored: Steps<Filled | 'stored'>,
  { hooks }: CollectionDefinition,
  operation: string,
): Steps<Filled | 'stored'> {
  if (!hooks.transaction || !hooks.after.has(operation)) return stored
  return stored.within(several.eachStored, [], item => item.check(around.runAfterHookWithin))
}

/** Whether references need a transaction of their own. */
function guards({ targets, hooks }: CollectionDefinition, isUpdate = false): boolean {
  return [...targets.values()].some(({ guarded }) => guarded) && (isUpdate || !hooks.transaction)
}

/** How a plan differs from that of one item whose id nobody has named. */
interface Variant {
  /** Whether a PUT names the item. */
  readonly isNamed?: boolean
  /** Whether it is of several items. The steps of each then run for all items before the next ones begin. */
  readonly many?: boolean
}

/** A new item, from its body to the store. */
export function addCreateSteps(
  start: Steps<'body'>,
  collection: CollectionDefinition,
  { isNamed = false, many = false }: Variant = {},
): Steps<'body' | 'stored'> {
  const { hooks, targets } = collection
  const refers = targets.size > 0
  const hasHook = hooks.before.has('create')
  const requireStored = hasHook ? refs.requireReferencesAgain : refs.requireReferences
  return start
    .within(input.reportIssuesTogether, [], issues =>
      issues.within(many && several.eachOpen, [], item => checkNewItem(item, collection, isNamed)),
    )
    .check(hasHook && refers && refs.requireReferences, 400)
    .within(
      hooks.transaction && (many ? around.runAllWithHooks : around.runWithHooks),
      [],
      whole => {
        const stored = whole
          .within(many && several.eachOpen, [], item => completeNewItem(item, collection))
          .within(
            many ? store.runAtomically : guards(collection) && refs.guardReferences,
            [400],
            atomic => {
              const storable = atomic
                .within(many && several.eachOpen, [], item => requireStorable(item, collection))
                .check(refers && requireStored, 400)
              if (many) return storable.fill<'stored'>(storeAll, 400, 409)
              return storable.set('stored', store.storeNew, 400, 409)
            },
          )
        return many ? runWithin(stored, collection, 'create') : stored
      },
    )
}

/** What a client sent of a new item, checked by itself. */
function checkNewItem(
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
function completeNewItem(
  checked: Steps<'body' | 'checked'>,
  { hooks }: CollectionDefinition,
): Steps<'body' | 'checked' | 'values'> {
  const hasHook = hooks.before.has('create')
  return checked
    .set('values', hasHook ? around.runBeforeHook : input.takeChecked)
    .refine('values', hasHook && input.validateAgain, 400)
}

/** Whether it may be stored, as far as no other collection says so. */
function requireStorable(
  atomic: Steps<'body' | 'checked' | 'values'>,
  collection: CollectionDefinition,
): Steps<'body' | 'checked' | 'values'> {
  return atomic
    .check(input.choosesId(collection) && input.requireValidId, 400)
    .check(input.requireSize, 413)
    .check(collection.visible && input.requireVisible, 403)
}

/** Which change it is, of one item or of several. */
interface ChangeVariant extends Pick<Variant, 'many'> {
  readonly operation: 'replace' | 'patch' | 'update'
}

/**
 * An item that is changed, from the body to the store.
 * @param toStore adds the step that stores it.
 */
export function addChangeSteps<Done extends FieldName>(
  start: Steps<'body' | 'current'>,
  collection: CollectionDefinition,
  { operation, many = false }: ChangeVariant,
  toStore: (storable: Steps<CheckedChange | 'values'>) => Steps<Done>,
): Steps<Done> {
  const { hooks, targets, owner, roles } = collection
  const isUpdate = operation === 'update'
  const refers = targets.size > 0
  const hasHook = !isUpdate && hooks.before.has(operation)
  const requireStored = hasHook ? refs.requireReferencesAgain : refs.requireReferences
  return start
    .within(!isUpdate && input.reportIssuesTogether, [], issues =>
      issues.within(many && several.eachOpen, [], item => {
        const own = item
          .check(many && owner && fields.requireOwnListed, 401, 403)
          .check(many && roles && roles.immutable.size > 0 && fields.refuseHiddenImmutable, 400)
          .set('own', input.takeOwnValues)
        return checkChange(own, collection, operation)
      }),
    )
    .check(hasHook && refers && refs.requireReferences, 400)
    .within(!many && !isUpdate && hooks.transaction && around.runWithHooks, [], whole =>
      whole
        .within(many && several.eachOpen, [], item => completeChange(item, collection, operation))
        .within(!many && guards(collection, isUpdate) && refs.guardReferences, [400], atomic => {
          const storable = atomic
            .within(many && several.eachOpen, [], item => requireStorableChange(item, collection))
            .check(refers && requireStored, 400)
          return toStore(storable)
        }),
    )
}

/** Items of an array, from the body to the store: those that exist are changed, and the others are created. */
export function addUpsertSteps(
  start: Steps<'body'>,
  collection: CollectionDefinition,
): Steps<'body' | 'stored'> {
  const { hooks, targets, owner, roles, requirePrecondition } = collection
  const refers = targets.size > 0
  const hasHook = hooks.before.has('create') || hooks.before.has('patch')
  const stored = start
    .within(input.reportIssuesTogether, [], issues =>
      issues.within(several.eachOpen, [], item => {
        const own = item
          .otherwise('current', absent => checkNewItem(absent, collection, false))
          .check(requirePrecondition && conditions.requirePrecondition, 428)
          .check(owner && fields.requireOwnListed, 401, 403)
          .check(roles && roles.immutable.size > 0 && fields.refuseHiddenImmutable, 400)
          .set('own', input.takeOwnValues)
        return checkChange(own, collection, 'patch')
      }),
    )
    .check(hasHook && refers && refs.requireReferences, 400)
    .within(several.eachOpen, [], item =>
      completeChange(
        item.otherwise('current', absent => completeNewItem(absent, collection)),
        collection,
        'patch',
      ),
    )
    .within(several.eachOpen, [], item =>
      requireStorableChange(
        item.otherwise('current', absent => requireStorable(absent, collection)),
        collection,
      ),
    )
    .check(refers && (hasHook ? refs.requireReferencesAgain : refs.requireReferences), 400)
    .fill<'stored'>(storeAll, 400, 409)
  const runs = hooks.transaction && (hooks.after.has('create') || hooks.after.has('patch'))
  if (!runs) return stored
  return stored.within(several.eachStored, [], item => item.check(around.runAfterHookWithin))
}

/** What the `before` hooks make of a change; it ends where nothing is changed. */
function completeChange(
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
function requireStorableChange(
  atomic: Steps<CheckedChange | 'values'>,
  { visible }: CollectionDefinition,
): Steps<CheckedChange | 'values'> {
  return atomic.check(input.requireSize, 413).check(visible && input.requireVisible, 403)
}

/** What is filled in of a change that is checked. */
type CheckedChange = 'body' | 'current' | 'own' | 'checked'

/** What a client sent of a change, checked by itself. */
function checkChange(
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
