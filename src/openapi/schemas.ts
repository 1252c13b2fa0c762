// What a description says of items: as they are given and as they are taken, binary properties in
// their forms.
import type { CollectionDefinition } from '../model/definition.ts'
import { listBlobFields } from '../schema/blob.ts'
import type { Fields } from '../schema/fields.ts'
import { embedSchema, fieldSchema, type JsonSchema } from '../schema/json-schema.ts'

/**
 * An item as it is given: the schema's output, binary properties in their form, and the properties that
 * the server adds.
 * @param id a name for the schema, that no other one of the document has.
 * @param open whether an item may have properties of another version.
 */
export function itemSchema(
  collection: CollectionDefinition,
  id: string,
  open: boolean,
): JsonSchema {
  const { shape, schema, binary, roles } = collection
  const blobs = buildBlobs(shape.fields, (name, empty) => givenBlob(name, empty, binary))
  const added = serverProperties(collection)
  const change = (object: JsonSchema) => {
    const readable = omitProperties(object, roles?.writeOnly)
    const marked = markProperties(readable, roles?.readOnly, { readOnly: true })
    const { properties, required = [], ...rest } = withBlobs(marked, blobs)
    return {
      ...rest,
      properties: { ...added, ...properties },
      required: [...new Set([...Object.keys(added), ...required])],
    }
  }
  return embedSchema(schema, { io: 'output', id, change, open })
}

export interface BodyOptions {
  readonly operation: 'create' | 'replace' | 'patch'
  /** The field that the path fills in. */
  readonly filled?: string | undefined
  /** Whether it is a multipart body, in which binary properties are files. */
  readonly files?: boolean
}

/** What a client sends for an item, as the operation takes it; `id` as for {@link itemSchema}. */
export function bodySchema(
  collection: CollectionDefinition,
  { operation, filled, files = false }: BodyOptions,
  id: string,
): JsonSchema {
  const { shape, schema, binary, roles } = collection
  const replaces = operation !== 'create'
  const blobs = buildBlobs(shape.fields, (name, empty) =>
    files ? fileBlob(name) : takenBlob(name, empty, binary, replaces),
  )
  // What a PUT takes back from a GET.
  const ignored = replaces ? serverProperties(collection) : {}
  const kept = operation === 'replace' && roles ? [...roles.writeOnly, ...roles.immutable] : []
  const readOnly = [...(roles?.readOnly.keys() ?? [])]
  const known = new Set([filled, replaces ? shape.identity.name : undefined, ...kept, ...readOnly])
  const change = (object: JsonSchema) => {
    const taken = replaces
      ? markProperties(object, roles?.readOnly, { readOnly: true })
      : omitProperties(object, roles?.readOnly)
    const marked = markProperties(taken, roles?.writeOnly, { writeOnly: true })
    const { properties, required = [], ...rest } = withBlobs(marked, blobs)
    const whole = {
      ...rest,
      properties: { ...ignored, ...properties },
      required: required.filter(name => !known.has(name)),
    }
    return operation === 'patch' ? toPatch(whole, !files) : whole
  }
  return embedSchema(schema, { io: 'input', id, change })
}

/** A merge patch of an object: any of its properties, and null for those that it may lack; in a form there is none. */
function toPatch(
  { properties = {}, required = [], allOf: _either, ...rest }: JsonSchema,
  nulls: boolean,
): JsonSchema {
  const changes = Object.entries(properties).map(([name, { default: _default, ...property }]) => {
    const change: JsonSchema = property.properties ? toPatch(property, nulls) : property
    const removable = nulls && !required.includes(name) && property.readOnly !== true
    return [name, removable && !allowsNull(change) ? { anyOf: [change, { type: 'null' }] } : change]
  })
  return { ...rest, properties: Object.fromEntries(changes) }
}

function allowsNull({ type, anyOf }: JsonSchema): boolean {
  return Array.isArray(type)
    ? type.includes('null')
    : (anyOf ?? []).some(each => each.type === 'null')
}

/** Names of properties. */
interface Names {
  has(name: string): boolean
}

function omitProperties(object: JsonSchema, names: Names | undefined): JsonSchema {
  if (!names) return object
  const properties = Object.entries(object.properties ?? {}).filter(([name]) => !names.has(name))
  const required = object.required?.filter(name => !names.has(name)) ?? []
  return { ...object, properties: Object.fromEntries(properties), required }
}

function markProperties(
  object: JsonSchema,
  names: Names | undefined,
  mark: JsonSchema,
): JsonSchema {
  if (!names) return object
  const properties = Object.entries(object.properties ?? {}).map(
    ([name, property]) => [name, names.has(name) ? { ...property, ...mark } : property] as const,
  )
  return { ...object, properties: Object.fromEntries(properties) }
}

/** The media types of the files that a multipart body may bring. */
export function fileEncoding({
  shape,
}: CollectionDefinition): Record<string, { contentType: string }> {
  const encoding = listBlobFields(shape.fields).flatMap(name => {
    const accept = shape.fields.get(name)?.accept
    return accept ? [[name, { contentType: accept.join(', ') }] as const] : []
  })
  return Object.fromEntries(encoding)
}

// --- Binary properties ---------------------------------------------------------------------------

/** A binary property: the properties in its place, and those of which one is there where it is required. */
interface Blob {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly either: readonly string[]
}

const FILE: JsonSchema = { type: 'string', format: 'binary' }
const CHANGED: JsonSchema = { type: 'string', format: 'date-time', readOnly: true }

function addressSchema(type: JsonSchema['type']): JsonSchema {
  return { type, format: 'uri', description: 'Where the content is' }
}

function dataSchema(type: JsonSchema['type']): JsonSchema {
  return { type, contentEncoding: 'base64' }
}

function buildBlobs(
  fields: Fields,
  build: (name: string, empty: boolean) => Blob,
): ReadonlyMap<string, Blob> {
  const blobs = [...fields].filter(([, { kind }]) => kind === 'blob')
  return new Map(blobs.map(([name, { nullable }]) => [name, build(name, nullable)]))
}

/** A type, or null besides. */
function orNull(type: string, empty: boolean): JsonSchema['type'] {
  return empty ? [type, 'null'] : type
}

function givenBlob(name: string, empty: boolean, form: CollectionDefinition['binary']): Blob {
  if (form === 'flat') {
    const url = `${name}_url`
    const properties = {
      [url]: addressSchema(orNull('string', empty)),
      [`${name}_data`]: dataSchema('string'),
    }
    return { properties, either: [url] }
  }
  const whole = {
    type: orNull('object', empty),
    properties: { url: addressSchema('string'), updated_at: CHANGED, data: dataSchema('string') },
    required: ['url', 'updated_at'],
    additionalProperties: false,
  }
  return { properties: { [name]: whole }, either: [name] }
}

/** @param replaces whether there may be a content already, which its own address leaves as it is. */
function takenBlob(
  name: string,
  empty: boolean,
  form: CollectionDefinition['binary'],
  replaces: boolean,
): Blob {
  if (form === 'flat') {
    const type = orNull('string', empty)
    const data = { [`${name}_data`]: dataSchema(type) }
    const properties = replaces ? { ...data, [`${name}_url`]: addressSchema(type) } : data
    return { properties, either: Object.keys(properties) }
  }
  const data = { data: dataSchema('string') }
  const whole = {
    type: orNull('object', empty),
    ...(replaces
      ? {
          properties: { ...data, url: addressSchema('string'), updated_at: CHANGED },
          ...oneRequired(['data', 'url']),
        }
      : { properties: data, required: ['data'] }),
  }
  return { properties: { [name]: whole }, either: [name] }
}

function fileBlob(name: string): Blob {
  return { properties: { [name]: FILE }, either: [name] }
}

function oneRequired(names: readonly string[]): JsonSchema {
  return { anyOf: names.map(name => ({ required: [name] })) }
}

/** An object with other properties in the place of its binary properties. */
function withBlobs(object: JsonSchema, blobs: ReadonlyMap<string, Blob>): JsonSchema {
  const { properties = {}, required = [] } = object
  const replaced = Object.entries(properties).flatMap(([name, property]) =>
    Object.entries(blobs.get(name)?.properties ?? { [name]: property }),
  )
  const needed = required.map(name => blobs.get(name)?.either ?? [name])
  const choices = needed.filter(names => names.length > 1)
  return {
    ...object,
    properties: Object.fromEntries(replaced),
    required: needed.filter(names => names.length === 1).flat(),
    ...(choices.length > 0 && { allOf: choices.map(oneRequired) }),
  }
}

function serverProperties({ shape }: CollectionDefinition): Record<string, JsonSchema> {
  const added = [...shape.fields].filter(([, field]) => field.serverOwned)
  return Object.fromEntries(
    added.map(([name, field]) => [name, { ...fieldSchema(field), readOnly: true }]),
  )
}
