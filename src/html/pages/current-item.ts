// The item as it is now, for the page of a change that came too late.
import { findText, IF_MATCH_PARAMETER } from '../../http/method-override.ts'
import type { RequestContext } from '../../operations/calls/context.ts'
import { deriveRequest } from '../../operations/calls/derive-call.ts'
import { compileOperation } from '../../operations/programs/compile-operation.ts'
import type { CurrentItem } from './page-view.ts'
import { withinTime } from './parent-choices.ts'

/** Reads the item as a GET of the client would: through the same rules and hooks. `undefined` after any error. */
export async function loadCurrent(context: RequestContext): Promise<CurrentItem | undefined> {
  const { target, runtime, request, negotiated } = context
  const isForm = findText(context.submitted, IF_MATCH_PARAMETER) !== undefined
  if (!isForm || !target || target.kind === 'root' || target.id === undefined) return undefined
  const { action: _action, ...place } = target
  const { collection } = place
  if (!collection.operations.has('read') || !context.can(collection, 'read')) return undefined
  const reading = deriveRequest(context, request, {
    ...{ negotiated, method: 'GET', operation: 'read' },
    target: { ...place, kind: 'item' },
  })
  const read = compileOperation(runtime.api, reading.target, 'read')
  const result = await withinTime(async () => read(reading))
  const { representation, validators } = result ?? {}
  const tag = validators?.tag
  if (representation?.kind !== 'item' || tag === undefined) return undefined
  return { item: representation.data, tag: `"${tag}"` }
}
