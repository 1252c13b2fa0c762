// What a program made, as JSON gives it back.
import { type Issue, throwIfAny } from '../errors.ts'
import type { Json } from './values.ts'

/**
 * A value that a program made, as its JSON text gives it back: dates as texts, without `undefined`
 * properties and functions.
 * @param path where it is, for messages.
 * @throws HttpError 400 for no number and no date: a program makes them of what was sent; TypeError for
 * what would be lost, such as a Map.
 */
export function asJson(value: unknown, path = '', above: readonly object[] = []): Json | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throwIfAny([notJson(path, 'number')])
    return value + 0 // no negative zero
  }
  if (typeof value === 'bigint') throw lost(path, 'bigint')
  if (typeof value !== 'object') return undefined
  if (above.includes(value)) throw new TypeError(`${path} contains itself, which JSON cannot`)
  const within = [...above, value]
  const below = (property: unknown, name: string | number) =>
    asJson(property, path ? `${path}.${name}` : String(name), within)
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) throwIfAny([notJson(path, 'date')])
    return asJson(value.toJSON(path.split('.').at(-1)), path, within)
  }
  const boxed = value instanceof String || value instanceof Number || value instanceof Boolean
  if (boxed) return asJson(value.valueOf(), path)
  if (Array.isArray(value)) return Array.from(value, (each, at) => below(each, at) ?? null)
  const properties = Object.entries(value)
  // All that a Map, a Set or their kind holds is in no property; what a view of bytes holds is no object.
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (ArrayBuffer.isView(value) || (properties.length === 0 && kind !== 'Object'))
    throw lost(path, kind)
  const kept = properties.flatMap(([name, property]) => {
    const json = below(property, name)
    return json === undefined ? [] : [[name, json] as const]
  })
  return Object.fromEntries(kept)
}

function notJson(path: string, what: string): Issue {
  const message = `${path || 'The value'} is no ${what} that JSON can hold`
  return { message, ...(path && { field: path.slice(0, 128) }), type: 'invalid_value' }
}

function lost(path: string, what: string): TypeError {
  const instead = 'give a text, a number, a list or a plain object in its place'
  return new TypeError(`${path || 'The value'} is a ${what}, which JSON cannot hold; ${instead}`)
}
