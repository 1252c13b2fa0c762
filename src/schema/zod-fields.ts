// Builds the field table of a zod schema: `input` and `output` differ by defaults alone.
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { binaries } from './blob.ts'
import type { Field, Fields, Kind } from './fields.ts'
import type { Scalar } from './values.ts'

/** Any zod schema. */
export type Schema = z.core.$ZodType

/**
 * Any zod schema, told by what it takes and gives alone: where types are parameters, to compare all
 * of {@link Schema} would cost the type checker ten times as much.
 */
export interface SomeSchema {
  readonly _zod: { readonly output: unknown; readonly input: unknown }
}

export type Output<S extends SomeSchema> = S['_zod']['output']
export type Input<S extends SomeSchema> = S['_zod']['input']

/** The same schema, with all of its type. */
export function toZod(schema: SomeSchema): Schema {
  return schema as Schema // nothing but zod makes a schema
}

/** The definition of a schema, as zod keeps it. */
export type Def = z.core.$ZodTypes['_zod']['def']

/** The schemas inside a schema; those of properties with their names. */
export function partsOf(def: Def): readonly (readonly [name: string | undefined, part: Schema])[] {
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

/** Which side of a schema: what it takes, or what it gives (and stores keep). */
type Side = 'input' | 'output'

/**
 * The fields of an object schema, in its order. A union of objects has the fields of all of them.
 * @throws TypeError where the schema is not an object.
 */
export function fieldsOf(schema: SomeSchema, side: Side = 'output'): Fields {
  const field = rootField(toZod(schema), side)
  const properties = field.properties ?? mergedProperties(field.options ?? [])
  if (properties) return properties
  throw new TypeError('The schema must be an object, such as z.object({ … })')
}

/** A schema as one field: see {@link fieldsOf}. */
export function rootField(schema: Schema, side: Side): Field {
  return toField(schema, side, [])
}

function mergedProperties(options: readonly Field[]): Fields | undefined {
  const merged = new Map<string, Field>()
  for (const option of options) {
    if (!option.properties) return undefined
    for (const [name, field] of option.properties) {
      const known = merged.get(name)
      merged.set(name, known ? unionOf([known, field]) : field)
    }
  }
  if (merged.size === 0) return undefined
  for (const [name, field] of merged) {
    if (options.some(option => !option.properties?.has(name)))
      merged.set(name, { ...field, optional: true })
  }
  return merged
}

const againBySide = {
  input: new WeakMap<Schema, () => Field>(),
  output: new WeakMap<Schema, () => Field>(),
}

/** The field of a schema, made once, when it is asked for. */
function againOf(schema: Schema, side: Side): () => Field {
  const known = againBySide[side].get(schema)
  if (known) return known
  let field: Field | undefined
  const again = () => {
    field ??= rootField(schema, side)
    return field
  }
  againBySide[side].set(schema, again)
  return again
}

function toField(schema: Schema, side: Side, above: readonly Schema[]): Field {
  const plain = { nullable: false, optional: false }
  // A recursive schema ends where it meets itself.
  if (above.includes(schema)) return { kind: 'any', ...plain, again: againOf(schema, side) }
  const inner = (part: Schema) => toField(part, side, [...above, schema])
  const declared = binaries.get(schema)
  if (declared) {
    const { accept, inlineBelow = 0 } = declared.options
    return { kind: 'blob', ...plain, inlineBelow, ...(accept && { accept }) }
  }
  const { def } = (schema as z.core.$ZodTypes)._zod // every schema of zod is one of these
  switch (def.type) {
    case 'string':
    case 'template_literal':
      return { kind: textKind(formatOf(schema)), ...plain }
    case 'number':
      return { kind: /int/.test(formatOf(schema) ?? '') ? 'integer' : 'number', ...plain }
    case 'boolean':
      return { kind: 'boolean', ...plain }
    case 'enum':
    case 'literal':
      return choiceOf([...new Set(schema._zod.values)])
    case 'null':
      return { kind: 'any', nullable: true, optional: false }
    case 'object': {
      const entries = Object.entries(def.shape).map(([name, part]) => [name, inner(part)] as const)
      const open = def.catchall !== undefined && def.catchall._zod.def.type !== 'never'
      return { kind: 'object', ...plain, properties: new Map(entries), ...(open && { open }) }
    }
    case 'array':
      return { kind: 'array', ...plain, element: inner(def.element) }
    case 'tuple': {
      const items = def.rest ? [...def.items, def.rest] : def.items
      return { kind: 'array', ...plain, element: unionOf(items.map(inner)) }
    }
    case 'record':
      return { kind: 'record', ...plain, element: inner(def.valueType) }
    case 'union':
      return unionOf(def.options.map(inner))
    case 'optional':
      return { ...inner(def.innerType), optional: true }
    case 'nullable':
      return { ...inner(def.innerType), nullable: true }
    case 'default':
      return { ...inner(def.innerType), optional: side === 'input' }
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

function formatOf(schema: Schema): string | undefined {
  const { bag, def } = schema._zod
  const format = bag.format ?? ('format' in def ? def.format : undefined)
  return typeof format === 'string' ? format : undefined
}

function textKind(format: string | undefined): Kind {
  if (format === 'datetime') return 'date-time'
  return format === 'date' ? 'date' : 'string'
}

function choiceOf(values: readonly unknown[]): Field {
  const nullable = values.includes(null)
  const choices = values.filter((value): value is Scalar =>
    ['string', 'number', 'boolean'].includes(typeof value),
  )
  const kinds = new Set(choices.map(kindOfScalar))
  const [kind = 'any'] = kinds
  if (kinds.size <= 1) return { kind, choices, nullable, optional: false }
  const options = [...kinds].map(each => ({
    kind: each,
    nullable: false,
    optional: false,
    choices: choices.filter(choice => kindOfScalar(choice) === each),
  }))
  return { kind: 'union', options, nullable, optional: false }
}

function kindOfScalar(value: Scalar): Kind {
  return typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'string'
}

/** A union with `null` is nullable; of options that one field can hold, that field. */
function unionOf(options: readonly Field[]): Field {
  const real = options.filter(
    option => !(option.kind === 'any' && option.nullable && !option.optional),
  )
  const nullable = real.length < options.length || real.some(option => option.nullable)
  const optional = options.some(option => option.optional)
  const distinct = real.reduce<readonly Field[]>(withOption, [])
  const [first] = distinct
  if (!first) return { kind: 'any', nullable, optional }
  if (distinct.length === 1) return { ...first, nullable, optional }
  const properties = mergedProperties(distinct)
  return { kind: 'union', options: distinct, nullable, optional, ...(properties && { properties }) }
}

/** Options with one more, which another may hold already, or come to hold. */
function withOption(options: readonly Field[], option: Field): readonly Field[] {
  for (const [at, known] of options.entries()) {
    const joined = joinedField(known, option)
    if (joined) return options.with(at, joined)
  }
  return [...options, option]
}

/** The field that holds what either of two of one kind holds; objects that differ stay apart. */
function joinedField(one: Field, other: Field): Field | undefined {
  if (isDeepStrictEqual(plain(one), plain(other))) return one
  if (one.kind !== other.kind) return undefined
  if (one.element && other.element)
    return { ...one, element: unionOf([one.element, other.element]) }
  if (!SCALARS.has(one.kind)) return undefined
  const { kind, nullable, optional, choices } = one
  return {
    kind,
    nullable,
    optional,
    ...(choices && other.choices && { choices: [...new Set([...choices, ...other.choices])] }),
  }
}

const SCALARS = new Set<Kind>(['string', 'number', 'integer', 'boolean', 'date', 'date-time'])

function plain(field: Field): Field {
  return { ...field, nullable: false, optional: false }
}
