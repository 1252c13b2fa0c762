// Converts values of programs to JSON.

import { isObject, type Json } from '../base/values.ts'
import { type Issue, throwIfAny } from '../errors.ts'

/** Whether a value is exactly what its JSON text gives back. */
export function isJson(value: unknown): value is Json {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) {
    // A gap of an array is undefined.
    for (let at = 0; at < value.length; at++) if (!isJson(value[at])) return false
    return true
  }
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return false
  // An inherited property, which no sound program has, only leads to a copy.
  for (const name in value) if (!isJson(value[name])) return false
  return true
}

/**
 * Converts a value that a program made to JSON: dates to texts, without `undefined` and functions.
 * @throws HttpError 400 for an invalid number or date; TypeError for what JSON would lose, such as a Map.
 */
export function toPlainJson(value: unknown): Json | undefined {
  return isJson(value) ? value : convert(value, '')
}

function convert(value: unknown, path: string): Json | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throwIfAny([invalidIssue(path, 'number')])
    return value + 0 // no negative zero
  }
  if (typeof value === 'bigint') throw lost(path, 'bigint')
  if (value === null) return null
  if (typeof value !== 'object') return undefined
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime()))
      throwIfAny([invalidIssue(path, 'date')])
    return convert(value.toJSON(), path)
  }
  const below = (each: unknown, name: string | number) =>
    convert(each, path ? `${path}.${name}` : String(name))
  if (Array.isArray(value)) return Array.from(value, (each, at) => below(each, at) ?? null)
  // The contents of a Map, a Set and their kind are in no property; those of a buffer are bytes.
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (kind !== 'Object') throw lost(path, kind)
  const entries = Object.entries(value).flatMap(([name, each]) => {
    const json = below(each, name)
    return json === undefined ? [] : [[name, json] as const]
  })
  return Object.fromEntries(entries)
}

function invalidIssue(path: string, what: string): Issue {
  const message = `${path || 'The value'} is not a ${what} that JSON can hold`
  return { message, ...(path && { field: path.slice(0, 128) }), type: 'invalid_value' }
}

function lost(path: string, kind: string): TypeError {
  const instead = 'use a text, a number, a list or a plain object'
  return new TypeError(`${path || 'The value'} is a ${kind}, which JSON cannot hold: ${instead}`)
}
