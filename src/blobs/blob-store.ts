// Binary properties (specification, "Naming conventions for fields"): where their bytes live, and the
// three forms in which they are given and taken: address, object, inline Base64.
import type { BlobRecord } from '../schema/blob.ts'
import type { Field, Fields } from '../schema/fields.ts'
import { type Item, isObject, type Json } from '../schema/values.ts'

/** Where bytes live. A key is made by the store, never taken from a client, and never used again. */
export interface BlobStore {
  /**
   * Keeps a content under a new key; when it resolves the bytes are as durable as the store is.
   * @throws what the content throws; an `UnavailableError` where there is no room, or the store cannot be
   * reached: a 503. Then nothing is kept.
   */
  put(
    content: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal },
  ): Promise<{ key: string; size: number }>
  /** The bytes from `first` to `last`, both inclusive; all without. `undefined` where there is no such key. */
  get(
    key: string,
    range?: { first: number; last: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Removes a content; one that does not exist is no error. */
  delete(key: string): Promise<void>
  /** Every key with its age's beginning, in milliseconds since 1970: for {@link sweepBlobs}. */
  keys(): AsyncIterable<{ key: string; createdAt: number }>
}

/** A content that comes in one piece. */
export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Whether items give a binary property as `photo_url`, or as `photo: { url, updated_at }`. */
export type BinaryForm = 'flat' | 'object'

const TEXT: Field = { kind: 'string', nullable: false, optional: true, serverOwned: true }
const DATE_TIME: Field = { ...TEXT, kind: 'date-time' }

/**
 * The fields as they are given: binary properties in their form. `data` also has the Base64 properties,
 * for `fields` to name.
 */
export function toReadableFields(fields: Fields, form: BinaryForm, data: boolean): Fields {
  const shown = new Map<string, Field>()
  for (const [name, field] of fields) {
    if (field.kind !== 'blob') shown.set(name, field)
    else if (form === 'flat') {
      shown.set(`${name}_url`, {
        ...TEXT,
        optional: field.optional,
        nullable: field.nullable,
        ...acceptOf(field),
      })
      if (data) shown.set(`${name}_data`, TEXT)
    } else {
      const properties = new Map([
        ['url', { ...TEXT, ...acceptOf(field) }],
        ['updated_at', DATE_TIME],
      ])
      if (data) properties.set('data', TEXT)
      shown.set(name, {
        ...TEXT,
        kind: 'object',
        optional: field.optional,
        nullable: field.nullable,
        properties,
        ...acceptOf(field),
      })
    }
  }
  return shown
}

function acceptOf({ accept }: Field): { accept?: readonly string[] } {
  return accept ? { accept } : {}
}

/** One binary property as it is given; `data` is its content in Base64. */
export function printBlob(
  name: string,
  record: BlobRecord | null,
  form: BinaryForm,
  url: string,
  data?: string,
): Item {
  if (form === 'flat') {
    return { [`${name}_url`]: record && url, ...(data !== undefined && { [`${name}_data`]: data }) }
  }
  const value = record && {
    url,
    updated_at: record.updated_at,
    ...(data !== undefined && { data }),
  }
  return { [name]: value }
}

/** What a client says of a binary property, and in which property. */
export type BlobInput = { readonly property: string } & (
  | { readonly said: 'removed' | 'nonsense' }
  | { readonly said: 'address'; readonly url: Json }
  | { readonly said: 'data'; readonly data: string }
  | { readonly said: 'upload'; readonly key: string }
)

/** Reads one binary property of what a client sent, in all the forms that it takes; nothing where nothing is said. */
export function readBlob(name: string, sent: Item): BlobInput[] {
  const inputs: BlobInput[] = []
  const data = getOwnValue(sent, `${name}_data`)
  const whole = getOwnValue(sent, name)
  const url = getOwnValue(sent, `${name}_url`)
  if (data !== undefined) inputs.push(readData(`${name}_data`, data))
  if (isObject(whole)) inputs.push(...readObject(name, whole))
  else if (whole !== undefined)
    inputs.push({ property: name, said: whole === null ? 'removed' : 'nonsense' })
  if (url === null) inputs.push({ property: `${name}_url`, said: 'removed' })
  else if (url !== undefined) inputs.push({ property: `${name}_url`, said: 'address', url })
  return inputs
}

function getOwnValue(value: Item, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function readData(property: string, data: Json): BlobInput {
  if (typeof data === 'string') return { property, said: 'data', data }
  return { property, said: data === null ? 'removed' : 'nonsense' }
}

/** The object form, or the record of an upload. */
function readObject(name: string, whole: Item): BlobInput[] {
  const inputs: BlobInput[] = []
  const key = getOwnValue(whole, 'key')
  const data = getOwnValue(whole, 'data') ?? undefined
  const url = getOwnValue(whole, 'url') ?? undefined
  if (typeof key === 'string') inputs.push({ property: name, said: 'upload', key })
  if (data !== undefined) inputs.push(readData(`${name}.data`, data))
  if (url !== undefined) inputs.push({ property: `${name}.url`, said: 'address', url })
  return inputs.length > 0 ? inputs : [{ property: name, said: 'nonsense' }]
}

const NO_DIGIT = /[^A-Za-z0-9+/]/

/** Decodes Base64 (RFC 4648 §4, padding may be left out), a `data:` URL's included; `undefined` where it is none. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/^data:[^,]{0,255};base64,/, '').replace(/[\r\n]/g, '')
  // No pattern of the whole: one that repeats groups of four overflows the stack from 4 MB on.
  const end = digits.search(NO_DIGIT)
  const padding = end === -1 ? '' : digits.slice(end)
  const rest = (digits.length - padding.length) % 4
  const whole = padding === '' ? rest !== 1 : /^==?$/.test(padding) && rest + padding.length === 4
  return whole ? Buffer.from(digits, 'base64') : undefined
}

/** Whether a media type is among those that are taken: `image/*` takes every image. */
export function isAccepted(type: string, accept: readonly string[] = ['*/*']): boolean {
  return accept.some(
    pattern =>
      pattern === '*/*' ||
      pattern === type ||
      (pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1))),
  )
}

/** How many bytes {@link sniffType} looks at. */
export const SNIFFED_BYTES = 1024

/** The beginnings of contents (WHATWG MIME Sniffing §6), as Latin-1; a dot is any byte. */
const SIGNATURES: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[\s\S]{4}WEBPVP/, 'image/webp'],
  [/^[\s\S]{4}ftypavi[fs]/, 'image/avif'],
  [/^BM/, 'image/bmp'],
  [/^\0\0\x01\0/, 'image/x-icon'],
  [/^%PDF-/, 'application/pdf'],
  [/^[\s\S]{4}ftyp/, 'video/mp4'],
  [/^\x1aE\xdf\xa3/, 'video/webm'],
  [/^OggS\0/, 'application/ogg'],
  [/^RIFF[\s\S]{4}WAVE/, 'audio/wave'],
  [/^(?:ID3|\xff[\xfb\xf3\xf2])/, 'audio/mpeg'],
  [/^PK\x03\x04/, 'application/zip'],
  [/^\x1f\x8b\x08/, 'application/gzip'],
]

/**
 * The media type that the first bytes of a content say. A text is always `text/plain`: HTML, SVG and
 * scripts are never served as what they are.
 */
export function sniffType(start: Uint8Array): string {
  const text = Buffer.from(start.subarray(0, SNIFFED_BYTES)).toString('latin1')
  for (const [signature, type] of SIGNATURES) if (signature.test(text)) return type
  return /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(text) ? 'application/octet-stream' : 'text/plain'
}

/** Types that a browser may show in place: none that can run anything. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp|x-icon)|video\/|audio\/)/

/**
 * Prints `Content-Disposition` (RFC 6266) for a content; the name is cut to one path segment and
 * printed in both forms, so that it can neither name a folder nor end the header.
 */
export function printDisposition({ type, name }: Pick<BlobRecord, 'type' | 'name'>): string {
  const how = SHOWN.test(type) ? 'inline' : 'attachment'
  const file = (name ?? '')
    .replace(/^.*[/\\]/s, '')
    .replace(/\p{Cc}/gu, '')
    .slice(0, 255)
    .toWellFormed()
  if (file === '' || file === '.' || file === '..') return how
  const ascii = file.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(file).replace(
    /['()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${how}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
