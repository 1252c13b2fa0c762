// What the tests of every format need: a body, a context, what was refused.

import type { Json } from '../../src/base/values.ts'
import { HttpError } from '../../src/errors.ts'
import type { Format, ReadContext, Representation } from '../../src/formats/format.ts'
import { buildLimits, type Limits } from '../../src/http/limits.ts'
import type { Fields } from '../../src/schema/fields.ts'

/** A body in chunks of at most `size` bytes. */
export async function* bodyOf(
  content: string | Uint8Array,
  size = 65_536,
): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export interface ReadOptions {
  readonly fields?: Fields | undefined
  readonly limits?: Partial<Limits>
  readonly parameters?: Record<string, string>
  readonly length?: number
  readonly signal?: AbortSignal
  readonly upload?: ReadContext['upload']
}

export function contextOf({
  fields,
  limits,
  parameters,
  length,
  signal,
  upload,
}: ReadOptions = {}): ReadContext {
  return {
    fields,
    limits: buildLimits(limits),
    parameters: new Map(Object.entries(parameters ?? {})),
    length,
    signal: signal ?? new AbortController().signal,
    ...(upload && { upload }),
  }
}

export async function readBody(
  format: Format,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  options: ReadOptions = {},
): Promise<Json> {
  if (!format.read) throw new TypeError(`${format.name} reads nothing`)
  const body =
    typeof content === 'string' || content instanceof Uint8Array ? bodyOf(content) : content
  return format.read(body, contextOf(options))
}

/** The refusal that a promise ends in; anything else fails the test. */
export async function refusalOf(promise: Promise<unknown>): Promise<HttpError> {
  const result = await promise.then(
    value => new TypeError(`Accepted: ${JSON.stringify(value)?.slice(0, 200)}`),
    (error: unknown) => error,
  )
  if (result instanceof HttpError) return result
  throw result
}

/** What a format prints, whole. */
export async function printed(format: Format, representation: Representation): Promise<string> {
  const body = format.write?.(representation, format.types[0] ?? '')
  if (typeof body === 'string') return body
  if (body === undefined || body instanceof Uint8Array) throw new TypeError('Not a text')
  let text = ''
  for await (const chunk of body) text += Buffer.from(chunk).toString()
  return text
}
