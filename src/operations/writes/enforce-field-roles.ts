// Field roles in writes and answers: read-only, write-only and immutable properties, and owners.

import { type Item, isObject, type Json, sameJson } from '../../base/values.ts'
import { HttpError, throwIfAny } from '../../errors.ts'
import { toJson } from '../../formats/json-value.ts'
import { JSON_PATCH_TYPE } from '../../formats/patch.ts'
import { mayChange, offers, requirePrincipal } from '../calls/authorize.ts'
import type { DecodedBody } from '../calls/decoded-body.ts'
import { notFound } from '../calls/items.ts'
import type { Write } from './steps.ts'

/**
 * Puts the values of read-only properties into a new item, before it is checked. A program may give them.
 * @throws HttpError 401 for an item that needs an owner, over HTTP and without a principal.
 */
export function setReadOnly({ call, candidate }: Write<'candidate'>): Item {
  const { target, principal, inProcess } = call
  const { roles, owner } = target.collection
  if (owner && !inProcess) requirePrincipal(call)
  const filled = { ...candidate }
  for (const [name, { compute, empty }] of roles?.readOnly ?? []) {
    if (inProcess && Object.hasOwn(filled, name)) continue
    delete filled[name]
    const value = compute?.({ principal }) ?? empty
    if (value !== undefined) filled[name] = toJson(value)
  }
  return filled
}

/**
 * Refuses a patch that would change a read-only property. A client that may not read the item may name none: it
 * would learn its value by guessing.
 * @throws HttpError 400 with every such property.
 */
export function refuseReadOnly({
  call,
  candidate,
  current,
  printed = current.item,
}: Write<'candidate' | 'current'>): void {
  const { roles } = call.target.collection
  if (call.inProcess || !call.body || !roles) return
  const reads = offers(call, 'read', 'list')
  const { body } = call
  const changes = (name: string) =>
    reads
      ? !sameJson(candidate[name], printed[name])
      : findNamedProperty(body, new Set([name])) !== undefined
  const changed = [...roles.readOnly.keys()].filter(changes)
  throwIfAny(
    changed.map(field => {
      const message = `${field} is read-only: leave it out`
      return { message, field, type: 'read_only_field' }
    }),
  )
}

/** Restores the read-only properties of an existing item. A program may change them. */
export function restoreReadOnly({
  call,
  candidate,
  current,
}: Write<'candidate' | 'current'>): Item {
  const names = call.target.collection.roles?.readOnly.keys()
  return call.inProcess ? candidate : restore(candidate, current.item, names)
}

/**
 * Restores what a replacement leaves out and a client cannot remove: a replacement names every property.
 * Read-only properties are restored in any case.
 */
export function restoreProtected(write: Write<'candidate' | 'current'>): Item {
  const { call, candidate, current } = write
  const { readOnly = [], writeOnly = [], immutable = [] } = call.target.collection.roles ?? {}
  const names = [...new Map(readOnly).keys(), ...writeOnly, ...immutable]
  const left = names.filter(name => !Object.hasOwn(candidate, name))
  return restore(restoreReadOnly(write), current.item, left)
}

function restore(values: Item, current: Item, names: Iterable<string> = []): Item {
  const restored = { ...values }
  for (const name of names) {
    if (Object.hasOwn(current, name)) restored[name] = current[name] ?? null
    else delete restored[name]
  }
  return restored
}

/** @throws HttpError 400 where an immutable property has changed. */
export function refuseImmutable({ call, own, checked }: Write<'own' | 'checked'>): void {
  for (const name of call.target.collection.roles?.immutable ?? []) {
    if (!sameJson(own[name], checked[name])) throw immutableField(name, own[name] ?? null)
  }
}

/**
 * Refuses a change that names an immutable property, whatever its value: a client that may not read the item
 * would learn by guessing.
 * @throws HttpError 400
 */
export function refuseHiddenImmutable({ call }: Write): void {
  const { body, inProcess, target } = call
  const { roles } = target.collection
  if (!body || inProcess || !roles || offers(call, 'read', 'list')) return
  const field = findNamedProperty(body, roles.immutable)
  if (field === undefined) return
  const message = `${field} cannot be changed. Leave it out`
  throw new HttpError(400, [{ message, field, type: 'immutable_field' }])
}

/** The body of a change, or a part of it. */
type ChangeBody = Pick<DecodedBody, 'value' | 'type'>

/** Finds one of these properties that the body of a change names. */
export function findNamedProperty(
  body: ChangeBody,
  properties: ReadonlySet<string>,
): string | undefined {
  // An empty pointer names the whole item.
  const isWhole = body.type === JSON_PATCH_TYPE && listPointers(body.value).includes('')
  const [named] = isWhole ? properties : listNamed(body, properties)
  return named
}

/** Lists those of the properties that the body of a change names: a JSON Patch names them by its pointers. */
export function listNamed({ value, type }: ChangeBody, properties: ReadonlySet<string>): string[] {
  if (type !== JSON_PATCH_TYPE)
    return [...properties].filter(name => isObject(value) && Object.hasOwn(value, name))
  const pointers = listPointers(value)
  return [...properties].filter(name => {
    const start = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return pointers.some(each => each === start || each.startsWith(`${start}/`))
  })
}

function listPointers(patch: Json): string[] {
  return (Array.isArray(patch) ? patch : [])
    .filter(isObject)
    .flatMap(({ path, from }) => [path, from])
    .filter(pointer => typeof pointer === 'string')
}

export function immutableField(field: string, value: Json): HttpError {
  const message = `${field} is ${JSON.stringify(value)} and cannot be changed. Leave it out`
  return new HttpError(400, [{ message, field, type: 'immutable_field' }])
}

/**
 * Refuses to change an item of another owner. A program without a principal may change every one, and of an
 * action the action decides.
 * @throws HttpError 401 without a principal, 403, or 404 where the collection hides what exists.
 */
export function requireOwnItem(write: Write): void {
  requireOwn(write, write.call.target.collection.hideExistence)
}

/** The same of an item that the client finds in a list. @throws HttpError 401, 403 */
export function requireOwnListed(write: Write): void {
  requireOwn(write, false)
}

function requireOwn({ call, current }: Write, hides: boolean): void {
  const { collection, id = '' } = call.target
  if (!current || mayChange(call, collection, current.item)) return
  requirePrincipal(call)
  if (hides) throw notFound(collection, id)
  const message = `Only its owner may change this ${collection.itemName}.`
  throw new HttpError(403, [{ message, type: 'not_owner' }])
}

/**
 * Lists the changes of a JSON Patch by property, in the form of a merge patch: the input of a hook must not
 * depend on the kind of patch.
 */
export function toChanges(before: Item, after: Item): Item {
  const changes: Item = {}
  for (const [name, value] of Object.entries(after))
    if (!sameJson(before[name], value)) changes[name] = value
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) changes[name] = null
  return changes
}
