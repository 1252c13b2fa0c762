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
import {
  checkOptions,
  FILLED_TEXT,
  having,
  needed,
  type Rules,
  TEXT,
  wholeFrom,
} from '../options.ts'

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
  client: needed(having('a client of @aws-sdk/client-s3', 'send')),
  bucket: needed(FILLED_TEXT),
  prefix: TEXT,
  partSize: wholeFrom(MIN_PART),
}

/**
 * Stores contents in a bucket. A content that fits in one part is put at once, a larger one by a
 * multipart upload, which is aborted where the content ends early. Give the bucket a lifecycle rule for
 * incomplete uploads, which removes what a crash leaves; the rule is not checked. Each part must be sent
 * within `limits.workTime`: 5 MiB in 5 s are 8 Mbit/s, so raise it for a slower connection.
 */
export function s3Blobs(options: S3BlobOptions): BlobStore {
  checkOptions('s3Blobs', options, RULES)
  const { client, bucket, prefix = '', partSize = MIN_PART } = options
  const locate = (key: string) => ({ Bucket: bucket, Key: prefix + key })

  async function putLarge(
    key: string,
    first: Uint8Array,
    rest: AsyncIterator<Uint8Array>,
    abortSignal: AbortSignal | undefined,
  ): Promise<number> {
    const options = abortSignal ? { abortSignal } : {}
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(locate(key)), options)
    const upload = { ...locate(key), UploadId }
    const parts: CompletedPart[] = []
    let size = 0
    try {
      for (let part: Uint8Array | undefined = first; part; part = await readNext(rest)) {
        const PartNumber = parts.length + 1
        const uploaded = await client.send(
          new UploadPartCommand({ ...upload, PartNumber, Body: part }),
          options,
        )
        parts.push({ PartNumber, ETag: uploaded.ETag })
        size += part.length
      }
      await client.send(
        new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } }),
        options,
      )
    } catch (error) {
      // The first error counts; the lifecycle rule removes parts that stay.
      await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined)
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
      await client.send(
        new PutObjectCommand({ ...locate(key), Body: first }),
        signal ? { abortSignal: signal } : {},
      )
      return { key, size: first.length }
    },
    async get(key, range) {
      const Range = range && `bytes=${range.first}-${range.last}`
      try {
        const { Body } = await client.send(
          new GetObjectCommand({ ...locate(key), ...(Range && { Range }) }),
        )
        return Body instanceof Readable ? Body : undefined
      } catch (error) {
        if (error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound'))
          return undefined
        throw error
      }
    },
    async delete(key) {
      if (isBlobKey(key)) await client.send(new DeleteObjectCommand(locate(key)))
    },
    async *keys() {
      let token: string | undefined
      do {
        const page = await client.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix: prefix,
            ...(token && { ContinuationToken: token }),
          }),
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
