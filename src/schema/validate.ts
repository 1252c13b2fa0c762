// The validators of a create, a replace and a patch, compiled once from a collection's schema.

import {
  type Awaitable,
  andThen,
  getProperty,
  type Item,
  isObject,
  type Json,
  sameJson,
} from '../base/values.ts'
import { HttpError, throwIfAny } from '../errors.ts'
import { type Field, getPropertyField } from './fields.ts'
import { toIssues } from './issues.ts'
import { toPlainJson } from './json.ts'
import { buildParser } from './parse.ts'
import { elementsBefore, findUnknown, hasAll } from './unknown-properties.ts'
import { buildField, type Schema } from './zod-fields.ts'

/** Checks values against a collection's schema; all issues of a value in one `HttpError` 400. */
export interface Validator {
  /** Checks a new item and fills in its defaults. */
  create(value: unknown): Awaitable<Item>
  /** Checks a replacement: an absent property is removed or takes its default. */
  replace(current: Item, value: Json): Awaitable<Item>
  /** Checks a patched item: the parts that the patch did not touch stay byte for byte. */
  patch(current: Item, patched: Json): Awaitable<Item>
}

/**
 * Compiles the validator of a schema. An item keeps the properties that only another version declares.
 * @param unknown properties that no message may name.
 */
export function buildValidator(schema: Schema, unknown?: ReadonlySet<string>): Validator {
  const check = buildChecker(schema, unknown)
  const field = buildField(schema, 'input')
  const open = [field, ...(field.options ?? [])].some(each => each.open)
  /** The properties of an item that only another version of its collection declares. */
  const listUnknown = (current: Item): Item | undefined => {
    if (open) return undefined
    const entries = Object.entries(current).filter(([name]) => !field.properties?.has(name))
    return entries.length > 0 ? Object.fromEntries(entries) : undefined
  }
  return {
    create: check,
    replace(current, value) {
      const kept = listUnknown(current)
      if (!kept) return check(value, current)
      return andThen(check(without(value, kept), current), item => ({ ...item, ...kept }))
    },
    patch(current, patched) {
      if (sameJson(current, patched)) return current
      const kept = listUnknown(current)
      const own = kept ? without(patched, kept) : patched
      // An object comes back where all three are objects, as the check has made sure.
      return andThen(check(own, current), item => restore(current, patched, item, field) as Item)
    },
  }
}

/** A value without the properties that others have too: a strict schema would refuse them. */
function without(value: Json, others: Item): Json {
  if (!isObject(value)) return value
  const own = Object.entries(value).filter(
    ([name, each]) => !Object.hasOwn(others, name) || !sameJson(each, others[name]),
  )
  return Object.fromEntries(own)
}

/**
 * Compiles the check of an input that must be an object. It returns the result of the schema.
 * @throws HttpError 400 with every issue, unknown properties included.
 */
export function buildChecker(
  schema: Schema,
  unknown = NO_NAMES,
): (value: unknown, current?: Json) => Awaitable<Item> {
  const parse = buildParser(schema)
  const field = omitProperties(buildField(schema, 'input'), unknown)
  return (value, current) => {
    if (!isObject(value)) {
      throw new HttpError(400, [{ message: 'The body must be an object', type: 'invalid_type' }])
    }
    return andThen(parse(value), ({ data, error }) => {
      if (error || !hasAll(value, data)) {
        const invalid = error ? toIssues(error.issues, value, field) : []
        const known = new Set(invalid.map(issue => issue.field))
        const unknown = findUnknown(schema, field, value, current)
        throwIfAny([...unknown.filter(issue => !known.has(issue.field)), ...invalid])
      }
      const item = toPlainJson(data)
      if (isObject(item)) return item
      throw new TypeError('An overwrite of the whole schema must give an object')
    })
  }
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Returns the field of an object without these properties. */
function omitProperties(field: Field, names: ReadonlySet<string>): Field {
  if (names.size === 0) return field
  const { properties = [], options } = field
  return {
    ...field,
    properties: new Map([...properties].filter(([name]) => !names.has(name))),
    ...(options && { options: options.map(each => omitProperties(each, names)) }),
  }
}

/**
 * Restores every part that a patch did not touch, so that no default fills it in.
 * @param validated the patched value after validation.
 */
function restore(
  current: Json | undefined,
  patched: Json | undefined,
  validated: Json,
  field: Field | undefined,
): Json {
  if (current === undefined || patched === undefined) return validated
  if (sameJson(current, patched)) return current
  if (Array.isArray(patched) && Array.isArray(validated)) {
    const before = elementsBefore(current, patched)
    return validated.map((each, at) => {
      const wanted = patched[at]
      // A schema may have sorted the list, or put something in.
      return isAlike(each, wanted) ? restore(before[at], wanted, each, field?.element) : each
    })
  }
  if (!isObject(current) || !isObject(patched) || !isObject(validated)) return validated
  const switched = field?.kind === 'union' && isSwitched(current, validated, field)
  const restored: Item = {}
  for (const [name, value] of Object.entries(validated)) {
    const before = getProperty(current, name)
    const wanted = getProperty(patched, name)
    if (before !== undefined || wanted !== undefined || switched)
      restored[name] = restore(before, wanted, value, getPropertyField(field, name))
  }
  if (switched) return restored
  for (const [name, value] of Object.entries(patched)) {
    // Unknown to the schema, and as it was: anything else is an issue.
    if (!Object.hasOwn(validated, name) && Object.hasOwn(current, name)) restored[name] = value
  }
  return restored
}

/** Whether two values are the same in all properties that both have. */
function isAlike(one: Json | undefined, other: Json | undefined): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, at) => isAlike(each, other[at]))
  if (!isObject(one) || !isObject(other)) return one === other
  return Object.keys(one).every(
    name => !Object.hasOwn(other, name) || isAlike(one[name], other[name]),
  )
}

/** Whether a discriminator of a union has changed. */
function isSwitched(current: Item, validated: Item, { properties }: Field): boolean {
  return [...(properties ?? [])].some(
    ([name, { choices, options }]) =>
      (choices ?? options?.some(each => each.choices)) &&
      !sameJson(getProperty(current, name), getProperty(validated, name)),
  )
}
