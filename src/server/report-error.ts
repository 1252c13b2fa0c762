// What ends a request: reported where it is a failure.
import { HttpError, internalError } from '../errors.ts'
import type { RequestContext } from '../operations/calls/context.ts'
import { toOuterError } from '../operations/calls/inner-errors.ts'
import { reportFailure } from '../operations/calls/report-failure.ts'
import { noteDiskFull } from './health.ts'

/** Converts what was thrown to an `HttpError`, and reports failures to `onError`. */
export function toReportedError(context: RequestContext, cause: unknown): HttpError {
  noteDiskFull(context.api, cause)
  const thrown = toOuterError(cause)
  if (thrown instanceof HttpError) {
    // A probe is told that a server starts or ends: nothing has failed.
    const isProbed = thrown.errors[0]?.type === 'not_ready'
    if (thrown.status >= 500 && !isProbed) reportFailure(context, thrown)
    return thrown
  }
  const error = internalError(thrown, context.request.id)
  // A failure after the client went away is not reported.
  if (!context.request.aborted) reportFailure(context, thrown, error)
  return error
}
