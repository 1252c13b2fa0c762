// The body of a request, decoded once: which format reads it, and the `_method` that a form carries.
import { followedBy } from '../blobs/content.ts'
import { HttpError, type Issue } from '../errors.ts'
import type { ReadContext, Reader } from '../formats/format.ts'
import { json } from '../formats/json.ts'
import { JSON_PATCH_TYPE, MERGE_PATCH_TYPE } from '../formats/patch.ts'
import { WholeBody } from '../formats/read-body.ts'
import type { BodyStream, HttpRequest, RequestBody } from '../http/message.ts'
import { METHOD_PARAMETER } from '../http/method-override.ts'
import { Remembered } from '../http/remembered.ts'
import type { ApiDefinition } from '../model/definition.ts'
import { chooseReader, type MediaType, parseMediaType, unsupportedMediaType } from '../negotiate.ts'
import type { DecodedBody, RequestContext } from '../operations/context.ts'
import { type Awaitable, isObject, type Json } from '../schema/values.ts'

/** A body whose format is known and whose bytes are still to be read. */
export interface ChosenReader {
  readonly format: Reader
  readonly type: MediaType | undefined
}

/** Whether the request has a body at all. */
export function hasBody({ body, headers }: HttpRequest): boolean {
  return body !== undefined && ('parsed' in body || headers['content-length'] !== '0')
}

/** The body, where a byte of it comes: one whose length was not told may have none. */
export async function peekBody({ body, headers }: HttpRequest): Promise<RequestBody | undefined> {
  if (!body || 'parsed' in body || headers['content-length'] !== undefined) return body
  const chunks = body[Symbol.asyncIterator]()
  let next = await chunks.next()
  while (!next.done && next.value.length === 0) next = await chunks.next()
  return next.done ? undefined : followedBy([next.value], chunks)
}

/**
 * Finds the format of a body by its `Content-Type`, else the URL's extension. A merge patch is read by its
 * `+json` suffix; `applyPatch` tells the two kinds of patches apart.
 * @throws HttpError 415 for a type or a content coding that is not read here, 400 for a part of a
 * representation (RFC 9110 §14.5).
 */
export function chooseBodyFormat(
  { headers }: HttpRequest,
  { formats }: Pick<ApiDefinition, 'formats'>,
  method: string,
  extension: string | undefined,
): ChosenReader {
  const coding = headers['content-encoding']?.trim().toLowerCase()
  if (coding && coding !== 'identity') {
    const message = 'The body may not be compressed'
    throw new HttpError(415, [{ message, field: 'content-encoding', type: 'unsupported_coding' }], {
      headers: ['Accept-Encoding', 'identity'],
    })
  }
  if (method === 'PUT' && headers['content-range'] !== undefined) {
    const message = 'A PUT replaces the whole; for a part of it send PATCH'
    throw new HttpError(400, [{ message, field: 'content-range', type: 'unsupported_range' }])
  }
  const text = headers['content-type']
  const type = text === undefined ? undefined : mediaTypes.get(text, parseMediaType)
  const format = text !== undefined && !type ? undefined : chooseReader(formats, type, extension)
  const patch = type?.type === JSON_PATCH_TYPE || type?.type === MERGE_PATCH_TYPE
  if (!format || (patch && method !== 'PATCH')) {
    const patches = method === 'PATCH' ? [MERGE_PATCH_TYPE, JSON_PATCH_TYPE] : []
    throw unsupportedMediaType(formats, method, text, patches)
  }
  return { format, type }
}

const mediaTypes = new Remembered<MediaType | undefined>(200, 128)

/** A decoded body; `overrides` are the methods that a form names. */
export interface Decoded extends DecodedBody {
  readonly overrides: readonly string[]
}

type Pairs = Parameters<NonNullable<ReadContext['submitted']>>[0]

/** The request whose body it is. */
type Owner = Pick<RequestContext, 'request' | 'submitted'>

type BodyOptions = Pick<ReadContext, 'limits' | 'fields'> &
  Required<Pick<ReadContext, 'method'>> & { readonly upload?: ReadContext['upload'] | undefined }

/** A class for its methods: functions of each request would live long (see the rules in docs/architecture.md). */
export class BodyContext implements ReadContext {
  readonly fields: ReadContext['fields']
  readonly limits: ReadContext['limits']
  readonly parameters: ReadContext['parameters']
  readonly length: number | undefined
  readonly method: string
  readonly issues: Issue[] = []
  readonly upload?: NonNullable<ReadContext['upload']>
  /** The pairs of a form, once it was read. */
  pairs: Pairs = []
  readonly #owner: Owner

  constructor(
    owner: Owner,
    type: MediaType | undefined,
    { fields, limits, method, upload }: BodyOptions,
  ) {
    const length = owner.request.headers['content-length']
    this.fields = fields
    this.limits = limits
    this.method = method
    this.parameters = type?.parameters ?? NO_PARAMETERS
    this.length = length === undefined ? undefined : Number(length)
    if (upload) this.upload = upload
    this.#owner = owner
  }

  get signal(): AbortSignal {
    return this.#owner.request.signal
  }

  submitted(pairs: Pairs): void {
    this.pairs = pairs
    this.#owner.submitted = pairs
  }
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/**
 * Reads and decodes a body.
 * @throws HttpError 400, 413, 415
 */
export async function decodeBody(
  body: RequestBody = { parsed: undefined },
  { format, type }: ChosenReader,
  context: BodyContext,
): Promise<Decoded> {
  const value = await readValue(body, format, context)
  const { issues, pairs } = context
  const { form } = format
  const taken = form ? takeOverrides(value, pairs) : { value, overrides: NO_OVERRIDES }
  return { type: type?.type, form, issues, ...taken }
}

const NO_OVERRIDES: readonly string[] = []

function readValue(body: RequestBody, format: Reader, context: BodyContext): Awaitable<Json> {
  if (!('parsed' in body)) return readStream(body, format, context)
  if (format.name === 'multipart') checkParsed(body)
  const { parsed } = body
  // What a host server has read but not parsed is bytes again.
  const bytes = typeof parsed === 'string' ? Buffer.from(parsed) : parsed
  if (bytes instanceof Uint8Array) return format.read(new WholeBody(bytes), context)
  // Without `receive` a parsed value is taken as JSON would be.
  const receive = format.receive ?? json.receive
  return receive(parsed, context)
}

async function readStream(body: BodyStream, format: Reader, context: BodyContext): Promise<Json> {
  const bytes = await body.whole?.()
  return format.read(bytes ? new WholeBody(bytes) : body, context)
}

/** @throws TypeError where files are lost: the program's issue, which no client can mend. */
function checkParsed({ parsed, withoutFiles }: { parsed: unknown; withoutFiles?: boolean }): void {
  if (!withoutFiles && typeof parsed !== 'string') return
  throw new TypeError(
    'A body parser in front has taken the files of a multipart body: let it stand behind the api, or hand on the bytes, as express.raw() does',
  )
}

/** A form's `_method` is the request's, not a property of the item; each one counts, since they must agree. */
function takeOverrides(value: Json, pairs: Pairs): Pick<Decoded, 'value' | 'overrides'> {
  const named = pairs.flatMap(([name, part]) => (name === METHOD_PARAMETER ? [part] : []))
  if (!isObject(value) || !Object.hasOwn(value, METHOD_PARAMETER)) {
    return { value, overrides: named.map(printOverride) }
  }
  const { [METHOD_PARAMETER]: other, ...rest } = value
  return { value: rest, overrides: [...named, other].map(printOverride) }
}

/** @param part of a form: a text, or parsed JSON. */
function printOverride(part: unknown): string {
  const value = isObject(part) && 'json' in part ? part.json : part
  return typeof value === 'string' ? value : JSON.stringify(value)
}
