// What a store throws, as an error response.
import { type ErrorType, HttpError, type Issue } from '../errors.ts'
import {
  ReferenceConflictError,
  TooCostlyError,
  UnavailableError,
  UniqueError,
  UnstorableError,
} from '../store/store.ts'

/** Translates a store's error into an `HttpError`; returns anything else as it is. */
export function translateStoreError(cause: unknown): unknown {
  if (cause instanceof UniqueError) return withFields(409, cause, 'not_unique', 'not_unique')
  if (cause instanceof UnstorableError) return withFields(400, cause, 'too_long', 'unstorable')
  if (cause instanceof ReferenceConflictError) return toHttpError(409, cause, 'conflict')
  if (cause instanceof TooCostlyError) {
    return cause.reason === 'text'
      ? toHttpError(400, cause, 'too_much_text')
      : toHttpError(503, cause, 'work_too_slow')
  }
  if (cause instanceof UnavailableError) {
    const message = 'The store cannot be reached at the moment. Try again later.'
    const headers = ['Retry-After', '5']
    return new HttpError(503, [{ message, type: 'unavailable' }], { headers, cause })
  }
  return cause
}

function toHttpError(status: number, cause: Error, type: ErrorType): HttpError {
  return new HttpError(status, [{ message: cause.message, type }], { cause })
}

/** One entry for each field that the store names, else one without a field. */
function withFields(
  status: number,
  cause: UniqueError | UnstorableError,
  type: ErrorType,
  typeWithoutField: ErrorType,
): HttpError {
  const { message, fields } = cause
  if (fields.length === 0) return toHttpError(status, cause, typeWithoutField)
  const issues = fields.map((field): Issue => ({ message, field, type }))
  return new HttpError(status, issues, { cause })
}
