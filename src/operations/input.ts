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
  keepRoles,
  pickHidden,
  requireImmutable,
  setReadOnly,
} from './field-roles.ts'
import { type HookValues, runBefore } from './hooks.ts'
import { assertVisible, findVisible } from './items.ts'
import { serialize } from './serialize.ts'

/** The decoded body. @throws HttpError 400 where there is none. */
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
export async function withReadIssues<T>(
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
  for (const name of Object.keys(item)) {
    if (name === createdAt || name === updatedAt) continue
    if (name !== identity.name || choosesId(collection)) own[name] = item[name] as Json // its own
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
export async function prepareValues(
  context: OperationContext,
  id: Id,
  sent: Json,
  current: Item | undefined,
): Promise<Json> {
  if (!isObject(sent)) return sent
  const { target } = context
  const { collection } = target
  const { identity } = collection.shape
  const given = Object.hasOwn(sent, identity.name) ? sent[identity.name] : id
  const named =
    typeof given === 'string' ? normalizeId(collection, parseId(collection, given) ?? given) : given
  if (named !== id) {
    throw immutableField(identity.name, id)
  }
  const own = ownValues(collection, sent)
  const allowed = current
    ? keepRoles(context, own, current, context.operation === 'replace')
    : setReadOnly(context, own)
  const values = fillParents(
    target,
    choosesId(collection) ? { ...allowed, [identity.name]: id } : allowed,
  )
  return receiveBlobs(context, values, current)
}

/**
 * The checked values of an item as a patch leaves it; the patch is applied to the item as it is given,
 * and to its write-only properties.
 */
export async function checkPatched(
  context: OperationContext,
  { id, item }: Stored,
  apply: (shown: Item) => Json,
): Promise<Item> {
  const { collection } = context.target
  const readable = await serialize(context, item)
  const { hidden } = collection
  const shown = hidden.size === 0 ? readable : { ...readable, ...pickHidden(collection, item) }
  const patched = withoutSameData(collection, apply(shown), shown)
  const { name } = collection.shape.identity
  if (isObject(patched) && !Object.hasOwn(patched, name)) throw immutableField(name, id)
  // What an item may lack can be taken away, but not here.
  const { parent } = context.target
  const reference = parent && collection.shape.fields.get(parent.field)
  const detachable = reference?.optional || reference?.nullable
  if (parent && detachable && isObject(patched) && !Object.hasOwn(patched, parent.field))
    throw conflictingParent(parent)
  const own = ownValues(collection, item)
  const values = await collection.validator.patch(
    own,
    await prepareValues(context, id, patched, item),
  )
  requireImmutable(collection, own, values)
  return values
}

/** Prepares what a client sent for a new item. @param id given by the path of a PUT that creates. */
function prepareNew(context: OperationContext, sent: Json, id: Id | undefined): Awaitable<Json> {
  const { target } = context
  const { collection } = target
  if (id !== undefined) return prepareValues(context, id, sent, undefined)
  if (!isObject(sent)) return sent
  const { name } = collection.shape.identity
  const given = Object.hasOwn(sent, name) ? sent[name] : null
  if (given !== null && !choosesId(collection)) {
    const message = `${name} is chosen by the server. Leave it out.`
    throw new HttpError(400, [{ message, field: name, type: 'immutable_field' }])
  }
  const own = setReadOnly(context, ownValues(collection, sent))
  if (given === null && Object.hasOwn(own, name)) delete own[name]
  const values = fillParents(target, own)
  return collection.blobs ? receiveBlobs(context, values, undefined) : values
}

/** Fills in the parent that the path names, and normalizes the ids of all parents. */
function fillParents(target: OperationContext['target'], sent: Item): Item {
  const { parent } = target
  const values = target.collection.references.size > 0 ? normalizeReferences(target, sent) : sent
  if (!parent) return values
  const given = Object.hasOwn(values, parent.field) ? values[parent.field] : undefined
  if (given !== undefined && given !== parent.id) throw conflictingParent(parent)
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

/**
 * Checks the values of a new item and runs the `before` hook.
 * @throws HttpError 400 with every issue.
 */
export function createValues(context: OperationContext, id?: Id): Awaitable<Item> {
  const { collection } = context.target
  const { issues = [] } = context.body ?? {}
  const body = requireBody(context)
  const check = () =>
    andThen(prepareNew(context, body, id), values => collection.validator.create(values))
  return andThen(
    issues.length > 0 ? withReadIssues(issues, async () => check()) : check(),
    checked => {
      const values =
        collection.hooks.before.size > 0 ? runValueHook(context, { input: body }, checked) : checked
      return andThen(values, each => requireCreatable(context, each, checked))
    },
  )
}

/** The limits of an item and its place: what the schema cannot know. @throws HttpError 400, 403, 413 */
function requireCreatable(context: OperationContext, values: Item, checked: Item): Awaitable<Item> {
  const { collection } = context.target
  const { name } = collection.shape.identity
  const chosen = values[name]
  const reason = chosen === undefined ? undefined : invalidIdReason(collection, String(chosen))
  if (reason !== undefined) throwIfAny([{ message: reason, field: name, type: 'invalid_id' }])
  requireSize(context, values)
  const visible = collection.visible ? assertVisible(context, values) : undefined
  if (collection.references.size === 0) return andThen(visible, () => values)
  return andThen(visible, () =>
    checkReferences(context, values, { sent: checked }).then(() => values),
  )
}

/**
 * Runs the `before` hook on checked values, and checks them again where it has changed them; what the
 * server adds is its own.
 * @throws HttpError 400
 */
export async function runValueHook(
  context: OperationContext,
  about: HookValues,
  checked: Item,
): Promise<Item> {
  const { collection } = context.target
  const { hooks, validator } = collection
  if (!hooks.before.has(context.operation)) return checked
  // The hook may change the value in place; what it does not change is shared with the stored item.
  const value = structuredClone(checked)
  freezeDeep(about.input)
  const returned = await runBefore(context, { ...about, value }, value)
  const json = toJson(returned)
  // What is not an object as JSON, such as a Date, leaves the value as it is.
  const own = ownValues(collection, isObject(json) ? json : value)
  return validator.patch(checked, normalizeReferences(context.target, own))
}

/** @throws HttpError 413 for values that make an item larger than one may be. */
export function requireSize({ target, api }: OperationContext, values: Item): void {
  const { limits } = api
  if (isWithin(values, limits.item)) return
  const { itemName } = target.collection
  const message = `This ${itemName} would have more than ${limits.item} bytes as JSON, which is the limit of an item.`
  throw new HttpError(413, [{ message, type: 'item_too_large' }])
}

/**
 * Refuses values that name a new parent which does not exist. Scopes are checked only for a parent that
 * the client named, not for one that a hook filled in.
 * @throws HttpError 400 with every issue.
 */
export async function checkReferences(
  context: OperationContext,
  values: Item,
  { sent = values, current }: { sent?: Item | undefined; current?: Item },
): Promise<void> {
  const { version, collection, parent: known } = context.target
  const issues: Issue[] = []
  for (const [field, { collection: name }] of collection.references) {
    const parent = version.collections.get(name)
    const value = values[field] ?? null
    const named = known?.field === field && known.id === value
    const checked = named || value === null || value === current?.[field]
    if (!parent || checked) continue
    const id = parseId(parent, String(value))
    const byClient = value === sent[field]
    if (id === undefined || !(await findVisible(context, parent, id, byClient))) {
      issues.push(unknownReference(field, parent, value))
    }
  }
  throwIfAny(issues)
}

export function unknownReference(
  field: string,
  { itemName }: CollectionDefinition,
  value: Json,
): Issue {
  const message = `${field}: no ${itemName} has the id ${JSON.stringify(value)}`
  return { message, field, type: 'unknown_reference' }
}
