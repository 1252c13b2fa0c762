// What a client may write of an item: server-owned properties are ignored, the parent is filled in.

import { getValue, toPath } from '../../base/paths.ts'
import {
  type Awaitable,
  andThen,
  type Item,
  isObject,
  type Json,
  omit,
  sameJson,
} from '../../base/values.ts'
import {
  AnyHttpError,
  type AnyIssue,
  HttpError,
  type Issue,
  MAX_ISSUES,
  throwIfAny,
  toHttpError,
} from '../../errors.ts'
import { mergeForm } from '../../formats/form-values.ts'
import { JSON_PATCH_TYPE, jsonPatch, mergePatch } from '../../formats/patch.ts'
import { invalidIdReason, normalizeId, parseId } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { unknownProperty } from '../../schema/issues.ts'
import { isWithin } from '../../schema/json-size.ts'
import type { Stored } from '../../store/store.ts'
import { findUnreadable } from '../../store/unreadable.ts'
import { assertVisible } from '../calls/items.ts'
import { moveNulls } from './blob-inputs.ts'
import { normalizeReferences } from './check-references.ts'
import { findNamedProperty, immutableField, listNamed } from './enforce-field-roles.ts'
import { completeUnchanged } from './idempotency-key.ts'
import { runSteps, type Write, type WriteState, type WriteStep } from './steps.ts'

export const NO_BODY: Issue = {
  message: 'The request needs a body, such as JSON with Content-Type: application/json.',
  type: 'missing_body',
}

/** Returns the decoded body. @throws HttpError 400 where it is missing. */
export function requireBody({ call: { body } }: Write): Json {
  if (body) return body.value
  throw new HttpError(400, [NO_BODY])
}

/** Returns a decoded array. @throws HttpError 413 for one with too many items. */
export function requireArray({ call: { api, body } }: Write): Json {
  const bodies = Array.isArray(body?.value) ? body.value : []
  const { arrayItems } = api.limits
  if (bodies.length <= arrayItems) return bodies
  const message = `An array may have at most ${arrayItems} items, not ${bodies.length}. Send several.`
  throw new HttpError(413, [{ message, type: 'too_many_items' }])
}

/**
 * Runs the steps that check what a client sent. With their issues it reports those that were found when it was
 * read: one for each field, as it was sent.
 * @throws HttpError 400 with every issue.
 */
export function reportIssuesTogether(
  write: WriteState,
  steps: readonly WriteStep[],
): Awaitable<WriteState> {
  const { issues = NO_ISSUES } = write.call.body ?? {}
  return withBodyIssues(issues, () => runSteps(steps, write))
}

const NO_ISSUES: readonly Issue[] = []

/** Checks what a client sent, and reports with its issues those that were found when it was read. @throws HttpError 400 */
export function withBodyIssues<T>(
  issues: readonly Issue[] = [],
  check: () => Awaitable<T>,
): Awaitable<T> {
  return issues.length === 0 ? check() : reportAll(issues, check)
}

/**
 * Refuses properties that do not exist for the client, as others that do not exist: with the issues of all other ones.
 * @throws HttpError 400
 */
export function refuseUnknown(
  write: WriteState,
  steps: readonly WriteStep[],
): Awaitable<WriteState> {
  const { call, body = null } = write
  const { unknown, bodyFields } = call.target.collection
  const type = call.body?.type
  const issues = listNamed({ value: body, type }, unknown).map(name =>
    unknownProperty(name, bodyFields),
  )
  if (issues.length > 0 && isObject(body)) write.body = omit(body, unknown)
  return withBodyIssues(issues, () => runSteps(steps, write))
}

async function reportAll(issues: readonly Issue[], check: () => unknown): Promise<never> {
  let found: readonly AnyIssue[] = []
  try {
    await check()
  } catch (error) {
    const invalid = toHttpError(error)
    if (invalid.status !== 400) throw invalid
    found = invalid.errors
  }
  const others = found.filter(({ field }) => !issues.some(known => overlap(known.field, field)))
  throw new AnyHttpError(400, [...issues, ...others].slice(0, MAX_ISSUES))
}

/** Whether two fields are one, or one is below the other. */
function overlap(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`)
}

/** Whether clients may choose the id: the schema has a property for it. */
export function choosesId({ shape, inputFields }: CollectionDefinition): boolean {
  return inputFields.has(shape.identity.name)
}

/** Leaves out what the server adds to an item: its dates, and an id that clients do not choose. */
export function omitAdded(collection: CollectionDefinition, item: Item): Item {
  const { identity, createdAt, updatedAt } = collection.shape
  const id = choosesId(collection) ? undefined : identity.name
  const has = (name: string | undefined) => name !== undefined && Object.hasOwn(item, name)
  if (!has(createdAt) && !has(updatedAt) && !has(id)) return item
  const own: Item = {}
  for (const [name, value] of Object.entries(item))
    if (name !== createdAt && name !== updatedAt && name !== id) own[name] = value
  return own
}

/** Takes the properties of the current item that its schema knows. */
export function takeOwnValues({ call, current }: Write<'current'>): Item {
  return omitAdded(call.target.collection, current.item)
}

/** @throws HttpError 400 for a body that is no object. */
export function takeBody({ body }: Write<'body'>): Item {
  return requireObject(body)
}

function requireObject(value: Json): Item {
  if (isObject(value)) return value
  throw new HttpError(400, [{ message: 'The body must be an object', type: 'invalid_type' }])
}

/** Applies a JSON Patch, a form or a merge patch to the item. @throws HttpError 400, 409, 413 */
export function applyPatch(write: Write<'body' | 'current'>): Item {
  const { call, body, current, printed = current.item } = write
  const { target, api } = call
  const { type, form } = call.body ?? {}
  if (type === JSON_PATCH_TYPE) {
    const patched = jsonPatch(printed, body, {
      maxOperations: api.limits.patchOperations,
      maxDepth: api.limits.depth,
      maxSize: api.limits.body,
      writeOnly: target.collection.hidden,
    })
    return requireObject(patched)
  }
  if (!form || !isObject(body)) return applyChanges(write)
  return requireObject(mergeForm(printed, moveNulls(body, write), target.collection.bodyFields))
}

/** Applies a merge patch to the item. @throws HttpError 400 */
export function applyChanges(write: Write<'body' | 'current'>): Item {
  const { body, current, printed = current.item } = write
  return requireObject(mergePatch(printed, moveNulls(requireMergePatch(body), write)))
}

/** @throws HttpError 400 for a body that is no object. */
export function requireMergePatch(body: Json): Item {
  if (isObject(body)) return body
  const message = 'A merge patch of an item must be an object.'
  throw new HttpError(400, [{ message, type: 'invalid_type' }])
}

/** @throws HttpError 400 for a patch that removes the id. */
export function requireId({ call, candidate, current }: Write<'candidate' | 'current'>): void {
  const { name } = call.target.collection.shape.identity
  if (!Object.hasOwn(candidate, name)) throw immutableField(name, current.id)
}

/** @throws HttpError 400 for another id than that of the path. */
export function requireSameId({ call, candidate }: Write<'candidate'>): void {
  const { collection, id = '' } = call.target
  const { name } = collection.shape.identity
  const value = Object.hasOwn(candidate, name) ? candidate[name] : undefined
  if (value !== undefined && toId(collection, value) !== id) throw immutableField(name, id)
}

/** Parses the id of a body: a form sends every id as a text. */
function toId(collection: CollectionDefinition, value: Json): Json {
  if (typeof value !== 'string') return value
  return normalizeId(collection, parseId(collection, value) ?? value)
}

/** Sets the id that the path names. */
export function setId({ call, candidate }: Write<'candidate'>): Item {
  const { collection, id = '' } = call.target
  return { ...candidate, [collection.shape.identity.name]: id }
}

/** @throws HttpError 400 for the id of a new item where the server chooses it. */
export function refuseId({ call, candidate }: Write<'candidate'>): void {
  const { name } = call.target.collection.shape.identity
  if (!Object.hasOwn(candidate, name) || candidate[name] === null) return
  const message = `${name} is chosen by the server. Leave it out.`
  throw new HttpError(400, [{ message, field: name, type: 'immutable_field' }])
}

/** Leaves out an id that is null: the server chooses one. */
export function omitNullId({ call, candidate }: Write<'candidate'>): Item {
  const { name } = call.target.collection.shape.identity
  if (candidate[name] !== null) return candidate
  const { [name]: _, ...others } = candidate
  return others
}

/** Leaves out what the server adds to an item. */
export function omitServerValues({ call, candidate }: Write<'candidate'>): Item {
  return omitAdded(call.target.collection, candidate)
}

/** Checks a new item. @throws HttpError 400 with every issue. */
export function validateNew({ call, candidate }: Write<'candidate'>): Awaitable<Item> {
  return call.target.collection.validator.create(candidate)
}

/** Checks a replacement. @throws HttpError 400 with every issue, 409 */
export function validateReplacement(write: Write<Changing>): Awaitable<Item> {
  refuseUnreadable(write)
  return write.call.target.collection.validator.replace(write.own, write.candidate)
}

/** Checks a patched item. @throws HttpError 400 with every issue, 409 */
export function validatePatched(write: Write<Changing>): Awaitable<Item> {
  refuseUnreadable(write)
  const { call, own, candidate } = write
  try {
    const checked = call.target.collection.validator.patch(own, candidate)
    return checked instanceof Promise ? checked.catch(error => explainNulls(write, error)) : checked
  } catch (error) {
    return explainNulls(write, error)
  }
}

/** Says of a required property that null would remove it. @throws what was thrown */
function explainNulls({ call, body }: Write<Changing>, thrown: unknown): never {
  if (!(thrown instanceof HttpError) || call.body?.form) throw thrown
  const isRemoved = ({ type, field = '' }: AnyIssue) =>
    type === 'required' && getValue(body, toPath(field)) === null
  if (!thrown.errors.some(isRemoved)) throw thrown
  const explained = thrown.errors.map(issue => {
    if (!isRemoved(issue)) return issue
    const { message, field } = issue
    const hint = `null would remove it. Send a value, or leave ${field} out`
    return { ...issue, message: `${message.replace(/\.$/, '')}: ${hint}` }
  })
  throw new AnyHttpError(thrown.status, explained)
}

type Changing = 'body' | 'current' | 'own' | 'candidate'

/** @throws HttpError 400 for null in place of a stored value that cannot be read: it would stay there. */
function refuseUnreadable({ call, body, current, candidate }: Write<Changing>): void {
  const unreadable = findUnreadable(current.item)
  if (!unreadable) return
  const type = call.target.action ? undefined : call.body?.type
  const named = listNamed({ value: body, type }, unreadable)
  const issues = named.flatMap(field => {
    if ((candidate[field] ?? null) !== null) return []
    const message = `${field} holds a value that cannot be read, which null does not replace. Send a value, or leave ${field} out.`
    return [{ message, field, type: 'unreadable_value' as const }]
  })
  throwIfAny(issues)
}

/** Takes the checked values, where no hook changes them. */
export function takeChecked({ checked }: Write<'checked'>): Item {
  return checked
}

/** Checks what the hook has changed, if it has. It cannot change what the server adds. @throws HttpError 400 */
export function validateAgain({
  call,
  checked,
  values,
}: Write<'checked' | 'values'>): Awaitable<Item> {
  if (values === checked) return checked
  const { collection } = call.target
  const own = normalizeReferences(collection, omitAdded(collection, values))
  return collection.validator.patch(checked, own)
}

/**
 * Stops where nothing is changed: the item stays as it is. A write-only property that is named counts as changed,
 * since an unchanged version would tell that its value is the same.
 */
export function stopIfUnchanged(
  write: Write<'body' | 'current' | 'own' | 'values'>,
): Awaitable<Stored | undefined> {
  const { call, body, current, own, values } = write
  if (!sameJson(values, own)) return undefined
  const { target } = call
  // The changes of an action are a merge patch, whatever its body was.
  const type = target.action ? undefined : call.body?.type
  const { hidden } = target.collection
  if (hidden.size > 0 && findNamedProperty({ value: body, type }, hidden) !== undefined)
    return undefined
  return andThen(completeUnchanged(write), () => current)
}

/** @throws HttpError 400 for an id that would not stand in a path. */
export function requireValidId({ call, values }: Write<'values'>): void {
  const { collection } = call.target
  const { name } = collection.shape.identity
  const chosen = values[name]
  const reason = chosen === undefined ? undefined : invalidIdReason(collection, String(chosen))
  if (reason !== undefined) throwIfAny([{ message: reason, field: name, type: 'invalid_id' }])
}

/** Checks the size of an item. @throws HttpError 413 */
export function requireSize({ call, values }: Write<'values'>): void {
  const { limits } = call.api
  if (isWithin(values, limits.item)) return
  const { itemName } = call.target.collection
  const message = `This ${itemName} would have more than ${limits.item} bytes as JSON, which is the limit of an item.`
  throw new HttpError(413, [{ message, type: 'item_too_large' }])
}

/** Refuses to write an item that its writer could not see. @throws HttpError 403 */
export function requireVisible({
  call,
  values,
  current,
  transaction,
}: Write<'values'>): Awaitable<void> {
  return assertVisible(call, values, current?.item, transaction)
}
