// The three forms of a binary property in requests and responses: address, object, inline Base64.

import { getProperty, type Item, isObject, type Json } from '../base/values.ts'
import type { BlobRecord } from './blob.ts'
import type { Field, Fields } from './fields.ts'

/** Whether items have a binary property as `photo_url`, or as `photo: { url, updated_at }`. */
export type BinaryForm = 'flat' | 'object'

const TEXT: Field = { kind: 'string', nullable: false, optional: true, serverOwned: true }
const DATE_TIME: Field = { ...TEXT, kind: 'date-time' }

/** Builds the fields that clients read: binary properties in their form, with `data` in Base64 too. */
export function toReadableFields(fields: Fields, form: BinaryForm, data: boolean): Fields {
  const readable = new Map<string, Field>()
  for (const [name, field] of fields) {
    const { kind, optional, nullable, accept } = field
    const url: Field = { ...TEXT, ...(accept && { accept }) }
    if (kind !== 'blob') readable.set(name, field)
    else if (form === 'flat') {
      readable.set(`${name}_url`, { ...url, optional, nullable })
      if (data) readable.set(`${name}_data`, TEXT)
    } else {
      const properties = new Map([
        ['url', url],
        ['updated_at', DATE_TIME],
      ])
      if (data) properties.set('data', TEXT)
      readable.set(name, { ...url, kind: 'object', optional, nullable, properties })
      if (data) readable.set(`${name}_data`, TEXT)
    }
  }
  return readable
}

/** Prints a binary property of an item; `data` is its content in Base64. */
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

/** One input of a binary property, and the property of the body that holds it. */
export type BlobInput = { readonly property: string } & (
  | { readonly kind: 'null' | 'invalid' }
  | { readonly kind: 'url'; readonly url: Json }
  | { readonly kind: 'data'; readonly data: string }
  | { readonly kind: 'record'; readonly key: string }
)

/** Parses the inputs of a binary property in all forms; a file of a multipart body is its record. */
export function parseBlobInputs(name: string, body: Item): BlobInput[] {
  return [
    ...parseInput('data', `${name}_data`, getProperty(body, `${name}_data`)),
    ...parseWhole(name, getProperty(body, name)),
    ...parseInput('url', `${name}_url`, getProperty(body, `${name}_url`)),
  ]
}

function parseInput(kind: 'data' | 'url', property: string, value: Json | undefined): BlobInput[] {
  if (value === undefined) return []
  if (value === null) return [{ property, kind: 'null' }]
  if (kind === 'url') return [{ property, kind, url: value }]
  return [
    typeof value === 'string' ? { property, kind, data: value } : { property, kind: 'invalid' },
  ]
}

/** Parses the object form, or the record of an upload. A null in the object has no meaning. */
function parseWhole(property: string, whole: Json | undefined): BlobInput[] {
  if (whole === undefined) return []
  if (!isObject(whole)) return [{ property, kind: whole === null ? 'null' : 'invalid' }]
  const key = getProperty(whole, 'key')
  const inputs: BlobInput[] = [
    ...(typeof key === 'string' ? [{ property, kind: 'record', key } as const] : []),
    ...parseInput('data', `${property}.data`, getProperty(whole, 'data') ?? undefined),
    ...parseInput('url', `${property}.url`, getProperty(whole, 'url') ?? undefined),
  ]
  return inputs.length > 0 ? inputs : [{ property, kind: 'invalid' }]
}

const NO_DIGIT = /[^A-Za-z0-9+/]/

/** Finds the media type of a `data:` URL (RFC 2397). */
export function findDataType(text: string): string | undefined {
  return /^data:([^,;]{1,255})[,;]/.exec(text)?.[1]?.toLowerCase()
}

/** Decodes Base64 (RFC 4648 §4, padding optional) or a `data:` URL of it; `undefined` for anything else. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/^data:[^,]{0,255};base64,/, '').replace(/[\r\n]/g, '')
  // Not one pattern: repeated groups of four overflow the stack from 4 MB on.
  const end = digits.search(NO_DIGIT)
  const padding = end === -1 ? '' : digits.slice(end)
  const rest = (digits.length - padding.length) % 4
  const whole = padding === '' ? rest !== 1 : /^==?$/.test(padding) && rest + padding.length === 4
  return whole ? Buffer.from(digits, 'base64') : undefined
}
