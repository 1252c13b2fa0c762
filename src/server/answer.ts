// What a result is answered with, as plain data: of a request, and of a step of a batch.

import type { Json } from '../base/values.ts'
import { evaluateRead, NO_PRECONDITIONS, type Validators } from '../http/conditional.ts'
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

const NO_VALIDATORS: Validators = {}

/** Whether the client of a read has the current representation: a 304. @throws HttpError 412 */
export function isUnmodified(
  { preconditions, method }: Pick<CallContext, 'preconditions' | 'method'>,
  { validators = NO_VALIDATORS }: Pick<OperationResult, 'validators'>,
): boolean {
  return preconditions !== NO_PRECONDITIONS && evaluateRead(preconditions, method, validators)
}

/** Converts a result to plain data. @throws HttpError 412 */
export function toAnswer(context: CallContext, result: OperationResult): PlainAnswer {
  const { headers, validators } = result
  const unmodified =
    isConditional(context.method) && result.status === 200 && isUnmodified(context, result)
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
