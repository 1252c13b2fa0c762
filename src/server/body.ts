// The body of a request, read once: as a form before its method is known, since the form may name it;
// any other after. readRequestBody → chooseBodyFormat → decode → the format's `read`.

import { memoize } from '../base/memoize.ts'
import { Remembered } from '../base/remembered.ts'
import { type Awaitable, andThen, getProperty, isObject, type Json, omit } from '../base/values.ts'
import { prependChunks } from '../blobs/content.ts'
import { HttpError, type Issue } from '../errors.ts'
import type { ReadContext, Reader } from '../formats/format.ts'
import { json } from '../formats/json.ts'
import { JSON_PATCH_TYPE, MERGE_PATCH_TYPE } from '../formats/patch.ts'
import { WholeBody } from '../formats/read-body.ts'
import type { BodyStream, HttpRequest, RequestBody } from '../http/message.ts'
import { effectiveMethod, METHOD_PARAMETER } from '../http/method-override.ts'
import type { ApiDefinition } from '../model/types/definition.ts'
import {
  chooseReader,
  type MediaType,
  parseMediaType,
  readTypes,
  unsupportedMediaType,
} from '../negotiate.ts'
import {
  type CollectionContext,
  type RequestContext,
  toCollectionContext,
} from '../operations/calls/context.ts'
import type { DecodedBody } from '../operations/calls/decoded-body.ts'
import type { Uploads } from '../operations/calls/uploads.ts'
import { takesArrays } from '../store/writes.ts'

type WithBody = HttpRequest & { readonly body: RequestBody }

export function hasBody(request: HttpRequest): request is WithBody {
  const { body, headers } = request
  return body !== undefined && ('parsed' in body || headers['content-length'] !== '0')
}

/** Whether the body is sent as a form, which may name another method. */
export function isForm(api: ApiDefinition, request: HttpRequest): request is WithBody {
  const type = request.headers['content-type']
  return type !== undefined && hasBody(request) && namesForm(api.formats)(type)
}

/** Even a malformed type that names a form is one: it must not be taken for a POST of its own. */
const namesForm = memoize((formats: ApiDefinition['formats']) => {
  const forms = formats.flatMap(({ form, types }) => (form ? types : []))
  const known = new Remembered<boolean>(200, 128)
  return (text: string) =>
    known.get(text, () => {
      const type = text.toLowerCase()
      return forms.some(each => type.includes(each))
    })
})

/**
 * Reads the body of a POST that {@link isForm}, and the method that it names.
 * @throws HttpError 400, 413, 415
 */
export async function readForm(context: CollectionContext, request: WithBody): Promise<void> {
  const chosen = chooseBodyFormat(context)
  if (!chosen.format.form) return
  await decode(context, chosen, request.body)
  context.method = effectiveMethod(request.method, context.overrides)
}

/**
 * Reads the body of an operation that takes one.
 * @throws HttpError 400, 413, 415
 */
export function readRequestBody(requested: RequestContext): Awaitable<void> {
  const context = toCollectionContext(requested)
  const { api, request, method } = context
  if (context.body || !hasBody(request)) return undefined
  if (request.method === 'POST' && method !== 'POST' && isForm(api, request))
    return readForm(context, request)
  if (method === 'DELETE' && !context.target.action) return undefined
  // An unreadable type is refused before the body is awaited.
  const chosen = chooseBodyFormat(context)
  if (request.headers['content-length'] !== undefined || 'parsed' in request.body)
    return decode(context, chosen, request.body)
  return peekBody(request.body).then(body => (body ? decode(context, chosen, body) : undefined))
}

/** Waits for the first byte of a body of unknown length; `undefined` for an empty one. */
async function peekBody(body: BodyStream): Promise<BodyStream | undefined> {
  const chunks = body[Symbol.asyncIterator]()
  let next = await chunks.next()
  while (!next.done && next.value.length === 0) next = await chunks.next()
  return next.done ? undefined : prependChunks([next.value], chunks)
}

/** A format that reads, and the media type of the body. */
interface ChosenReader {
  readonly format: Reader
  readonly type: MediaType | undefined
  /** Present for a list of items to create: collects the line of each. */
  readonly lines?: number[]
}

/**
 * Finds the format of a body by its `Content-Type`, else the URL's extension. A merge patch is read by its
 * `+json` suffix; `applyPatch` tells the two kinds of patches apart.
 * @throws HttpError 415 for an unknown type or content coding, 400 for a part of a representation
 * (RFC 9110 §14.5).
 */
function chooseBodyFormat(context: CollectionContext): ChosenReader {
  const { method, extension } = context
  const { headers } = context.request
  const { formats } = context.api
  requireUncompressed(context.request)
  if (method === 'PUT' && headers['content-range'] !== undefined) {
    const message =
      'A PUT cannot have Content-Range, because it replaces the whole item. Leave the header out, or send PATCH for a part'
    throw new HttpError(400, [{ message, field: 'content-range', type: 'unsupported_range' }])
  }
  const text = headers['content-type']
  const { type, format } =
    text === undefined
      ? { type: undefined, format: chooseReader(formats, undefined, extension) }
      : findReader(formats)(text)
  const items = format ? undefined : chooseItemsReader(context, type)
  if (items) return { format: items, type, lines: [] }
  const patch = type?.type === JSON_PATCH_TYPE || type?.type === MERGE_PATCH_TYPE
  if (!format || (patch && method !== 'PATCH')) {
    const patches = method === 'PATCH' ? [MERGE_PATCH_TYPE, JSON_PATCH_TYPE] : []
    const types = readTypes(formats, createsItems(context))
    throw unsupportedMediaType([...types, ...patches], method, text)
  }
  return { format, type }
}

/** @throws HttpError 415 */
export function requireUncompressed({ headers }: Pick<HttpRequest, 'headers'>): void {
  const coding = headers['content-encoding']?.trim().toLowerCase()
  if (!coding || coding === 'identity') return
  const message = 'The body may not be compressed. Send it without Content-Encoding'
  throw new HttpError(415, [{ message, field: 'content-encoding', type: 'unsupported_coding' }], {
    headers: ['Accept-Encoding', 'identity'],
  })
}

/** Whether a request may create an array of items. */
function createsItems({ method, target: { kind, collection } }: CollectionContext): boolean {
  return method === 'POST' && kind === 'collection' && takesArrays(collection.store)
}

/** Finds the format of a list of items to create, where an array can be. */
function chooseItemsReader(
  context: CollectionContext,
  type: MediaType | undefined,
): Reader | undefined {
  const { api } = context
  if (!type || !createsItems(context)) return undefined
  const format = api.formats.find(({ readItems, types }) => readItems && types.includes(type.type))
  return format?.readItems && { ...format, read: format.readItems }
}

/** What is remembered of a `Content-Type`. */
interface Known {
  readonly type: MediaType | undefined
  readonly format: Reader | undefined
}

/** Parses a `Content-Type` and finds its format; both are absent of a malformed one. */
const findReader = memoize((formats: ApiDefinition['formats']) => {
  const known = new Remembered<Known>(200, 128)
  return (text: string) =>
    known.get(text, () => {
      const type = parseMediaType(text)
      return { type, format: type && chooseReader(formats, type) }
    })
})

/**
 * Reads and decodes a body into the context, with the methods that a form names.
 * @throws HttpError 400, 413, 415
 */
function decode(
  context: CollectionContext,
  chosen: ChosenReader,
  body: RequestBody,
): Awaitable<void> {
  const { format, type, lines } = chosen
  const reading = new BodyContext(context, type, lines)
  return andThen(readValue(body, format, reading), value => {
    const decoded = { value, issues: reading.issues, type: type?.type, form: format.form, lines }
    if (format.form) decodeForm(context, decoded)
    else context.body = decoded
  })
}

function decodeForm(context: CollectionContext, decoded: DecodedBody): void {
  const { value } = decoded
  // A form's `_method` is the request's, not a property of the item.
  const rest = isObject(value) ? omit(value, OVERRIDE) : value
  context.body = { ...decoded, value: rest }
  const pairs = context.submitted ?? []
  const named = pairs.flatMap(([name, part]) => (name === METHOD_PARAMETER ? [part] : []))
  const own = getProperty(value, METHOD_PARAMETER) ?? []
  context.overrides = [...context.overrides, ...[named, own].flat().map(printOverride)]
}

const OVERRIDE: ReadonlySet<string> = new Set([METHOD_PARAMETER])

/** @param part of a form: a text, or parsed JSON. */
function printOverride(part: unknown): string {
  const value = isObject(part) && 'json' in part ? part.json : part
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A class for its methods: functions of each request would live long (see the rules in docs/architecture.md). */
class BodyContext implements ReadContext {
  readonly fields: ReadContext['fields']
  readonly limits: ReadContext['limits']
  readonly parameters: ReadContext['parameters']
  readonly length: number | undefined
  readonly method: string
  readonly issues: Issue[] = []
  readonly upload?: Uploads['put']
  readonly lines?: number[]
  readonly #context: CollectionContext

  constructor(
    context: CollectionContext,
    type: MediaType | undefined,
    lines: number[] | undefined,
  ) {
    const { action, collection } = context.target
    const length = context.request.headers['content-length']
    this.fields = action ? action.inputFields : collection.bodyFields
    this.limits = context.api.limits
    this.method = context.method
    this.parameters = type?.parameters ?? NO_PARAMETERS
    if (lines) this.lines = lines
    this.length = length === undefined ? undefined : Number(length)
    // An action takes no files, but its `update` may give contents.
    const uploads = action ? undefined : context.uploads
    // Only with files, where a function is little beside the cost of an upload.
    if (uploads) this.upload = (field, file) => uploads.put(field, file)
    this.#context = context
  }

  get signal(): AbortSignal {
    return this.#context.request.signal
  }

  submitted(pairs: NonNullable<CollectionContext['submitted']>): void {
    this.#context.submitted = pairs
  }
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/** Reads a body by its format, or converts the value that a host server has parsed. */
export function readValue(
  body: RequestBody,
  format: Reader,
  context: ReadContext,
): Awaitable<Json> {
  if (!('parsed' in body)) return readStream(body, format, context)
  const { parsed, withoutFiles } = body
  if (format.name === 'multipart' && (withoutFiles || typeof parsed === 'string'))
    throw new TypeError(
      'A body parser before the api took the files of a multipart body. Mount it after the api, or let it pass on the bytes',
    )
  // What a host server has read but not parsed is bytes again.
  const bytes = typeof parsed === 'string' ? Buffer.from(parsed) : parsed
  if (bytes instanceof Uint8Array) return format.read(new WholeBody(bytes), context)
  // Without `receive` a parsed value is taken as JSON would be.
  const receive = format.receive ?? json.receive
  return receive(parsed, context)
}

function readStream(body: BodyStream, format: Reader, context: ReadContext): Awaitable<Json> {
  return andThen(body.whole?.(), bytes => format.read(bytes ? new WholeBody(bytes) : body, context))
}
