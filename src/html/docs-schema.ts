// JSON Schemas of an OpenAPI document as what people read and send: types, fields of forms, samples.
import type { Field, Fields } from '../schema/fields.ts'
import type { Item, Json, Scalar } from '../schema/values.ts'

/** The keywords of a schema that are read here. */
export interface Schema {
  readonly $ref?: string
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
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

/** Follows a reference within the document. */
export type Follow = <T extends object>(part: T) => T

export const refName = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1)

/** How deep recursive schemas are followed. */
const MAX_DEPTH = 4

/** Splits `null` off: the schema without it, and whether it is allowed. */
function splitNull(schema: Schema): { readonly rest: Schema; readonly nullable: boolean } {
  const { type, anyOf } = schema
  if (Array.isArray(type) && type.includes('null')) {
    const others = type.filter(each => each !== 'null')
    return { rest: { ...schema, type: others.length === 1 ? others[0] : others }, nullable: true }
  }
  const others = anyOf?.filter(each => each.type !== 'null')
  if (!anyOf || !others || others.length === anyOf.length) return { rest: schema, nullable: false }
  const { anyOf: _options, ...common } = schema
  const [only] = others
  const rest = others.length === 1 && only ? { ...common, ...only } : { ...common, anyOf: others }
  return { rest, nullable: true }
}

/** Describes the type of a schema: `integer from 0`, `one of red, blue`, `list of string`. */
export function describeType(schema: Schema, follow: Follow, depth = 0): string {
  const name = refName(schema)
  if (name !== undefined) return name
  const { rest, nullable } = splitNull(schema)
  const end = nullable ? ' or null' : ''
  if (rest.const !== undefined) return JSON.stringify(rest.const) + end
  if (rest.enum) return `one of ${rest.enum.map(String).join(', ')}${end}`
  const options = rest.oneOf ?? rest.anyOf
  if (options && !rest.type && depth < MAX_DEPTH) {
    const texts = options.map(option => describeType(option, follow, depth + 1))
    return [...new Set(texts)].join(' or ') + end
  }
  const { type, items, format, contentEncoding } = rest
  if (type === 'array')
    return `list${items && depth < MAX_DEPTH ? ` of ${describeType(items, follow, depth + 1)}` : ''}${end}`
  const word = Array.isArray(type) ? type.join(' or ') : (type ?? 'any')
  const kind = format ?? (contentEncoding === 'base64' ? 'base64' : undefined)
  return `${word}${kind ? ` (${kind})` : ''}${describeBounds(rest)}${end}`
}

function describeBounds({ minimum, maximum, minLength, maxLength }: Schema): string {
  const safe = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined
  const [from, to] = [safe(minimum ?? minLength), safe(maximum ?? maxLength)]
  if (from === undefined && to === undefined) return ''
  const unit = minLength === undefined && maxLength === undefined ? '' : ' characters'
  if (from === undefined) return ` up to ${to}${unit}`
  return to === undefined ? ` from ${from}${unit}` : ` from ${from} to ${to}${unit}`
}

/** The objects that a schema may be: itself, or the options of its union. */
function listObjects(schema: Schema, follow: Follow, depth = 0): readonly Schema[] {
  const whole = follow(schema)
  if (whole.properties || depth > MAX_DEPTH) return [whole]
  const options = whole.oneOf ?? whole.anyOf ?? []
  return options.flatMap(option => listObjects(option, follow, depth + 1))
}

export interface Property {
  readonly path: string
  readonly schema: Schema
  readonly required: boolean
}

/** Lists the properties of a schema with dotted paths, those of nested objects after their parent. */
export function listProperties(schema: Schema, follow: Follow, prefix = '', depth = 0): Property[] {
  if (depth > MAX_DEPTH) return []
  const objects = listObjects(schema, follow)
  const merged = new Map<string, Property>()
  for (const { properties = {}, required = [] } of objects) {
    for (const [name, property] of Object.entries(properties)) {
      const known = merged.get(name)
      const needed = objects.length === 1 && required.includes(name)
      if (!known) merged.set(name, { path: prefix + name, schema: property, required: needed })
    }
  }
  return [...merged.values()].flatMap(each => {
    const { rest } = splitNull(each.schema)
    const isOwn = rest.$ref === undefined && rest.properties !== undefined
    return isOwn ? [each, ...listProperties(rest, follow, `${each.path}.`, depth + 1)] : [each]
  })
}

/**
 * Reads the fields of a form from the schema of a body.
 * @param accept the media types of files, by property.
 */
export function toFields(
  schema: Schema,
  follow: Follow,
  accept: Readonly<Record<string, string>> = {},
  depth = 0,
): Fields {
  const fields = new Map<string, Field>()
  for (const { path, schema: property, required } of listProperties(schema, follow)) {
    if (path.includes('.') || follow(property).readOnly) continue
    const field = toField(property, follow, depth)
    const types = accept[path]?.split(', ')
    fields.set(path, { ...field, optional: !required, ...(types && { accept: types }) })
  }
  return fields
}

function toField(schema: Schema, follow: Follow, depth: number): Field {
  const { rest, nullable } = splitNull(follow(schema))
  const common = { nullable, optional: false }
  const { type, format, items } = rest
  const choices = rest.enum ?? (rest.const === undefined ? undefined : [rest.const])
  if (choices) return { ...common, kind: 'string', choices }
  if (format === 'binary') return { ...common, kind: 'blob' }
  if (type === 'array' && items && depth < MAX_DEPTH)
    return { ...common, kind: 'array', element: toField(items, follow, depth + 1) }
  if (rest.properties && depth < MAX_DEPTH) {
    const open = rest.additionalProperties === undefined || rest.additionalProperties === true
    const properties = toFields(rest, follow, {}, depth + 1)
    return { ...common, kind: 'object', properties, open: open && properties.size === 0 }
  }
  switch (type) {
    case 'integer':
    case 'number':
    case 'boolean':
      return { ...common, kind: type }
    case 'string':
      return { ...common, kind: format === 'date' || format === 'date-time' ? format : 'string' }
    default:
      return { ...common, kind: 'any' }
  }
}

const SAMPLES: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'ann@example.org',
  uuid: '01900000-0000-7000-8000-000000000000',
  uri: 'https://example.org/',
  base64: '…',
}

/** Makes a sample: the schema's example or default, else a value of its type. Patterns are not followed. */
export function makeSample(schema: Schema, follow: Follow, depth = 0): Json {
  const { rest } = splitNull(follow(schema))
  const [example] = rest.examples ?? []
  if (example !== undefined) return example
  if (rest.const !== undefined) return rest.const
  if (rest.default !== undefined && rest.default !== null) return rest.default
  const [choice] = rest.enum ?? []
  if (choice !== undefined) return choice
  if (depth > MAX_DEPTH) return null
  const [option] = rest.oneOf ?? rest.anyOf ?? []
  if (option && !rest.properties) return makeSample(option, follow, depth + 1)
  const type = Array.isArray(rest.type) ? rest.type[0] : rest.type
  if (rest.properties) return makeObject(rest, follow, depth)
  switch (type) {
    case 'integer':
    case 'number':
      return Math.max(1, rest.minimum ?? 1)
    case 'boolean':
      return true
    case 'array':
      return rest.items ? [makeSample(rest.items, follow, depth + 1)] : []
    case 'object':
      return {}
    default:
      return SAMPLES[rest.format ?? rest.contentEncoding ?? ''] ?? 'text'
  }
}

/** A sample with the properties that must be there; one of them at least. */
function makeObject(
  { properties = {}, required = [], allOf }: Schema,
  follow: Follow,
  depth: number,
) {
  const writable = Object.entries(properties).filter(([, each]) => !follow(each).readOnly)
  const either = allOf?.flatMap(each => each.anyOf?.[0]?.required ?? []) ?? []
  const needed = writable.filter(([name]) => required.includes(name) || either.includes(name))
  const chosen = needed.length > 0 ? needed : writable.slice(0, 1)
  const entries = chosen.map(([name, each]) => [name, makeSample(each, follow, depth + 1)] as const)
  const sample: Item = Object.fromEntries(entries)
  return sample
}
