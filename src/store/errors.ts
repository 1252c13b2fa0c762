// The errors that stores throw: error responses, which programs know by their classes.
import { AnyHttpError, type AnyIssue, type ErrorType, HttpError, type Issue } from '../errors.ts'

interface ErrorOptions {
  readonly cause?: unknown
}

interface ChangeErrorOptions extends ErrorOptions {
  /** The place of the change that is at fault, among those of the call, from 0. */
  readonly at?: number | undefined
}

/** An error for which one change of a call is at fault. None of the changes was made. */
export abstract class ChangeError extends AnyHttpError {
  /** The place of that change, from 0; `undefined` if the store does not know it, or the call has only one. */
  at: number | undefined

  constructor(status: number, issues: readonly AnyIssue[], { at, cause }: ChangeErrorOptions = {}) {
    super(status, issues, { cause })
    this.at = at
  }
}

/** Says which change an error is about, if it is about one. @returns the error. */
export function placeError(error: unknown, at: number): unknown {
  if (error instanceof ChangeError) error.at ??= at
  return error
}

interface UnstorableOptions extends ChangeErrorOptions {
  /** Whether the values are absent, or null, and must be there. */
  readonly missing?: boolean
}

interface RefusedOptions extends ChangeErrorOptions {
  /** What the client is told in place of the general message. */
  readonly message?: string | undefined
}

/** Does the work of one change. @throws what it throws, with the place of the change. */
export async function inPlace<T>(at: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw placeError(error, at)
  }
}

/** Thrown by a store where an item would equal another in a set of fields that must be unique. */
export class UniqueError extends ChangeError {
  /** The dotted paths of the set, as far as they are fields; the identity's name where the id is taken. */
  readonly fields: readonly string[]

  constructor(fields: readonly string[], options?: ChangeErrorOptions) {
    const message = `Another item has the same ${fields.join(' and ') || 'values'}`
    super(409, listIssues(message, fields, 'not_unique'), options)
    this.fields = fields
  }
}

interface ReferenceConflictOptions extends ChangeErrorOptions {
  /** The dotted paths of the values that refer to something that is not there, if the store knows them. */
  readonly fields?: readonly string[]
}

/**
 * Thrown by a store for a change that its other contents forbid, such as a foreign key. With `fields` it is a 400
 * `unknown_reference`.
 */
export class ReferenceConflictError extends ChangeError {
  constructor({ fields = [], ...options }: ReferenceConflictOptions = {}) {
    const [status, message, type] =
      fields.length > 0
        ? ([
            400,
            `${fields.join(' and ')} must refer to what is there`,
            'unknown_reference',
          ] as const)
        : ([
            409,
            'Something refers to this, or this refers to something that is not there',
            'conflict',
          ] as const)
    super(status, listIssues(message, fields, type), options)
  }
}

/**
 * Thrown by a store for values that it cannot keep, such as a text too long for an index, or a value that
 * a check of its table forbids.
 */
export class UnstorableError extends ChangeError {
  /** The dotted paths of the values, as far as the store knows them. */
  readonly fields: readonly string[]

  constructor(fields: readonly string[], { missing, ...options }: UnstorableOptions = {}) {
    const names = fields.join(' and ') || 'A value'
    const message = missing
      ? `${names} must have a value in the store. Send one`
      : fields.length > 0
        ? `${names} does not fit in the store: it is too long, or not of the type there. Send another value`
        : 'A value does not fit in the store, or breaks a rule there. Send another value'
    const type = missing ? 'required' : fields.length > 0 ? 'too_long' : 'unstorable'
    super(400, listIssues(message, fields, type), options)
    this.fields = fields
  }
}

/**
 * Thrown by a store for a write that a rule of its database refuses: a policy, an exclusion of other items, an error that a
 * trigger raises. Nothing was written.
 */
export class RefusedError extends ChangeError {
  /** The dotted paths of the values at fault, as far as the store knows them. */
  readonly fields: readonly string[]

  /** @param status 403 if the user may not, 409 if another item is in the way, or what the rule says: 400 to 599. */
  constructor(
    status: number,
    fields: readonly string[] = [],
    { message, ...options }: RefusedOptions = {},
  ) {
    const general =
      fields.length > 0
        ? `${fields.join(' and ')} conflict with another item. Choose other values.`
        : 'A rule of the database refuses this write'
    super(status, listIssues(message ?? general, fields, 'refused_by_database'), options)
    this.fields = fields
  }
}

const KEPT: Issue = {
  message:
    'The database kept this write out, by a trigger, a policy or a view of its own. Nothing was written. The same request fails again.',
  type: 'kept_by_database',
}

interface KeptOptions extends ChangeErrorOptions {
  /** What the client is told in place of the general message. */
  readonly issues?: readonly AnyIssue[]
}

/**
 * Thrown by a store for a write that its database keeps out: a trigger skips it, or a policy hides the row from it. No
 * other writer is the cause, so that another attempt would end alike. Nothing was written.
 */
export class KeptError extends ChangeError {
  constructor({ issues = [KEPT], ...options }: KeptOptions = {}) {
    super(409, issues, options)
  }
}

/** Creates an issue for each field, or one without a field. */
function listIssues(message: string, fields: readonly string[], type: ErrorType): Issue[] {
  if (fields.length === 0) return [{ message, type }]
  return fields.map(field => ({ message, field, type }))
}

/** Thrown by a store that cannot be reached, or for a key whose claim has expired: the same call may work later. */
export class UnavailableError extends HttpError {
  /** @param reason for the log: clients do not read it. */
  constructor(reason?: string, options?: ErrorOptions) {
    const message = 'The store cannot be reached at the moment. Try again later.'
    super(503, [{ message, type: 'unavailable' }], {
      headers: ['Retry-After', '5'],
      cause: new Error(reason, options),
    })
  }
}

/** Thrown by a store that was lost while it worked: nobody knows whether the write was done. */
export class UnknownOutcomeError extends UnavailableError {}

/** Thrown by a store, or a store of blobs, whose disk is full: nothing was written. */
export class DiskFullError extends HttpError {
  constructor(options?: ErrorOptions) {
    const message = 'A disk of the server is full. Try again later.'
    const headers = ['Retry-After', '60']
    super(503, [{ message, type: 'disk_full' }], { headers, ...options })
  }
}

/** Thrown by a store whose database takes no writes, such as a standby: nothing was written. */
export class ReadOnlyError extends HttpError {
  constructor(options?: ErrorOptions) {
    const message = 'The database takes only reads at the moment. Try again in some minutes.'
    // Longer than a client waits by itself: a standby stays one until somebody acts.
    const headers = ['Retry-After', '120']
    super(503, [{ message, type: 'read_only' }], { headers, ...options })
  }
}

/** Thrown by a store for a list or a count that would look at too much: for lack of an index, or at too long texts. */
export class TooCostlyError extends HttpError {
  /** @param message for the client. */
  constructor(message: string, reason: 'index' | 'text') {
    if (reason === 'text') super(400, [{ message, type: 'too_much_text' }])
    else super(503, [{ message, type: 'work_too_slow' }])
  }
}
