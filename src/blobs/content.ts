// Contents as streams of bytes: limited, hashed, and peeked at while they pass.
import type { Hash } from 'node:crypto'
import { HttpError } from '../errors.ts'
import { SNIFFED_BYTES } from '../schema/media-type.ts'

/** A content of one chunk. */
export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Puts chunks that were read ahead before the rest. No generator: it would add a promise for each chunk. */
export function prependChunks<T>(first: T[], rest: AsyncIterator<T>): AsyncIterableIterator<T> {
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      const value = first.shift()
      return value === undefined ? rest.next() : Promise.resolve({ value, done: false })
    },
    async return(value) {
      first.length = 0
      await rest.return?.()
      return { value, done: true }
    },
  }
}

/** The error for a file over its limit, in bytes. */
export function uploadTooLarge(field: string, limit: number): HttpError {
  const message = `${field} may have at most ${limit} bytes`
  return new HttpError(413, [{ message, field, type: 'upload_too_large' }])
}

/**
 * Passes a content on, and adds it to a hash.
 * @throws HttpError 413, as soon as the content is over the limit.
 */
export async function* limitContent(
  content: AsyncIterable<Uint8Array>,
  limit: number,
  field: string,
  hash?: Hash,
): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > limit) throw uploadTooLarge(field, limit)
    hash?.update(chunk)
    yield chunk
  }
}

/** Reads the first bytes of a content, and returns them beside the whole content. */
export async function peekContent(content: AsyncGenerator<Uint8Array>) {
  const first: Uint8Array[] = []
  let size = 0
  while (size < SNIFFED_BYTES) {
    const { done, value } = await content.next()
    if (done) break
    first.push(value)
    size += value.length
  }
  return { start: Buffer.concat(first), content: prependChunks(first, content) }
}
