// The references of an item that is written: the parent of the path is filled in, and what it names must exist.

import type { Awaitable, Item } from '../../base/values.ts'
import { HttpError, type Issue, throwIfAny } from '../../errors.ts'
import { normalizeId, type Parent, parseId } from '../../model/compile/routes.ts'
import type { OperationContext } from '../context.ts'
import { findVisible } from '../items.ts'
import { runSteps, type WriteStep } from './steps.ts'
import { runAtomically } from './store.ts'
import type { Write, WriteState } from './write.ts'

/** Fills in the parent that the path names, and normalizes all references. @throws HttpError 400 for another parent. */
export function fillParents({ call, parent, candidate }: Write<'candidate'>): Item {
  const values = normalizeReferences(call.target, candidate)
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
export function normalizeReferences(
  { version, collection }: OperationContext['target'],
  values: Item,
): Item {
  let normalized = values
  for (const [field, { collection: name }] of collection.references) {
    const parent = version.collections.get(name)
    const value = values[field]
    if (!parent || typeof value !== 'string') continue
    const id = normalizeId(parent, value)
    if (id !== value) normalized = { ...normalized, [field]: id }
  }
  return normalized
}

/** Checks the references of the item: as the client sent it, or after the hook as it is stored. @throws HttpError 400 */
export function requireReferences(write: Write<'checked'>): Promise<void> {
  return checkReferences(write, write.values ?? write.checked, () => true)
}

/** Checks those that the hook has set, and all within a transaction: there they must still exist. @throws HttpError 400 */
export function requireReferencesAgain(write: Write<'checked' | 'values'>): Promise<void> {
  const { call, checked, values, transaction } = write
  const isInside = transaction !== call.transaction
  return checkReferences(write, values, field => isInside || values[field] !== checked[field])
}

/**
 * Refuses values that name a new item which does not exist. What the client named, and not a hook, it must be
 * allowed to read.
 * @throws HttpError 400 with every issue.
 */
async function checkReferences(
  { call, parent: known, current, checked, transaction }: Write<'checked'>,
  values: Item,
  applies: (field: string) => boolean,
): Promise<void> {
  const { version, collection } = call.target
  const issues: Issue[] = []
  for (const [field, { collection: name }] of collection.references) {
    const parent = version.collections.get(name)
    const value = values[field] ?? null
    // The parent of the path was found before; in a transaction it must still be there.
    const isKnown = !transaction && known?.field === field && known.id === value
    if (!parent || isKnown || value === null || value === current?.item[field]) continue
    if (!applies(field)) continue
    const id = parseId(parent, String(value))
    const byClient = value === checked[field]
    if (id === undefined || !(await findVisible(call, parent, id, byClient, transaction))) {
      const message = `${field}: no ${parent.itemName} has the id ${JSON.stringify(value)}`
      issues.push({ message, field, type: 'unknown_reference' })
    }
  }
  throwIfAny(issues)
}

/** Runs steps in a transaction where a guarded reference is new: the named item cannot be deleted meanwhile. */
export function lockReferences(
  write: WriteState,
  steps: readonly WriteStep[],
): Awaitable<WriteState> {
  const { call, values, current } = write
  const isNew = (field: string) => {
    const value = values?.[field] ?? null
    return value !== null && value !== current?.item[field]
  }
  if (![...call.target.collection.guarded].some(isNew)) return runSteps(steps, write)
  return runAtomically(write, steps)
}
