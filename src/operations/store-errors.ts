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
  if (cause instanceof ReferenceConflictError) {
    return new HttpError(409, [{ message: cause.message, type: 'conflict' }], { cause })
  }
  if (cause instanceof TooCostlyError) {
    const { message, reason } = cause
    if (reason === 'text')
      return new HttpError(400, [{ message, type: 'too_much_text' }], { cause })
    return new HttpError(503, [{ message, type: 'work_too_slow' }], { cause })
  }
  if (cause instanceof UnavailableError) {
    const message = 'The store cannot be reached at the moment. Try again later.'
    const headers = ['Retry-After', '5']
    return new HttpError(503, [{ message, type: 'unavailable' }], { headers, cause })
  }
  return cause
}

/** One entry for each field that the store names, else one without a field. */
function withFields(
  status: number,
  cause: UniqueError | UnstorableError,
  type: ErrorType,
  typeWithoutField: ErrorType,
): HttpError {
  const { message, fields } = cause
  const issues: Issue[] = fields.map(field => ({ message, field, type }))
  return new HttpError(status, issues.length > 0 ? issues : [{ message, type: typeWithoutField }], {
    cause,
  })
}
