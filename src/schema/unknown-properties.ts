// Finds properties that a schema does not declare: zod drops them silently, and the client must know.
import type { z } from 'zod'
import { getProperty, isObject, type Json, sameJson } from '../base/values.ts'
import { type Issue, MAX_ISSUES } from '../errors.ts'
import { type Field, type Fields, getPropertyField } from './fields.ts'
import { unknownProperty } from './issues.ts'
import type { Schema } from './zod-fields.ts'

/** Whether an output of a schema has every property of its input. */
export function hasAll(input: Json | undefined, output: unknown): boolean {
  if (input === output || typeof input !== 'object' || input === null) return true
  if (Array.isArray(input))
    return Array.isArray(output) && input.every((each, at) => hasAll(each, output[at]))
  if (!isObject(output)) return false
  for (const name in input) {
    const value = input[name]
    // Most values are texts and numbers that come out as they went in.
    if (value === output[name]) continue
    if (!Object.hasOwn(output, name) || !hasAll(value, output[name])) return false
  }
  return true
}

/**
 * Finds the properties of a value that a schema drops, except those that the current value has too.
 * @param field the field of the schema, for suggestions.
 */
export function findUnknown(
  schema: Schema,
  field: Field,
  value: Json,
  current: Json | undefined,
): Issue[] {
  // Without its checks a schema gives an output of invalid values too, and no overwrite moves a property.
  const parsed = schema._zod.run({ value, issues: [] }, { async: false, skipChecks: true })
  const { value: output } = parsed as z.core.ParsePayload // only checks are asynchronous
  const issues: Issue[] = []
  listDropped({ value, output, current, field, known: undefined, prefix: '' }, issues)
  return issues
}

/** A value beside what its schema kept of it. */
interface Compared {
  readonly value: Json | undefined
  readonly output: unknown
  readonly current: Json | undefined
  readonly field: Field | undefined
  /** The properties of the object itself or, in a recursive schema, of one around it. */
  readonly known: Fields | undefined
  /** What stands before the names: `model.`. */
  readonly prefix: string
}

function listDropped(compared: Compared, issues: Issue[]): void {
  const { value, output, current, field, prefix } = compared
  const known = field?.properties ?? compared.known
  if (Array.isArray(value) && Array.isArray(output)) {
    const before = elementsBefore(current, value)
    for (const [at, each] of value.entries()) {
      const below = { value: each, output: output[at], current: before[at], known }
      listDropped({ ...below, field: field?.element, prefix: `${prefix}${at}.` }, issues)
    }
  }
  if (!isObject(value) || !isObject(output)) return
  for (const [name, each] of Object.entries(value)) {
    const before = getProperty(current, name)
    if (Object.hasOwn(output, name)) {
      const below = { value: each, output: output[name], current: before, known }
      const inner = getPropertyField(field, name)
      listDropped({ ...below, field: inner, prefix: `${prefix}${name}.` }, issues)
    } else if (issues.length < MAX_ISSUES && !sameJson(before, each))
      issues.push(unknownProperty(prefix + name, known))
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
