// A list as a stream of server-sent events, where a collection is live. What streams is loaded by the first who asks.

import { authenticate } from '../auth/scheme.ts'
import { memoize } from '../base/memoize.ts'
import { HttpError } from '../errors.ts'
import type { Format } from '../formats/format.ts'
import { NO_PRECONDITIONS } from '../http/conditional.ts'
import type { readShown } from '../live/shown.ts'
import type { CheckedRights } from '../live/streams.ts'
import { toWhole } from '../model/compile/compile-views.ts'
import type { ApiDefinition } from '../model/types/definition.ts'
import { chooseFormat } from '../negotiate.ts'
import { authorize, metadataAddress } from '../operations/calls/authorize.ts'
import {
  type CollectionContext,
  RequestContext,
  type Runtime,
  type Step,
  toCollectionContext,
} from '../operations/calls/context.ts'
import { reportFailure } from '../operations/calls/report-failure.ts'
import type { StoreChanges } from '../store/changes.ts'
import { prepareFor } from './request-head.ts'
import { respond } from './respond.ts'
import { step } from './steps.ts'

const TYPE = 'text/event-stream'

const HEADERS = ['X-Accel-Buffering', 'no', 'Incremental', '?1']

/** Negotiated with the formats of the api. */
const EVENTS: Format = { name: 'events', extensions: [], types: [TYPE], write: () => '' }

/** The step that goes on with a stream where the client prefers one. */
export function compileFollow(api: ApiDefinition): Step {
  const formats = [...api.formats, EVENTS]
  const follow = [prepareFor('list'), step(followList, 400, 401, 403, 404, 503), respond]
  const chooseEvents: Step = ({ request, extension }) => {
    const { accept } = request.headers
    if (extension !== undefined || !accept || !/event-stream/i.test(accept)) return undefined
    return chooseFormat(formats, { accept }, api.limits.accept)?.format === EVENTS
      ? follow
      : undefined
  }
  return step(chooseEvents, 400)
}

/** @throws HttpError */
async function followList(requested: RequestContext): Promise<void> {
  const context = toCollectionContext(requested)
  const { runtime, request, method, principal } = context
  const { readShown } = await import('../live/shown.ts')
  const shown = await runtime.workload.run(async () => {
    const read = await readShown(context)
    await read.requireShort()
    return read
  }, request)
  const { changes } = context.target.collection.store
  const open = async (followed: StoreChanges) => {
    const exp = principal?.exp
    const body = (await findStreams(runtime)).open({
      shown,
      changes: followed,
      last: request.headers['last-event-id'],
      expiresAt: typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY,
      check: () => checkAgain(context, readShown),
      report: error => reportFailure(context, error),
    })
    request.signal.addEventListener('abort', () => body.end())
    return { kind: 'live', body } as const
  }
  // They compare a list that is whole; a 304 would leave a stream that nobody reads.
  context.preconditions = NO_PRECONDITIONS
  const representation = method !== 'HEAD' && changes ? await open(changes) : undefined
  // Behind all that may be refused: an error has another format.
  context.negotiated = { format: EVENTS, type: TYPE, contentType: TYPE }
  context.result = { status: 200, headers: HEADERS.slice(), isPrivate: 'stream', representation }
}

/** The streams of an api, which end when it closes. */
const findStreams = memoize(async (runtime: Runtime) => {
  const { LiveStreams } = await import('../live/streams.ts')
  const streams = new LiveStreams(runtime.api.limits.watchers)
  runtime.onClose.add(() => streams.end())
  return streams
})

/**
 * Checks the rights of a stream as those of a new request with the same credentials. It is counted by no limit: nobody asks.
 * @param read finds what the stream shows then.
 */
async function checkAgain(
  context: CollectionContext,
  read: typeof readShown,
): Promise<CheckedRights> {
  const { runtime, api, request, base, method, target } = context
  const again = new RequestContext(runtime, request, base, false)
  try {
    again.authenticated = await authenticate(api.schemes, request, api.baseUrl, () =>
      metadataAddress(api, base),
    )
    again.principal = again.authenticated?.principal
    again.target = again.viewTarget({ ...target, collection: toWhole(target.collection) })
    Object.assign(again, { method, operation: 'list', parameters: context.parameters })
    authorize(again, ['list'])
    return await read(toCollectionContext(again))
  } catch (error) {
    const status = error instanceof HttpError ? error.status : 500
    if (status >= 500) reportFailure(context, error)
    // An expired token is renewed, and the client goes on: what it has is still its own.
    return status >= 500 || status === 401 ? 'ended' : 'lost'
  }
}
