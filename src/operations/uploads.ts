// The uploads of a request: checked, stored, and removed where the request fails.
import { createHash } from 'node:crypto'
import { hashContent, limitContent, peekContent } from '../blobs/content.ts'
import { isAccepted, sniffType } from '../blobs/media-type.ts'
import { removeContents, storeContent } from '../blobs/store-content.ts'
import { type ErrorType, HttpError } from '../errors.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { type BlobRecord, isBlobRecord, listBlobFields } from '../schema/blob.ts'
import { findField } from '../schema/fields.ts'
import { toPath } from '../schema/paths.ts'
import type { Uploads } from './context.ts'
import { translateStoreError } from './store-errors.ts'

export interface UploadOptions {
  /** The maximum bytes of one content. */
  readonly limit: number
  /** Milliseconds that the blob store may take for each piece of a content. */
  readonly time: number
  /** Called when a content arrives. */
  readonly signal: () => AbortSignal
  /** Whether contents are hashed, to compare them with another request: it costs half of an upload. */
  readonly digests: boolean
}

export function createUploads(
  { blobs, inputFields }: CollectionDefinition,
  { limit, time, signal, digests: hashes }: UploadOptions,
): Uploads | undefined {
  if (!blobs) return undefined
  const records = new Map<string, BlobRecord>()
  const digests = new Map<string, string>()
  return {
    async put(field, { name, content }) {
      const declared = findField(inputFields, toPath(field))
      if (declared?.kind !== 'blob') {
        const names = listBlobFields(inputFields).join(', ')
        throw issue(field, `${field} does not take files. Files go to: ${names}`, 'unexpected_file')
      }
      const peeked = await peekContent(limitContent(content, limit, field))
      const type = sniffType(peeked.start)
      if (!isAccepted(type, declared.accept)) {
        throw issue(
          field,
          `${field} must be ${declared.accept?.join(' or ')}, not ${type}`,
          'unaccepted_type',
        )
      }
      const hash = hashes ? createHash('sha256') : undefined
      const bytes = hash ? hashContent(peeked.content, hash) : peeked.content
      const { key, size } = await storeContent(blobs, bytes, time, signal()).catch(error => {
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
      for (const value of Object.values(item)) if (isBlobRecord(value)) records.delete(value.key)
    },
    async discard() {
      const keys = [...records.keys()]
      records.clear()
      await removeContents(blobs, keys)
    },
  }
}

function issue(field: string, message: string, type: ErrorType): HttpError {
  return new HttpError(400, [{ message, field, type }])
}
