// Checks a change of an item so that what stays the same passes by: a transform must not run twice,
// and a default need not suit the checks that it was declared with.
import { z } from 'zod'
import { type Item, isObject, type Json, sameJson } from './values.ts'
import { rootField, type Schema } from './zod-fields.ts'

/** A value as it is and as it is wanted. */
class Change {
  readonly current: Json
  readonly next: Json
  constructor(current: Json, next: Json) {
    this.current = current
    this.next = next
  }
}

/** What a {@link keepingSchema} checks: the wanted value, and the current one where there is one to keep. */
export function changeOf(current: Json | undefined, next: Json | undefined): unknown {
  if (current === undefined || next === undefined) return next
  // A null that comes is for the schema to see; one that stays may be what a transform gave.
  if (next === null && current !== null) return next
  return new Change(current, next)
}

const plainness = new WeakMap<Schema, boolean>()

/** Whether what a schema gave passes it again unchanged, as far as its types tell. */
export function isPlain(schema: Schema): boolean {
  const known = plainness.get(schema)
  if (known !== undefined) return known
  const plain = isPlainWithin(schema, new Set())
  plainness.set(schema, plain)
  return plain
}

function isPlainWithin(schema: Schema, seen: Set<Schema>): boolean {
  if (seen.has(schema)) return true
  seen.add(schema)
  const { def } = (schema as z.core.$ZodTypes)._zod // every schema of zod is one of these
  if (['pipe', 'transform', 'success'].includes(def.type)) return false
  if (def.checks?.some(({ _zod }) => _zod.def.check === 'overwrite')) return false
  if (def.type === 'default' && !givesBack(def.innerType, def.defaultValue)) return false
  return partsOf(def).every(part => isPlainWithin(part, seen))
}

/** The properties of an object schema that may give another value than they take. */
export function propertiesNotPlain(schema: Schema): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod // every schema of zod is one of these
  if (def.type !== 'object') return []
  return Object.entries(def.shape).flatMap(([name, part]) => (isPlain(part) ? [] : [name]))
}

/** The types of a schema and of all its parts. */
export function typesIn(schema: Schema, seen = new Set<Schema>()): ReadonlySet<string> {
  if (seen.has(schema)) return new Set()
  seen.add(schema)
  const { def } = (schema as z.core.$ZodTypes)._zod // every schema of zod is one of these
  return new Set([def.type, ...partsOf(def).flatMap(part => [...typesIn(part, seen)])])
}

function givesBack(schema: Schema, value: unknown): boolean {
  try {
    const result = z.safeParse(schema, value)
    return result.success && sameJson(result.data, value)
  } catch {
    // An asynchronous check: nobody can tell now.
    return false
  }
}

function partsOf(def: z.core.$ZodTypes['_zod']['def']): readonly Schema[] {
  switch (def.type) {
    case 'object':
      return [...Object.values(def.shape), ...(def.catchall ? [def.catchall] : [])]
    case 'array':
      return [def.element]
    case 'tuple':
      return def.rest ? [...def.items, def.rest] : def.items
    case 'record':
      return [def.keyType, def.valueType]
    case 'union':
      return def.options
    case 'intersection':
      return [def.left, def.right]
    case 'lazy':
      return [def.getter()]
    default:
      return 'innerType' in def ? [def.innerType] : []
  }
}

const keeping = new WeakMap<Schema, Schema>()

/**
 * The same schema for a {@link changeOf}: a part that is not plain and stays the same is kept as it
 * is, everything else is checked; checks on objects and lists see the whole.
 */
export function keepingSchema(schema: Schema): Schema {
  const known = keeping.get(schema)
  if (known) return known
  const made = z.unknown().transform(async (value, context) => {
    if (!(value instanceof Change)) return run(schema, value, value, context)
    const { current, next } = value
    if (isPlain(schema)) return run(schema, next, next, context)
    if (sameJson(current, next)) return current
    const [parts, spread] = partsKept(schema, value)
    return run(parts, spread, next, context)
  })
  // Whether a property may be absent is read from here by the object around it.
  made._zod.optin = schema._zod.optin
  made._zod.optout = schema._zod.optout
  keeping.set(schema, made)
  return made
}

async function run(schema: Schema, value: unknown, input: unknown, context: z.RefinementCtx) {
  const result = await z.safeParseAsync(schema, value)
  if (result.success) return result.data
  for (const issue of result.error.issues) {
    // A finished issue has every property that a raw one needs; their types differ in `input` alone.
    context.issues.push({ ...issue, input } as z.core.$ZodRawIssue)
  }
  return z.NEVER
}

/** A schema with its parts keeping, and the change spread over them. */
function partsKept(schema: Schema, change: Change): [Schema, unknown] {
  const { current, next } = change
  const { def } = (schema as z.core.$ZodTypes)._zod // every schema of zod is one of these
  switch (def.type) {
    case 'object': {
      if (!isObject(current) || !isObject(next)) return [schema, next]
      const parts = rebuilt(schema)
      const left = leftOut(def.shape, current, next)
      const spread = spreadProperties(current, next)
      if (left.length === 0) return [parts, spread]
      const optional = left.map(([name, part]) => [name, z.optional(keepingSchema(part))])
      const shape = { ...keepingShape(def.shape), ...Object.fromEntries(optional) }
      return [derive(parts, { shape }), spread]
    }
    case 'record':
      if (!isObject(current) || !isObject(next)) return [schema, next]
      return [rebuilt(schema), spreadProperties(current, next)]
    case 'array':
      if (!Array.isArray(current) || !Array.isArray(next)) return [schema, next]
      return [rebuilt(schema), spreadElements(current, next)]
    case 'tuple': {
      if (!Array.isArray(current) || !Array.isArray(next)) return [schema, next]
      // Each of the rest as an item of its own: zod puts what it awaits of a rest in one place.
      const rest = next.slice(def.items.length).flatMap(() => def.rest ?? [])
      const items = [...def.items, ...rest].map(keepingSchema)
      return [derive(schema, { items }), spreadElements(current, next)]
    }
    case 'union': {
      if (!('discriminator' in def)) return [rebuilt(schema), change]
      const name = String(def.discriminator)
      const named = isObject(next) && Object.hasOwn(next, name) ? next[name] : undefined
      const option =
        typeof named !== 'object' &&
        def.options.find(({ _zod }) => _zod.propValues?.[name]?.has(named))
      if (!option) return [schema, next]
      return [derive(z.union([keepingSchema(option)]), { checks: def.checks }), change]
    }
    case 'intersection':
    case 'lazy':
      return [rebuilt(schema), change]
    default: {
      const made = rebuilt(schema)
      return [made, made === schema ? next : change]
    }
  }
}

/** The required properties that a transform has left out of the current value, and that nobody adds now. */
function leftOut(shape: Shape, current: Item, next: Item): [name: string, part: Schema][] {
  return Object.entries(shape).filter(
    ([name, part]) =>
      !Object.hasOwn(current, name) &&
      !Object.hasOwn(next, name) &&
      !part._zod.optin &&
      !isPlain(part) &&
      rootField(part, 'output').optional,
  )
}

function spreadProperties(current: Item, next: Item): Record<string, unknown> {
  const spread = Object.entries(next).map(([name, value]) => [
    name,
    changeOf(Object.hasOwn(current, name) ? current[name] : undefined, value),
  ])
  return Object.fromEntries(spread)
}

function spreadElements(current: Json[], next: readonly Json[]): unknown[] {
  const before = elementsBefore(current, next)
  return next.map((element, at) => changeOf(before[at], element))
}

/**
 * What each element of a list was before: one that the list had anywhere is that one still; any other is
 * a change of the one in its place.
 */
export function elementsBefore(
  current: Json | undefined,
  next: readonly Json[],
): readonly (Json | undefined)[] {
  if (!Array.isArray(current)) return []
  const known = new Map(current.map(element => [JSON.stringify(element), element]))
  return next.map((element, at) => {
    const text = JSON.stringify(element)
    return known.has(text) ? known.get(text) : current[at]
  })
}

type Shape = Readonly<Record<string, Schema>>

function keepingShape(shape: Shape): Shape {
  return Object.fromEntries(
    Object.entries(shape).map(([name, part]) => [name, keepingSchema(part)]),
  )
}

const rebuiltSchemas = new WeakMap<Schema, Schema>()

function rebuilt(schema: Schema): Schema {
  const known = rebuiltSchemas.get(schema)
  if (known) return known
  const made = rebuild(schema)
  rebuiltSchemas.set(schema, made)
  return made
}

function rebuild(schema: Schema): Schema {
  const { def } = (schema as z.core.$ZodTypes)._zod // every schema of zod is one of these
  switch (def.type) {
    case 'object': {
      // An unknown property is refused before a schema sees it.
      const open = def.catchall && def.catchall._zod.def.type !== 'never'
      const catchall = open && def.catchall ? { catchall: keepingSchema(def.catchall) } : {}
      return derive(schema, { shape: keepingShape(def.shape), ...catchall })
    }
    case 'array':
      return derive(schema, { element: keepingSchema(def.element) })
    case 'record':
      return derive(schema, { valueType: keepingSchema(def.valueType) })
    case 'union':
      return derive(schema, { options: def.options.map(keepingSchema) })
    case 'intersection':
      return derive(schema, { left: keepingSchema(def.left), right: keepingSchema(def.right) })
    case 'lazy':
      return keepingSchema(def.getter())
    case 'catch':
      return derive(schema, {
        innerType: keepingSchema(def.innerType),
        catchValue: (failure: Parameters<typeof def.catchValue>[0]) => {
          const { next } = failure.value as Change // what the inner type was given
          return def.catchValue({ ...failure, value: next, input: next })
        },
      })
    default:
      return 'innerType' in def && def.type !== 'success'
        ? derive(schema, { innerType: keepingSchema(def.innerType) })
        : schema
  }
}

/** The schema with some of its definition exchanged; its checks and computed defaults stay as they are. */
function derive<S extends Schema>(schema: S, changes: Record<string, unknown>): S {
  const def = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema._zod.def))
  for (const [name, value] of Object.entries(changes)) {
    Object.defineProperty(def, name, { value, enumerable: true, configurable: true })
  }
  return z.clone(schema, def as S['_zod']['def']) // the same definition but for its parts
}
