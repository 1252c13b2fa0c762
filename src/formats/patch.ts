// JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902, with the pointers of RFC 6901). What they
// are applied to is never changed.

import { getProperty, type Item, isObject, type Json, sameJson } from '../base/values.ts'
import { HttpError, quote } from '../errors.ts'
import { checkName } from './json-value.ts'

export const MERGE_PATCH_TYPE = 'application/merge-patch+json'
export const JSON_PATCH_TYPE = 'application/json-patch+json'

/** Applies a merge patch (RFC 7396 §2): null removes, an object merges, anything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const merged: Item = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = mergePatch(getProperty(merged, name), value)
  }
  return merged
}

/** A document that is being patched, and what the patch may still do. */
interface PatchWork {
  /** Has the document as its property `''`, as a pointer begins with an empty token. */
  readonly holder: Item
  readonly options: Required<JsonPatchOptions>
  /** The characters of JSON that operations have used. */
  size: number
}

export interface JsonPatchOptions {
  readonly maxOperations?: number
  /** How many levels the result may nest where the patch put something. */
  readonly maxDepth?: number
  /** How many characters of JSON the operations may add, move, copy and test together. */
  readonly maxSize?: number
  /** Properties that no operation may test, copy or move. */
  readonly writeOnly?: ReadonlySet<string>
}

const DEFAULTS: Required<JsonPatchOptions> = {
  maxOperations: 500,
  maxDepth: 32,
  maxSize: 1024 * 1024,
  writeOnly: new Set(),
}

/**
 * Applies a JSON Patch: all of its operations or none. The document and each value are copied once and
 * changed in place, so that it takes as long as the document and the operations are, not their product.
 * @throws HttpError 400 for an invalid JSON Patch; 409 where it does not fit the target: a path that
 * does not exist, a `test` that fails; 413 for too many operations, or too large ones.
 */
export function jsonPatch(target: Json, patch: Json, limits: JsonPatchOptions = {}): Json {
  const options = { ...DEFAULTS, ...limits }
  const { maxOperations } = options
  if (!Array.isArray(patch))
    throw malformed(
      'A JSON Patch is a list of operations, such as [{"op":"replace","path":"/color","value":"red"}]',
    )
  if (patch.length > maxOperations) throw tooMuch(`have at most ${maxOperations} operations`)
  const work: PatchWork = { holder: { '': structuredClone(target) }, options, size: 0 }
  for (const [at, operation] of patch.entries()) apply(work, operation, at)
  return work.holder[''] ?? null
}

function apply(work: PatchWork, operation: Json, at: number): void {
  if (!isObject(operation)) throw malformed(`Operation ${at} is not an object`)
  const path = parsePointer(work, operation, 'path', at)
  switch (getProperty(operation, 'op')) {
    case 'add':
      put(work, path, requireValue(operation, at), at)
      break
    case 'remove':
      remove(work, path, at)
      break
    case 'replace': {
      const value = requireValue(operation, at)
      requirePresent(work, path, at)
      // A property is assigned, and so keeps its place.
      if (Array.isArray(findParent(work, path, at))) remove(work, path, at)
      put(work, path, value, at)
      break
    }
    case 'move': {
      const from = parsePointer(work, operation, 'from', at)
      if (from.length < path.length && from.every((token, level) => token === path[level])) {
        throw malformed(`Operation ${at} moves a value into itself`)
      }
      const value = read(work, from, at)
      remove(work, from, at)
      put(work, path, value, at)
      break
    }
    case 'copy':
      put(work, path, read(work, parsePointer(work, operation, 'from', at), at), at)
      break
    case 'test':
      if (sameJson(copy(read(work, path, at), work), requireValue(operation, at))) break
      throw conflict(
        `Operation ${at} (test): the value at ${printPointer(path)} is not the given one. Read the item again.`,
      )
    default:
      throw malformed(`Operation ${at} needs an op: add, remove, replace, move, copy or test`)
  }
}

/** Copies a value, and counts its size: copies of copies grow without end. */
function copy(value: Json, work: PatchWork): Json {
  const { maxSize } = work.options
  const text = JSON.stringify(value)
  work.size += text.length
  if (work.size > maxSize)
    throw tooMuch(`add, move, copy and test at most ${maxSize} characters of JSON`)
  return JSON.parse(text)
}

function requireValue(operation: Item, at: number): Json {
  const value = getProperty(operation, 'value')
  if (value === undefined) throw malformed(`Operation ${at} needs a value`)
  return value
}

/** Parses a JSON Pointer to its tokens; the first is empty. @throws HttpError 400 */
function parsePointer(
  { options: { writeOnly } }: PatchWork,
  operation: Item,
  property: 'path' | 'from',
  at: number,
): string[] {
  const text = getProperty(operation, property)
  if (typeof text !== 'string' || !/^(?:\/(?:[^~/]|~[01])*)*$/.test(text)) {
    throw malformed(`Operation ${at} needs a ${property} that is a JSON Pointer, such as "/color"`)
  }
  if (text === '' && writeOnly.size > 0)
    throw malformed(`Operation ${at} is on the whole item; here each names a property`)
  const tokens = text.split('/').map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  for (const token of tokens) checkName(token, text)
  const [, name = '', ...below] = tokens
  if (below.length > 0 && writeOnly.has(name)) {
    const message = `Operation ${at} is on a part of ${JSON.stringify(name)}, which can only be written as a whole`
    throw new HttpError(400, [{ message, field: name, type: 'unknown_field' }])
  }
  return tokens
}

function printPointer(path: readonly string[]): string {
  const text = path.map(token => token.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
  return quote(text)
}

/** Requires a value to change, except a write-only one: whether it is there is not told. @throws HttpError 409 */
function requirePresent(work: PatchWork, path: readonly string[], at: number): void {
  const [, name = ''] = path
  if (!work.options.writeOnly.has(name)) find(work, path, at)
}

/** Reads a value for the client. @throws HttpError 400 for a write-only one. */
function read(work: PatchWork, path: readonly string[], at: number): Json {
  const [, name = ''] = path
  if (!work.options.writeOnly.has(name)) return find(work, path, at)
  const message = `Operation ${at} reads ${JSON.stringify(name)}, which can only be written`
  throw new HttpError(400, [{ message, field: name, type: 'unknown_field' }])
}

function find({ holder }: PatchWork, path: readonly string[], at: number): Json {
  let value: Json | undefined = holder
  for (const token of path) {
    if (Array.isArray(value)) value = value[parseIndex(token, value.length - 1) ?? -1]
    else value = getProperty(value, token)
    if (value === undefined)
      throw conflict(
        `Operation ${at}: there is nothing at ${printPointer(path)}. Read the item again.`,
      )
  }
  return value
}

/** Parses an array index (RFC 6901 §4) up to a maximum; `undefined` for anything else. */
function parseIndex(token: string, max: number): number | undefined {
  if (!/^(?:0|[1-9]\d{0,9})$/.test(token)) return undefined
  return Number(token) <= max ? Number(token) : undefined
}

/** Finds the object or list that holds what is at a path; {@link parsePointer} refuses names that reach a prototype. */
function findParent(work: PatchWork, path: readonly string[], at: number): Item | Json[] {
  const parent = find(work, path.slice(0, -1), at)
  if (typeof parent === 'object' && parent !== null) return parent
  throw conflict(`Operation ${at}: there is nothing that could hold a value`)
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(each => isDeeper(each, levels - 1))
}

function put(work: PatchWork, path: readonly string[], value: Json, at: number): void {
  const { maxDepth } = work.options
  const levels = maxDepth - path.length + 1
  if (levels < 0 || isDeeper(value, levels)) {
    throw malformed(`Operation ${at} nests deeper than ${maxDepth} levels`)
  }
  const parent = findParent(work, path, at)
  const token = path.at(-1) ?? ''
  if (!Array.isArray(parent)) {
    parent[token] = copy(value, work)
    return
  }
  const index = token === '-' ? parent.length : parseIndex(token, parent.length)
  if (index === undefined)
    throw conflict(`Operation ${at}: the list has no place ${printPointer([token])}`)
  parent.splice(index, 0, copy(value, work))
}

function remove(work: PatchWork, path: readonly string[], at: number): void {
  requirePresent(work, path, at)
  const parent = findParent(work, path, at)
  const token = path.at(-1) ?? ''
  if (Array.isArray(parent)) parent.splice(Number(token), 1)
  else if (path.length > 1) delete parent[token]
  else parent[token] = null
}

function tooMuch(what: string): HttpError {
  return new HttpError(413, [{ message: `A JSON Patch may ${what}`, type: 'too_many_operations' }])
}

function malformed(message: string): HttpError {
  return new HttpError(400, [{ message, type: 'invalid_patch' }])
}

function conflict(message: string): HttpError {
  return new HttpError(409, [{ message, type: 'patch_conflict' }])
}
