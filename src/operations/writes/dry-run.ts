// Dry runs: a write is done in a transaction that is always undone.

import type { Awaitable } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import { getHeader } from '../../http/message.ts'
import { printPreferences } from '../../http/prefer.ts'
import type { CollectionTarget } from '../../model/compile/routes.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import { toOperationError } from '../calls/inner-errors.ts'
import { runInTransaction } from '../calls/run-transaction.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import { listFiles } from './blob-inputs.ts'

/** Undoes a dry run, with what the work has given. */
class RolledBack<R> {
  readonly result: R

  constructor(result: R) {
    this.result = result
  }
}

/** Runs work in a transaction and undoes it. @returns what the work has given. */
export async function rollBack<R>(
  call: OperationContext,
  work: (transaction: RunningTransaction) => Awaitable<R>,
): Promise<R> {
  try {
    return await runInTransaction(call, undefined, async transaction => {
      transaction.isDryRun = true
      const result = await work(transaction)
      transaction.requireWhole()
      throw new RolledBack(result)
    })
  } catch (error) {
    // Thrown above, with what the work has given.
    if (error instanceof RolledBack) return error.result
    throw error
  }
}

/** @throws HttpError 400 where a write cannot be undone, for which it would have to be. */
export function requireRollback({ collection, action }: CollectionTarget): void {
  if (!collection.store.transaction || !collection.store.database)
    throw cannotRollBack(`The store of ${collection.name} has no transactions`)
  if (action && !action.transaction && !collection.hooks.transaction)
    throw cannotRollBack(`The action ${action.name} is not declared with transaction: true`)
}

function cannotRollBack(reason: string): HttpError {
  const message = `Prefer: tx=rollback is not possible here. ${reason}.`
  return new HttpError(400, [{ message, field: 'prefer', type: 'no_dry_run' }])
}

/** Does a write and undoes it: it is answered as if it were done, without what names the item. */
export async function tryOut(
  context: OperationContext,
  perform: Perform,
): Promise<OperationResult> {
  const { target, body } = context
  requireRollback(target)
  const [file] = listFiles(target.collection, body?.value)
  if (file !== undefined) throw cannotRollBack(`The file of ${file} would be stored`)
  const done = await rollBack(context, transaction =>
    context.within(transaction, () => perform(context)),
  ).catch(error => {
    throw toOperationError(context, error)
  })
  const others = getHeader(done.headers, 'Preference-Applied')
  const own = printPreferences({ tx: 'rollback' })
  const headers = ['Preference-Applied', others === undefined ? own : `${others}, ${own}`]
  return { ...done, headers, validators: undefined }
}
