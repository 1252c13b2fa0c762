// The validators of a create, a replace and a patch, compiled once from a collection's schema.

import { hasDigits } from '../base/exact-numbers.ts'
import {
  type Awaitable,
  andThen,
  getProperty,
  type Item,
  isObject,
  type Json,
  sameJson,
} from '../base/values.ts'
import { HttpError, type Issue, throwIfAny } from '../errors.ts'
import { type Field, getPropertyField } from './fields.ts'
import { toIssues } from './issues.ts'
import { toPlainJson } from './json.ts'
import { buildParser } from './parse.ts'
import {
  elementsBefore,
  findUnknown,
  hasAll,
  isAlike,
  keepUnknown,
  omitKept,
  runWithoutChecks,
} from './unknown-properties.ts'
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
 * Compiles the validator of a schema. An item keeps the properties that its schema does not know: another version
 * declares them, or a program has put them into a nested object.
 * @param unknown properties that no message may name.
 */
export function buildValidator(schema: Schema, unknown?: ReadonlySet<string>): Validator {
  const check = buildChecker(schema, unknown)
  const field = buildField(schema, 'input')
  return {
    create: check,
    replace: (current, value) =>
      andThen(check(value, current), item =>
        keepDigits(current, keepUnknown(schema, current, value, item)),
      ),
    patch(current, patched) {
      if (sameJson(current, patched)) return current
      return andThen(check(patched, current), item => {
        // An object comes back where all three are objects, as the check has made sure.
        const restored = restore(current, patched, item, field) as Item
        return keepDigits(current, keepUnknown(schema, current, patched, restored))
      })
    },
  }
}

/**
 * Keeps each value that has the digits of its numbers beside it, as it is.
 * @throws HttpError 409 where one would be written anew: its numbers would be others.
 */
function keepDigits(current: Item, next: Item): Item {
  for (const name in current) {
    const value = current[name]
    if (!hasDigits(value) || next[name] === value) continue
    if (!sameJson(next[name], value)) throw new HttpError(409, [inexactStored(name)])
    next[name] = value
  }
  return next
}

function inexactStored(field: string): Issue {
  const message = `${field} holds a whole number beyond 2^53, which this write would round. Leave ${field} as it is, or change it in the database`
  return { message, field, type: 'inexact_stored' }
}

/**
 * Compiles the check of an input that must be an object. It returns the result of the schema. Unknown properties are
 * no issue where the current value has the same.
 * @throws HttpError 400 with every issue, unknown properties included.
 */
export function buildChecker(
  schema: Schema,
  unknown = NO_NAMES,
): (value: unknown, current?: Json) => Awaitable<Item> {
  const parse = buildParser(schema)
  const field = omitProperties(buildField(schema, 'input'), unknown)
  const check = (value: Item, current: Json | undefined): Awaitable<Item> =>
    andThen(parse(value), ({ data, error }) => {
      if (!error && hasAll(value, data)) return toItem(data)
      if (current !== undefined) {
        const output = error ? runWithoutChecks(schema, value) : data
        const own = omitKept(value, output, current) as Item // an object stays one
        // A strict schema refuses what others drop.
        return !error && hasAll(own, data) ? toItem(data) : check(own, undefined)
      }
      const invalid = error ? toIssues(error.issues, value, field) : []
      const known = new Set(invalid.map(issue => issue.field))
      const dropped = findUnknown(schema, field, value)
      throwIfAny([...dropped.filter(issue => !known.has(issue.field)), ...invalid])
      return toItem(data)
    })
  return (value, current) => {
    if (isObject(value)) return check(value, current)
    throw new HttpError(400, [{ message: 'The body must be an object', type: 'invalid_type' }])
  }
}

function toItem(data: unknown): Item {
  const item = toPlainJson(data)
  if (isObject(item)) return item
  throw new TypeError('An overwrite of the whole schema must give an object')
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
  return restored
}

/** Whether a discriminator of a union has changed. */
function isSwitched(current: Item, validated: Item, { properties }: Field): boolean {
  return [...(properties ?? [])].some(
    ([name, { choices, options }]) =>
      (choices ?? options?.some(each => each.choices)) &&
      !sameJson(getProperty(current, name), getProperty(validated, name)),
  )
}
