// What each method does to each target: the operations by name, and the hooks around them.
import { HttpError } from './errors.ts'
import { act } from './operations/actions.ts'
import { type Call, eventOf, fromStore, type Outcome } from './operations/call.ts'
import { download } from './operations/download.ts'
import { count, list, read } from './operations/reads.ts'
import { create, patch, remove, replace } from './operations/writes.ts'

const operations: Readonly<Record<string, (call: Call) => Promise<Outcome>>> = {
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
export async function perform(call: Call): Promise<Outcome> {
  const { collection, action } = call.target
  const { hooks } = collection
  try {
    const outcome = await (action ? act(call, action) : operationOf(call)(call))
    if (hooks.after) await hooks.after(eventOf(call), outcome.result)
    return { ...outcome, cacheControl: collection.cacheControl }
  } catch (thrown) {
    const error = fromStore(thrown)
    await hooks.error?.(eventOf(call), error)
    throw error
  } finally {
    if (call.uploads) await call.uploads.discard()
  }
}

function operationOf({ operation }: Call) {
  const found = Object.hasOwn(operations, operation) ? operations[operation] : undefined
  if (!found) throw new HttpError(404, `There is no operation ${operation}`)
  return found
}
