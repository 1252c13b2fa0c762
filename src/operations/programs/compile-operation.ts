// The operation of a route and method, with the `after` and `error` hooks around it: compiled once.

import { memoize } from '../../base/memoize.ts'
import { Remembered } from '../../base/remembered.ts'
import { freezeDeep } from '../../base/values.ts'
import { RESTORE } from '../../model/compile/compile-trash.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import type { CollectionTarget, DOWNLOAD, SEARCH } from '../../model/compile/routes.ts'
import type { UPSERT } from '../../model/compile/unique-keys.ts'
import type { ApiDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import type { Operation } from '../../model/types/operation.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import { withHiddenIssues } from '../calls/hide-issues.ts'
import { toProgramItem } from '../calls/program-items.ts'
import { protectResult } from '../calls/protect.ts'
import { runAfter, runErrorHooks } from '../calls/run-hooks.ts'
import { compileList } from '../reads/list.ts'
import { download, read } from '../reads/read.ts'
import { compileByFilter } from '../writes/by-filter.ts'
import { compileCreate } from '../writes/create.ts'
import { withIncludedNames } from '../writes/included-names.ts'
import { compileWrites } from '../writes/plan.ts'
import { compileRestore } from '../writes/trash.ts'
import { compileUpsert } from '../writes/upsert.ts'
import { act } from './actions.ts'

const COMPILERS: Readonly<
  Record<
    Operation | typeof SEARCH | typeof DOWNLOAD | typeof UPSERT | typeof RESTORE,
    (api: ApiDefinition, collection: CollectionDefinition, operation: string) => Perform
  >
> = {
  list: compileList,
  search: compileList,
  count: compileList,
  read: () => read,
  create: (_api, collection) => withIncludedNames(collection, compileCreate(collection)),
  replace: (_api, collection) => withIncludedNames(collection, compileWrites(collection).replace),
  patch: (_api, collection) => withIncludedNames(collection, compileWrites(collection).patch),
  delete: (_api, collection) => compileWrites(collection).delete,
  patchMany: (api, collection) => compileByFilter(api, collection, 'patchMany'),
  deleteMany: (api, collection) => compileByFilter(api, collection, 'deleteMany'),
  download: () => download,
  restore: (_api, collection) => compileRestore(collection),
  upsert: (api, collection) => withIncludedNames(collection, compileUpsert(api, collection)),
}

/**
 * Compiles an operation or action of a target.
 * @param perform does the work. Default: as the operation's name says.
 * @returns a function that throws `HttpError`s, and what the store, hooks and actions throw.
 */
export function compileOperation(
  api: ApiDefinition,
  { collection, action }: CollectionTarget,
  operation: string,
  // Without a declared action it is one of these operations: routes and calls do not have other names.
  perform: Perform = action && !(collection.trashOf && operation === RESTORE)
    ? context => act(context, action)
    : COMPILERS[operation as keyof typeof COMPILERS](api, collection, operation),
): Perform {
  const { error, after } = collection.hooks
  // Writes and actions run their `after` hooks themselves: once for each key.
  const hasAfter = after.has(operation) && !action && !WRITES.has(operation)
  // An upsert runs the hooks itself, because it finds out whether it creates or replaces.
  const hasError = error.length > 0 && operation !== 'upsert'
  const operate = hasAfter || hasError ? withHooks(perform, hasAfter) : perform
  return withHiddenIssues(collection, operate)
}

/**
 * The compiled operations of a collection, by their names, for steps of batches and calls in process. Views of a collection
 * have their own. They are kept as long as the collection is.
 */
export const compiledOperations = memoize((_api: ApiDefinition) =>
  memoize((_collection: CollectionDefinition) => new Remembered<Perform>(1000, 1000)),
)

const WRITES: ReadonlySet<string> = new Set(['create', 'replace', 'patch', 'delete'])

/** Runs the `after` and `error` hooks. */
function withHooks(perform: Perform, hasAfter: boolean): Perform {
  return async context => {
    try {
      const result = await perform(context)
      if (hasAfter) await runAfter(context, toHookResult(context, result))
      return result
    } catch (error) {
      await runErrorHooks(context, error)
      throw error
    }
  }
}

/** Prepares a result for an `after` hook: frozen, with write-only properties protected. */
function toHookResult({ target }: OperationContext, { stored, value }: OperationResult): unknown {
  const collection = toWhole(target.collection)
  if (stored) return toProgramItem(collection, stored)
  const result = protectResult(collection, value)
  // The list itself is not frozen: it is not the one that is printed, and a program may sort it.
  for (const each of Array.isArray(result) ? result : [result]) freezeDeep(each)
  return result
}
