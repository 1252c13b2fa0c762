// The format of an answer, by the extension, `Accept`, or the type of what is written.

import { isSafe } from '../http/methods.ts'
import { splitTarget } from '../http/target.ts'
import { chooseFormat, type Negotiated, notAcceptable } from '../negotiate.ts'
import type { RequestContext } from '../operations/calls/context.ts'

/** @throws HttpError 406 */
export function negotiateFormat(context: RequestContext): void {
  context.negotiated = negotiate(context)
  if (!context.negotiated) throw notAcceptable(context.api.formats)
}

/** Negotiates the format of the answer; `undefined` where no format fits. @throws HttpError 400 */
export function negotiate({ api, extension, request }: RequestContext): Negotiated | undefined {
  const { accept, 'content-type': type } = request.headers
  const content = isSafe(request.method) ? undefined : type
  return chooseFormat(api.formats, { extension, accept, content }, api.limits.accept)
}

/**
 * Negotiates the format of an error; `undefined` where no format fits or `Accept` is malformed. The
 * extension is used without a route too.
 */
export function negotiateError(context: RequestContext): Negotiated | undefined {
  const { runtime, request } = context
  context.extension ??= runtime.router.extensionOf(splitTarget(request.target).path)
  try {
    return negotiate(context)
  } catch {
    // The `Accept` itself is refused.
    return undefined
  }
}
