// The body of this request: a form before its method is known, since that may stand in it; any other
// after, where the operation takes one.

import type { HttpRequest, RequestBody } from '../http/message.ts'
import type { ApiDefinition } from '../model/definition.ts'
import type { CollectionTarget, Match } from '../model/routes.ts'
import type { Uploads } from '../operations/call.ts'
import { createUploads } from '../operations/uploads.ts'
import type { RequestContext } from './context.ts'
import {
  type Content,
  contentOf,
  type Decoded,
  decodeBody,
  hasBody,
  peekBody,
} from './decode-body.ts'

/** Whether the body is of a form: `_method` in it counts. */
export function isForm(api: ApiDefinition, request: HttpRequest): boolean {
  const type = request.headers['content-type']?.toLowerCase()
  if (type === undefined || !hasBody(request)) return false
  return api.formats.some(({ form, types }) => form && types.some(known => type.includes(known)))
}

/** The operations that a form may stand for; a long query is never sent as parts. */
export function meantBy({ headers }: HttpRequest, { methods }: Match): string[] {
  const parts = headers['content-type']?.toLowerCase().includes('multipart/') === true
  return [...methods]
    .filter(([method]) => !parts || (method !== 'GET' && method !== 'HEAD'))
    .map(([, operation]) => operation)
}

/**
 * Reads the body of a POST that {@link isForm}: only then the method is known.
 * @returns `undefined` where its type only looks like that of a form.
 * @throws HttpError 400, 413, 415
 */
export async function readForm(
  api: ApiDefinition,
  exchange: RequestContext,
  target: CollectionTarget,
): Promise<Decoded | undefined> {
  const { request, method, extension } = exchange
  const content = contentOf(request, api, method, extension)
  if (!content.format.form) return undefined
  return readContent(api, exchange, request.body, content, target)
}

function readContent(
  api: ApiDefinition,
  exchange: RequestContext,
  body: RequestBody | undefined,
  content: Content,
  target: CollectionTarget,
): Promise<Decoded> {
  const { limits } = api
  const { collection, action } = target
  const { request, method } = exchange
  const fields = action ? action.inputFields : collection.takenFields
  const uploads = action ? undefined : uploadsFor(api, request, target)
  exchange.uploads = uploads
  return decodeBody(request, body, content, {
    limits,
    method,
    fields,
    sent: pairs => {
      exchange.sent = pairs
    },
    ...(uploads && { upload: uploads.put }),
  })
}

/** Where the contents go that this request brings; `undefined` where the collection takes none. */
export function uploadsFor(
  { limits }: ApiDefinition,
  request: HttpRequest,
  target: CollectionTarget,
): Uploads | undefined {
  return createUploads(target.collection, {
    limit: limits.upload,
    time: limits.workTime,
    signal: () => request.signal,
    digests: request.headers['idempotency-key'] !== undefined,
  })
}

/** The operations that take a body; of any other it is ignored. */
export function takesBody(operation: string, method: string): boolean {
  return method !== 'GET' && method !== 'HEAD' && operation !== 'delete'
}

/**
 * Reads the body of this request.
 * @returns `undefined` where it turns out to have none.
 * @throws HttpError 400, 413, 415
 */
export async function readBody(
  api: ApiDefinition,
  exchange: RequestContext,
  target: CollectionTarget,
): Promise<Decoded | undefined> {
  const { request, method, extension } = exchange
  // What cannot be read is refused before anybody waits for it.
  const content = contentOf(request, api, method, extension)
  const body = await peekBody(request)
  return body && readContent(api, exchange, body, content, target)
}
