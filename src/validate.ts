// The validators of a create, a replace and a patch, derived once from a collection's schema.
import { z } from 'zod'
import { HttpError, type Mistake, refuse, suggestion } from './errors.ts'
import { type Field, type Fields, type Item, isObject, type Json, sameJson } from './fields.ts'
import { fieldsOf, isObjectSchema, rootField, type Schema, transforms } from './schema.ts'

/** Checks what a client sent against a collection's schema; all mistakes of a value in one `HttpError` 400. */
export interface Validator {
  /** A new item: defaults filled in. */
  create(value: unknown): Promise<Item>
  /** The whole of an existing item: what is absent is removed or takes its default. */
  replace(current: Item, value: unknown): Promise<Item>
  /** An item as a patch left it: what the patch did not touch stays as it is, byte for byte. */
  patch(current: Item, patched: Json): Promise<Item>
}

export function validatorOf(schema: Schema): Validator {
  const check = checkerOf(schema)
  const transforming = transforms(schema)
  const keeping = transforming ? keepingSchema(schema) : schema

  /** Values that stay as they are pass a transforming schema by: a transform must not run twice. */
  const change = async (current: Item, next: unknown) => {
    const marked = transforming && isObject(next) ? keepSame(current, next) : next
    return toJson(await check(next, keeping, marked), transforming)
  }
  return {
    create: async value => toJson(await check(value), transforming),
    replace: change,
    patch: async (current, patched) => {
      if (sameJson(current, patched)) return current
      // What `change` gives is an object, and putting parts back leaves it one.
      return restore(current, patched, await change(current, patched)) as Item
    },
  }
}

/**
 * Compiles the check of an object that a client sent: what the schema makes of it.
 * @throws HttpError 400 with every mistake, members that the schema does not know included.
 */
export function checkerOf(schema: Schema) {
  const members = fieldsOf(schema, 'input')
  const open = rootField(schema, 'input').open === true
  return async (
    value: unknown,
    inForce: Schema = schema,
    marked: unknown = value,
  ): Promise<unknown> => {
    if (!isObject(value)) {
      throw new HttpError(400, [{ message: 'The body must be an object', type: 'invalid_type' }])
    }
    const mistakes = open ? [] : unknownMembers(value, members, '')
    const result = await z.safeParseAsync(inForce, marked)
    if (!result.success) mistakes.push(...mistakesOf(result.error.issues, value, members))
    refuse(mistakes)
    return result.data
  }
}

/** One entry for each issue: where, what, and what would be right. */
export function mistakesOf(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  members?: Fields,
): Mistake[] {
  return issues.flatMap(issue => {
    const field = issue.path.map(String).join('.')
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(key =>
        unknownMember(field ? `${field}.${key}` : key, members?.keys() ?? []),
      )
    }
    const missing = issue.code === 'invalid_type' && valueBelow(value, issue.path) === undefined
    const said = missing ? issue.message.replace(/, received undefined$/, '') : issue.message
    const message = missing ? `${field} is required: ${said}` : field ? `${field}: ${said}` : said
    return [{ message, ...(field && { field }), type: missing ? 'required' : issue.code }]
  })
}

function valueBelow(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
        ? Reflect.get(parent, key)
        : undefined,
    value,
  )
}

/** zod drops members it does not know; a client must hear of them instead. */
function unknownMembers(value: Item, members: Fields, prefix: string): Mistake[] {
  const mistakes: Mistake[] = []
  for (const [name, member] of Object.entries(value)) {
    const field = members.get(name)
    if (!field) mistakes.push(unknownMember(prefix + name, members.keys()))
    else mistakes.push(...unknownWithin(member, field, `${prefix}${name}.`))
  }
  return mistakes
}

function unknownWithin(value: Json, field: Field, prefix: string): Mistake[] {
  if (Array.isArray(value)) {
    const { element } = field
    return element
      ? value.flatMap((each, at) => unknownWithin(each, element, `${prefix}${at}.`))
      : []
  }
  if (!isObject(value) || field.open) return []
  if (field.members) return unknownMembers(value, field.members, prefix)
  const { element } = field
  if (field.kind !== 'record' || !element) return []
  return Object.entries(value).flatMap(([name, each]) =>
    unknownWithin(each, element, `${prefix}${name}.`),
  )
}

function unknownMember(field: string, names: Iterable<string>): Mistake {
  const name = field.slice(field.lastIndexOf('.') + 1)
  const message = `There is no field ${JSON.stringify(field.slice(0, 64))}${suggestion(name, names)}`
  return { message, field: field.slice(0, 128), type: 'unknown_field' }
}

/** Plain schemas give JSON already; what a transform gives is made JSON here. */
function toJson(value: unknown, transformed: boolean): Item {
  const json: unknown = transformed ? JSON.parse(JSON.stringify(value)) : value
  if (!isObject(json)) throw new TypeError('The schema of a collection must give an object')
  return json
}

/** A value that is what the item already holds. */
class Kept {
  readonly value: Json
  constructor(value: Json) {
    this.value = value
  }
}

/** The next values with every part that equals the current one marked as kept. */
function keepSame(current: Item, next: Item): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => {
      const known = Object.hasOwn(current, name) ? current[name] : undefined
      if (known !== undefined && sameJson(known, value)) return [name, new Kept(known)]
      return [name, isObject(known) && isObject(value) ? keepSame(known, value) : value]
    }),
  )
}

/** The same schema, letting kept values of its members pass; checks on the whole object still run. */
function keepingSchema(schema: Schema): Schema {
  if (!(schema instanceof z.ZodObject)) return withKept(schema)
  const shape: Record<string, z.ZodType> = {}
  for (const [name, part] of Object.entries(schema._zod.def.shape)) {
    shape[name] = withKept(keepingMember(part))
  }
  return schema.safeExtend(shape)
}

function keepingMember(schema: Schema): Schema {
  if (schema instanceof z.ZodObject) return keepingSchema(schema)
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  ) {
    const { def } = schema._zod
    return z.clone(schema, { ...def, innerType: keepingMember(def.innerType) } as typeof def)
  }
  return schema
}

function withKept(schema: Schema): z.ZodType {
  const keeping = z.unknown().transform(async (value, context) => {
    if (value instanceof Kept) return value.value
    const result = await z.safeParseAsync(schema, unkept(value, schema))
    if (result.success) return result.data
    for (const issue of result.error.issues) {
      // A finished issue has every member that a raw one needs; their types differ in `input` alone.
      context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue)
    }
    return z.NEVER
  })
  // Whether a member may be absent is read from here by the object around it.
  keeping._zod.optin = schema._zod.optin
  keeping._zod.optout = schema._zod.optout
  return keeping
}

/** Marks mean something to objects alone; any other schema sees the values themselves. */
function unkept(value: unknown, schema: Schema): unknown {
  if (value instanceof Kept) return value.value
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isObjectSchema(schema))
    return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, unkept(part, schema)]),
  )
}

/**
 * What validation gave, with every part that the patch left alone put back as it was: no default
 * comes in and no transform runs where nobody wrote.
 */
function restore(current: Json | undefined, patched: Json | undefined, given: Json): Json {
  if (current !== undefined && patched !== undefined && sameJson(current, patched)) return current
  if (!isObject(current) || !isObject(patched) || !isObject(given)) return given
  const restored: Item = {}
  for (const [name, value] of Object.entries(given)) {
    const before = Object.hasOwn(current, name) ? current[name] : undefined
    const wanted = Object.hasOwn(patched, name) ? patched[name] : undefined
    if (before === undefined && wanted === undefined) continue
    restored[name] = restore(before, wanted, value)
  }
  return restored
}
