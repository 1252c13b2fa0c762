// Field roles in writes and answers: read-only, write-only and immutable properties, and owners.

import { HttpError } from '../errors.ts'
import { toJson } from '../formats/json-value.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { type Item, isObject, type Json, sameJson } from '../schema/values.ts'
import { requirePrincipal } from './authorize.ts'
import type { OperationContext, RequestContext } from './context.ts'
import { notFound } from './items.ts'

/**
 * Puts the values of read-only properties into a new item, before it is checked. A program may give them.
 * @throws HttpError 401 for an item that needs an owner, over HTTP and without a principal.
 */
export function setReadOnly(context: OperationContext, values: Item): Item {
  const { target, principal, inProcess } = context
  const { roles, owner } = target.collection
  if (!roles) return values
  if (owner && !inProcess) requirePrincipal(context)
  const filled = { ...values }
  for (const [name, { compute, empty }] of roles.readOnly) {
    if (inProcess && Object.hasOwn(filled, name)) continue
    delete filled[name]
    const value = compute?.({ principal }) ?? empty
    if (value !== undefined) filled[name] = toJson(value)
  }
  return filled
}

/**
 * Restores the properties of an existing item that a client cannot change. A replacement names every
 * property: an absent one that is write-only or immutable is restored too.
 */
export function restoreProtected(
  { target, inProcess }: OperationContext,
  values: Item,
  current: Item,
  replaces: boolean,
): Item {
  const { roles } = target.collection
  if (!roles) return values
  const kept = { ...values }
  // Within an action its program changes the item.
  const byProgram = inProcess || target.action !== undefined
  const restore = (name: string) => {
    if (Object.hasOwn(current, name)) kept[name] = current[name] ?? null
    else delete kept[name]
  }
  for (const name of roles.readOnly.keys()) {
    if (!byProgram || (replaces && !Object.hasOwn(kept, name))) restore(name)
  }
  if (!replaces) return kept
  for (const name of [...roles.writeOnly, ...roles.immutable]) {
    if (!Object.hasOwn(kept, name)) restore(name)
  }
  return kept
}

/** @throws HttpError 400 where an immutable property has changed. */
export function requireImmutable(
  { roles }: CollectionDefinition,
  current: Item,
  values: Item,
): void {
  for (const name of roles?.immutable ?? []) {
    if (!sameJson(current[name], values[name])) throw immutableField(name, current[name] ?? null)
  }
}

export function immutableField(field: string, value: Json): HttpError {
  const message = `${field} is ${JSON.stringify(value)} and cannot be changed`
  return new HttpError(400, [{ message, field, type: 'immutable_field' }])
}

/**
 * Refuses to change an item of another owner. A program without a principal may change every one, and
 * within an action the action decides.
 * @throws HttpError 401 without a principal, 403, or 404 where the collection hides what exists.
 */
export function requireOwner(context: OperationContext, item: Item): void {
  const { collection, id = '' } = context.target
  if (mayChange(context, collection, item)) return
  requirePrincipal(context)
  if (collection.hideExistence) throw notFound(collection, id)
  const message = `Only its owner may change this ${collection.itemName}.`
  throw new HttpError(403, [{ message, type: 'not_owner' }])
}

/** Whether the principal may change an item. */
export function mayChange(
  { principal, inProcess }: RequestContext,
  { owner }: CollectionDefinition,
  item: Item,
): boolean {
  if (!owner || (inProcess && !principal)) return true
  const { field, except = [] } = owner
  const owns = principal !== undefined && item[field] === principal.id
  return owns || except.some(scope => principal?.scopes?.includes(scope))
}

/**
 * Hides the write-only properties of an item for a program: `item.password` can be read, but copies
 * (`{ ...item }`) and JSON do not have it.
 */
export function protect({ writeOnly }: CollectionDefinition, item: Item): Item {
  if (writeOnly.size === 0) return item
  const copy: Item = {}
  for (const [name, value] of Object.entries(item)) {
    if (writeOnly.has(name)) Object.defineProperty(copy, name, { value })
    else copy[name] = value
  }
  return copy
}

/** Protects the items in the result of an operation. */
export function protectResult(collection: CollectionDefinition, value: unknown): unknown {
  if (Array.isArray(value)) return value.map(each => protectResult(collection, each))
  return isObject(value) ? protect(collection, value) : value
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
