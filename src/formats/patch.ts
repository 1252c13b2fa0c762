// JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902, with the pointers of RFC 6901). What they
// are applied to is never changed.
import { HttpError } from '../errors.ts'
import { type Item, isObject, type Json, sameJson } from '../schema/values.ts'
import { checkName } from './json-value.ts'

export const MERGE_PATCH_TYPE = 'application/merge-patch+json'
export const JSON_PATCH_TYPE = 'application/json-patch+json'

/** Applies a merge patch (RFC 7396 §2): null removes, an object merges, anything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const merged: Item = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = mergePatch(Object.hasOwn(merged, name) ? merged[name] : undefined, value)
  }
  return merged
}

/** How many values all `copy` operations of one patch may add: copies of copies grow without end. */
const MAX_COPIED = 10_000

/** How many characters of texts and names they may add. */
const MAX_COPIED_TEXT = 1024 * 1024

/** How many properties and elements one patch may look at in what it adds, moves and tests, each time anew. */
const MAX_SEEN = 500_000

/** A document that is being patched, and what the patch may still do. */
interface Work {
  root: Json
  readonly writeOnly: ReadonlySet<string>
  readonly depth: number
  readonly maxText: number
  copies: number
  text: number
  seen: number
}

export interface JsonPatchOptions {
  readonly maxOperations?: number
  /** How many levels the result may nest where the patch put something. */
  readonly maxDepth?: number
  /** How many characters of texts and names its copies may add. */
  readonly maxText?: number
  /** Properties that no operation may read: none tests, copies or moves them. */
  readonly writeOnly?: ReadonlySet<string>
}

const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Applies a JSON Patch: all of its operations or none. The document and each value are copied once and
 * changed in place, so that it takes as long as the document and the operations are, not their product.
 * @throws HttpError 400 for what is no JSON Patch, 409 where it does not fit the target: a path that
 * does not exist, a `test` that fails; 413 for too many operations, copies, or moves and tests of much.
 */
export function jsonPatch(
  target: Json,
  patch: Json,
  {
    maxOperations = 500,
    maxDepth = 32,
    maxText = MAX_COPIED_TEXT,
    writeOnly = NO_NAMES,
  }: JsonPatchOptions = {},
): Json {
  if (!Array.isArray(patch)) throw malformed('A JSON Patch is a list of operations')
  if (patch.length > maxOperations) throw tooMuch(`have at most ${maxOperations} operations`)
  const work: Work = {
    root: copy(target),
    writeOnly,
    depth: maxDepth,
    maxText,
    copies: MAX_COPIED,
    text: maxText,
    seen: MAX_SEEN,
  }
  for (const [at, operation] of patch.entries()) apply(work, operation, at)
  return work.root
}

function apply(work: Work, operation: Json, at: number): void {
  if (!isObject(operation)) throw malformed(`Operation ${at} is not an object`)
  const path = pointer(work, operation, 'path', at)
  const name = Object.hasOwn(operation, 'op') ? operation.op : undefined
  switch (name) {
    case 'add':
      put(work, path, given(operation, at), at)
      break
    case 'remove':
      remove(work, path, at)
      break
    case 'replace': {
      const value = given(operation, at)
      if (path.length > 0) remove(work, path, at)
      put(work, path, value, at)
      break
    }
    case 'move': {
      const from = readPointer(work, operation, 'from', at)
      if (from.length < path.length && from.every((token, level) => token === path[level])) {
        throw malformed(`Operation ${at} moves a value into itself`)
      }
      const value = valueAtPointer(work.root, from, at)
      remove(work, from, at)
      put(work, path, value, at)
      break
    }
    case 'copy': {
      const value = valueAtPointer(work.root, readPointer(work, operation, 'from', at), at)
      spend(value, work)
      put(work, path, value, at)
      break
    }
    case 'test': {
      const value = valueAtPointer(work.root, readPointer(work, operation, 'path', at), at)
      see(value, Number.POSITIVE_INFINITY, work)
      if (sameJson(value, given(operation, at))) break
      throw conflict(`Operation ${at}: the value at ${printPointer(path)} is another`)
    }
    default:
      throw malformed(`Operation ${at} needs an op: add, remove, replace, move, copy or test`)
  }
}

function copy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy)
  const copied: Item = {}
  for (const name of Object.keys(value)) copied[name] = copy(value[name] ?? null)
  return copied
}

/** Counts what a copy adds. */
function spend(value: Json, work: Work): void {
  if (--work.copies < 0) throw tooMuch(`copy at most ${MAX_COPIED} values`)
  if (typeof value === 'string') spendText(value, work)
  if (typeof value !== 'object' || value === null) return
  for (const [name, property] of Object.entries(value)) {
    if (!Array.isArray(value)) spendText(name, work)
    spend(property, work)
  }
}

function spendText({ length }: string, work: Work): void {
  work.text -= length
  if (work.text < 0) throw tooMuch(`copy texts of at most ${work.maxText} characters`)
}

function given(operation: Item, at: number): Json {
  const value = Object.hasOwn(operation, 'value') ? operation.value : undefined
  if (value === undefined) throw malformed(`Operation ${at} needs a value`)
  return value
}

/** The pointer of a value that the operation reads. @throws HttpError 400 for one that nobody may read. */
function readPointer(work: Work, operation: Item, property: 'path' | 'from', at: number): string[] {
  const path = pointer(work, operation, property, at)
  const [name = ''] = path
  if (!work.writeOnly.has(name)) return path
  const message = `Operation ${at} reads ${JSON.stringify(name)}, which can only be written`
  throw new HttpError(400, [{ message, field: name, type: 'unknown_field' }])
}

function pointer(
  { writeOnly }: Work,
  operation: Item,
  property: 'path' | 'from',
  at: number,
): string[] {
  const text = Object.hasOwn(operation, property) ? operation[property] : undefined
  if (typeof text !== 'string' || !/^(?:\/(?:[^~/]|~[01])*)*$/.test(text)) {
    throw malformed(`Operation ${at} needs a ${property} that is a JSON Pointer, such as "/color"`)
  }
  if (text === '' && writeOnly.size > 0)
    throw malformed(`Operation ${at} is on the whole item; here each names a property`)
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

/** Finds the object or list that holds what is at a path; {@link pointer} refuses names that reach a prototype. */
function findParent({ root }: Work, path: readonly string[], at: number): Item | Json[] {
  const parent = valueAtPointer(root, path.slice(0, -1), at)
  if (typeof parent === 'object' && parent !== null) return parent
  throw conflict(`Operation ${at}: there is nothing that could hold a value`)
}

function put(work: Work, path: readonly string[], value: Json, at: number): void {
  if (!see(value, work.depth - path.length, work)) {
    throw malformed(`Operation ${at} nests deeper than ${work.depth} levels`)
  }
  const own = copy(value)
  const token = path.at(-1)
  if (token === undefined) {
    work.root = own
    return
  }
  const parent = findParent(work, path, at)
  if (!Array.isArray(parent)) {
    parent[token] = own
    return
  }
  const index = token === '-' ? parent.length : indexOf(token, parent.length)
  if (index === undefined)
    throw conflict(`Operation ${at}: the list has no place ${printPointer([token])}`)
  parent.splice(index, 0, own)
}

/** Whether a value has at most so many levels, as far as one patch may look. */
function see(value: Json, levels: number, work: Work): boolean {
  if (levels < 0) return false
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  const properties = Object.values(value)
  work.seen -= properties.length
  if (work.seen < 0) throw tooMuch(`add, move and test at most ${MAX_SEEN} values`)
  return properties.every(property => see(property, levels - 1, work))
}

function remove(work: Work, path: readonly string[], at: number): void {
  valueAtPointer(work.root, path, at)
  const token = path.at(-1)
  if (token === undefined) {
    work.root = null
    return
  }
  const parent = findParent(work, path, at)
  if (Array.isArray(parent)) parent.splice(Number(token), 1)
  else delete parent[token]
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
