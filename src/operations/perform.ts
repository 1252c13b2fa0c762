// The operation of a route and method, with the `after` and `error` hooks around it: compiled once.

import type { AfterHook, CompiledHooks } from '../model/compile-hooks.ts'
import type { ApiDefinition, CollectionDefinition, Operation } from '../model/definition.ts'
import type { CollectionTarget, DOWNLOAD, SEARCH } from '../model/routes.ts'
import { type Awaitable, freezeDeep } from '../schema/values.ts'
import { act } from './actions.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { protectResult } from './enforce-field-roles.ts'
import { compileList } from './list.ts'
import { toProgramItem } from './program-items.ts'
import { download, read } from './read.ts'
import { createEvent } from './run-hooks.ts'
import { create, patch, remove, replace } from './writes.ts'

export type Perform = (context: OperationContext) => Awaitable<OperationResult>

const COMPILERS: Readonly<
  Record<
    Operation | typeof SEARCH | typeof DOWNLOAD,
    (api: ApiDefinition, collection: CollectionDefinition, operation: string) => Perform
  >
> = {
  list: compileList,
  search: compileList,
  count: compileList,
  read: () => read,
  create: () => create,
  replace: () => replace,
  patch: () => patch,
  delete: () => remove,
  download: () => download,
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
  // Without an action it is one of these: routes and calls have no other names.
  perform: Perform = action
    ? context => act(context, action)
    : COMPILERS[operation as keyof typeof COMPILERS](api, collection, operation),
): Perform {
  const { hooks, blobs } = collection
  const after = hooks.after.get(operation)
  return after || hooks.error || blobs ? withHooks(perform, hooks, after) : perform
}

/** Runs the `after` and `error` hooks, then removes the uploads that no item holds. */
function withHooks(
  perform: Perform,
  { error: failed }: CompiledHooks,
  after: AfterHook | undefined,
): Perform {
  return async context => {
    try {
      const result = await perform(context)
      if (after && !result.replayed)
        await after(createEvent(context), toHookResult(context, result))
      return result
    } catch (error) {
      await failed?.(createEvent(context), error)
      throw error
    } finally {
      await context.discardUploads()
    }
  }
}

/** Prepares a result for an `after` hook: frozen, with write-only properties protected. */
function toHookResult({ target }: OperationContext, { stored, value }: OperationResult): unknown {
  const { collection, action } = target
  if (stored) return toProgramItem(collection, stored)
  const result = action ? value : protectResult(collection, value)
  // The list itself is not frozen: it is not the one that is printed, and a program may sort it.
  for (const each of Array.isArray(result) ? result : [result]) freezeDeep(each)
  return result
}
