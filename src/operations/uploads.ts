// The contents that a request brings, on their way to the blob store.
import { createHash, type Hash } from 'node:crypto'
import type { BlobStore } from '../blobs/blob-store.ts'
import { isAccepted, SNIFFED_BYTES, sniffType } from '../blobs/media-type.ts'
import { type ErrorType, HttpError } from '../errors.ts'
import { followedBy, uploadTooLarge } from '../formats/read-body.ts'
import { withinTime } from '../http/timeouts.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { type BlobRecord, isRecord, listBlobFields } from '../schema/blob.ts'
import { findField } from '../schema/fields.ts'
import { toPath } from '../schema/paths.ts'
import type { Uploads } from './context.ts'
import { translateStoreError } from './store-errors.ts'

export interface UploadOptions {
  /** The most bytes of one content. */
  readonly limit: number
  /** Milliseconds that the blob store may take for each piece of one. */
  readonly time: number
  /** Made when a content comes. */
  readonly signal: () => AbortSignal
  /** Whether contents will be compared with those of another request: hashing costs half of an upload. */
  readonly digests: boolean
}

export function createUploads(
  { blobs, inputFields }: CollectionDefinition,
  { limit, time, signal, digests: compared }: UploadOptions,
): Uploads | undefined {
  if (!blobs) return undefined
  const records = new Map<string, BlobRecord>()
  const digests = new Map<string, string>()
  return {
    async put(field, { name, content }) {
      const declared = findField(inputFields, toPath(field))
      if (declared?.kind !== 'blob') {
        const takers = listBlobFields(inputFields).join(', ')
        throw issue(field, `${field} takes no file; there are ${takers}`, 'unexpected_file')
      }
      const peeked = await peek(limited(content, limit, field))
      const type = sniffType(peeked.start)
      if (!isAccepted(type, declared.accept)) {
        throw issue(
          field,
          `${field} must be ${declared.accept?.join(' or ')}, not ${type}`,
          'unaccepted_type',
        )
      }
      const hash = compared ? createHash('sha256') : undefined
      const bytes = hash ? hashed(peeked.content, hash) : peeked.content
      const { key, size } = await putInTime(blobs, bytes, time, signal()).catch(error => {
        throw translateStoreError(error)
      })
      const record: BlobRecord = {
        key,
        type,
        size,
        updated_at: new Date().toISOString(),
        ...(name !== undefined && { name }),
      }
      records.set(key, record)
      if (hash) digests.set(key, hash.digest('base64url'))
      return { ...record }
    },
    find: key => records.get(key),
    digest: key => digests.get(key),
    keep(item) {
      for (const value of Object.values(item)) if (isRecord(value)) records.delete(value.key)
    },
    async discard() {
      const keys = [...records.keys()]
      records.clear()
      await removeContents(blobs, keys)
    },
  }
}

/**
 * A content put, unless that takes too long: what the store keeps of it later is removed.
 * @throws HttpError 503
 */
async function putInTime(
  blobs: BlobStore,
  content: AsyncIterator<Uint8Array>,
  time: number,
  signal: AbortSignal,
) {
  const ended = new AbortController()
  const abort = () => ended.abort(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  let late = false
  const put = async (pieces: AsyncIterable<Uint8Array>) => {
    const kept = await blobs.put(pieces, { signal: ended.signal })
    if (late) await removeContents(blobs, [kept.key])
    return kept
  }
  try {
    return await withinTime(content, time, put, error => {
      late = true
      ended.abort(error)
    })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** How long the removal of contents is waited for, in milliseconds. */
const PATIENCE = 1000

/**
 * Removes contents that nobody needs. Whatever happens here, the answer stands, and does not wait for
 * long: what stays behind is an orphan, which a sweep removes.
 */
export async function removeContents(blobs: BlobStore, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, PATIENCE)
  })
  await Promise.race([Promise.allSettled(keys.map(async key => blobs.delete(key))), late])
  clearTimeout(timer)
}

function issue(field: string, message: string, type: ErrorType): HttpError {
  return new HttpError(400, [{ message, field, type }])
}

/** Ends with a 413 as soon as the content is over the limit. */
async function* limited(
  content: AsyncIterable<Uint8Array>,
  limit: number,
  field: string,
): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > limit) throw uploadTooLarge(field, limit)
    yield chunk
  }
}

async function* hashed(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}

/** A content with its first bytes told before anybody takes it. */
async function peek(content: AsyncGenerator<Uint8Array>) {
  const first: Uint8Array[] = []
  let size = 0
  while (size < SNIFFED_BYTES) {
    const { done, value } = await content.next()
    if (done) break
    first.push(value)
    size += value.length
  }
  return { start: Buffer.concat(first), content: followedBy(first, content) }
}
