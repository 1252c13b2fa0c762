// A zod schema, or a field, as JSON Schema (dialect 2020-12, which OpenAPI 3.1 takes) that can stand
// anywhere in a larger document.
import { z } from 'zod'
import type { Scalar } from '../base/values.ts'
import type { Field } from './fields.ts'
import { hasOneType } from './fields.ts'
import { isJson } from './json.ts'
import { type Schema, type SchemaDef, schemaDefOf } from './zod-fields.ts'

/** A JSON Schema with the keywords that are read here. */
export interface JsonSchema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly [keyword: string]: unknown
}

/** Prints a field as JSON Schema: enough for a parameter and for the properties that the server adds. */
export function fieldSchema({ kind, choices, uuid, element }: Field): JsonSchema {
  if (choices) return listTypes(choices)
  if (kind === 'array') return { type: 'array', ...(element && { items: fieldSchema(element) }) }
  if (kind === 'record')
    return { type: 'object', ...(element && { additionalProperties: fieldSchema(element) }) }
  if (kind === 'date' || kind === 'date-time') return { type: 'string', format: kind }
  return hasOneType(kind) ? { type: kind, ...(uuid && { format: 'uuid' }) } : {}
}

/** Prints values with their types, which many tools want beside them. */
export function listTypes(values: readonly Scalar[]): JsonSchema {
  const types = [...new Set(values.map(value => typeof value))]
  return { type: types.length === 1 ? types[0] : types, enum: values }
}

/** The metadata of schemas, without what JSON cannot hold. An id is there where it makes a part that is shared. */
class Described extends z.core.$ZodRegistry<Record<string, unknown>> {
  /** The schemas of each id, each with a name of its own. */
  readonly #named: Map<string, Schema[]> | undefined

  constructor(isNamed: boolean) {
    super()
    this.#named = isNamed ? new Map() : undefined
  }

  override get(schema: Schema) {
    const { id, ...known } = z.globalRegistry.get(schema) ?? {}
    const metadata: Record<string, unknown> = Object.fromEntries(
      Object.entries(known).filter(([, value]) => isJson(value)),
    )
    if (id !== undefined && this.#named) metadata.id = this.#nameOf(schema, id)
    return metadata
  }

  #nameOf(schema: Schema, id: string): string {
    const name = id.replace(/[^\w.-]/g, '_')
    const schemas = this.#named?.get(name) ?? []
    this.#named?.set(name, schemas)
    if (!schemas.includes(schema)) schemas.push(schema)
    const at = schemas.indexOf(schema)
    return at === 0 ? name : `${name}!${at + 1}`
  }
}

export interface Embedding {
  /** Which side of the schema: its input, or its output. */
  readonly io: 'input' | 'output'
  /** A name that is unique in the document. */
  readonly id: string
  /** Changes the objects that the whole value may be. Default: none. */
  readonly change?: (object: JsonSchema) => JsonSchema
  /**
   * Whether parts with an id of their own are definitions of that name, and unions say what tells their options apart:
   * for a document that shares parts. Default false.
   */
  readonly isNamed?: boolean
  /** What has been printed with the same `isNamed`: a schema is that of several bodies. Default: nothing. */
  readonly printed?: PrintedSchemas
}

/** What zod prints of a schema, by its side. */
export type PrintedSchemas = WeakMap<Schema, Partial<Record<Embedding['io'], PrintedList>>>

/**
 * Prints a zod schema so that it can stand anywhere in a document. Only a recursive one has references, or one with
 * named parts; they start at the schema itself, which has an `$id` then (JSON Schema 2020-12 §8.2.1).
 */
export function embedSchema(
  schema: Schema,
  { io, id: $id, change = object => object, isNamed = false, printed = new WeakMap() }: Embedding,
): JsonSchema {
  const sides = printed.get(schema) ?? {}
  const list = sides[io] ?? printList(schema, io, isNamed)
  printed.set(schema, { ...sides, [io]: list })
  const { items = {}, $defs = {} } = list
  const described = eachObject(items, $defs, change)
  const names = Object.keys($defs)
  if (names.length === 0) return described
  const whole = { $id, ...described, $defs }
  // What a client sends may differ from what it gets: then both have a name.
  const differing = io === 'input' && isNamed ? listDiffering($defs, schema) : NO_NAMES
  return differing.size === 0 ? whole : rename(whole, differing)
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** What zod prints, as far as it is read here. */
interface PrintedList {
  readonly items?: JsonSchema
  readonly $defs?: Readonly<Record<string, JsonSchema>>
}

/** Prints a list of a schema: within it a recursive schema refers to `$defs` and never to the root, which is changed. */
function printList(schema: Schema, io: 'input' | 'output', isNamed: boolean): PrintedList {
  const list = z.toJSONSchema(z.array(schema), {
    io,
    unrepresentable: 'any',
    metadata: new Described(isNamed),
    override({ zodSchema, jsonSchema }) {
      adapt(jsonSchema, schemaDefOf(zodSchema), io)
      if (!isNamed) delete jsonSchema.discriminator
    },
  })
  const { items, $defs = {} }: PrintedList = JSON.parse(JSON.stringify(list), mergeNull)
  // A definition that takes any value need not be one.
  const open = Object.keys($defs).filter(name => isNothing($defs[name] ?? {}))
  if (open.length === 0) return { ...(items && { items }), $defs }
  return JSON.parse(JSON.stringify({ items, $defs: omitNames($defs, open) }), (_, part) =>
    open.some(name => part?.$ref === DEFS + name) ? omitNames(part, ['$ref']) : part,
  )
}

const DEFS = '#/$defs/'

function isNothing(schema: object): boolean {
  return Object.keys(schema).length === 0
}

function omitNames<T>(parts: Readonly<Record<string, T>>, names: readonly string[]) {
  return Object.fromEntries(Object.entries(parts).filter(([name]) => !names.includes(name)))
}

/** Prints what zod knows and its printer says otherwise. */
function adapt(printed: Record<string, unknown>, def: SchemaDef, io: 'input' | 'output'): void {
  // An answer may have more: properties of another version, or what an action adds.
  if (io === 'output' && def.type === 'object' && !def.catchall) delete printed.additionalProperties
  // An answer has it already.
  if (io === 'output') delete printed.default
  // A key whose value may be undefined is not in the JSON.
  if (def.type === 'record' && def.valueType._zod.optout === 'optional') delete printed.required
  // `maxItems` says it too, and many tools take no schema that is false.
  if (printed.items === false) delete printed.items
  if (def.type === 'lazy' && isAnyJson(def)) for (const name in printed) delete printed[name]
  if (def.type === 'union' && 'discriminator' in def)
    printed.discriminator = { propertyName: def.discriminator }
  // The bounds of all whole numbers that are exact.
  if (printed.maximum === Number.MAX_SAFE_INTEGER) delete printed.maximum
  if (printed.minimum === Number.MIN_SAFE_INTEGER) delete printed.minimum
  // Divided as floats 19.99 is no multiple of 0.01: validators would refuse what is stored.
  if (!Number.isInteger(printed.multipleOf)) delete printed.multipleOf
  // It says so of the object in JavaScript: a client may write the property.
  if (def.type === 'readonly') delete printed.readOnly
  if (def.type !== 'string') return
  keepPortable(printed, def)
  for (const part of [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)])
    if ('format' in part) adaptPattern(printed, part)
}

/** Leaves out patterns that JSON Schema reads otherwise than zod: it has no flags, and reads with `u`. */
function keepPortable(printed: Record<string, unknown>, def: SchemaDef & { type: 'string' }): void {
  const parts: readonly object[] = [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)]
  const flagged = parts.flatMap(part =>
    'pattern' in part && part.pattern instanceof RegExp && /[imsv]/.test(part.pattern.flags)
      ? [part.pattern.source]
      : [],
  )
  const isPortable = ({ pattern }: JsonSchema) =>
    !flagged.includes(String(pattern)) && isUnicode(String(pattern))
  if (printed.pattern !== undefined && !isPortable(printed)) delete printed.pattern
  if (!Array.isArray(printed.allOf)) return
  printed.allOf = printed.allOf.filter(isPortable)
  if (Object(printed.allOf).length === 0) delete printed.allOf
}

function isUnicode(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').unicode
  } catch {
    return false
  }
}

/** Leaves out patterns that are ten times as long as all else. */
function adaptPattern(printed: Record<string, unknown>, def: object): void {
  const { format, offset, local, precision } = def as Readonly<Record<string, unknown>> // as each format has them
  if (format === 'date') delete printed.pattern
  // RFC 3339 has no fractions: PT1.5S.
  if (format === 'duration') delete printed.format
  if (format === 'datetime' && !offset && !local && precision == null) printed.pattern = 'Z$'
}

/** Lets a nullable value be one of two types, as zod does where nothing else is said of it. */
function mergeNull(_name: string, part: unknown): unknown {
  const { anyOf, ...rest }: JsonSchema = Object(part)
  const [value, other, more] = Array.isArray(anyOf) ? anyOf : []
  if (other?.type !== 'null' || more || !NAMED_TYPES.has(String(value?.type))) return part
  if (value.enum || value.const !== undefined) return part
  return { ...value, type: [value.type, 'null'], ...rest }
}

const NAMED_TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean'])

/** Whether a schema is `z.json()`: printed it would be six options that refer to it. */
function isAnyJson({ getter }: Extract<SchemaDef, { type: 'lazy' }>): boolean {
  const inner = schemaDefOf(getter())
  if (inner.type !== 'union' || inner.options.length !== 6) return false
  const [, , , , list, record] = inner.options.map(schemaDefOf)
  const element = list?.type === 'array' ? schemaDefOf(list.element) : undefined
  const value = record?.type === 'record' ? schemaDefOf(record.valueType) : undefined
  return [element, value].every(each => each?.type === 'lazy' && each.getter === getter)
}

/** Lists the named definitions of an input that are others in the output. */
function listDiffering($defs: Readonly<Record<string, JsonSchema>>, schema: Schema) {
  const { $defs: outputs = {} } = printList(schema, 'output', true)
  const isSame = (name: string) => JSON.stringify($defs[name]) === JSON.stringify(outputs[name])
  const names = Object.keys($defs).filter(name => !isUnnamed(name))
  const differing = new Set(names.filter(name => !isSame(name)))
  // What refers to one that differs is another too.
  const refers = (name: string) =>
    [...differing].some(each => JSON.stringify($defs[name]).includes(`"${DEFS}${each}"`))
  for (let size = -1; size !== differing.size; ) {
    size = differing.size
    for (const name of names) if (refers(name)) differing.add(name)
  }
  return differing
}

/** Whether a definition has no id of its own: it is there since it is recursive. */
export function isUnnamed(name: string): boolean {
  return name.startsWith('__schema')
}

/** Finds the id of a definition: several schemas may have the same, `Money` and `Money!2`. */
export function idOf(name: string): string {
  return name.replace(/!\d+$/, '')
}

/** Lets the names of definitions end with `Input`. */
function rename(schema: JsonSchema, names: ReadonlySet<string>): JsonSchema {
  const renamed = (name: string) =>
    names.has(name) ? name.replace(/(?:!\d+)?$/, number => `Input${number}`) : name
  const { $defs = {}, ...whole }: JsonSchema = JSON.parse(JSON.stringify(schema), (key, value) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(DEFS)
      ? DEFS + renamed(value.slice(DEFS.length))
      : value,
  )
  const entries = Object.entries($defs).map(([name, each]) => [renamed(name), each])
  return { ...whole, $defs: Object.fromEntries(entries) }
}

/** Changes the object that a schema is, or each option of a union. */
function eachObject(
  schema: JsonSchema,
  defs: NonNullable<JsonSchema['$defs']>,
  change: (object: JsonSchema) => JsonSchema,
): JsonSchema {
  const { $ref, ...rest } = schema
  if ($ref !== undefined) {
    const { [$ref.replace(DEFS, '')]: meant, ...others } = defs
    return meant ? eachObject({ ...meant, ...rest }, others, change) : schema
  }
  const changed = (parts: readonly JsonSchema[]) =>
    parts.map(part => eachObject(part, defs, change))
  const { properties, anyOf, oneOf } = schema
  if (properties) return change(schema)
  return {
    ...schema,
    ...(anyOf && { anyOf: changed(anyOf) }),
    ...(oneOf && { oneOf: changed(oneOf) }),
  }
}

/** Whether a property is required. */
export function needsProperties({ required = [], anyOf, oneOf, allOf }: JsonSchema): boolean {
  if (required.length > 0 || allOf?.some(needsProperties)) return true
  return (anyOf ?? oneOf)?.every(needsProperties) ?? false
}
