// Checks the JSON values that every format accepts: each store returns them byte for byte, and no name
// reaches an object's prototype.

import { describeInexact, findInexact } from '../base/exact-numbers.ts'
import { isObject, type Json } from '../base/values.ts'
import { AnyHttpError, type ErrorType, HttpError, type Issue } from '../errors.ts'
import { toPlainJson } from '../schema/json.ts'

const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Checks names, numbers, texts and depth of a value.
 * @throws HttpError 400 that names the path of the first invalid part.
 */
export function checkJson(
  value: unknown,
  path = '',
  maxDepth = 1000,
  levels = maxDepth,
): asserts value is Json {
  if (levels === 0 && typeof value === 'object' && value !== null) throw tooDeep(maxDepth)
  if (typeof value === 'string') checkText(value, path)
  else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw invalidValue(path, 'is a number too large to be given back')
  } else if (Array.isArray(value)) {
    for (const [at, element] of value.entries())
      checkJson(element, path ? `${path}.${at}` : String(at), maxDepth, levels - 1)
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const at = path ? `${path}.${name}` : name
      checkName(name, at)
      checkJson(value[name], at, maxDepth, levels - 1)
    }
  } else if (value !== null && typeof value !== 'boolean')
    throw invalidValue(path, 'is not a JSON value')
}

/**
 * Whether a value that `JSON.parse` made passes {@link checkJson} and {@link checkExact}, without paths for messages. Its
 * strings are not checked. Only the digits show whether a number beyond 2^53 is exact.
 */
export function isValidJson(value: unknown, levels: number): value is Json {
  if (Array.isArray(value))
    return levels > 0 && value.every(element => isValidJson(element, levels - 1))
  if (!isObject(value)) return typeof value !== 'number' || Math.abs(value) < 2 ** 53
  if (levels === 0) return false
  // Not by `Object.keys`, which takes twice as long; inherited names do no harm.
  for (const name in value)
    if (FORBIDDEN_NAMES.has(name) || !isValidJson(value[name], levels - 1)) return false
  return true
}

/**
 * Converts a program's value, with `undefined` properties and dates, to JSON.
 * @throws HttpError 400 for what is refused of clients too; TypeError for what JSON would lose.
 */
export function toJson(value: unknown): Json {
  const json = toPlainJson(value) ?? null
  checkJson(json)
  return json
}

/** @throws HttpError 400 for a forbidden name, and for one that no store keeps. */
export function checkName(name: string, path: string): void {
  if (FORBIDDEN_NAMES.has(name)) throw invalidValue(path, 'has a name that is not allowed')
  checkText(name, path)
}

function checkText(text: string, path: string): void {
  if (text.includes('\0'))
    throw invalidValue(path, 'holds the character U+0000, which no store keeps. Leave it out')
  if (!text.isWellFormed()) throw invalidValue(path, 'holds half of a surrogate pair')
}

/**
 * Checks the numbers of a text that is valid JSON.
 * @param path of the value.
 * @throws HttpError 400 that names the path of the first one that JavaScript would round.
 */
export function checkExact(json: string, path = ''): void {
  const found = findInexact(json)
  if (found) throw inexactNumber([path, found.path].filter(Boolean).join('.'), found.digits)
}

/** The error for a number that JavaScript would round. */
export function inexactNumber(path: string, digits: string): HttpError {
  return new HttpError(400, [valueIssue(path, describeInexact(digits), 'inexact_number')])
}

/** Names the line of a body in the messages of an error. */
export function locateLine(error: unknown, line: number): unknown {
  if (!(error instanceof HttpError)) return error
  const located = error.errors.map(entry => ({
    ...entry,
    message: `Line ${line}: ${entry.message}`,
  }))
  return new AnyHttpError(error.status, located)
}

export function tooDeep(maxDepth: number): HttpError {
  const message = `The body is nested deeper than ${maxDepth} levels`
  return new HttpError(400, [{ message, type: 'too_deep' }])
}

function invalidValue(path: string, what: string): HttpError {
  return new HttpError(400, [valueIssue(path, what, 'invalid_value')])
}

/** The issue of one value of a body; of the whole body where the path is empty. */
export function valueIssue(path: string, what: string, type: ErrorType): Issue {
  const field = path.slice(0, 128)
  return { message: `${field || 'The body'} ${what}`, ...(field && { field }), type }
}
