// JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902, with the pointers of RFC 6901). What they
// are applied to is never changed.
import { HttpError } from './errors.ts'
import { type Fields, type Item, isObject, type Json, sameJson } from './fields.ts'
import { checkName } from './formats/format.ts'

export const MERGE_PATCH_TYPE = 'application/merge-patch+json'
export const JSON_PATCH_TYPE = 'application/json-patch+json'

/** Applies a merge patch (RFC 7396 §2): null removes, an object merges, anything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  return merge(target, patch, undefined)
}

/**
 * Applies what a form says of some members of an item: as a merge patch, but that a form has no other
 * word for null, which is the value of a member that must be there and may be null.
 */
export function mergeForm(target: Json, sent: Json, fields: Fields): Json {
  return merge(target, sent, fields)
}

function merge(target: Json | undefined, patch: Json, fields: Fields | undefined): Json {
  if (!isObject(patch)) return patch
  const merged: Item = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    const field = fields?.get(name)
    const known = Object.hasOwn(merged, name) ? merged[name] : undefined
    if (value !== null) merged[name] = merge(known, value, field?.members)
    else if (field?.nullable && !field.optional) merged[name] = null
    else delete merged[name]
  }
  return merged
}

/** How many values all `copy` operations of one patch may add: copies of copies grow without end. */
const MAX_COPIED = 10_000

/** What one JSON Patch may do. */
interface Bounds {
  readonly depth: number
  copies: number
}

/**
 * Applies a JSON Patch: all of its operations or none.
 * @param maxDepth how many levels the result may nest where the patch put something.
 * @throws HttpError 400 for what is no JSON Patch, 409 where it does not fit the target: a path that
 * does not exist, a `test` that fails; 413 for too many operations or copies.
 */
export function jsonPatch(target: Json, patch: Json, maxOperations = 500, maxDepth = 32): Json {
  if (!Array.isArray(patch)) throw malformed('A JSON Patch is a list of operations')
  if (patch.length > maxOperations) {
    throw new HttpError(413, [
      {
        message: `A JSON Patch may have at most ${maxOperations} operations`,
        type: 'too_many_operations',
      },
    ])
  }
  const bounds = { depth: maxDepth, copies: MAX_COPIED }
  return patch.reduce<Json>((value, operation, at) => apply(value, operation, at, bounds), target)
}

function apply(target: Json, operation: Json, at: number, bounds: Bounds): Json {
  if (!isObject(operation)) throw malformed(`Operation ${at} is not an object`)
  const path = pointer(operation, 'path', at)
  const name = Object.hasOwn(operation, 'op') ? operation.op : undefined
  switch (name) {
    case 'add':
      return put(target, path, given(operation, at), at, bounds)
    case 'remove':
      return remove(target, path, at)
    case 'replace': {
      const value = given(operation, at)
      return put(path.length === 0 ? target : remove(target, path, at), path, value, at, bounds)
    }
    case 'move': {
      const from = pointer(operation, 'from', at)
      if (from.length < path.length && from.every((token, level) => token === path[level])) {
        throw malformed(`Operation ${at} moves a value into itself`)
      }
      const value = valueAtPointer(target, from, at)
      return put(remove(target, from, at), path, value, at, bounds)
    }
    case 'copy': {
      const value = valueAtPointer(target, pointer(operation, 'from', at), at)
      spend(value, bounds)
      return put(target, path, value, at, bounds)
    }
    case 'test':
      if (sameJson(valueAtPointer(target, path, at), given(operation, at))) return target
      throw conflict(`Operation ${at}: the value at ${printPointer(path)} is another`)
    default:
      throw malformed(`Operation ${at} needs an op: add, remove, replace, move, copy or test`)
  }
}

function spend(value: Json, bounds: Bounds): void {
  if (--bounds.copies < 0) {
    throw new HttpError(413, [
      {
        message: `A JSON Patch may copy at most ${MAX_COPIED} values`,
        type: 'too_many_operations',
      },
    ])
  }
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) spend(member, bounds)
  }
}

function given(operation: Item, at: number): Json {
  const value = Object.hasOwn(operation, 'value') ? operation.value : undefined
  if (value === undefined) throw malformed(`Operation ${at} needs a value`)
  return value
}

function pointer(operation: Item, member: 'path' | 'from', at: number): string[] {
  const text = Object.hasOwn(operation, member) ? operation[member] : undefined
  if (typeof text !== 'string' || !/^(?:\/(?:[^~/]|~[01])*)*$/.test(text)) {
    throw malformed(`Operation ${at} needs a ${member} that is a JSON Pointer, such as "/color"`)
  }
  const names = text
    .split('/')
    .slice(1)
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  for (const name of names) checkName(name, text)
  return names
}

function printPointer(path: readonly string[]): string {
  const text = path.map(token => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  return JSON.stringify(text.slice(0, 64))
}

function valueAtPointer(target: Json, path: readonly string[], at: number): Json {
  let value: Json | undefined = target
  for (const token of path) {
    if (Array.isArray(value)) value = value[indexOf(token, value.length - 1) ?? -1]
    else value = isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined
    if (value === undefined)
      throw conflict(`Operation ${at}: there is nothing at ${printPointer(path)}`)
  }
  return value
}

/** An array index (RFC 6901 §4) up to the given one; `undefined` where it is none. */
function indexOf(token: string, most: number): number | undefined {
  if (!/^(?:0|[1-9]\d{0,9})$/.test(token)) return undefined
  return Number(token) <= most ? Number(token) : undefined
}

/** The target with the container at `path`'s parent replaced by what `change` makes of it. */
function changeParent(
  target: Json,
  path: readonly string[],
  at: number,
  change: (parent: Item | Json[], token: string) => Json,
): Json {
  const [token, ...rest] = path
  if (token === undefined || typeof target !== 'object' || target === null) {
    throw conflict(`Operation ${at}: there is nothing that could hold a value`)
  }
  if (rest.length === 0) return change(target, token)
  const child = changeParent(valueAtPointer(target, [token], at), rest, at, change)
  if (Array.isArray(target)) return target.with(Number(token), child)
  return { ...target, [token]: child }
}

function put(target: Json, path: readonly string[], value: Json, at: number, bounds: Bounds): Json {
  if (!fits(value, bounds.depth - path.length)) {
    throw malformed(`Operation ${at} nests deeper than ${bounds.depth} levels`)
  }
  return add(target, path, value, at)
}

/** Whether a value has at most so many levels. */
function fits(value: Json, levels: number): boolean {
  if (levels < 0) return false
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every(member => fits(member, levels - 1))
}

function add(target: Json, path: readonly string[], value: Json, at: number): Json {
  if (path.length === 0) return value
  return changeParent(target, path, at, (parent, token) => {
    if (!Array.isArray(parent)) return { ...parent, [token]: value }
    const index = token === '-' ? parent.length : indexOf(token, parent.length)
    if (index === undefined)
      throw conflict(`Operation ${at}: the list has no place ${printPointer([token])}`)
    return parent.toSpliced(index, 0, value)
  })
}

function remove(target: Json, path: readonly string[], at: number): Json {
  valueAtPointer(target, path, at)
  if (path.length === 0) return null
  return changeParent(target, path, at, (parent, token) => {
    if (Array.isArray(parent)) return parent.toSpliced(Number(token), 1)
    const { [token]: _removed, ...rest } = parent
    return rest
  })
}

function malformed(message: string): HttpError {
  return new HttpError(400, [{ message, type: 'invalid_patch' }])
}

function conflict(message: string): HttpError {
  return new HttpError(409, [{ message, type: 'patch_conflict' }])
}
