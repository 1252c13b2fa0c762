// Errors of calls within hooks and actions: what goes on of one that the program does not catch. Its client has sent
// nothing of what the call was given, and may not know of the collection that it calls.
import { AnyHttpError, ERROR_TYPES, HttpError } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { OperationContext } from './context.ts'
import { reportFailure } from './report-failure.ts'

/** Errors that calls in process have thrown, with what was called, until a hook or action lets them pass. */
const ofCalls = new WeakMap<object, CollectionDefinition>()
/** Errors that a hook or action has made itself: what they tell is for the program to say. */
const ofPrograms = new WeakSet<object>()

/** Notes that a call in process has thrown an error of the library. */
export function noteCallError(thrown: unknown, called: CollectionDefinition): void {
  if (!(thrown instanceof HttpError)) return
  // An error that says of which item it is has the error of the item as its cause.
  for (let error: unknown = thrown; error instanceof HttpError; error = error.cause)
    if (ofPrograms.has(error)) return
  ofCalls.set(thrown, called)
}

/** Notes that a hook or action has thrown an error: if no call has thrown it, its words are those of the program. */
export function noteProgramError(thrown: unknown): void {
  if (thrown instanceof HttpError && !ofCalls.has(thrown)) ofPrograms.add(thrown)
}

/**
 * Finds what goes on of an error that a hook, or another function of the program, did not catch.
 * @returns an error that is answered 500 for a call that was given what is invalid.
 */
export function toOuterError(thrown: unknown): unknown {
  const called = takeCalled(thrown)
  if (!called || !isInvalid(thrown)) return hideNames(thrown, called)
  const { message } = thrown
  return new Error(`A call of ${called.name} failed: ${message}`, { cause: thrown })
}

/**
 * Finds what goes on of an error that an action did not catch. The input of the action is its client's, so one for what is
 * invalid is answered as it is, and reported.
 */
export function toActionError(context: OperationContext, thrown: unknown): unknown {
  const called = takeCalled(thrown)
  const error = hideNames(thrown, called)
  if (called && isInvalid(thrown) && !context.inProcess) reportFailure(context, thrown)
  return error
}

/**
 * Finds what goes on of an error that ends an operation. One that the program of an action caught comes back where it has
 * undone the transaction: after the action itself, in a dry run or a batch.
 */
export function toOperationError(context: OperationContext, thrown: unknown): unknown {
  return context.target.action ? toActionError(context, thrown) : toOuterError(thrown)
}

/** Finds what an error was called for, once: what a hook or action lets pass is an error of its own operation. */
function takeCalled(thrown: unknown): CollectionDefinition | undefined {
  if (!(thrown instanceof HttpError)) return undefined
  const called = ofCalls.get(thrown)
  ofCalls.delete(thrown)
  return called
}

/** Whether an error is for what a call was given. Another item that is missing may be one that the client named. */
function isInvalid(thrown: unknown): thrown is HttpError {
  if (!(thrown instanceof HttpError) || thrown.status !== 400) return false
  return thrown.errors.some(({ type }) => type !== 'unknown_reference')
}

const TYPES: Readonly<Record<number, Readonly<Record<string, string>>>> = ERROR_TYPES

/** Leaves out what an error tells of a collection that no request reaches: only descriptions of its types are left. */
function hideNames(thrown: unknown, called: CollectionDefinition | undefined): unknown {
  if (!(thrown instanceof HttpError) || !called || called.addressable) return thrown
  const { status, errors, headers } = thrown
  const issues = [...new Set(errors.map(({ type = '' }) => type))].flatMap(type => {
    const description = TYPES[status]?.[type]
    // There is no message besides the description that says more.
    const sentences = description?.split(/(?<=\.) /).filter(each => !each.startsWith('`message`'))
    return sentences ? [{ message: sentences.join(' '), type }] : []
  })
  return new AnyHttpError(status, issues, { headers, cause: thrown })
}
