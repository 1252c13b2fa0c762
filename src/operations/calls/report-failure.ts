// What `onError` of an api is called with.
import { randomUUID } from 'node:crypto'
import { type ErrorType, HttpError, internalError } from '../../errors.ts'
import type { Failure } from '../../model/types/policies.ts'
import type { CallContext } from './context.ts'

type FailedCall = Pick<CallContext, 'api' | 'request'> & { requestId?: string | undefined }

/**
 * Calls `onError` with what was thrown.
 * @param error that the client got. Default: a 500 for a failure that no client hears of.
 */
export function reportFailure(
  { api, request, requestId = randomUUID() }: FailedCall,
  thrown: unknown,
  reference = requestId,
  error = thrown instanceof HttpError ? thrown : internalError(thrown, reference),
): void {
  const failure = { kind: findKind(error), reference, error, request, requestId }
  const tell = async () => api.onError(thrown, failure)
  // A failing log may fail neither the answer nor the process.
  tell().catch(() => {})
}

const OVERLOADED: ReadonlySet<string | undefined> = new Set<ErrorType>([
  'contended',
  'overloaded',
  'work_too_slow',
])

/** Says who has to look at a failure. An outage is then not a page for each of its 503s. */
function findKind({ status, errors: [first] }: HttpError): Failure['kind'] {
  if (status < 502 || status > 504) return 'bug'
  return OVERLOADED.has(first?.type) ? 'overload' : 'dependency'
}
