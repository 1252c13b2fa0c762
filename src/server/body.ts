// The body of a request, read once: as a form before its method is known, since the form may name it;
// any other after. readBody → chooseBodyFormat → decodeBody → the format's `read`.
import { HttpError } from '../errors.ts'
import type { HttpRequest } from '../http/message.ts'
import { effectiveMethod } from '../http/method-override.ts'
import type { ApiDefinition } from '../model/definition.ts'
import type { OperationContext } from '../operations/context.ts'
import { createUploads } from '../operations/uploads.ts'
import type { Awaitable } from '../schema/values.ts'
import {
  BodyContext,
  chooseBodyFormat,
  type Decoded,
  decodeBody,
  hasBody,
  peekBody,
} from './decode-body.ts'

/** Whether the body is sent as a form, which may name another method. */
export function isForm(api: ApiDefinition, request: HttpRequest): boolean {
  const type = request.headers['content-type']?.toLowerCase()
  if (type === undefined || !hasBody(request)) return false
  return api.formats.some(({ form, types }) => form && types.some(known => type.includes(known)))
}

/**
 * Reads the body of a POST that {@link isForm}, and the method that it names.
 * @throws HttpError 400, 413, 415
 */
export async function readForm(context: OperationContext): Promise<void> {
  const { request, method, extension, overrides } = context
  const content = chooseBodyFormat(request, context.api, method, extension)
  if (!content.format.form) return
  const decoded = await decode(context, content, request.body)
  context.method = effectiveMethod(request.method, [...overrides, ...decoded.overrides])
  context.body = decoded
}

/**
 * Reads the body of an operation that takes one.
 * @throws HttpError 400, 413, 415
 */
export function readBody(context: OperationContext): Awaitable<void> {
  const { api, request, method, extension } = context
  if (context.body || !hasBody(request)) return undefined
  if (request.method === 'POST' && method !== 'POST' && isForm(api, request))
    return readForm(context)
  if (method === 'DELETE' && !context.target.action) return undefined
  // What cannot be read is refused before anybody waits for it.
  const content = chooseBodyFormat(request, api, method, extension)
  return readContent(context, content)
}

async function readContent(
  context: OperationContext,
  content: ReturnType<typeof chooseBodyFormat>,
): Promise<void> {
  const { request } = context
  const body =
    request.headers['content-length'] === undefined ? await peekBody(request) : request.body
  if (body) context.body = await decode(context, content, body)
}

function decode(
  context: OperationContext,
  content: ReturnType<typeof chooseBodyFormat>,
  body: HttpRequest['body'],
): Promise<Decoded> {
  const { api, target, method } = context
  const { collection, action } = target
  // Remembered even where decoding fails: what is uploaded by then must be removed.
  if (!action) context.uploads = createUploads(context)
  const { uploads } = context
  const read = new BodyContext(context, content.type, {
    limits: api.limits,
    method,
    fields: action ? action.inputFields : collection.bodyFields,
    upload: uploads && ((field, file) => uploads.put(field, file)),
  })
  return decodeBody(body, content, read)
}

export function methodNotAllowed(method: string, allowed: string): HttpError {
  const message = `${method.slice(0, 32)} is not allowed here. Allowed: ${allowed}.`
  return new HttpError(405, [{ message, type: 'method_not_allowed' }], {
    headers: ['Allow', allowed],
  })
}
