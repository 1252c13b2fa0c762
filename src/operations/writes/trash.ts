// Restores items from the trash: `POST /cars/7/restore` brings back an item, with all items that were deleted with it.

import { memoize } from '../../base/memoize.ts'
import { type Awaitable, andThen } from '../../base/values.ts'
import { HttpError, type Issue, throwIfAny } from '../../errors.ts'
import {
  findTrash,
  RESTORE,
  type TrashParts,
  withoutDeletion,
} from '../../model/compile/compile-trash.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import { parseId } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { withTieBreak } from '../../store/selection.ts'
import type { Stored } from '../../store/store.ts'
import { findOne, MAX_SET } from '../../store/writes.ts'
import type { OperationResult, Perform } from '../calls/context.ts'
import { copyCall } from '../calls/derive-call.ts'
import { isVisible, notFound } from '../calls/items.ts'
import * as fields from './enforce-field-roles.ts'
import { conflictOf } from './enforce-references.ts'
import * as around from './hooks.ts'
import { claimKey, toWriteOptions } from './idempotency-key.ts'
import { runsAfter } from './item-steps.ts'
import * as conditions from './preconditions.ts'
import * as results from './results.ts'
import { Steps, type Write, WriteState } from './steps.ts'
import { Contested, runAtomically } from './store-item.ts'

/** Compiles `POST /<collection>/<id>/restore`. @param deleted the collection of the items in the trash. */
export function compileRestore(deleted: CollectionDefinition): Perform {
  return context => {
    // The call continues on the collection of the item, because hooks and events belong to that.
    const { action: _action, id, version } = context.target
    const collection = context.view(toWhole(deleted).trashOf ?? deleted)
    const call = copyCall(context, { target: { kind: 'item', version, collection, id } })
    call.shareUploads(context)
    const done = planRestore(collection).run(new WriteState(call))
    return andThen(done, ({ result }): OperationResult => result)
  }
}

/** Compiled once for a collection or a view of it, and kept as long as it. */
const planRestore = memoize((collection: CollectionDefinition): Steps<'result'> => {
  const { hooks, owner, trash, targets, store } = collection
  // One transaction, if it restores several items or must check references.
  const isWhole = (trash?.deletion !== undefined || targets.size > 0) && store.transaction
  return new Steps().within(claimKey, [409, 422], keyed =>
    keyed
      .attempts(conditions.retryContested, [503], attempt =>
        attempt
          .set('current', requireDeleted, 404)
          .check(owner && fields.requireOwnItem, 401, 403, 404)
          .check(conditions.evaluatePreconditions, 412)
          .check(collection.requirePrecondition && conditions.requirePrecondition, 428)
          .within(hooks.transaction && around.runWithHooks, [], whole =>
            whole
              .check(hooks.before.has(RESTORE) && around.runBeforeDelete)
              .within(isWhole && runAtomically, [], atomic =>
                atomic.try('stored', restoreItem, 409),
              ),
          ),
      )
      .check(runsAfter(hooks, RESTORE) && around.runAfterHook)
      .set('result', results.answerChanged),
  )
})

/** Finds the trash of a write. Plans call it only for collections with a trash. */
function requireTrash({ call }: Pick<Write, 'call'>): TrashParts {
  return findTrash(call.target.collection) as TrashParts
}

/** Finds the item in the trash. @throws HttpError 404 */
function requireDeleted(write: Write): Awaitable<Stored> {
  const { call, transaction } = write
  const { collection, id = '' } = call.target
  const found = findOne(
    call.storeOf(requireTrash(write).deleted, transaction),
    id,
    call.storeOptions,
  )
  return andThen(found, stored =>
    andThen(stored && isVisible(call, collection, stored.item, transaction), sees => {
      if (!stored || !sees) throw notFound(collection, id)
      return stored
    }),
  )
}

/** Restores the item, and what was deleted with it. @throws HttpError 409 */
async function restoreItem(write: Write<'current'>): Promise<Stored | undefined> {
  const { call, current, transaction } = write
  const { collection } = call.target
  const trash = requireTrash(write)
  const update = withoutDeletion(current.item, trash, collection.shape)
  const store = call.storeOf(trash.deleted, transaction)
  const options = toWriteOptions(write, 'changed')
  const isAlone = transaction === undefined
  if (isAlone) await requireReferred(write, [{ collection, item: current }])
  const [stored] = (await store.write([{ update, before: current }], options)) ?? []
  if (!stored) {
    if (transaction !== call.transaction) throw new Contested()
    return undefined
  }
  const deletion = trash.deletion === undefined ? undefined : current.item[trash.deletion]
  try {
    const all: Restored[] = [{ collection: toWhole(collection), item: stored }]
    if (typeof deletion === 'string') await restoreBelow(write, all, deletion)
    if (!isAlone) await requireReferred(write, all)
    return stored
  } catch (error) {
    // The transaction of a program may go on, so it must undo the restored items.
    throw call.transaction ? call.transaction.fail(error) : error
  }
}

/** An item that is restored. */
interface Restored {
  readonly collection: CollectionDefinition
  readonly item: Stored
}

/** Restores the items of one deletion, level by level. @param all the items restored so far; it adds the others. */
async function restoreBelow(write: Write, all: Restored[], deletion: string): Promise<void> {
  const { call, transaction } = write
  for (let from = 0; from < all.length; ) {
    const level = all.slice(from)
    from = all.length
    for (const parent of new Set(level.map(each => each.collection))) {
      const ids = level.flatMap(each => (each.collection === parent ? [each.item.id] : []))
      for (const { collection: child, field, onDelete } of parent.children) {
        const trash = findTrash(child)
        if (onDelete !== 'cascade' || trash?.deletion === undefined) continue
        const store = call.storeOf(trash.deleted, transaction)
        const own = { path: [trash.deletion], operator: 'in', values: [deletion] } as const
        const sort = withTieBreak([], child.shape.identity)
        for (let at = 0; at < ids.length; at += MAX_SET) {
          const values = ids.slice(at, at + MAX_SET)
          const where = [own, { path: [field], operator: 'in', values } as const]
          for await (const batch of store.stream({ where, sort }, call.storeOptions)) {
            const updates = batch.map(before => {
              return { update: withoutDeletion(before.item, trash, child.shape), before }
            })
            const restored = await store.write(updates, call.storeOptions)
            if (!restored) throw conflictOf(call)
            all.push(...restored.map(item => ({ collection: child, item })))
          }
        }
      }
    }
  }
}

/** @throws HttpError 409 for an item that refers to an item which is deleted or in a trash. */
async function requireReferred({ call, transaction }: Write, all: readonly Restored[]) {
  const issues: Issue[] = []
  for (const { collection, item } of all) {
    for (const [field, { collection: parent }] of collection.targets) {
      const value = item.item[field] ?? null
      const id = value === null ? undefined : parseId(parent, String(value))
      const isSelf = id === item.id && parent.store === collection.store
      if (id === undefined || isSelf) continue
      if (await findOne(call.storeOf(parent, transaction), id, call.storeOptions)) continue
      const message = `${field} refers to ${JSON.stringify(value)}, which is deleted. Restore that first.`
      issues.push({ message, field, type: 'in_trash' })
    }
  }
  throwIfAny(issues, 409)
}

/** @throws HttpError for a PUT of an item in the trash: 409 if the principal has the rule `trash`, otherwise 404. */
export function refuseDeleted(write: Write): Awaitable<void> {
  const { call, transaction } = write
  const { collection, id = '' } = call.target
  const found = findOne(
    call.storeOf(requireTrash(write).deleted, transaction),
    id,
    call.storeOptions,
  )
  return andThen(found, stored =>
    andThen(stored && isVisible(call, collection, stored.item, transaction), sees => {
      if (!sees) return
      if (!call.can(collection, 'trash')) throw notFound(collection, id)
      const message = `The ${collection.itemName} ${JSON.stringify(id)} is in the trash. Restore it first, or delete it for good.`
      throw new HttpError(409, [{ message, type: 'in_trash' }])
    }),
  )
}
