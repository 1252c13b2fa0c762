// The uploads of a request: checked, stored, and removed where it fails. The sweep of contents that a crash leaves.
import { createHash } from 'node:crypto'
import { toPath } from '../../base/paths.ts'
import type { Awaitable, Item, Json } from '../../base/values.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { limitContent, peekContent } from '../../blobs/content.ts'
import { listContents } from '../../blobs/content-places.ts'
import { removeContents, storeContent } from '../../blobs/store-content.ts'
import { HttpError } from '../../errors.ts'
import type { Upload } from '../../formats/format.ts'
import type { HttpRequest } from '../../http/message.ts'
import type { RouteTarget } from '../../model/compile/routes.ts'
import { findCollectionDefinition } from '../../model/definitions.ts'
import type { AnyCollection } from '../../model/types/collection-types.ts'
import type { ApiDefinition } from '../../model/types/definition.ts'
import type { Negotiated } from '../../negotiate.ts'
import { type BlobRecord, isBlobRecord, listBlobFields } from '../../schema/blob.ts'
import { type Fields, findField } from '../../schema/fields.ts'
import { detectType, isAccepted } from '../../schema/media-type.ts'
import { UnknownOutcomeError } from '../../store/errors.ts'
import { withTieBreak } from '../../store/selection.ts'
import type { RunningTransaction } from './running-transaction.ts'

/** What uploads read of the context of their call. */
export interface Uploader {
  readonly api: ApiDefinition
  readonly request: HttpRequest
  readonly inProcess: boolean
  readonly target: RouteTarget | undefined
  readonly negotiated: Negotiated | undefined
}

/**
 * The contents that one request has uploaded so far. What no written item holds when the request ends is
 * removed again.
 */
export class Uploads {
  readonly #context: Uploader
  readonly #fields: Fields
  readonly #blobs: BlobStore
  readonly #records = new Map<string, BlobRecord>()
  readonly #digests = new Map<string, string>()

  /** @param fields those that clients may write. */
  constructor(context: Uploader, fields: Fields, blobs: BlobStore) {
    this.#context = context
    this.#fields = fields
    this.#blobs = blobs
  }

  /**
   * Stores a content for the property at a dotted path.
   * @throws HttpError 400 where the property takes no file or not this type, 413 over the limit.
   */
  async put(field: string, { name, type: said, content }: Upload): Promise<Json> {
    const { api, request, inProcess, target, negotiated } = this.#context
    const declared = findField(this.#fields, toPath(field))
    if (declared?.kind !== 'blob') {
      const names = listBlobFields(this.#fields).join(', ')
      const message = `${field} does not take files. Files go to: ${names}`
      throw new HttpError(400, [{ message, field, type: 'unexpected_file' }])
    }
    // Only a key compares contents with those of another request: hashing is dear (docs/decisions/uploads.md). The body is
    // read before the context has its key: the form of a page may hold one behind the file.
    const isForm = negotiated?.format.page !== undefined && target?.kind === 'collection'
    const mayHaveKey = isForm && target.collection.store.idempotency !== 'none'
    const keyed = mayHaveKey || request.headers['idempotency-key'] !== undefined
    const hash = keyed ? createHash('sha256') : undefined
    const { upload: limit } = api.limits
    const { start, content: bytes } = await peekContent(limitContent(content, limit, field, hash))
    const type = detectType(start, said, declared.accept)
    if (!isAccepted(type, declared.accept)) {
      const message = `${field} must be ${declared.accept?.join(' or ')}, not ${type}`
      throw new HttpError(400, [{ message, field, type: 'unaccepted_type' }])
    }
    const time = inProcess ? Number.POSITIVE_INFINITY : api.limits.workTime
    const { key, size } = await storeContent(this.#blobs, bytes, time, request.signal)
    const updated_at = new Date().toISOString()
    const record = { key, type, size, updated_at, ...(name !== undefined && { name }) }
    this.#records.set(key, record)
    if (hash) this.#digests.set(key, hash.digest('base64url'))
    return { ...record }
  }

  /** Finds the record of a content that this request has uploaded. */
  find(key: string): BlobRecord | undefined {
    return this.#records.get(key)
  }

  /** Finds the SHA-256 of such a content: the same bytes sent again have another key. */
  digest(key: string): string | undefined {
    return this.#digests.get(key)
  }

  /** Marks the contents that an item holds now. */
  keep(item: Item): void {
    for (const value of Object.values(item))
      if (isBlobRecord(value)) this.#records.delete(value.key)
  }

  /** Removes what no item holds, now or at the end of a transaction; nothing after an error that leaves that open. */
  discard(transaction?: RunningTransaction, error?: unknown): Awaitable<void> {
    if (transaction) return transaction.atEnd(() => this.discard())
    if (error instanceof UnknownOutcomeError) return undefined
    const contents = [...this.#records.keys()].map(key => ({ blobs: this.#blobs, key }))
    this.#records.clear()
    return removeContents(contents)
  }
}

/** Creates the uploads of a call; `undefined` where its collection takes none. */
export function createUploads(context: Uploader): Uploads | undefined {
  const blobs = context.target?.collection?.blobs
  return blobs && new Uploads(context, context.target.collection.inputFields, blobs)
}

/**
 * Removes every content of a blob store that is older than `olderThan` milliseconds (a day) and that
 * no item of the given collections holds. Safe while the api runs: a younger content may belong to a
 * request that is still running.
 * @param collections all that keep their contents in this blob store: what only another one holds
 * would be removed. That they are all is not checked. Versions on one store count as one.
 * @returns how many contents were removed.
 */
export async function sweepBlobs(
  blobs: BlobStore,
  collections: readonly AnyCollection[],
  { olderThan = 86_400_000 }: { olderThan?: number | undefined } = {},
): Promise<number> {
  const before = Date.now() - olderThan
  const old: string[] = []
  for await (const { key, createdAt } of blobs.keys()) if (createdAt < before) old.push(key)
  const held = new Set<string>()
  for (const collection of collections) {
    const { store, shape, contents } = findCollectionDefinition(collection)
    const everything = {
      where: [],
      sort: withTieBreak([], shape.identity),
    }
    for await (const batch of store.stream(everything))
      for (const { item } of batch)
        for (const { key } of listContents(contents, item)) held.add(key)
  }
  const orphans = old.filter(key => !held.has(key))
  for (const key of orphans) await blobs.delete(key)
  return orphans.length
}
