// `blob()` declares a binary property; a stored item has a record of its content.
import { z } from 'zod'
import { type Item, isObject, type Json } from '../base/values.ts'
import { checkOptions, listOf, type Rules } from '../options.ts'
import type { Fields } from './fields.ts'
import { normalizeType } from './media-type.ts'
import { requireZod } from './zod-version.ts'

/** A binary property in the input of a program: a file, Base64, its address, or the record that was read. */
export type BlobValue = Blob | { readonly data: string } | { readonly url: string } | BlobRecord

/** Whether a value has files. */
export function hasFiles(value: unknown): value is object {
  return isObject(value) && Object.values<unknown>(value).some(each => each instanceof Blob)
}

/** Reads the files of a value: in process a file is given as Base64 with its type, without its name. */
export async function readFiles(value: object): Promise<unknown> {
  const properties = Object.entries(value).map(async ([name, each]: [string, unknown]) => {
    if (!(each instanceof Blob)) return [name, each]
    const digits = Buffer.from(await each.arrayBuffer()).toString('base64')
    return [name, { data: `data:${each.type};base64,${digits}` }]
  })
  return Object.fromEntries(await Promise.all(properties))
}

/** The options of `blob()`. */
export interface BlobOptions {
  /**
   * The accepted media types, such as `image/*`; compared with the type of the bytes. Where these are a text or a zip,
   * the type that the client declares counts: `text/csv`, `application/json`, docx. `image/*` does not mean SVG.
   * Default: any.
   */
  readonly accept?: readonly string[] | undefined
  /** Up to this size in bytes items have the content too, as Base64. Default 0: only when `fields` names it. */
  readonly inlineBelow?: number | undefined
}

/** The value of a binary property in a stored item; the key is the entity tag of the download. */
export interface BlobRecord {
  readonly key: string
  /** The media type: that of the bytes, or what the client said where theirs is a text or a zip. */
  readonly type: string
  /** In bytes. */
  readonly size: number
  readonly updated_at: string
  /** The name of the file that the client sent; only `Content-Disposition` has it. */
  readonly name?: string
}

/** Whether a value is the record of an uploaded content. */
export function isBlobRecord(value: Json | undefined): value is Item & BlobRecord {
  return isObject(value) && typeof value.key === 'string' && typeof value.size === 'number'
}

/** Finds the record of a binary property in a stored item. */
export function findBlobRecord(item: Item, name: string): BlobRecord | null | undefined {
  const value = item[name]
  return isBlobRecord(value) ? value : value === null ? null : undefined
}

/** Lists the binary properties of a field table. */
export function listBlobFields(fields: Fields): string[] {
  return [...fields].flatMap(([name, field]) => (field.kind === 'blob' ? [name] : []))
}

requireZod()

/** The schemas made by `blob()`. A registry knows their copies too, which zod makes for checks and metadata. */
export const binaries = z.registry<{ readonly options: BlobOptions }>()

const BLOB_RULES: Rules<BlobOptions> = {
  accept: listOf({
    wanted: 'a media type, such as image/*',
    fits: value => typeof value === 'string' && value.includes('/'),
  }),
  inlineBelow: {
    wanted: 'a number of bytes from 0',
    fits: value => typeof value === 'number' && value >= 0,
  },
}

/**
 * Declares a binary property: its bytes go to the collection's blob store, the item keeps a record of them.
 * Responses have `photo_url` or `photo: { url, updated_at }`; requests have a file of a multipart body,
 * Base64 in `photo_data` or `photo.data`, or the address of the current content.
 * @throws TypeError for an issue in the options.
 * @example
 * import { blob, defineCollection, memoryBlobs, memoryStore } from 'rest-conventions'
 * import { z } from 'zod'
 * const schema = z.object({ comment: z.string(), photo: blob({ accept: ['image/*'] }) })
 * const photos = defineCollection({ name: 'photos', schema, store: memoryStore(), blobs: memoryBlobs() })
 */
export function blob(options: BlobOptions = {}): z.ZodType<BlobRecord, BlobValue> {
  checkOptions('blob', options, BLOB_RULES)
  const schema = z.strictObject({
    key: z.string(),
    type: z.string(),
    size: z.int(),
    updated_at: z.iso.datetime(),
    name: z.string().optional(),
  })
  const { accept, ...others } = options
  const types = accept?.map(normalizeType)
  binaries.add(schema, { options: { ...others, ...(types && { accept: types }) } })
  // Every input has become a record before the schema checks it.
  return schema as z.ZodType<BlobRecord, BlobValue>
}
