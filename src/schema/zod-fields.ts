// Builds the field table of a zod schema: `input` and `output` differ by defaults alone.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Scalar } from '../base/values.ts'
import { binaries } from './blob.ts'
import type { Field, Fields, Kind } from './fields.ts'
import { hasOneType } from './fields.ts'

/** Any zod schema. */
export type Schema = z.core.$ZodType

/**
 * Any zod schema, by its input and output types alone. As the bound of a type parameter, {@link Schema} would cost
 * the type checker ten times as much.
 */
export interface SomeSchema {
  readonly _zod: { readonly output: unknown; readonly input: unknown }
}

export type Output<S extends SomeSchema> = S['_zod']['output']
export type Input<S extends SomeSchema> = S['_zod']['input']

/** Returns the schema with its full type. */
export function toZod(schema: SomeSchema): Schema {
  return schema as Schema // nothing but zod makes a schema
}

/** The definition of a schema, as zod keeps it. */
export type SchemaDef = z.core.$ZodTypes['_zod']['def']

export function schemaDefOf(schema: Schema): SchemaDef {
  return (schema as z.core.$ZodTypes)._zod.def // every schema of zod is one of these
}

/** Lists the schemas inside a schema; those of properties with their names. */
export function listParts(
  def: SchemaDef,
): readonly (readonly [name: string | undefined, part: Schema])[] {
  switch (def.type) {
    case 'object': {
      const open = def.catchall && def.catchall._zod.def.type !== 'never'
      return [...Object.entries(def.shape), ...unnamed(open ? def.catchall : undefined)]
    }
    case 'array':
      return unnamed(def.element)
    case 'tuple':
      return unnamed(...def.items, def.rest)
    case 'record':
      return unnamed(def.keyType, def.valueType)
    case 'union':
      return unnamed(...def.options)
    case 'lazy':
      return unnamed(def.getter())
    default:
      return 'innerType' in def ? unnamed(def.innerType) : []
  }
}

function unnamed(...parts: readonly (Schema | null | undefined)[]): [undefined, Schema][] {
  return parts.flatMap(part => (part ? [[undefined, part]] : []))
}

/** A side of a schema: its input, or its output, which stores keep. */
type Side = 'input' | 'output'

/**
 * Builds the fields of an object schema, in its order. A union of objects has the fields of all of them.
 * @throws TypeError where the schema is not an object.
 */
export function fieldsOf(schema: SomeSchema, side: Side = 'output'): Fields {
  const { properties } = buildField(toZod(schema), side)
  if (properties) return properties
  throw new TypeError('The schema must be an object, such as z.object({ … })')
}

/** A line of a form shows less than that. */
const LINE = 255

function isLong(schema: Schema): boolean {
  const { checks = [] } = schema._zod.def
  const maxima = checks.flatMap(({ _zod: { def } }) =>
    'maximum' in def ? Number(def.maximum) : [],
  )
  return maxima.length > 0 && Math.min(...maxima) > LINE && listFormats(schema).length === 0
}

/** Builds the field of a schema; a recursive one ends where it meets itself. */
export function buildField(schema: Schema, side: Side, above: readonly Schema[] = []): Field {
  const plain = { nullable: false, optional: false }
  if (above.includes(schema)) return { kind: 'any', ...plain }
  const inner = (part: Schema) => buildField(part, side, [...above, schema])
  const declared = binaries.get(schema)
  if (declared) {
    const { accept, inlineBelow = 0 } = declared.options
    return { kind: 'blob', ...plain, inlineBelow, ...(accept && { accept }) }
  }
  const def = schemaDefOf(schema)
  switch (def.type) {
    case 'string':
    case 'template_literal':
      return {
        kind: toTextKind(listFormats(schema)),
        ...plain,
        ...(isPassword(schema) && { password: true }),
        ...(isLong(schema) && { long: true }),
      }
    case 'number':
      return {
        kind: listFormats(schema).some(each => /int/.test(each)) ? 'integer' : 'number',
        ...plain,
      }
    case 'boolean':
      return { kind: 'boolean', ...plain }
    case 'enum':
    case 'literal':
      return toChoice([...new Set(schema._zod.values)])
    case 'null':
      return { kind: 'any', nullable: true, optional: false }
    case 'object': {
      const entries = Object.entries(def.shape).map(
        ([name, part]) => [name, { ...inner(part), ...findWords(part) }] as const,
      )
      const open = def.catchall !== undefined && def.catchall._zod.def.type !== 'never'
      return { kind: 'object', ...plain, properties: new Map(entries), ...(open && { open }) }
    }
    case 'array':
      return { kind: 'array', ...plain, element: inner(def.element) }
    case 'tuple': {
      const items = def.rest ? [...def.items, def.rest] : def.items
      return { kind: 'array', ...plain, element: mergeOptions(items.map(inner)) }
    }
    case 'record':
      return { kind: 'record', ...plain, element: inner(def.valueType) }
    case 'union':
      return mergeOptions(def.options.map(inner))
    case 'optional':
      return { ...inner(def.innerType), optional: true }
    case 'nullable':
      return { ...inner(def.innerType), nullable: true }
    case 'default':
      return { ...inner(def.innerType), optional: side === 'input', ...findDefault(def) }
    case 'prefault': {
      const field = inner(def.innerType)
      return { ...field, optional: side === 'input' || field.optional }
    }
    case 'nonoptional':
      return { ...inner(def.innerType), optional: false }
    case 'readonly':
      return inner(def.innerType)
    case 'lazy':
      return inner(def.getter())
    default:
      return { kind: 'any', nullable: true, optional: true }
  }
}

/** Finds what a schema says to people: itself, or what it wraps. */
function findWords(schema: Schema): Pick<Field, 'title' | 'description'> {
  const { title, description } = z.globalRegistry.get(schema) ?? {}
  const def = schemaDefOf(schema)
  if (title === undefined && description === undefined)
    return 'innerType' in def ? findWords(def.innerType) : {}
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  }
}

/** Reads the default of a schema as JSON; a function that returns another value each time has none. */
function findDefault(def: { readonly defaultValue: unknown }): Pick<Field, 'default'> {
  const [value, again] = [JSON.stringify(def.defaultValue), JSON.stringify(def.defaultValue)]
  return value === undefined || value !== again ? {} : { default: JSON.parse(value) }
}

/** Lists the formats of a schema, and of its checks: `z.number().int()`, `z.string().datetime()`. */
function listFormats(schema: Schema): readonly string[] {
  const { def } = schema._zod
  return [def, ...(def.checks ?? []).map(check => check._zod.def)].flatMap(each =>
    'format' in each && typeof each.format === 'string' ? [each.format] : [],
  )
}

/** Whether its metadata has the format of OpenAPI for what nobody is to see: `z.string().meta({ format: 'password' })`. */
function isPassword(schema: Schema): boolean {
  return z.globalRegistry.get(schema)?.format === 'password'
}

function toTextKind(formats: readonly string[]): Kind {
  if (formats.includes('datetime')) return 'date-time'
  return formats.includes('date') ? 'date' : 'string'
}

/** Builds the field of an enum or of literals: a union for values of several types. */
function toChoice(values: readonly unknown[]): Field {
  const nullable = values.includes(null)
  const options = (['string', 'number', 'boolean'] as const).flatMap((kind): Field[] => {
    const choices = values.filter((value): value is Scalar => typeof value === kind)
    return choices.length > 0 ? [{ kind, choices, nullable: false, optional: false }] : []
  })
  const [first] = options
  if (!first) return { kind: 'any', nullable, optional: false }
  return options.length === 1
    ? { ...first, nullable }
    : { kind: 'union', options, nullable, optional: false }
}

/** Builds the field of a union: a union with `null` is nullable, and options of one kind are one field. */
function mergeOptions(options: readonly Field[]): Field {
  const isNull = (option: Field) => option.kind === 'any' && option.nullable && !option.optional
  const nullable = options.some(option => option.nullable)
  const optional = options.some(option => option.optional)
  const distinct = options.filter(option => !isNull(option)).reduce<readonly Field[]>(addOption, [])
  const [first] = distinct
  if (!first) return { kind: 'any', nullable, optional }
  if (distinct.length === 1) return { ...first, nullable, optional }
  const properties = mergeProperties(distinct)
  return { kind: 'union', options: distinct, nullable, optional, ...(properties && { properties }) }
}

/** Adds an option, or joins it with an option of its kind. */
function addOption(options: readonly Field[], option: Field): readonly Field[] {
  for (const [at, known] of options.entries()) {
    const joined = joinFields(known, option)
    if (joined) return options.with(at, joined)
  }
  return [...options, option]
}

/** Joins two fields of one kind to a field for the values of both; `undefined` for objects that differ. */
function joinFields(one: Field, other: Field): Field | undefined {
  const { nullable, optional } = one
  if (isDeepStrictEqual(one, { ...other, nullable, optional })) return one
  if (one.kind !== other.kind) return undefined
  if (one.element && other.element)
    return { ...one, element: mergeOptions([one.element, other.element]) }
  if (!hasOneType(one.kind)) return undefined
  const choices = one.choices && other.choices && [...new Set([...one.choices, ...other.choices])]
  return { kind: one.kind, nullable, optional, ...(choices && { choices }) }
}

/** Merges the properties of all options of a union; `undefined` where one is not an object. */
function mergeProperties(options: readonly Field[]): Fields | undefined {
  const merged = new Map<string, Field>()
  for (const { properties } of options) {
    if (!properties) return undefined
    for (const [name, field] of properties) {
      const known = merged.get(name)
      const inAll = options.every(option => option.properties?.has(name))
      const either = known ? mergeOptions([known, field]) : field
      merged.set(name, inAll ? either : { ...either, optional: true })
    }
  }
  return merged
}
