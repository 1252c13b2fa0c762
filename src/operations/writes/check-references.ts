// The references of an item that is written: the parent of the path is filled in, and what it names must exist.

import { type Awaitable, type Item, isUuid, type Json } from '../../base/values.ts'
import { HttpError, type Issue, throwIfAny } from '../../errors.ts'
import { normalizeId, type Parent, parseId } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { ReferenceConflictError, UniqueError } from '../../store/errors.ts'
import type { Id } from '../../store/store.ts'
import { isKnown } from '../calls/authorize.ts'
import type { OperationContext } from '../calls/context.ts'
import { findVisible } from '../calls/items.ts'
import { runSteps, type WriteStep } from './steps.ts'
import { runAtomically } from './store.ts'
import type { Write, WriteState } from './write-state.ts'

/** Fills in the parent that the path names, and normalizes all references. @throws HttpError 400 for another parent. */
export function fillParents({ call, parent, candidate }: Write<'candidate'>): Item {
  const values = normalizeReferences(call.target.collection, candidate)
  if (!parent) return values
  const value = values[parent.field]
  if (value !== undefined && value !== parent.id) throw conflictingParent(parent)
  return { ...values, [parent.field]: parent.id }
}

/** @throws HttpError 400 for a patch that removes the parent: it would be filled in, to no effect. */
export function requireParentKept({ parent, candidate }: Write<'candidate'>): void {
  if (parent && !Object.hasOwn(candidate, parent.field)) throw conflictingParent(parent)
}

function conflictingParent({ field, id }: Parent): HttpError {
  const message = `${field} must be ${JSON.stringify(id)} here, as in the path.`
  return new HttpError(400, [{ message, field, type: 'conflicting_parent' }])
}

/** Writes the ids of referenced items as their stores have them. */
export function normalizeReferences({ targets }: CollectionDefinition, values: Item): Item {
  let normalized = values
  for (const [field, { collection: parent }] of targets) {
    const value = values[field]
    if (typeof value !== 'string') continue
    const id = normalizeId(parent, value)
    if (id !== value) normalized = { ...normalized, [field]: id }
  }
  return normalized
}

/** Checks the references of the item: as the client sent it, or after the hook as it is stored. @throws HttpError 400 */
export function requireReferences(write: Write<'checked'>): Awaitable<void> {
  // Before the hook all are read: it may do something that nobody undoes.
  const trusts = write.values ? isKept(write) : () => false
  return checkReferences(
    write,
    write.values ?? write.checked,
    field => !isFound(write, field),
    trusts,
  )
}

/** Checks those that the hook has set, and all within a transaction: there they must still exist. @throws HttpError 400 */
export function requireReferencesAgain(write: Write<'checked' | 'values'>): Awaitable<void> {
  const { call, checked, values, transaction } = write
  const isInside = transaction !== call.transaction
  const isChanged = (field: string) => isInside || values[field] !== checked[field]
  return checkReferences(write, values, field => isChanged(field) && !isFound(write, field))
}

/** Whether it names the parent of the path, which was found before; in a transaction it must still be there. */
function isFound(
  { transaction, parent, checked, values = checked }: Write,
  field: string,
): boolean {
  return !transaction && parent?.field === field && parent.id === values?.[field]
}

/** Whether the database refuses what names nothing, and a client may name every item: it need not be read. */
function isKept({ store, call, transaction }: Write) {
  // In a transaction for these references the refusal would undo everything before anyone asked which it was.
  const isLocked = transaction !== call.transaction
  return (field: string, parent: CollectionDefinition, id: Id) =>
    !isLocked &&
    !parent.visible &&
    !parent.hideExistence &&
    store.facts?.()?.keptReferences.has(field) === true &&
    // A column of UUIDs refuses another text before it looks for the item.
    (parent.shape.identity.kind !== 'uuid' || isUuid(String(id)))
}

/** Says that a reference names nothing; not of what, where the client may not know of it. */
export function unknownReference(
  call: OperationContext,
  field: string,
  parent: CollectionDefinition,
  value: Json,
): Issue {
  const what = isKnown(call, parent) ? parent.itemName : 'item'
  const message = `${field}: no ${what} has the id ${JSON.stringify(value)}`
  return { message, field, type: 'unknown_reference' }
}

/** A reference that is to be read: no id can be made of its value, or nobody vouches for what it names. */
interface NamedItem {
  readonly field: string
  readonly parent: CollectionDefinition
  readonly id: Id | undefined
  readonly value: Json
}

/** Whether a reference names the item itself, whose id its client chooses: it is there once it is written. */
export function isOwnId(
  { store, shape }: CollectionDefinition,
  values: Item,
  parent: CollectionDefinition,
  id: Id | undefined,
): boolean {
  return id !== undefined && parent.store === store && values[shape.identity.name] === id
}

/**
 * Refuses values that name a new item which does not exist. What the client named, and not a hook, it must be
 * allowed to read.
 * @param trusts whether an item of a parent need not be read.
 * @throws HttpError 400 with every issue.
 */
function checkReferences(
  write: Write,
  values: Item,
  applies: (field: string) => boolean,
  trusts: (field: string, parent: CollectionDefinition, id: Id) => boolean = () => false,
): Awaitable<void> {
  const { call, current } = write
  const named: NamedItem[] = []
  for (const [field, { collection: parent }] of call.target.collection.targets) {
    const value = values[field] ?? null
    if (value === null || value === current?.item[field] || !applies(field)) continue
    const id = parseId(parent, String(value))
    if (isOwnId(call.target.collection, values, parent, id)) continue
    if (id === undefined || !trusts(field, parent, id)) named.push({ field, parent, id, value })
  }
  return named.length === 0 ? undefined : requireFound(write, named)
}

async function requireFound(
  { call, checked = {}, transaction }: Write,
  named: readonly NamedItem[],
): Promise<void> {
  const issues: Issue[] = []
  for (const { field, parent, id, value } of named) {
    const byClient = value === checked[field]
    if (id === undefined || !(await findVisible(call, parent, id, byClient, transaction))) {
      issues.push(unknownReference(call, field, parent, value))
    }
  }
  throwIfAny(issues)
}

/**
 * Runs steps so that no item which a guarded reference names anew is deleted meanwhile: in a transaction, unless the
 * database itself keeps these references.
 * @throws HttpError 400 for those that the database refuses
 */
export async function guardReferences(
  write: WriteState,
  steps: readonly WriteStep[],
): Promise<WriteState> {
  const { call, values, current, store } = write
  const named = [...call.target.collection.targets].flatMap(([field, { guarded }]) => {
    const value = values?.[field] ?? null
    return guarded && value !== null && value !== current?.item[field] ? [field] : []
  })
  if (named.length === 0) return runSteps(steps, write)
  const kept = store.facts?.()?.keptReferences
  if (!named.every(field => kept?.has(field))) return runAtomically(write, steps)
  try {
    return await runSteps(steps, write)
  } catch (error) {
    // No database tells for certain which reference names nothing, and some look at unique values first.
    if (error instanceof ReferenceConflictError || error instanceof UniqueError)
      await checkReferences(write, values ?? {}, () => true)
    throw error
  }
}
