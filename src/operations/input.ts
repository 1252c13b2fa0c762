// What a client may write of an item: server-owned properties are ignored, the parent is filled in.
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
import type { CollectionDefinition } from '../model/definition.ts'
import { invalidIdReason, normalizeId, type Parent, parseId } from '../model/routes.ts'
import { isWithin } from '../schema/json-size.ts'
import {
  type Awaitable,
  andThen,
  freezeDeep,
  type Item,
  isObject,
  type Json,
} from '../schema/values.ts'
import type { Id, Stored } from '../store/store.ts'
import { receiveBlobs, withoutSameData } from './blob-inputs.ts'
import type { OperationContext } from './context.ts'
import {
  immutableField,
  requireImmutable,
  restoreProtected,
  setReadOnly,
} from './enforce-field-roles.ts'
import { assertVisible, findVisible } from './items.ts'
import { printContents } from './represent.ts'
import { type HookValues, runBefore } from './run-hooks.ts'

/** Returns the decoded body. @throws HttpError 400 where it is missing. */
export function requireBody({ body }: OperationContext): Json {
  if (!body)
    throw new HttpError(400, [{ message: 'The request needs a body.', type: 'missing_body' }])
  return body.value
}

/**
 * Checks what a client sent, and reports with its issues those that were found when it was read: one
 * for each field, as it was sent.
 * @throws HttpError 400 with every issue.
 */
export function withBodyIssues<T>(
  issues: readonly Issue[] = [],
  check: () => Awaitable<T>,
): Awaitable<T> {
  return issues.length === 0 ? check() : reportAll(issues, check)
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
function choosesId({ shape, inputFields }: CollectionDefinition): boolean {
  return inputFields.has(shape.identity.name)
}

/** Picks the properties of an item that its schema knows: without what the server adds. */
export function ownValues(collection: CollectionDefinition, item: Item): Item {
  const { identity, createdAt, updatedAt } = collection.shape
  const own: Item = {}
  for (const name of Object.keys(item)) {
    if (name === createdAt || name === updatedAt) continue
    if (name !== identity.name || choosesId(collection)) own[name] = item[name] as Json // its own
  }
  return own
}

/**
 * Prepares what a client sent: the server's own properties are left out or set, the parent of the path is
 * filled in, contents become their records.
 * @param id of the item, or given by the path of a PUT that creates.
 * @throws HttpError 400 for another id or another parent.
 */
export function prepareValues(
  context: OperationContext,
  body: Json,
  id?: Id,
  current?: Item,
): Awaitable<Json> {
  if (!isObject(body)) return body
  const { target, operation } = context
  const { collection } = target
  const { name } = collection.shape.identity
  const bodyId = Object.hasOwn(body, name) ? body[name] : undefined
  const own = ownValues(collection, body)
  if (id !== undefined) {
    if (bodyId !== undefined && toId(collection, bodyId) !== id) throw immutableField(name, id)
    if (choosesId(collection)) own[name] = id
  } else if (bodyId === null) {
    delete own[name]
  } else if (bodyId !== undefined && !choosesId(collection)) {
    const message = `${name} is chosen by the server. Leave it out.`
    throw new HttpError(400, [{ message, field: name, type: 'immutable_field' }])
  }
  const allowed = current
    ? restoreProtected(context, own, current, operation === 'replace')
    : setReadOnly(context, own)
  const values = fillParents(target, allowed)
  return collection.blobs ? receiveBlobs(context, values, current) : values
}

/** Parses the id of a body: a form sends every id as a text. */
function toId(collection: CollectionDefinition, value: Json | undefined): Json | undefined {
  if (typeof value !== 'string') return value
  return normalizeId(collection, parseId(collection, value) ?? value)
}

/** Applies a patch to a whole item, contents printed as in answers, and checks the result. */
export async function checkPatched(
  context: OperationContext,
  { id, item }: Stored,
  apply: (printed: Item) => Json,
): Promise<Item> {
  const { collection } = context.target
  const printed = collection.blobs ? await printContents(context, item) : item
  const patched = withoutSameData(collection, apply(printed), printed)
  const { name } = collection.shape.identity
  if (isObject(patched) && !Object.hasOwn(patched, name)) throw immutableField(name, id)
  // An absent parent is filled in: a patch that removes it would have no effect.
  const { parent } = context.target
  if (parent && isObject(patched) && !Object.hasOwn(patched, parent.field))
    throw conflictingParent(parent)
  const own = ownValues(collection, item)
  const prepared = await prepareValues(context, patched, id, item)
  const values = await collection.validator.patch(own, prepared)
  requireImmutable(collection, own, values)
  return values
}

/** Fills in the parent that the path names, and normalizes the ids of all parents. */
function fillParents(target: OperationContext['target'], input: Item): Item {
  const { parent } = target
  const values = target.collection.references.size > 0 ? normalizeReferences(target, input) : input
  if (!parent) return values
  const value = values[parent.field]
  if (value !== undefined && value !== parent.id) throw conflictingParent(parent)
  return { ...values, [parent.field]: parent.id }
}

function conflictingParent({ field, id }: Parent): HttpError {
  const message = `${field} must be ${JSON.stringify(id)} here, as in the path.`
  return new HttpError(400, [{ message, field, type: 'conflicting_parent' }])
}

function normalizeReferences(
  { version, collection }: OperationContext['target'],
  values: Item,
): Item {
  let kept = values
  for (const [field, { collection: name }] of collection.references) {
    const parent = version.collections.get(name)
    const value = values[field]
    if (!parent || typeof value !== 'string') continue
    const id = normalizeId(parent, value)
    if (id !== value) kept = { ...kept, [field]: id }
  }
  return kept
}

/** Checks what a client sent for a new item. @throws HttpError 400 with every issue. */
export function checkNew(context: OperationContext, id?: Id): Awaitable<Item> {
  const body = requireBody(context)
  const { validator } = context.target.collection
  return withBodyIssues(context.body?.issues, () =>
    andThen(prepareValues(context, body, id), values => validator.create(values)),
  )
}

/**
 * Runs the `before` hook on checked values, and checks them again where it has changed them. It cannot change
 * what the server adds.
 * @throws HttpError 400
 */
export function runValueHook(
  context: OperationContext,
  hookValues: HookValues,
  checked: Item,
): Awaitable<Item> {
  const { collection } = context.target
  if (!collection.hooks.before.has(context.operation)) return checked
  // The hook may change the value in place, and parts of it belong to the stored item, too.
  const value = structuredClone(checked)
  freezeDeep(hookValues.input)
  return andThen(runBefore(context, { ...hookValues, value }, value), returned => {
    const json = toJson(returned)
    // A result that is no object as JSON, such as a Date, is ignored.
    const own = ownValues(collection, isObject(json) ? json : value)
    return collection.validator.patch(checked, normalizeReferences(context.target, own))
  })
}

/**
 * Checks what the schema cannot know of the values of an item: their size, their id, whether their writer may
 * see them, and what they refer to.
 * @param checked the values as they were before the hook.
 * @throws HttpError 400, 403, 413
 */
export function requireWritable(
  context: OperationContext,
  values: Item,
  checked: Item,
  current: Item | undefined,
): Awaitable<void> {
  const { collection } = context.target
  if (!current) requireValidId(collection, values)
  requireSize(context, values)
  const visible = assertVisible(context, values, current)
  if (collection.references.size === 0) return visible
  return andThen(visible, () => checkReferences(context, values, checked, current))
}

function requireValidId(collection: CollectionDefinition, values: Item): void {
  const { name } = collection.shape.identity
  const chosen = values[name]
  const reason = chosen === undefined ? undefined : invalidIdReason(collection, String(chosen))
  if (reason !== undefined) throwIfAny([{ message: reason, field: name, type: 'invalid_id' }])
}

/** Checks the size of an item. @throws HttpError 413 */
function requireSize({ target, api }: OperationContext, values: Item): void {
  const { limits } = api
  if (isWithin(values, limits.item)) return
  const { itemName } = target.collection
  const message = `This ${itemName} would have more than ${limits.item} bytes as JSON, which is the limit of an item.`
  throw new HttpError(413, [{ message, type: 'item_too_large' }])
}

/**
 * Refuses values that name a new parent which does not exist. For a parent that the client named, and not a
 * hook, it must be allowed to read it.
 * @throws HttpError 400 with every issue.
 */
async function checkReferences(
  context: OperationContext,
  values: Item,
  checked: Item,
  current: Item | undefined,
): Promise<void> {
  const { version, collection, parent: found } = context.target
  const issues: Issue[] = []
  for (const [field, { collection: name }] of collection.references) {
    const parent = version.collections.get(name)
    const value = values[field] ?? null
    // The parent of the path was found before; in a transaction it must still be there.
    const isFound = !context.transaction && found?.field === field && found.id === value
    if (!parent || isFound || value === null || value === current?.[field]) continue
    const id = parseId(parent, String(value))
    const byClient = value === checked[field]
    if (id === undefined || !(await findVisible(context, parent, id, byClient))) {
      const message = `${field}: no ${parent.itemName} has the id ${JSON.stringify(value)}`
      issues.push({ message, field, type: 'unknown_reference' })
    }
  }
  throwIfAny(issues)
}
