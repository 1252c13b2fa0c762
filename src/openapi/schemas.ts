// The schemas of items: what answers give and what bodies may be, with binary properties in their forms.
import type { CollectionDefinition } from '../model/types/definition.ts'
import { listBlobFields } from '../schema/blob.ts'
import { embedSchema, fieldSchema, type JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'
import { includedProperties } from './relations.ts'

/**
 * Builds the schema of an item as it is given: the schema's output, binary properties in their form, and
 * the properties that the server adds.
 * @param id a name for the schema, that no other one of the document has.
 */
export function itemSchema(
  collection: CollectionDefinition,
  components: Components,
  id: string,
): JsonSchema {
  const { schema, roles, hidden, fieldAccess, lacking } = collection
  const added = serverProperties(collection)
  const included = includedProperties(collection, components, other =>
    itemSchema(other, components, `${id}.${other.name}`),
  )
  const change = (object: JsonSchema) => {
    const readable = mapProperties(object, (name, property) => {
      if (hidden.has(name)) return undefined
      return roles?.readOnly.has(name) ? { ...property, readOnly: true } : property
    })
    const { properties, required = [], ...rest } = replaceBlobs(readable, collection, 'output')
    return {
      ...rest,
      properties: { ...added, ...properties, ...included },
      required: [...new Set([...Object.keys(added), ...required])].filter(
        // Only some principals get it, or only some items have it.
        name => fieldAccess?.get(name)?.read === undefined && !lacking?.has(name),
      ),
    }
  }
  const { isInline, printed } = components
  return embedSchema(schema, { io: 'output', id, change, isNamed: !isInline, printed })
}

export interface BodyOptions {
  readonly operation: 'create' | 'replace' | 'patch'
  /** The field that the path fills in. */
  readonly filled?: string | undefined
  /** Whether it is a multipart body, in which binary properties are files. */
  readonly files?: boolean
}

/** Builds the schema of a body, as an operation takes it; `id` as for {@link itemSchema}. */
export function bodySchema(
  collection: CollectionDefinition,
  { operation, filled, files = false }: BodyOptions,
  { isInline, isLight, printed }: Components,
  id: string,
): JsonSchema {
  const { shape, schema, roles, unknown, fieldAccess = [], view } = collection
  const replaces = operation !== 'create'
  // A PUT takes back what GET gave: these properties may stand in it. A light document lacks what is ignored.
  const keepsIgnored = replaces && !isLight
  const ignored = keepsIgnored ? serverProperties(collection) : {}
  const optional = new Set([
    filled,
    ...(replaces ? [shape.identity.name] : []),
    ...(roles?.readOnly.keys() ?? []),
    // The whole is for all clients: those that may not write it send nothing.
    ...(view ? [] : [...fieldAccess].flatMap(([name, { write }]) => (write ? [name] : []))),
    ...(operation === 'replace' && roles ? [...roles.writeOnly, ...roles.immutable] : []),
  ])
  const change = (object: JsonSchema) => {
    const writable = mapProperties(object, (name, property) => {
      if (unknown.has(name)) return undefined
      // A patch may repeat its value, which no program needs to do.
      if (isLight && operation === 'patch' && roles?.immutable.has(name)) return undefined
      if (roles?.readOnly.has(name))
        return keepsIgnored ? { ...property, readOnly: true } : undefined
      return roles?.writeOnly.has(name) ? { ...property, writeOnly: true } : property
    })
    const blobForm = files ? 'file' : replaces ? 'change' : 'create'
    const { properties, required = [], ...rest } = replaceBlobs(writable, collection, blobForm)
    const whole = {
      ...rest,
      properties: { ...ignored, ...properties },
      required: required.filter(name => !optional.has(name)),
    }
    return operation === 'patch' ? toPatch(whole, !files) : whole
  }
  return embedSchema(schema, { io: 'input', id, change, isNamed: !isInline, printed })
}

/**
 * Makes the schema of a merge patch: no property is required.
 * @param nulls whether null removes the properties that the object may lack; a form has no null.
 */
function toPatch(object: JsonSchema, nulls: boolean): JsonSchema {
  const { required: needed = [], allOf: _either, ...rest } = object
  const { required: _none, ...patch } = mapProperties(rest, (name, property) => {
    const { default: _default, ...plain } = property
    const change = plain.properties ? toPatch(plain, nulls) : plain
    const removable = nulls && !needed.includes(name) && change.readOnly !== true
    return removable && !allowsNull(change) ? { anyOf: [change, { type: 'null' }] } : change
  })
  return patch
}

function allowsNull({ type, anyOf }: JsonSchema): boolean {
  return Array.isArray(type)
    ? type.includes('null')
    : (anyOf ?? []).some(each => each.type === 'null')
}

/** Changes the properties of an object; one that becomes `undefined` is left out. */
function mapProperties(
  { properties = {}, required = [], ...rest }: JsonSchema,
  change: (name: string, property: JsonSchema) => JsonSchema | undefined,
): JsonSchema {
  const changed = new Map<string, JsonSchema>()
  for (const [name, property] of Object.entries(properties)) {
    const made = change(name, property)
    if (made) changed.set(name, made)
  }
  return {
    ...rest,
    properties: Object.fromEntries(changed),
    required: required.filter(name => changed.has(name)),
  }
}

/** Lists the media types of the files that a multipart body may contain, by property. */
export function fileEncoding({ shape }: CollectionDefinition): object {
  const entries = [...shape.fields].flatMap(([name, { kind, accept }]) =>
    kind === 'blob' && accept ? [[name, { contentType: accept.join(', ') }] as const] : [],
  )
  return Object.fromEntries(entries)
}

function serverProperties({ shape }: CollectionDefinition): Record<string, JsonSchema> {
  const added = [...shape.fields].filter(([, field]) => field.serverOwned)
  return Object.fromEntries(
    added.map(([name, field]) => [name, { ...fieldSchema(field), readOnly: true }]),
  )
}

// --- Binary properties ---------------------------------------------------------------------------

/** Where a binary property stands: `change` may name the present content, which then stays. */
type BlobForm = 'output' | 'create' | 'change' | 'file'

/** Puts other properties in the place of an object's binary properties. */
function replaceBlobs(
  object: JsonSchema,
  { shape: { fields }, binary }: CollectionDefinition,
  form: BlobForm,
): JsonSchema {
  const { properties = {}, required = [], ...rest } = object
  const blobs = new Map<string, Readonly<Record<string, JsonSchema>>>()
  for (const name of listBlobFields(fields)) {
    const build = form === 'file' ? fileBlob : binary === 'flat' ? flatBlob : objectBlob
    blobs.set(name, build(name, fields.get(name)?.nullable === true, form))
  }
  const replaced = Object.entries(properties).flatMap(([name, property]) =>
    Object.entries(blobs.get(name) ?? { [name]: property }),
  )
  const needed = required.map(name => {
    const names = Object.keys(blobs.get(name) ?? { [name]: {} })
    // An item has its content inline only where that is asked for.
    return form === 'output' ? names.slice(0, 1) : names
  })
  const choices = needed.filter(names => names.length > 1)
  return {
    ...rest,
    properties: Object.fromEntries(replaced),
    required: needed.filter(names => names.length === 1).flat(),
    ...(choices.length > 0 && { allOf: choices.map(requireOne) }),
  }
}

function requireOne(names: readonly string[]): JsonSchema {
  return { anyOf: names.map(name => ({ required: [name] })) }
}

const ADDRESS: JsonSchema = { type: 'string', format: 'uri', description: 'Where the content is' }
const CHANGED: JsonSchema = { type: 'string', format: 'date-time', readOnly: true }
const BASE64: JsonSchema = { type: 'string', contentEncoding: 'base64' }

function fileBlob(name: string) {
  return { [name]: { type: 'string', format: 'binary' } }
}

function flatBlob(name: string, nullable: boolean, form: BlobForm) {
  const type = nullable ? ['string', 'null'] : 'string'
  const address = { [`${name}_url`]: { ...ADDRESS, type } }
  if (form === 'output') return { ...address, [`${name}_data`]: BASE64 }
  return { [`${name}_data`]: { ...BASE64, type }, ...(form === 'change' && address) }
}

function objectBlob(name: string, nullable: boolean, form: BlobForm) {
  const type = nullable ? ['object', 'null'] : 'object'
  if (form === 'create')
    return { [name]: { type, properties: { data: BASE64 }, required: ['data'] } }
  const properties = { url: ADDRESS, updated_at: CHANGED, data: BASE64 }
  const rule =
    form === 'output'
      ? { required: ['url', 'updated_at'], additionalProperties: false }
      : requireOne(['data', 'url'])
  return { [name]: { type, properties, ...rule } }
}
