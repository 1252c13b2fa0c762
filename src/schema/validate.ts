// The validators of a create, a replace and a patch, derived once from a collection's schema.
import { z } from 'zod'
import { HttpError, type Issue, MAX_ISSUES, throwIfAny } from '../errors.ts'
import { asJson } from './as-json.ts'
import { type Field, type Fields, findField, getPropertyField } from './fields.ts'
import { withForeign, withoutForeign } from './foreign.ts'
import { changeOf, isPlain, keepingSchema, typesIn } from './keeping.ts'
import { findDropped, findUnknown, unknownProperty } from './unknown-properties.ts'
import { getProperty, type Item, isObject, type Json, sameJson } from './values.ts'
import { fieldsOf, rootField, type Schema } from './zod-fields.ts'

/** Checks what a client sent against a collection's schema; all issues of a value in one `HttpError` 400. */
export interface Validator {
  /** A new item: defaults filled in. */
  create(value: unknown): Promise<Item>
  /** The whole of an existing item: what is absent is removed or takes its default. */
  replace(current: Item, value: Json): Promise<Item>
  /** An item as a patch left it: what the patch did not touch stays as it is, byte for byte. */
  patch(current: Item, patched: Json): Promise<Item>
  /**
   * Checked values as a program has changed them. A schema with transforms, which may not run twice,
   * only says which properties there are.
   */
  adopt(current: Item, changed: Json): Promise<Item>
}

export function buildValidator(schema: Schema): Validator {
  const check = buildChecker(schema)
  const input = rootField(schema, 'input')
  const plain = isPlain(schema)
  const keeping = plain ? undefined : keepingSchema(schema)
  const output = plain ? undefined : rootField(schema, 'output')

  const change = async (current: Item, next: Json) => {
    const own = withoutForeign(current, current, input, output ?? input)
    const sent = withoutForeign(current, next, input, output ?? input)
    const instead = keeping && { schema: keeping, value: changeOf(own, sent) }
    return toItem(output, await check(sent, own, instead))
  }
  const patch = async (current: Item, patched: Json) => {
    if (sameJson(current, patched)) return current
    const given = await change(current, patched)
    const restored = restore(current, patched, given, input)
    // What `change` gives is an object, and putting parts back leaves it one.
    return withForeign(current, patched, restored, input, output ?? input) as Item
  }
  return {
    create: async value => toItem(output, await check(value)),
    replace: change,
    patch,
    adopt: async (current, changed) => {
      if (!output) return patch(current, changed)
      const issues: Issue[] = []
      findUnknown(changed, current, output, { prefix: '', found: issues })
      throwIfAny(issues)
      return toItem(output, changed)
    },
  }
}

/**
 * Compiles the check of an object that a client sent: what the schema makes of it.
 * @throws HttpError 400 with every issue, properties that the schema does not know included.
 */
export function buildChecker(schema: Schema) {
  const properties = fieldsOf(schema, 'input')
  const input = rootField(schema, 'input')
  const types = typesIn(schema)
  // Of what a transform or a `catch` gives nobody can tell what it was made of.
  const chooses = isPlain(schema) && types.has('union') && !types.has('catch')
  /** @param instead what to check in the place of the value, and by what. */
  return async (
    value: unknown,
    current: Json = {},
    instead: { schema: Schema; value: unknown } = { schema, value },
  ): Promise<unknown> => {
    if (!isObject(value)) {
      throw new HttpError(400, [{ message: 'The body must be an object', type: 'invalid_type' }])
    }
    const issues: Issue[] = []
    findUnknown(value, current, input, { prefix: '', found: issues })
    const result = await z.safeParseAsync(instead.schema, instead.value)
    if (!result.success) issues.push(...toIssues(result.error.issues, value, properties))
    else if (chooses && issues.length === 0) findDropped(value, current, result.data, '', issues)
    throwIfAny(issues)
    return result.data
  }
}

/** What zod says of a value that is not there, by the type that was wanted. */
const ABSENT: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

/** One entry for each issue: where, what, and what would be right. */
export function toIssues(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  properties: Fields,
): Issue[] {
  return issues.slice(0, MAX_ISSUES).flatMap(issue => {
    const field = issue.path.map(String).join('.')
    if (issue.code === 'unrecognized_keys') {
      const known = field ? findField(properties, issue.path.map(String))?.properties : properties
      return issue.keys
        .slice(0, MAX_ISSUES)
        .map(key => unknownProperty(field ? `${field}.${key}` : key, known?.keys() ?? []))
    }
    const absent = ABSENT.has(issue.code)
    const missing = absent && valueBelow(value, issue.path) === undefined
    // The schema wants the record that becomes of a file.
    const property = properties.get(field)
    const file = absent && property?.kind === 'blob' && !property.optional
    const plain = missing ? issue.message.replace(/, received undefined$/, '') : issue.message
    const said = file ? 'a file is needed' : plain
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

/** What a schema gave, as it will be printed: without `undefined`, with dates as texts. */
function toItem(order: Field | undefined, value: unknown): Item {
  // Most values are JSON already: they are not copied.
  const json: unknown = !order && isJson(value) ? value : asJson(value)
  if (!isObject(json)) throw new TypeError('The schema of a collection must give an object')
  return order ? inOrder(json, order) : json
}

/** Whether a value is what its JSON text gives back. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  // `undefined` in an array's gaps too.
  if (Array.isArray(value)) return Array.from(value).every(isJson)
  return isPlainObject(value) && Object.values(value).every(isJson)
}

function isPlainObject(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}

/** Members in the order of the schema: what zod awaited comes late. */
function inOrder<T extends Json>(value: T, field: Field | undefined): T {
  if (!field || typeof value !== 'object' || value === null) return value
  const { element, properties } = field
  const ordered = Array.isArray(value)
    ? value.map(each => inOrder(each, element))
    : Object.fromEntries(
        [...new Set([...(properties?.keys() ?? []), ...Object.keys(value)])]
          .filter(name => Object.hasOwn(value, name))
          .map(name => [
            name,
            inOrder(getProperty(value, name) ?? null, element ?? properties?.get(name)),
          ]),
      )
  // The same value but for the order of its properties.
  return ordered as T
}

/**
 * What validation gave, with every part that the patch left alone put back as it was: no default
 * comes in and no transform runs where nobody wrote. Members that the schema itself makes from
 * others are as it made them, and another option of a union has its own defaults.
 */
function restore(
  current: Json | undefined,
  patched: Json | undefined,
  given: Json,
  field: Field | undefined,
): Json {
  if (current !== undefined && patched !== undefined && sameJson(current, patched)) return current
  if (!isObject(current) || !isObject(patched) || !isObject(given)) return given
  const switched = field?.kind === 'union' && isSwitched(current, given, field)
  const restored: Item = {}
  for (const [name, value] of Object.entries(given)) {
    const property = getPropertyField(field, name)
    const before = getProperty(current, name)
    const wanted = getProperty(patched, name)
    const made = field?.properties !== undefined && !field.open && property === undefined
    if (made) restored[name] = value
    else if (before !== undefined || wanted !== undefined || switched)
      restored[name] = restore(before, wanted, value, property)
  }
  return restored
}

/** Whether a property that tells the options of a union apart has changed. */
function isSwitched(current: Item, given: Item, { properties }: Field): boolean {
  return [...(properties ?? [])].some(
    ([name, { kind, choices, options }]) =>
      (choices !== undefined || (kind === 'union' && options?.some(each => each.choices))) &&
      !sameJson(getProperty(current, name), getProperty(given, name)),
  )
}
