// `blob()`: declares a binary property, and what an item holds of one.
import { z } from 'zod'
import { checkOptions, listOf, type Rules } from '../options.ts'
import type { Fields } from './fields.ts'
import { type Item, isObject, type Json } from './values.ts'

/** A binary property as a program gives it: Base64, the address that it has, or the record that was read. */
export type BlobGiven = { readonly data: string } | { readonly url: string } | BlobRecord

export interface BlobOptions {
  /** The media types that are taken, such as `image/*`; compared with what the bytes say. Default: any. */
  readonly accept?: readonly string[] | undefined
  /** Up to this size in bytes the content is given inline too, as Base64. Default 0: only when `fields` asks. */
  readonly inlineBelow?: number | undefined
}

/** What an item holds of a binary property. Clients see none of it as it is; the key is the download's entity tag. */
export interface BlobRecord {
  readonly key: string
  /** The media type read from the bytes. */
  readonly type: string
  /** In bytes. */
  readonly size: number
  readonly updated_at: string
  /** The file's name as the client gave it; only ever printed in `Content-Disposition`. */
  readonly name?: string
}

/** Whether a value is the record of a content. */
export function isRecord(value: Json | undefined): value is Item & BlobRecord {
  return isObject(value) && typeof value.key === 'string' && typeof value.size === 'number'
}

/** The record of a binary property of a stored item. */
export function findRecord(item: Item, name: string): BlobRecord | null | undefined {
  const value = item[name]
  return isRecord(value) ? value : value === null ? null : undefined
}

/** The binary properties of a field table. */
export function listBlobFields(fields: Fields): string[] {
  return [...fields].flatMap(([name, field]) => (field.kind === 'blob' ? [name] : []))
}

/** What `blob()` made. A registry tells it of copies too, which zod makes for a check or a description. */
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
 * A binary property: its bytes go to the collection's blob store, the item keeps a record of them.
 * Given as `photo_url` or as `photo: { url, updated_at }`; taken as a file of a multipart body, as
 * Base64 in `photo_data` or `photo.data`, or as the address it has already.
 * @throws TypeError for an issue in the options.
 */
export function blob(options: BlobOptions = {}): z.ZodType<BlobRecord, BlobGiven> {
  checkOptions('blob', options, BLOB_RULES)
  const schema = z.strictObject({
    key: z.string(),
    type: z.string(),
    size: z.int(),
    updated_at: z.iso.datetime(),
    name: z.string().optional(),
  })
  binaries.add(schema, { options })
  // What is given has become a record before the schema checks it.
  return schema as unknown as z.ZodType<BlobRecord, BlobGiven>
}
