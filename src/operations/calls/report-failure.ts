// What `onError` of an api is called with.
import { randomUUID } from 'node:crypto'
import { HttpError, internalError } from '../../errors.ts'
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
  const tell = async () => api.onError(thrown, { reference, error, request, requestId })
  // A failing log may fail neither the answer nor the process.
  tell().catch(() => {})
}
