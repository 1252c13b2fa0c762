// A zod schema as field tables: of what it takes and of what it gives.
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { binaries } from './blob.ts'
import { parseInstant } from './dates.ts'
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

/** Which side of a schema: what it takes, or what it gives (and stores keep). */
type Side = 'input' | 'output'

/**
 * The fields of an object schema, in its order. A union of objects has the fields of all of them.
 * @throws TypeError where the schema is no object, has a part that JSON cannot hold, or a blob() below
 * the item itself.
 */
export function fieldsOf(schema: SomeSchema, side: Side = 'output'): Fields {
  const field = rootField(toZod(schema), side)
  const properties = field.properties ?? mergedProperties(field.options ?? [])
  if (!properties) {
    const { def } = (toZod(schema) as z.core.$ZodTypes)._zod
    const hint =
      def.type === 'pipe' ? '; behind a transform say what it gives: .pipe(z.object({ … }))' : ''
    throw new TypeError(
      `The schema of a collection must be an object, such as z.object({ … })${hint}`,
    )
  }
  for (const [name, property] of properties) {
    const below = blobBelow(property, name)
    if (below !== undefined)
      throw new TypeError(`${below}: a blob() must be a property of the item itself`)
  }
  return properties
}

/** The dotted path of a blob() in what a field holds: in an object, a list, a record or a union. */
function blobBelow({ properties, element, options = [] }: Field, path: string): string | undefined {
  const named = [...(properties ?? [])].map(
    ([name, property]) => [`${path}.${name}`, property] as const,
  )
  const others = [...(element ? [element] : []), ...options].map(part => [path, part] as const)
  for (const [at, part] of [...named, ...others]) {
    const below = part.kind === 'blob' ? at : blobBelow(part, at)
    if (below !== undefined) return below
  }
  return undefined
}

/** A schema as one field: see {@link fieldsOf}. */
export function rootField(schema: Schema, side: Side): Field {
  return fieldOf(schema, side, [], [])
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

/** Every type of zod that JSON cannot hold, and what to declare instead. */
const NOT_JSON: Readonly<Record<string, string>> = {
  date: 'z.iso.datetime() or z.iso.date()',
  bigint: 'z.int() or a text',
  map: 'z.record()',
  set: 'z.array()',
  symbol: 'z.string()',
  function: 'nothing',
  promise: 'the value itself',
  nan: 'z.number().nullable()',
  file: 'a text or an object',
  undefined: '.optional()',
  void: '.optional()',
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

function fieldOf(
  schema: Schema,
  side: Side,
  path: readonly string[],
  above: readonly Schema[],
): Field {
  const plain = { nullable: false, optional: false }
  // A recursive schema ends where it meets itself.
  if (above.includes(schema)) return { kind: 'any', ...plain, again: againOf(schema, side) }
  const inner = (part: Schema, name?: string) =>
    fieldOf(part, side, name === undefined ? path : [...path, name], [...above, schema])
  const declared = binaries.get(schema)
  if (declared) {
    const { accept, inlineBelow = 0 } = declared.options
    return { kind: 'blob', ...plain, inlineBelow, ...(accept && { accept }) }
  }
  const { def } = (schema as z.core.$ZodTypes)._zod
  const refuse = (type: string) => {
    const message = `${path.join('.') || 'The schema'} is z.${type}(), which JSON cannot hold`
    throw new TypeError(`${message}; declare ${NOT_JSON[type]}`)
  }
  if (NOT_JSON[def.type] !== undefined && !(side === 'input' && def.type !== 'date'))
    refuse(def.type)
  switch (def.type) {
    case 'string':
    case 'template_literal':
      return { kind: textKind(formatOf(schema)), ...plain }
    case 'number':
      return { kind: /int/.test(formatOf(schema) ?? '') ? 'integer' : 'number', ...plain }
    case 'boolean':
      return { kind: 'boolean', ...plain }
    case 'enum':
    case 'literal': {
      const values = [...new Set(schema._zod.values)]
      if (values.some(value => typeof value === 'bigint')) refuse('bigint')
      return choiceOf(values)
    }
    case 'null':
      return { kind: 'any', nullable: true, optional: false }
    case 'object': {
      const properties = new Map<string, Field>()
      for (const [name, part] of Object.entries(def.shape)) properties.set(name, inner(part, name))
      const open = def.catchall !== undefined && def.catchall._zod.def.type !== 'never'
      return { kind: 'object', ...plain, properties, ...(open && { open }) }
    }
    case 'array':
      return { kind: 'array', ...plain, element: inner(def.element) }
    case 'tuple': {
      const items = def.rest ? [...def.items, def.rest] : def.items
      return { kind: 'array', ...plain, element: unionOf(items.map(item => inner(item))) }
    }
    case 'record':
      return { kind: 'record', ...plain, element: inner(def.valueType) }
    case 'union':
      return unionOf(def.options.map(option => inner(option)))
    case 'intersection': // zod asks for it where both of its parts may be absent
      return { ...bothOf(inner(def.left), inner(def.right)), optional: false }
    case 'optional':
      return { ...inner(def.innerType), optional: true }
    case 'nullable':
      return { ...inner(def.innerType), nullable: true }
    case 'default': {
      const field = inner(def.innerType)
      const value = def.defaultValue
      // Of a bigint, which a transform may make JSON of, zod describes nothing.
      if (typeof value !== 'bigint' || field.kind !== 'any' || side === 'output')
        checkDefault(value, path, side === 'output' ? field : undefined)
      return { ...field, optional: side === 'input' }
    }
    case 'prefault': {
      checkDefault(def.defaultValue, path)
      const field = inner(def.innerType)
      return { ...field, optional: side === 'input' || field.optional }
    }
    case 'catch': {
      const field = inner(def.innerType)
      checkDefault(caughtBy(def), path, side === 'output' ? field : undefined)
      return { ...field, optional: side === 'input' || field.optional }
    }
    case 'nonoptional':
      return { ...inner(def.innerType), optional: false }
    case 'success':
      return side === 'output' ? { kind: 'boolean', ...plain } : inner(def.innerType)
    case 'readonly':
    case 'promise':
      return inner(def.innerType)
    case 'lazy':
      return inner(def.getter())
    case 'pipe': // a `z.preprocess` takes whatever its schema takes
      return inner(side === 'output' || def.in._zod.def.type === 'transform' ? def.out : def.in)
    default:
      return { kind: 'any', nullable: true, optional: true }
  }
}

/** The field of what fits two: with the properties of both, each of which fits both where both have it. */
function bothOf(one: Field, other: Field): Field {
  if (one === other) return one
  if (one.again || other.again) {
    const again = () => bothOf(one.again?.() ?? one, other.again?.() ?? other)
    return { ...(one.again ? one : other), again }
  }
  const known = {
    nullable: one.nullable && other.nullable,
    optional: one.optional && other.optional,
  }
  if (!holdsProperties(one) && !holdsProperties(other)) {
    const element = one.element && other.element && bothOf(one.element, other.element)
    return { ...(other.kind === 'any' ? one : other), ...known, ...(element && { element }) }
  }
  const properties = new Map(one.properties)
  for (const [name, property] of other.properties ?? []) {
    const before = properties.get(name)
    properties.set(name, before ? bothOf(before, property) : property)
  }
  const open = [one, other].some(({ open, kind }) => open || kind === 'record' || kind === 'any')
  return { kind: 'object', ...known, properties, ...(open && { open }) }
}

function holdsProperties({ kind, properties }: Field): boolean {
  return properties !== undefined || kind === 'record'
}

/** What takes the place of a value that does not fit; null where only such a value tells. */
function caughtBy({ catchValue }: z.core.$ZodCatchDef): unknown {
  try {
    // Called as zod does for its JSON Schema.
    return catchValue(undefined as never) ?? null
  } catch {
    return null
  }
}

/** @throws TypeError for a default that zod does not check, and that no list could sort or no description tell. */
function checkDefault(value: unknown, path: readonly string[], field?: Field): void {
  const where = path.join('.') || 'The schema'
  if (!isJsonable(value)) {
    throw new TypeError(
      `${where} has a default that JSON cannot hold: ${String(value)}; give another, or leave it out`,
    )
  }
  const moment = field?.kind === 'date-time' && typeof value === 'string'
  const wrong = moment
    ? Number.isNaN(parseInstant(value))
    : field?.kind === 'integer' && typeof value === 'number' && !Number.isInteger(value)
  if (!wrong) return
  const what = moment ? 'date and time' : 'whole number'
  throw new TypeError(
    `${where} has the default ${JSON.stringify(value)}, which is no ${what}; give one, or say .nullable() or .optional() for none`,
  )
}

/** Whether there is a JSON text of a value that a program made. */
export function isJsonable(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
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
