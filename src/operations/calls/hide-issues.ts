// Errors of a view: no message names a property that does not exist for the client, or tells its value.

import { AnyHttpError, type AnyIssue, type HttpError } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { Perform } from './context.ts'

/** Does work, and hides the issues of unknown properties in its errors. */
export function withHiddenIssues(collection: CollectionDefinition, perform: Perform): Perform {
  if (collection.unknown.size === 0) return perform
  return async context => {
    try {
      return await perform(context)
    } catch (error) {
      throw error instanceof AnyHttpError ? hideIssues(collection, error) : error
    }
  }
}

function hideIssues({ unknown, itemName }: CollectionDefinition, error: HttpError): HttpError {
  const { status, errors, headers } = error
  const secret = errors.filter(entry => isSecret(unknown, entry))
  if (secret.length === 0) return error
  // The message of a unique set names all of its fields.
  const messages = new Set(secret.map(({ message }) => message))
  const others = errors.filter(({ message }) => !messages.has(message))
  const message = `This ${itemName} would not be valid, for a reason that you may not see.`
  const hidden: AnyIssue = { message, type: status === 409 ? 'conflict' : 'invalid_value' }
  return new AnyHttpError(status, [...others, hidden], { headers, cause: error })
}

/** Whether an issue is about a property that the client did not send: to name an unknown one is an issue of its own. */
function isSecret(unknown: ReadonlySet<string>, { field = '', type }: AnyIssue): boolean {
  // In an array the number of the item stands in front.
  const [first = '', second = ''] = field.split('.')
  const name = /^\d+$/.test(first) ? second : first
  return type !== 'unknown_field' && (unknown.has(first) || unknown.has(name))
}
