// The three forms of a binary property in requests and responses: address, object, inline Base64.
import type { BlobRecord } from './blob.ts'
import type { Field, Fields } from './fields.ts'
import { type Item, isObject, type Json } from './values.ts'

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
