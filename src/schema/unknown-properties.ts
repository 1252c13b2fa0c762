// Finds properties that a schema does not declare: zod drops them silently, and the client must know.
import type { z } from 'zod'
import {
  compareText,
  getProperty,
  type Item,
  isObject,
  type Json,
  sameJson,
} from '../base/values.ts'
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
 * Finds the properties of a value that a schema drops.
 * @param field the field of the schema, for suggestions.
 */
export function findUnknown(schema: Schema, field: Field, value: Json): Issue[] {
  const issues: Issue[] = []
  const output = runWithoutChecks(schema, value)
  listDropped({ value, output, field, known: undefined, prefix: '' }, issues)
  return issues
}

/** Without its checks a schema gives an output of invalid values too, and no overwrite moves a property. */
export function runWithoutChecks(schema: Schema, value: Json): unknown {
  const parsed = schema._zod.run({ value, issues: [] }, { async: false, skipChecks: true })
  return (parsed as z.core.ParsePayload).value // only checks are asynchronous
}

/** A value beside what its schema kept of it. */
interface Compared {
  readonly value: Json | undefined
  readonly output: unknown
  readonly field: Field | undefined
  /** The properties of the object itself or, in a recursive schema, of one around it. */
  readonly known: Fields | undefined
  /** What stands before the names: `model.`. */
  readonly prefix: string
}

function listDropped(compared: Compared, issues: Issue[]): void {
  const { value, output, field, prefix } = compared
  const known = field?.properties ?? compared.known
  if (Array.isArray(value) && Array.isArray(output)) {
    for (const [at, each] of value.entries()) {
      const below = { value: each, output: output[at], field: field?.element, known }
      listDropped({ ...below, prefix: `${prefix}${at}.` }, issues)
    }
  }
  if (!isObject(value) || !isObject(output)) return
  for (const [name, each] of Object.entries(value)) {
    if (Object.hasOwn(output, name)) {
      const below = { value: each, output: output[name], field: getPropertyField(field, name) }
      listDropped({ ...below, known, prefix: `${prefix}${name}.` }, issues)
    } else if (issues.length < MAX_ISSUES) issues.push(unknownProperty(prefix + name, known))
  }
}

/** Leaves out what a schema drops of a value, if the current value has the same there. */
export function omitKept(value: Json, output: unknown, current: Json | undefined): Json {
  if (Array.isArray(value) && Array.isArray(output)) {
    const before = elementsBefore(current, value)
    return value.map((each, at) => omitKept(each, output[at], before[at]))
  }
  if (!isObject(value) || !isObject(output)) return value
  const own: Item = {}
  for (const [name, each] of Object.entries(value)) {
    const before = getProperty(current, name)
    if (Object.hasOwn(output, name)) own[name] = omitKept(each, output[name], before)
    else if (!sameJson(before, each)) own[name] = each
  }
  return own
}

/**
 * Puts the properties that a schema does not know back into the objects that a change leaves in their place. Of a list,
 * an element that is sent as it was stored keeps them, and another one those that are sent with it.
 * @param sent what the client wants the value to be, with these properties or without.
 * @param next what the schema made of it.
 */
export function keepUnknown(schema: Schema, current: Item, sent: Json, next: Item): Item {
  if (hasAll(current, next)) return next
  const kept = restoreUnknown({ current, known: runWithoutChecks(schema, current), sent, next })
  return isObject(kept) ? kept : next
}

interface Replacement {
  readonly current: Json | undefined
  /** What the schema keeps of the current value. */
  readonly known: unknown
  readonly sent: Json | undefined
  readonly next: Json
  /** Whether nothing comes back that is not sent: in an element that is a new one. */
  readonly isNew?: boolean
}

function restoreUnknown({ current, known, sent, next, isNew = false }: Replacement): Json {
  if (Array.isArray(current) && Array.isArray(known) && Array.isArray(sent) && Array.isArray(next))
    return restoreElements(current, known, sent, next)
  if (!isObject(current) || !isObject(known) || !isObject(next)) return next
  const restored = { ...next }
  for (const [name, value] of Object.entries(current)) {
    const wanted = getProperty(sent, name)
    const present = getProperty(next, name)
    if (present !== undefined) {
      const below = { current: value, known: known[name], sent: wanted, next: present, isNew }
      restored[name] = restoreUnknown(below)
    } else if (!Object.hasOwn(known, name) && (wanted !== undefined || !isNew))
      restored[name] = value
  }
  return restored
}

function restoreElements(
  current: readonly Json[],
  known: readonly unknown[],
  sent: readonly Json[],
  next: readonly Json[],
): Json[] {
  const owns = current.map((each, at) => omitKept(each, known[at], each))
  const places = new Map<string, number>()
  for (const list of [owns, current])
    for (const [at, each] of list.entries()) places.set(printSorted(each), at)
  return next.map((each, at) => {
    const wanted = sent[at]
    if (wanted === undefined || !isAlike(each, wanted)) return each
    const isSame = sameJson(wanted, owns[at]) || sameJson(wanted, current[at])
    const found = isSame ? at : places.get(printSorted(wanted))
    const from = found ?? at
    const below = { current: current[from], known: known[from], sent: wanted, next: each }
    return restoreUnknown({ ...below, isNew: found === undefined })
  })
}

/** Whether two values are the same in all properties that both have: a schema may have sorted a list, or put something in. */
export function isAlike(one: Json | undefined, other: Json | undefined): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, at) => isAlike(each, other[at]))
  if (!isObject(one) || !isObject(other)) return one === other
  return Object.keys(one).every(
    name => !Object.hasOwn(other, name) || isAlike(one[name], other[name]),
  )
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
  const known = new Map(current.map(element => [printSorted(element), element]))
  return next.map((element, at) => known.get(printSorted(element)) ?? current[at])
}

/** Prints a value as JSON; equal values have one text, whatever the order of their properties. */
function printSorted(value: Json): string {
  return JSON.stringify(value, (_name, each: Json) =>
    isObject(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => compareText(one, other)))
      : each,
  )
}
