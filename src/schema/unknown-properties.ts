// Finds properties that a schema does not declare: zod drops them silently, and the client must know.
import type { z } from 'zod'
import { type Issue, MAX_ISSUES } from '../errors.ts'
import { unknownProperty } from './issues.ts'
import { getProperty, isObject, isScalar, type Json, sameJson } from './values.ts'
import { buildField, type Schema } from './zod-fields.ts'

/**
 * Adds an issue for each unknown property of a value, except those that the current value has too.
 * @param prefix what stands before the names: `model.`.
 */
export type UnknownFinder = (
  value: Json | undefined,
  current: Json | undefined,
  prefix: string,
  found: Issue[],
) => void

/** Where zod reports unknown properties itself, or there are none. */
const NOTHING: UnknownFinder = () => {}

/**
 * Compiles the search for unknown properties. Below a `z.union` every object is strict or loose: nothing
 * is searched there.
 */
export function compileUnknownFinder(
  schema: Schema,
  compiled: Compiled = new Map(),
): UnknownFinder {
  const known = compiled.get(schema)
  // A recursive schema meets itself before it is compiled.
  if (known) return (...search) => known.find(...search)
  const entry = { find: NOTHING }
  compiled.set(schema, entry)
  entry.find = compileKind(schema, compiled)
  return entry.find
}

type Compiled = Map<Schema, { find: UnknownFinder }>

function compileKind(schema: Schema, compiled: Compiled): UnknownFinder {
  const { def } = (schema as z.core.$ZodTypes)._zod // every schema of zod is one of these
  const compile = (part: Schema) => compileUnknownFinder(part, compiled)
  switch (def.type) {
    case 'object':
      return inObject(def, compile, schema)
    case 'array':
      return inList([], compile(def.element))
    case 'tuple':
      return inList(def.items.map(compile), def.rest ? compile(def.rest) : NOTHING)
    case 'record':
      return inObject({ shape: {}, catchall: def.valueType }, compile, schema)
    case 'union':
      return 'discriminator' in def
        ? inOption(String(def.discriminator), def.options, compile)
        : NOTHING
    case 'lazy':
      return compile(def.getter())
    default:
      return 'innerType' in def ? compile(def.innerType) : NOTHING
  }
}

function inObject(
  { shape, catchall }: Pick<z.core.$ZodObjectDef, 'shape' | 'catchall'>,
  compile: (part: Schema) => UnknownFinder,
  schema: Schema,
): UnknownFinder {
  const others = catchall && compile(catchall)
  const below = new Map(Object.entries(shape).map(([name, part]) => [name, compile(part)]))
  if (others === NOTHING && [...below.values()].every(find => find === NOTHING)) return NOTHING
  return (value, current, prefix, found) => {
    if (!isObject(value)) return
    for (const name in value) {
      const find = below.get(name) ?? others
      if (find === NOTHING) continue
      if (find) find(value[name], getProperty(current, name), `${prefix}${name}.`, found)
      else if (
        found.length < MAX_ISSUES &&
        Object.hasOwn(value, name) &&
        !sameJson(getProperty(current, name), value[name])
      )
        found.push(unknownProperty(prefix + name, buildField(schema, 'input').properties))
    }
  }
}

function inList(items: readonly UnknownFinder[], rest: UnknownFinder): UnknownFinder {
  if ([...items, rest].every(find => find === NOTHING)) return NOTHING
  return (value, current, prefix, found) => {
    if (!Array.isArray(value)) return
    const before = elementsBefore(current, value)
    for (const [at, each] of value.entries()) {
      const find = items[at] ?? rest
      find(each, before[at], `${prefix}${at}.`, found)
    }
  }
}

function inOption(
  discriminator: string,
  options: readonly Schema[],
  compile: (part: Schema) => UnknownFinder,
): UnknownFinder {
  const finders = options.map(option => ({
    values: option._zod.propValues?.[discriminator],
    find: compile(option),
  }))
  if (finders.every(({ find }) => find === NOTHING)) return NOTHING
  return (value, current, prefix, found) => {
    const chosen = getProperty(value, discriminator)
    const option = finders.find(({ values }) => isScalar(chosen) && values?.has(chosen))
    option?.find(value, current, prefix, found)
  }
}

/**
 * Finds the earlier value of each element of a list: an equal element anywhere in the earlier list, else the
 * element at the same index.
 */
export function elementsBefore(
  current: Json | undefined,
  next: readonly Json[],
): readonly (Json | undefined)[] {
  if (!Array.isArray(current)) return []
  const known = new Map(current.map(element => [JSON.stringify(element), element]))
  return next.map((element, at) => known.get(JSON.stringify(element)) ?? current[at])
}
