// What the documentation says of an OpenAPI document's schemas: types, properties, samples.
import { type Item, isObject, type Json, type Scalar } from '../../base/values.ts'

/** The keywords of a schema that are read here. */
export interface DocsSchema {
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
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, DocsSchema>>
  readonly required?: readonly string[]
  readonly propertyNames?: DocsSchema
  readonly additionalProperties?: DocsSchema | boolean
  readonly items?: DocsSchema | false
  readonly prefixItems?: readonly DocsSchema[]
  readonly anyOf?: readonly DocsSchema[]
  readonly oneOf?: readonly DocsSchema[]
  readonly allOf?: readonly DocsSchema[]
}

/**
 * Replaces every reference of a document by the part that it leads to. A shared schema gets its name as
 * `ref`; a recursive one contains itself.
 */
export function resolveReferences(document: Item): object {
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
function withoutNull(schema: DocsSchema): DocsSchema {
  const { type, anyOf, ...common } = schema
  if (Array.isArray(type)) {
    const types = type.filter(each => each !== 'null')
    return types.length === type.length ? schema : { ...schema, type: types }
  }
  const others = anyOf?.filter(each => each.type !== 'null') ?? []
  if (others.length === (anyOf ?? []).length) return schema
  return others.length === 1 ? { ...common, ...others[0] } : { ...common, anyOf: others }
}

/** Describes the type of a schema: `integer from 0`, `one of red, blue`, `list of string`. */
export function describeType(schema: DocsSchema): string {
  if (schema.ref !== undefined) return schema.ref
  const values = withoutNull(schema)
  return describeValues(values) + (values === schema ? '' : ' or null')
}

/** Finds the shared schema that a schema is, or that its values are of. */
export function findShared(schema: DocsSchema): string | undefined {
  const { ref, items, additionalProperties: values } = withoutNull(schema)
  return ref ?? (items || undefined)?.ref ?? (typeof values === 'object' ? values.ref : undefined)
}

function describeValues(schema: DocsSchema): string {
  const { ref, type, format, contentEncoding } = schema
  if (ref !== undefined) return ref
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return `one of ${schema.enum.map(String).join(', ')}`
  const options = listOptions(schema)
  if (options.length > 0 && !type) return joinTypes(options)
  const types = [type ?? 'any'].flat()
  if (types[0] === 'array') return describeList(schema)
  if (types[0] === 'object') return describeObject(schema)
  const kind = format ?? contentEncoding ?? options.flatMap(each => each.format ?? []).join(' or ')
  return `${types.join(' or ')}${kind ? ` (${kind})` : ''}${describeBounds(schema)}`
}

function listOptions({ oneOf, anyOf = [] }: DocsSchema): readonly DocsSchema[] {
  return oneOf ?? anyOf
}

function joinTypes(schemas: readonly DocsSchema[]): string {
  return [...new Set(schemas.map(describeType))].join(' or ')
}

/** A tuple is described as in TypeScript: `[number, ...string]`. */
function describeList({ prefixItems, items, minItems, maxItems }: DocsSchema): string {
  if (prefixItems) {
    const rest = items ? [`...${describeType(items)}`] : []
    return `[${[...prefixItems.map(describeType), ...rest].join(', ')}]`
  }
  const bounds = printBounds(minItems && ` from ${minItems}`, maxItems, undefined)
  return `${items ? `list of ${describeType(items)}` : 'list'}${bounds && `,${bounds} items`}`
}

function describeObject({ properties, propertyNames, additionalProperties }: DocsSchema): string {
  if (properties || typeof additionalProperties !== 'object') return 'object'
  const keys = propertyNames?.enum
  const known = keys ? ` with keys ${keys.join(', ')}` : ''
  return `object of ${describeType(additionalProperties)}${known}`
}

function describeBounds(schema: DocsSchema): string {
  const { minLength, maxLength, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const safe = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined
  const from = safe(schema.minimum ?? minLength)
  const lower =
    exclusiveMinimum === undefined
      ? from !== undefined && ` from ${from}`
      : ` above ${exclusiveMinimum}`
  const bounds = printBounds(lower, safe(schema.maximum ?? maxLength), exclusiveMaximum)
  const isText = minLength !== undefined || maxLength !== undefined
  const steps = multipleOf === undefined ? '' : ` in steps of ${multipleOf}`
  return `${bounds}${isText ? ' characters' : ''}${steps}`
}

function printBounds(
  lower: string | number | false | undefined,
  to: number | undefined,
  below: number | undefined,
): string {
  const upper =
    below === undefined ? to !== undefined && `${lower ? '' : ' up'} to ${to}` : ` below ${below}`
  return `${lower || ''}${upper || ''}`
}

/** How deep recursive schemas are followed. */
const MAX_DEPTH = 4

/** Lists the objects that a schema may be: itself, or the options of its union. */
function listObjects(schema: DocsSchema, depth = 0): readonly DocsSchema[] {
  if (schema.properties || depth > MAX_DEPTH) return [schema]
  return listOptions(schema).flatMap(option => listObjects(option, depth + 1))
}

/** A property of a body or an answer, or a parameter. */
export interface Property {
  readonly name: string
  readonly schema: DocsSchema
  readonly required?: boolean
  readonly description?: string
  /** When an object has the property, where some options of a union lack it. */
  readonly condition?: string | undefined
}

/** Lists the properties of a schema by dotted paths, those of nested objects after their parent. */
export function listProperties(schema: DocsSchema, prefix = '', depth = 0): Property[] {
  const objects = listObjects(schema)
  const names = new Set(objects.flatMap(({ properties = {} }) => Object.keys(properties)))
  return [...names].flatMap(name => {
    const property = mergeProperty(objects, name, prefix)
    return [property, ...listNested(property.schema, property.name, depth)]
  })
}

/** Lists the properties of the objects within a schema: in itself, in a list, in a record. */
function listNested(nullable: DocsSchema, path: string, depth: number): Property[] {
  const schema = withoutNull(nullable)
  const { ref, items, additionalProperties: values } = schema
  if (ref !== undefined || depth > MAX_DEPTH) return []
  const within = items || (typeof values === 'object' && values)
  return [
    ...listProperties(schema, `${path}.`, depth + 1),
    ...(within ? listNested(within, `${path}${items ? '[]' : '[key]'}`, depth + 1) : []),
  ]
}

/** Merges the property of each option of a union. */
function mergeProperty(objects: readonly DocsSchema[], name: string, prefix: string): Property {
  const holders = objects.filter(({ properties = {} }) => Object.hasOwn(properties, name))
  const schemas = holders.flatMap(({ properties }) => properties?.[name] ?? [])
  const [first = {}] = schemas
  const isOne = new Set(schemas.map(describeType)).size === 1
  const isPart = holders.length < objects.length
  const condition = isPart ? describeCondition(objects, holders) : undefined
  const needed = holders.every(({ required = [] }) => required.includes(name))
  return {
    name: prefix + name,
    schema: isOne ? first : { oneOf: schemas },
    required: needed && (!isPart || condition !== undefined),
    condition,
  }
}

/** Names the discriminator and its values; `undefined` where the options have none. */
function describeCondition(
  objects: readonly DocsSchema[],
  holders: readonly DocsSchema[],
): string | undefined {
  const names = Object.keys(objects[0]?.properties ?? {})
  const constantOf = ({ properties }: DocsSchema, name: string) => properties?.[name]?.const
  const key = names.find(name => objects.every(each => constantOf(each, name) !== undefined))
  if (key === undefined) return undefined
  const values = holders.map(each => JSON.stringify(constantOf(each, key)))
  return `Only where ${key} is ${[...new Set(values)].join(' or ')}`
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
export function makeSample(nullable: DocsSchema, depth = 0): Json {
  const schema = withoutNull(nullable)
  const [option] = listOptions(schema)
  const known = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0]
  if (known !== undefined && known !== null) return known
  if (depth > MAX_DEPTH) return null
  if (schema.properties) return makeObject(schema, depth)
  if (option) return makeSample(option, depth + 1)
  const { items, prefixItems, additionalProperties: values, required = [] } = schema
  switch ([schema.type].flat()[0]) {
    case 'integer':
    case 'number':
      return makeNumber(schema)
    case 'boolean':
      return true
    case 'array':
      return (prefixItems ?? (items ? [items] : [])).map(each => makeSample(each, depth + 1))
    case 'object':
      return Object.fromEntries(
        typeof values === 'object' ? required.map(key => [key, makeSample(values, depth + 1)]) : [],
      )
    default:
      return SAMPLES[schema.format ?? schema.contentEncoding ?? ''] ?? 'text'
  }
}

/** Makes a number within the bounds, 1 where it may be. */
function makeNumber(schema: DocsSchema): number {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema
  const [low, high] = [above ?? minimum ?? -Infinity, below ?? maximum ?? Infinity]
  const isValid = (value: number) =>
    Number.isFinite(value) &&
    value >= low &&
    value <= high &&
    value !== above &&
    value !== below &&
    (multipleOf === undefined || value % multipleOf === 0)
  const step = multipleOf ?? 1
  const choices = [1, step, low, low + step, high - step, high, (low + high) / 2]
  return choices.find(isValid) ?? 1
}

/** Makes an object of its required properties, or of its first one. */
function makeObject(
  { properties = {}, required = [], allOf = [] }: DocsSchema,
  depth: number,
): Item {
  const writable = Object.entries(properties).filter(([, { readOnly }]) => !readOnly)
  const either = allOf.flatMap(({ anyOf }) => anyOf?.[0]?.required ?? [])
  const needed = writable.filter(([name]) => required.includes(name) || either.includes(name))
  const chosen = needed.length > 0 ? needed : writable.slice(0, 1)
  return Object.fromEntries(chosen.map(([name, each]) => [name, makeSample(each, depth + 1)]))
}
