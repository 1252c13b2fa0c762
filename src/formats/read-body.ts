// The bytes and the text of a body, under the limits that every format shares.
import { isAscii } from 'node:buffer'
import type { Awaitable } from '../base/values.ts'
import { HttpError, quote } from '../errors.ts'
import type { Limits } from '../http/limits.ts'
import type { ReadContext } from './format.ts'

/**
 * Reads a whole body.
 * @throws HttpError 413 as soon as it is over the limit, or announced to be.
 */
export async function readBytes(
  body: AsyncIterable<Uint8Array>,
  {
    limits,
    length = 0,
  }: { readonly limits: Pick<Limits, 'body'>; readonly length?: number | undefined },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  checkSize(length, limits.body)
  for await (const chunk of body) {
    size += chunk.length
    checkSize(size, limits.body)
    chunks.push(chunk)
  }
  const [only] = chunks
  return only && chunks.length === 1 ? only : Buffer.concat(chunks)
}

function checkSize(size: number, limit: number): void {
  if (size <= limit) return
  const message = `The body may have at most ${limit} bytes`
  throw new HttpError(413, [{ message, type: 'body_too_large' }])
}

/** A body that is there as a whole. */
export class WholeBody implements AsyncIterable<Uint8Array> {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    yield this.bytes
  }
}

/**
 * Reads a whole body as text, at once where it is there.
 * @throws HttpError as {@link readBytes} and {@link decodeText} do.
 */
export function readText(
  body: AsyncIterable<Uint8Array>,
  context: Pick<ReadContext, 'limits' | 'length' | 'parameters'>,
): Awaitable<string> {
  const charset = context.parameters.get('charset')
  if (!(body instanceof WholeBody))
    return readBytes(body, context).then(bytes => decodeText(bytes, charset))
  checkSize(body.bytes.length, context.limits.body)
  return decodeText(body.bytes, charset)
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes UTF-8 strictly; a byte order mark is dropped.
 * @throws HttpError 400 for invalid bytes, 415 for a `charset` other than UTF-8 or US-ASCII.
 */
export function decodeText(bytes: Uint8Array, charset = 'utf-8'): string {
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    const message = `The charset must be utf-8, not ${quote(charset, 32)}`
    throw new HttpError(415, [{ message, type: 'unsupported_charset' }])
  }
  if (isAscii(bytes))
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new HttpError(400, [{ message: 'The body is not valid UTF-8', type: 'invalid_encoding' }])
  }
}
