// Blobs in a bucket of S3 or of a service with its protocol (`rest-conventions/s3`).
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { createBlobKey, isBlobKey } from '../blobs/blob-key.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import * as rule from '../options.ts'
import { checkOptions, type Rules } from '../options.ts'
import { UnavailableError } from '../store/errors.ts'

/** What `s3Blobs` takes. */
export interface S3BlobOptions {
  /** A client of `@aws-sdk/client-s3` 3, with region and credentials. */
  readonly client: S3Client
  readonly bucket: string
  /**
   * The prefix of every key in the bucket, as it stands: `photos/` puts them in a folder. Objects with this prefix
   * that this store did not make are neither listed nor removed. Default none.
   */
  readonly prefix?: string | undefined
  /** Bytes of one part of an upload, which is held in memory. At least 5 MiB, as S3 requires; default 5 MiB. */
  readonly partSize?: number | undefined
}

const MIN_PART = 5 * 1024 * 1024

const RULES: Rules<S3BlobOptions> = {
  client: rule.needed(rule.having('a client of @aws-sdk/client-s3', 'send')),
  bucket: rule.needed(rule.FILLED_TEXT),
  prefix: rule.TEXT,
  partSize: rule.wholeFrom(MIN_PART, 'bytes'),
}

/**
 * Stores contents in a bucket. A content that fits in one part is put at once, a larger one by a
 * multipart upload, which is aborted where the content ends early. Give the bucket a lifecycle rule for
 * incomplete uploads, which removes what a crash leaves; the rule is not checked. Each part must be sent
 * within `limits.workTime`: 5 MiB in 5 s are 8 Mbit/s, so raise it for a slower connection. A download fails where S3 sends
 * nothing for so long. If S3 cannot be reached or answers 5xx, the request is a 503.
 */
export function s3Blobs(options: S3BlobOptions): BlobStore {
  checkOptions('s3Blobs', options, RULES)
  const { client, bucket, prefix = '', partSize = MIN_PART } = options
  const locate = (key: string) => ({ Bucket: bucket, Key: prefix + key })

  async function putLarge(
    key: string,
    first: Uint8Array,
    rest: AsyncIterator<Uint8Array>,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const { UploadId } = await ask(signal, options =>
      client.send(new CreateMultipartUploadCommand(locate(key)), options),
    )
    const upload = { ...locate(key), UploadId }
    const parts: CompletedPart[] = []
    let size = 0
    try {
      for (let part: Uint8Array | undefined = first; part; part = await readNext(rest)) {
        const PartNumber = parts.length + 1
        const command = new UploadPartCommand({ ...upload, PartNumber, Body: part })
        const { ETag } = await ask(signal, options => client.send(command, options))
        parts.push({ PartNumber, ETag })
        size += part.length
      }
      const command = new CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts: parts },
      })
      await ask(signal, options => client.send(command, options))
    } catch (error) {
      // The first error counts; the lifecycle rule removes parts that stay.
      const abortSignal = AbortSignal.timeout(ABORT_TIMEOUT_MS)
      const command = new AbortMultipartUploadCommand(upload)
      await client.send(command, { abortSignal }).catch(() => undefined)
      throw error
    }
    return size
  }

  return {
    async put(content, { signal } = {}) {
      const key = createBlobKey()
      const parts = splitParts(content, partSize)
      const first = (await readNext(parts)) ?? new Uint8Array()
      if (first.length >= partSize) return { key, size: await putLarge(key, first, parts, signal) }
      const command = new PutObjectCommand({ ...locate(key), Body: first })
      await ask(signal, options => client.send(command, options))
      return { key, size: first.length }
    },
    async get(key, range, { signal } = {}) {
      const Range = range && `bytes=${range.first}-${range.last}`
      const command = new GetObjectCommand({ ...locate(key), ...(Range && { Range }) })
      try {
        const { Body } = await ask(signal, options => client.send(command, options))
        return Body instanceof Readable ? readBody(Body, signal) : undefined
      } catch (error) {
        if (error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound'))
          return undefined
        throw error
      }
    },
    async delete(key, { signal } = {}) {
      if (!isBlobKey(key)) return
      const command = new DeleteObjectCommand(locate(key))
      await ask(signal, options => client.send(command, options))
    },
    async *keys() {
      let token: string | undefined
      do {
        const command = new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ...(token && { ContinuationToken: token }),
        })
        const page = await ask(AbortSignal.timeout(LIST_TIMEOUT_MS), options =>
          client.send(command, options),
        )
        for (const { Key = '', LastModified } of page.Contents ?? []) {
          const key = Key.slice(prefix.length)
          if (isBlobKey(key)) yield { key, createdAt: LastModified?.getTime() ?? 0 }
        }
        token = page.NextContinuationToken
      } while (token)
    },
  }
}

const ABORT_TIMEOUT_MS = 5000
/** For a page of 1,000 keys. */
const LIST_TIMEOUT_MS = 60_000

/** Asks the service. @throws UnavailableError where it cannot be reached or fails; the reason of the signal. */
async function ask<T>(
  signal: AbortSignal | undefined,
  send: (options: { abortSignal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    return await send(signal ? { abortSignal: signal } : {})
  } catch (error) {
    throw toStoreError(error, signal)
  }
}

/** Reads the body of an answer. Aborting the signal closes its connection. */
async function* readBody(
  body: Readable,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw toStoreError(error, signal)
  }
}

/** A refusal (4xx, such as a wrong bucket or key) is a mistake of the program, and stays as it is. */
function toStoreError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason
  if (!(error instanceof Error)) return error
  const { status, isNetwork } = describeError(error)
  const isUnavailable = status === undefined ? isNetwork : status >= 500 || status === 429
  return isUnavailable ? new UnavailableError('S3 cannot be reached', { cause: error }) : error
}

/** Reads the errors of the SDK: of the service with a status, of the network with a code as Node has them. */
function describeError(error: Error & { $metadata?: { httpStatusCode?: number }; code?: unknown }) {
  const { $metadata, code, name } = error
  const isNetwork = typeof code === 'string' || name === 'TimeoutError'
  return { status: $metadata?.httpStatusCode, isNetwork }
}

async function readNext(parts: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> {
  const { done, value } = await parts.next()
  return done ? undefined : value
}

/** Splits a content into parts of one size; the last one may be shorter. */
async function* splitParts(
  content: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array> {
  let chunks: Uint8Array[] = []
  let held = 0
  for await (const chunk of content) {
    let rest = chunk
    while (held + rest.length >= size) {
      const part = rest.subarray(0, size - held)
      yield Buffer.concat([...chunks, part])
      rest = rest.subarray(part.length)
      chunks = []
      held = 0
    }
    if (rest.length > 0) {
      chunks.push(rest)
      held += rest.length
    }
  }
  if (held > 0) yield Buffer.concat(chunks)
}
