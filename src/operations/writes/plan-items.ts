// The steps of each item of a write of several: those of its single write, without what all items need.

import { memoize } from '../../base/memoize.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import * as contents from './blob-inputs.ts'
import * as fields from './enforce-field-roles.ts'
import * as around from './hooks.ts'
import * as input from './input.ts'
import type { ItemSteps } from './many.ts'
import * as plan from './plan.ts'
import { Steps } from './steps.ts'

/** Compiles the steps of each item of an array that is created, and of each that matches a filter. */
export const compileItems = memoize((collection: CollectionDefinition) => ({
  create: compileNewItems(collection),
  patch: compileChangedItems(collection),
  delete: compileDeletedItems(collection),
}))

function compileNewItems(collection: CollectionDefinition): ItemSteps {
  const { blobs, hooks } = collection
  return {
    check: plan.checkNewItem(new Steps<'body'>(), collection, false).list,
    complete: plan.completeNewItem(new Steps<'body' | 'checked'>(), collection).list,
    require: plan.requireStorable(new Steps<'body' | 'checked' | 'values'>(), collection).list,
    follow: compileFollow(collection, 'create'),
    end: new Steps<'stored'>()
      .check(blobs && contents.keepUploads)
      .check(plan.runsAfter(hooks, 'create') && around.runAfterHook).list,
  }
}

function compileChangedItems(collection: CollectionDefinition): ItemSteps {
  const { blobs, hooks, owner, roles } = collection
  const found = new Steps<'body' | 'current'>()
    .check(owner && fields.requireOwnListed, 401, 403)
    .check(roles && roles.immutable.size > 0 && fields.refuseHiddenImmutable, 400)
    .set('own', input.takeOwnValues)
  const completed = new Steps<plan.CheckedChange | 'values'>()
  return {
    check: plan.checkChange(found, collection, 'patch').list,
    complete: plan.completeChange(new Steps<plan.CheckedChange>(), collection, 'patch').list,
    require: plan.requireStorableChange(completed, collection).list,
    follow: compileFollow(collection, 'patch'),
    end: new Steps<'stored'>()
      .check(blobs && contents.keepUploads)
      .check(blobs && contents.removeReplacedContents)
      .check(plan.runsAfter(hooks, 'patch') && around.runAfterHook).list,
  }
}

function compileDeletedItems(collection: CollectionDefinition): ItemSteps {
  const { hooks, owner } = collection
  const found = new Steps<'current'>()
  return {
    check: found.check(owner && fields.requireOwnListed, 401, 403).list,
    complete: found.check(hooks.before.has('delete') && around.runBeforeDelete).list,
    require: [],
    follow: compileFollow(collection, 'delete'),
    end: new Steps<'stored'>().check(plan.runsAfter(hooks, 'delete') && around.runAfterHook).list,
  }
}

function compileFollow({ hooks }: CollectionDefinition, operation: string): ItemSteps['follow'] {
  const runsWithin = hooks.transaction && hooks.after.has(operation)
  return new Steps<'stored'>().check(runsWithin && around.runAfterHookWithin).list
}
