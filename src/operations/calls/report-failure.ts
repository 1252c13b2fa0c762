// What `onError` of an api is called with.
import { type ErrorType, HttpError, internalError } from '../../errors.ts'
import type { Failure } from '../../model/types/policies.ts'
import type { CallContext } from './context.ts'

/**
 * Calls `onError` with what was thrown.
 * @param error that the client got. Default: a 500 for a failure that no client hears of.
 */
export function reportFailure(
  { api, request }: Pick<CallContext, 'api' | 'request'>,
  thrown: unknown,
  error = thrown instanceof HttpError ? thrown : internalError(thrown, request.id),
): void {
  const failure = { kind: findKind(error), reference: request.id, error, request }
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
