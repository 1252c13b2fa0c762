// Blobs in a bucket of S3, or of what speaks its protocol (`rest-conventions/s3`).
import { randomBytes } from 'node:crypto'
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

export interface S3BlobOptions {
  /** A client of `@aws-sdk/client-s3` 3, with region and credentials. */
  readonly client: S3Client
  readonly bucket: string
  /** What every key begins with in the bucket. Default none. */
  readonly prefix?: string | undefined
  /** Bytes of one part: what is held in memory of an upload. At least 5 MiB, as S3 says; default 5 MiB. */
  readonly partSize?: number | undefined
}

const LEAST_PART = 5 * 1024 * 1024

const RULES: Rules<S3BlobOptions> = {
  client: needed(having('a client of @aws-sdk/client-s3', 'send')),
  bucket: needed(FILLED_TEXT),
  prefix: TEXT,
  partSize: wholeFrom(LEAST_PART),
}

/**
 * Keeps contents in a bucket. A content that fits in one part is put at once, a larger one by a
 * multipart upload, which is aborted where the content ends early. What a crash leaves of one, S3
 * removes by the bucket's own lifecycle rule for incomplete uploads: that such a rule exists is not
 * checked. Each part has the `workTime` of the API's limits to be sent: 5 MiB in 5 s are 8 Mbit/s, so
 * on a slower way say more.
 */
export function s3Blobs(options: S3BlobOptions): BlobStore {
  checkOptions('s3Blobs', options, RULES)
  const { client, bucket, prefix = '', partSize = LEAST_PART } = options
  const place = (key: string) => ({ Bucket: bucket, Key: prefix + key })

  async function putLarge(
    key: string,
    first: Uint8Array,
    rest: AsyncIterator<Uint8Array>,
    abortSignal: AbortSignal | undefined,
  ): Promise<number> {
    const options = abortSignal ? { abortSignal } : {}
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(place(key)), options)
    const upload = { ...place(key), UploadId }
    const parts: CompletedPart[] = []
    let size = 0
    try {
      for (let part: Uint8Array | undefined = first; part; part = await nextOf(rest)) {
        const PartNumber = parts.length + 1
        const sent = await client.send(
          new UploadPartCommand({ ...upload, PartNumber, Body: part }),
          options,
        )
        parts.push({ PartNumber, ETag: sent.ETag })
        size += part.length
      }
      await client.send(
        new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } }),
        options,
      )
    } catch (error) {
      // What the content threw is what counts; parts that stay are the lifecycle rule's.
      await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined)
      throw error
    }
    return size
  }

  return {
    async put(content, { signal } = {}) {
      const key = randomBytes(18).toString('base64url')
      const parts = partsOf(content, partSize)
      const first = (await nextOf(parts)) ?? new Uint8Array()
      if (first.length >= partSize) return { key, size: await putLarge(key, first, parts, signal) }
      await client.send(
        new PutObjectCommand({ ...place(key), Body: first }),
        signal ? { abortSignal: signal } : {},
      )
      return { key, size: first.length }
    },
    async get(key, range) {
      const Range = range && `bytes=${range.first}-${range.last}`
      try {
        const { Body } = await client.send(
          new GetObjectCommand({ ...place(key), ...(Range && { Range }) }),
        )
        return Body instanceof Readable ? Body : undefined
      } catch (error) {
        if (error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound'))
          return undefined
        throw error
      }
    },
    async delete(key) {
      await client.send(new DeleteObjectCommand(place(key)))
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
          yield { key: Key.slice(prefix.length), createdAt: LastModified?.getTime() ?? 0 }
        }
        token = page.NextContinuationToken
      } while (token)
    },
  }
}

async function nextOf(parts: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> {
  const { done, value } = await parts.next()
  return done ? undefined : value
}

/** A content in parts of one size, the last one shorter. */
async function* partsOf(
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
