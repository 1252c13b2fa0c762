// What is known of a request while it is answered.
import { randomUUID } from 'node:crypto'
import type { Principal } from '../auth/scheme.ts'
import { neverUnmodified, type Preconditions, readPreconditions } from '../http/conditional.ts'
import { isRead, type Parameter } from '../http/message.ts'
import { withIfMatch } from '../http/method-override.ts'
import type { Workload } from '../http/timeouts.ts'
import type { ApiDefinition, CollectionDefinition, VersionDefinition } from '../model/definition.ts'
import type { Match, Router } from '../model/routes.ts'
import { chooseFormat, type Negotiated } from '../negotiate.ts'
import type { Uploads } from '../operations/call.ts'
import type { Sender } from './authorize.ts'
import type { ServedDocument } from './documents.ts'
import type { ViewInput } from './page-view.ts'

/** An api ready to answer. */
export interface Runtime {
  readonly api: ApiDefinition
  readonly router: Router
  readonly documents: ReadonlyMap<string, ServedDocument>
  readonly workload: Workload
}

/** Each step adds to it. */
export interface RequestContext extends ViewInput {
  /** The client's id of the request, or one made here once somebody asks: see {@link getRequestId}. */
  id: string | undefined
  readonly started: number
  readonly sender: Sender
  /** How long the steps took, where the api tells: `Server-Timing`. */
  readonly timings: string[]
  /** Whether the answer's status may only be 200 or 500. */
  suppressed: boolean
  method: string
  match: Match | undefined
  route: string | undefined
  /** The collection's name, for events. */
  collection: string | undefined
  operation: string | undefined
  parameters: readonly Parameter[]
  sent: ViewInput['sent']
  may: (collection: CollectionDefinition, operation: string) => boolean
  negotiated: Negotiated | undefined
  extension: string | undefined
  version: VersionDefinition | undefined
  /** The public address of the api, once it is known. */
  base: string | undefined
  principal: Principal | undefined
  uploads: Uploads | undefined
}

/** The id of a request, for logs. */
export function getRequestId(exchange: RequestContext): string {
  exchange.id ??= randomUUID()
  return exchange.id
}

export function negotiate(
  api: ApiDefinition,
  { request, extension }: Pick<RequestContext, 'request' | 'extension'>,
): Negotiated | undefined {
  return chooseFormat(api.formats, { extension, accept: request.headers.accept }, api.limits.accept)
}

/** A POST that says it is a read: 304 and 206 are answers to GET alone (RFC 9110 §13.1.2, §14.2). */
export function standsForRead({ request, method }: RequestContext): boolean {
  return request.method === 'POST' && isRead(method)
}

/** The conditions that count: none that makes a 304 for who cannot be answered so. */
export function getPreconditions(exchange: RequestContext): Preconditions {
  const { request, method, suppressed, sent } = exchange
  const preconditions = readPreconditions(withIfMatch(request.headers, sent), method)
  const reads = isRead(method)
  const whole = (reads && suppressed) || standsForRead(exchange)
  return whole ? neverUnmodified(preconditions) : preconditions
}
