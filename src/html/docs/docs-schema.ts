// What the documentation says of an OpenAPI document's schemas: types and properties.
import { type Item, isObject, type Json } from '../../base/values.ts'
import { listOptions, type SampleSchema, withoutNull } from '../../openapi/samples.ts'

export type DocsSchema = SampleSchema

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
