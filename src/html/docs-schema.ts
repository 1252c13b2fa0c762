// What the documentation says of an OpenAPI document's schemas: types, properties, samples.
import { type Item, isObject, type Json, type Scalar } from '../schema/values.ts'

/** The keywords of a schema that are read here. */
export interface Schema {
  /** The name of a shared schema. */
  readonly ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly contentEncoding?: string
  readonly enum?: readonly Scalar[]
  readonly const?: Scalar
  readonly default?: Json
  readonly examples?: readonly Json[]
  readonly description?: string
  readonly readOnly?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

/**
 * Replaces every reference of a document by the part that it leads to. A shared schema gets its name as
 * `ref`; a recursive one contains itself.
 */
export function resolveReferences(document: Item): Item {
  const resolved = new Map<string, Item>()
  const visitAll = (part: Item): Item =>
    Object.fromEntries(Object.entries(part).map(([name, each]) => [name, visit(each)]))
  const visit = (part: Json): Json => {
    if (Array.isArray(part)) return part.map(visit)
    if (!isObject(part)) return part
    const { $ref } = part
    if (typeof $ref !== 'string') return visitAll(part)
    const known = resolved.get($ref)
    if (known) return known
    const [, kind, name = ''] = $ref.split('/').slice(1)
    const found: Item = kind === 'schemas' ? { ref: name } : {}
    resolved.set($ref, found)
    const { [String(kind)]: parts } = Object(document.components)
    return Object.assign(found, visitAll(Object(parts)[name]))
  }
  return visitAll(document)
}

/** Removes `null` from the values of a schema; returns a schema without `null` as it is. */
function withoutNull(schema: Schema): Schema {
  const { type, anyOf, ...common } = schema
  // A list of types is one type and null.
  if (Array.isArray(type)) return { ...schema, type: type.find(each => each !== 'null') }
  const others = anyOf?.filter(each => each.type !== 'null') ?? []
  if (others.length === (anyOf ?? []).length) return schema
  return others.length === 1 ? { ...common, ...others[0] } : { ...common, anyOf: others }
}

/** Describes the type of a schema: `integer from 0`, `one of red, blue`, `list of string`. */
export function describeType(schema: Schema): string {
  if (schema.ref !== undefined) return schema.ref
  const values = withoutNull(schema)
  return describeValues(values) + (values === schema ? '' : ' or null')
}

function describeValues(schema: Schema): string {
  const { ref, type, items, format, contentEncoding } = schema
  if (ref !== undefined) return ref
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return `one of ${schema.enum.map(String).join(', ')}`
  const options = schema.oneOf ?? schema.anyOf
  if (options && !type) return [...new Set(options.map(describeType))].join(' or ')
  if (type === 'array') return items ? `list of ${describeType(items)}` : 'list'
  const kind = format ?? contentEncoding
  return `${type ?? 'any'}${kind ? ` (${kind})` : ''}${describeBounds(schema)}`
}

function describeBounds({ minimum, maximum, minLength, maxLength }: Schema): string {
  const safe = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined
  const [from, to] = [safe(minimum ?? minLength), safe(maximum ?? maxLength)]
  if (from === undefined && to === undefined) return ''
  const unit = minLength === undefined && maxLength === undefined ? '' : ' characters'
  return `${from === undefined ? '' : ` from ${from}`}${to === undefined ? '' : ` ${from === undefined ? 'up ' : ''}to ${to}`}${unit}`
}

/** How deep recursive schemas are followed. */
const MAX_DEPTH = 4

/** Lists the objects that a schema may be: itself, or the options of its union. */
function listObjects(schema: Schema, depth = 0): readonly Schema[] {
  if (schema.properties || depth > MAX_DEPTH) return [schema]
  const options = schema.oneOf ?? schema.anyOf ?? []
  return options.flatMap(option => listObjects(option, depth + 1))
}

/** A property of a body or an answer, or a parameter. */
export interface Property {
  readonly name: string
  readonly schema: Schema
  readonly required?: boolean
  readonly description?: string
}

/** Lists the properties of a schema by dotted paths, those of nested objects after their parent. */
export function listProperties(schema: Schema, prefix = ''): Property[] {
  const objects = listObjects(schema)
  const merged = new Map<string, Property>()
  for (const { properties = {}, required = [] } of objects) {
    for (const [name, property] of Object.entries(properties)) {
      if (merged.has(name)) continue
      const needed = objects.length === 1 && required.includes(name)
      merged.set(name, { name: prefix + name, schema: property, required: needed })
    }
  }
  return [...merged.values()].flatMap(property => {
    const { ref, properties } = withoutNull(property.schema)
    const isNested = ref === undefined && properties !== undefined
    return isNested
      ? [property, ...listProperties(withoutNull(property.schema), `${property.name}.`)]
      : [property]
  })
}

const SAMPLES: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'ann@example.org',
  uuid: '01900000-0000-7000-8000-000000000000',
  uri: 'https://example.org/',
  base64: '…',
}

/** Makes a sample: the schema's example or default, else a value of its type. Ignores patterns. */
export function makeSample(nullable: Schema, depth = 0): Json {
  const schema = withoutNull(nullable)
  const [option] = schema.oneOf ?? schema.anyOf ?? []
  const known = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0]
  if (known !== undefined && known !== null) return known
  if (depth > MAX_DEPTH) return null
  if (schema.properties) return makeObject(schema, depth)
  if (option) return makeSample(option, depth + 1)
  switch (schema.type) {
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1)
    case 'boolean':
      return true
    case 'array':
      return schema.items ? [makeSample(schema.items, depth + 1)] : []
    case 'object':
      return {}
    default:
      return SAMPLES[schema.format ?? schema.contentEncoding ?? ''] ?? 'text'
  }
}

/** Makes an object of its required properties, or of its first one. */
function makeObject({ properties = {}, required = [], allOf = [] }: Schema, depth: number): Item {
  const writable = Object.entries(properties).filter(([, { readOnly }]) => !readOnly)
  const either = allOf.flatMap(({ anyOf }) => anyOf?.[0]?.required ?? [])
  const needed = writable.filter(([name]) => required.includes(name) || either.includes(name))
  const chosen = needed.length > 0 ? needed : writable.slice(0, 1)
  return Object.fromEntries(chosen.map(([name, each]) => [name, makeSample(each, depth + 1)]))
}
