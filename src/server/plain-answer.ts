// What a result is answered with, as plain data: of a request, and of a step of a batch.

import type { Json } from '../base/values.ts'
import { evaluateRead } from '../http/conditional.ts'
import { getHeader } from '../http/message.ts'
import { isConditional } from '../http/methods.ts'
import type { CallContext, OperationResult } from '../operations/calls/context.ts'

/** An answer without what HTTP alone has. */
export interface PlainAnswer {
  readonly status: number
  readonly location?: string
  readonly etag?: string
  readonly body?: Json
}

/** Converts a result to plain data. @throws HttpError 412 */
export function toPlainAnswer(context: CallContext, result: OperationResult): PlainAnswer {
  const { preconditions, method } = context
  const { headers, validators } = result
  const isReading = isConditional(method) && result.status === 200
  const unmodified = isReading && evaluateRead(preconditions, method, validators)
  const location = getHeader(headers, 'Location')
  const body = unmodified ? undefined : toBody(result)
  return {
    status: unmodified ? 304 : result.status,
    ...(location !== undefined && { location }),
    ...(validators?.tag !== undefined && { etag: `"${validators.tag}"` }),
    ...(body !== undefined && { body }),
  }
}

function toBody({ representation }: OperationResult): Json | undefined {
  switch (representation?.kind) {
    case 'item':
    case 'document':
      return representation.data
    case 'list':
      return [...representation.data]
    default:
      return undefined
  }
}
