// What a client may write of an item: the server's own properties apart, the parent filled in.

import {
  AnyHttpError,
  type AnyIssue,
  HttpError,
  type Issue,
  MAX_ISSUES,
  throwIfAny,
  toHttpError,
} from '../errors.ts'
import { toJson } from '../formats/json-value.ts'
import type { CollectionDefinition, OperationEvent } from '../model/definition.ts'
import { invalidIdReason, normalizeId, type Parent, parseId } from '../model/routes.ts'
import { isWithin } from '../schema/json-size.ts'
import { type Item, isObject, type Json } from '../schema/values.ts'
import type { Id, Stored } from '../store/store.ts'
import { receiveBlobs, withoutSameData } from './blob-inputs.ts'
import { assertVisible, type Call, findVisible, runBefore } from './call.ts'
import { serialize } from './serialize.ts'

/** The decoded body. @throws HttpError 400 where there is none. */
export function requireBody({ body }: Call): Json {
  if (!body)
    throw new HttpError(400, [{ message: 'The request needs a body', type: 'missing_body' }])
  return body.value
}

/**
 * Checks what a client sent, and tells with what is wrong there what was wrong when it was read: one
 * issue of each field, as it was sent.
 * @throws HttpError 400 with every issue.
 */
export async function checkedWith<T>(
  read: readonly Issue[] = [],
  check: () => Promise<T>,
): Promise<T> {
  if (read.length === 0) return check()
  let found: readonly AnyIssue[] = []
  try {
    await check()
  } catch (error) {
    const refusal = toHttpError(error)
    if (refusal.status !== 400) throw refusal
    found = refusal.errors
  }
  const others = found.filter(({ field }) => !read.some(known => overlap(known.field, field)))
  throw new AnyHttpError(400, [...read, ...others].slice(0, MAX_ISSUES))
}

/** Whether two fields are one, or one is below the other. */
function overlap(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`)
}

/** Whether clients may choose the id: the schema has a property for it. */
function choosesId({ shape, inputFields }: CollectionDefinition): boolean {
  return inputFields.has(shape.identity.name)
}

/** The properties of an item that its schema knows: without what the server adds. */
export function ownValues(collection: CollectionDefinition, item: Item): Item {
  const { identity, createdAt, updatedAt } = collection.shape
  const own: Item = {}
  for (const [name, value] of Object.entries(item)) {
    if (name === createdAt || name === updatedAt) continue
    if (name !== identity.name || choosesId(collection)) own[name] = value
  }
  return own
}

/** An item with other values: what the server adds stays. */
export function withOwnValues(collection: CollectionDefinition, item: Item, values: Item): Item {
  const own = ownValues(collection, item)
  const added = Object.entries(item).filter(([name]) => !Object.hasOwn(own, name))
  return { ...Object.fromEntries(added), ...values }
}

/**
 * What a client sent for an existing item, without the server's own properties; a parent that it left
 * out is filled in.
 * @throws HttpError 400 for another id or another parent.
 */
export async function valuesFor(
  call: Call,
  id: Id,
  sent: Json,
  current: Item | undefined,
): Promise<Json> {
  if (!isObject(sent)) return sent
  const { target } = call
  const { collection } = target
  const { identity } = collection.shape
  const given = Object.hasOwn(sent, identity.name) ? sent[identity.name] : id
  if ((typeof given === 'string' ? normalizeId(collection, given) : given) !== id) {
    throw immutableId(identity.name, id)
  }
  const own = ownValues(collection, sent)
  const values = withParents(target, choosesId(collection) ? { ...own, [identity.name]: id } : own)
  return receiveBlobs(call, values, current)
}

function immutableId(field: string, id: Id): HttpError {
  const message = `${field} is ${JSON.stringify(id)} and cannot be changed`
  return new HttpError(400, [{ message, field, type: 'immutable_field' }])
}

/** The checked values of an item as a patch leaves it; the patch is applied to the item as it is given. */
export async function patchedValues(
  call: Call,
  { id, item }: Stored,
  apply: (shown: Item) => Json,
): Promise<Item> {
  const { collection } = call.target
  const shown = await serialize(call, item)
  const patched = withoutSameData(collection, apply(shown), shown)
  const { name } = collection.shape.identity
  if (isObject(patched) && !Object.hasOwn(patched, name)) throw immutableId(name, id)
  // What an item may lack can be taken away, but not here.
  const { parent } = call.target
  const reference = parent && collection.shape.fields.get(parent.field)
  const detachable = reference?.optional || reference?.nullable
  if (parent && detachable && isObject(patched) && !Object.hasOwn(patched, parent.field))
    throw conflictingParent(parent)
  const own = ownValues(collection, item)
  return collection.validator.patch(own, await valuesFor(call, id, patched, item))
}

/** What a client sent for a new item. `id` is given by the path of a PUT that creates. */
async function newValuesFor(call: Call, sent: Json, id: Id | undefined): Promise<Json> {
  const { target } = call
  if (id !== undefined) return valuesFor(call, id, sent, undefined)
  if (!isObject(sent)) return sent
  const { name } = target.collection.shape.identity
  if (Object.hasOwn(sent, name) && !choosesId(target.collection)) {
    const message = `${name} is chosen by the server: leave it out`
    throw new HttpError(400, [{ message, field: name, type: 'immutable_field' }])
  }
  return receiveBlobs(call, withParents(target, ownValues(target.collection, sent)), undefined)
}

/** Values with the parent that the path names, and every parent as its id is kept. */
function withParents(target: Call['target'], sent: Item): Item {
  const { parent } = target
  const values = withKeptReferences(target, sent)
  if (!parent) return values
  const given = Object.hasOwn(values, parent.field) ? values[parent.field] : undefined
  if (given !== undefined && given !== parent.id) throw conflictingParent(parent)
  return { ...values, [parent.field]: parent.id }
}

function conflictingParent({ field, id }: Parent): HttpError {
  const message = `${field} must be ${JSON.stringify(id)} here: the path says so`
  return new HttpError(400, [{ message, field, type: 'conflicting_parent' }])
}

function withKeptReferences({ version, collection }: Call['target'], values: Item): Item {
  let kept = values
  for (const [name, field] of collection.parents) {
    const parent = version.collections.get(name)
    const value = values[field]
    if (!parent || typeof value !== 'string') continue
    const id = normalizeId(parent, value)
    if (id !== value) kept = { ...kept, [field]: id }
  }
  return kept
}

/**
 * The checked values of a new item, the `before` hook run.
 * @throws HttpError 400 with every issue.
 */
export async function newValues(call: Call, id?: Id): Promise<Item> {
  const { collection } = call.target
  const body = requireBody(call)
  const checked = await checkedWith(call.body?.issues, async () =>
    collection.validator.create(await newValuesFor(call, body, id)),
  )
  const values = await hookedValues(call, {}, checked)
  const chosen = values[collection.shape.identity.name]
  const objection = chosen === undefined ? undefined : invalidIdReason(collection, String(chosen))
  if (objection !== undefined) {
    const field = collection.shape.identity.name
    throwIfAny([{ message: objection, field, type: 'invalid_id' }])
  }
  requireSize(call, values)
  assertVisible(call, values)
  await checkReferences(call, values, { sent: checked })
  return values
}

/**
 * Checked values as the `before` hook leaves them, checked again where it has changed them; what the
 * server adds is its own.
 * @throws HttpError 400
 */
export async function hookedValues(
  call: Call,
  about: Pick<OperationEvent, 'item'>,
  checked: Item,
): Promise<Item> {
  const { collection } = call.target
  const { hooks, validator } = collection
  if (!hooks.before) return checked
  // The hook may change the value itself, where it is as it was too: those parts are the stored item's.
  const value = structuredClone(checked)
  const given = await runBefore(call, { ...about, value }, value)
  const json = toJson(given)
  // What is no object as JSON, such as a Date, leaves the value as it is.
  const own = ownValues(collection, isObject(json) ? json : value)
  return validator.adopt(checked, withKeptReferences(call.target, own))
}

/** @throws HttpError 413 for values that make an item larger than one may be. */
export function requireSize({ target, limits }: Call, values: Item): void {
  if (isWithin(values, limits.item)) return
  const { itemName } = target.collection
  const message = `This ${itemName} would have more than the ${limits.item} bytes as JSON that an item may have`
  throw new HttpError(413, [{ message, type: 'item_too_large' }])
}

/**
 * Refuses values that name a parent anew which does not exist. Of a parent that a hook has named, and not the
 * client, no scopes are asked: they are for requests.
 * @throws HttpError 400 with every issue.
 */
export async function checkReferences(
  call: Call,
  values: Item,
  { sent = values, current }: { sent?: Item | undefined; current?: Item },
): Promise<void> {
  const { version, collection, parent: known } = call.target
  const issues: Issue[] = []
  for (const [name, field] of collection.parents) {
    const parent = version.collections.get(name)
    const value = values[field] ?? null
    const named = known?.field === field && known.id === value
    const checked = named || value === null || value === current?.[field]
    if (!parent || checked) continue
    const id = parseId(parent, String(value))
    const asked = value === sent[field] ? call : { ...call, may: () => true }
    if (id === undefined || !(await findVisible(asked, parent, id))) {
      const message = `${field}: there is no ${parent.itemName} with the id ${JSON.stringify(value)}`
      issues.push({ message, field, type: 'unknown_reference' })
    }
  }
  throwIfAny(issues)
}
