// What each method does to each target: the operations by name, and the hooks around them.
import type { Operation } from '../model/definition.ts'
import type { DOWNLOAD, SEARCH } from '../model/routes.ts'
import { freezeDeep } from '../schema/values.ts'
import { act } from './actions.ts'
import { type Call, createEvent, type OperationResult, translateStoreError } from './call.ts'
import { download } from './download.ts'
import { count, list, read } from './reads.ts'
import { create, patch, remove, replace } from './writes.ts'

type Perform = (call: Call) => Promise<OperationResult>

const operations: Readonly<Record<Operation | typeof SEARCH | typeof DOWNLOAD, Perform>> = {
  list,
  search: list,
  count,
  read,
  create,
  replace,
  patch,
  delete: remove,
  download,
}

/**
 * Performs one operation or action.
 * @throws HttpError for every refusal, a store's own included; what hooks and actions throw as it is.
 */
export async function perform(call: Call): Promise<OperationResult> {
  const { collection, action } = call.target
  const { hooks } = collection
  try {
    // Without an action its name is one of these: routes and calls are made of no other.
    const known = call.operation as keyof typeof operations
    const outcome = await (action ? act(call, action) : operations[known](call))
    if (hooks.after && !outcome.replayed) {
      const { result } = outcome
      // The list itself is not what is printed: a program that gets it may sort it.
      for (const each of Array.isArray(result) ? result : [result]) freezeDeep(each)
      await hooks.after(createEvent(call), result)
    }
    return outcome
  } catch (thrown) {
    const error = translateStoreError(thrown)
    await hooks.error?.(createEvent(call), error)
    throw error
  } finally {
    if (call.uploads) await call.uploads.discard()
  }
}
