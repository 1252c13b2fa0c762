// Heads and bodies for the rules: from what node:http and fetch give to what the functions of the core take.
import type { Awaitable, Json } from '../base/values.ts'
import type { ReadContext, Reader, Representation } from '../formats/format.ts'
import { buildLimits, type LimitOptions } from '../http/limits.ts'
import type { RequestHeaders } from '../http/message.ts'
import type { MediaType, Negotiated } from '../negotiate.ts'

/**
 * Reads the header fields of a request: names in lower case, repeated fields joined by `, `.
 * @param headers a `Headers`, or the `headers` of node:http. Their values are not checked.
 */
export function readHeaders(
  headers:
    | Iterable<readonly [string, string]>
    | Readonly<Record<string, string | readonly string[] | undefined>>,
): RequestHeaders {
  // Without a prototype: no inherited property looks like a header.
  const read: Record<string, string | undefined> = Object.create(null)
  const pairs = isIterable(headers) ? headers : Object.entries(headers)
  for (const [name, value] of pairs)
    read[name.toLowerCase()] = typeof value === 'object' ? value.join(', ') : value
  return read
}

function isIterable(
  headers: Parameters<typeof readHeaders>[0],
): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers
}

/** What a body is read with. */
export interface ReadBodyOptions
  extends Partial<Pick<ReadContext, 'fields' | 'method' | 'signal' | 'upload'>> {
  /** The `Content-Type`, for its `boundary` and `charset`. */
  readonly type?: MediaType | undefined
  /** The `Content-Length`, if the client sent one: a larger body than `limits.body` is refused before it is read. */
  readonly length?: number | undefined
  /** Default: those of an api. */
  readonly limits?: LimitOptions | undefined
}

/**
 * Reads a body to a JSON value, in a format that {@link chooseReader} chose. The value is not checked by a schema.
 * @param body the bytes: a `Request`'s body, or an `IncomingMessage`; null without a body.
 * @throws HttpError 400 for a malformed body, 413 for more than the limits allow.
 */
export function readBody(
  format: Reader,
  body: AsyncIterable<Uint8Array> | null,
  options: ReadBodyOptions = {},
): Awaitable<Json> {
  const { type, length, fields, limits, signal = new AbortController().signal, ...others } = options
  const parameters = type?.parameters ?? new Map()
  const context = { ...others, fields, length, signal, parameters, limits: buildLimits(limits) }
  return format.read(body ?? NO_BODY, context)
}

const NO_BODY: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} }

/**
 * Prints an item, a list, a document or errors in the format that {@link chooseFormat} chose.
 * @throws TypeError for a format that prints this as a stream, or not at all.
 */
export function printBody(
  { format, type }: Negotiated,
  representation: Representation,
): string | Uint8Array<ArrayBuffer> {
  const body = format.write?.(representation, type)
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new Uint8Array(body)
  throw new TypeError(`${format.name} does not print ${representation.kind} as a whole`)
}
