// The references of an item that is written: the parent of the path is filled in, and what it names must exist.

import { type Awaitable, type Item, isUuid, type Json } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import { normalizeId, type Parent, parseId } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { ReferenceConflictError, UniqueError } from '../../store/errors.ts'
import type { Id } from '../../store/store.ts'
import { MAX_SET } from '../../store/writes.ts'
import { isKnown } from '../calls/authorize.ts'
import { findVisible } from '../calls/items.ts'
import { throwLocated } from './many.ts'
import { type ItemIssue, runSteps, type Write, type WriteState, type WriteStep } from './steps.ts'
import { runAtomically } from './store-item.ts'

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

/** Checks the references of each item: as the client sent it, or after the hook as it is stored. @throws HttpError 400 */
export function requireReferences(write: Write): Awaitable<void> {
  // Before the hook all are read: it may do something that nobody undoes.
  const trusts = write.values ? isKept(write) : undefined
  return checkReferences(write, (item, field) => !isFound(item, field), trusts)
}

/** Checks those that the hook has set, and all within a transaction: there they must still exist. @throws HttpError 400 */
export function requireReferencesAgain(write: Write): Awaitable<void> {
  const isInside = write.transaction !== write.call.transaction
  const isChanged = ({ values, checked }: Write, field: string) =>
    isInside || values?.[field] !== checked?.[field]
  return checkReferences(write, (item, field) => isChanged(item, field) && !isFound(item, field))
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
    // A foreign key also accepts an item in a trash.
    !parent.trash &&
    !parent.visible &&
    !parent.hideExistence &&
    store.facts?.()?.keptReferences.has(field) === true &&
    // A column of UUIDs refuses another text before it looks for the item.
    (parent.shape.identity.kind !== 'uuid' || isUuid(String(id)))
}

/** A reference that is to be read: no id can be made of its value, or nobody vouches for what it names. */
interface NamedItem {
  /** The place of the item that has it, among those that are written. */
  readonly at: number
  readonly field: string
  readonly parent: CollectionDefinition
  readonly id: Id | undefined
  readonly value: Json
  /** Whether the client named it, and not a hook: then it must be allowed to read it. */
  readonly byClient: boolean
}

/**
 * Checks that new references name existing items. An item may refer to itself if clients choose its id.
 * @param trusts whether an item of a parent need not be read.
 * @throws HttpError 400 with every issue.
 */
function checkReferences(
  write: Write,
  applies: (item: Write, field: string) => boolean,
  trusts: (field: string, parent: CollectionDefinition, id: Id) => boolean = () => false,
): Awaitable<void> {
  const { collection } = write.call.target
  const items: readonly Write[] = write.many?.items ?? [write]
  const named: NamedItem[] = []
  for (const [field, { collection: parent }] of collection.targets) {
    for (let at = 0; at < items.length; at++) {
      const item = items[at] ?? write
      const { checked, values = checked ?? {}, current } = item
      const value = values[field] ?? null
      if (value === null || value === current?.item[field] || !applies(item, field)) continue
      const id = parseId(parent, String(value))
      const isOwn =
        parent.store === collection.store && values[collection.shape.identity.name] === id
      if (id !== undefined && (isOwn || trusts(field, parent, id))) continue
      named.push({ at, field, parent, id, value, byClient: value === checked?.[field] })
    }
  }
  return named.length === 0 ? undefined : requireFound(write, named)
}

/** @throws HttpError 400 with an issue for each that is not found. It does not say of what, if the client may not know of it. */
async function requireFound(write: Write, named: readonly NamedItem[]): Promise<void> {
  const { call } = write
  const finder = new ReferenceFinder(write)
  for (const parent of new Set(named.map(each => each.parent))) await finder.prepare(parent, named)
  const issues: ItemIssue[] = []
  for (const each of named) {
    if (await finder.has(each)) continue
    const { at, field, parent, value } = each
    const what = isKnown(call, parent) ? parent.itemName : 'item'
    const message = `${field}: no ${what} has the id ${JSON.stringify(value)}`
    issues.push({ at, issue: { message, field, type: 'unknown_reference' } })
  }
  throwLocated(write, issues)
}

/** Finds out which items exist. If all items of a collection are visible, it finds them in sets. */
class ReferenceFinder {
  readonly #write: Write
  readonly #known = new Map<CollectionDefinition, Map<string, boolean>>()

  constructor(write: Write) {
    this.#write = write
  }

  async prepare(parent: CollectionDefinition, named: readonly NamedItem[]): Promise<void> {
    const known = new Map<string, boolean>()
    this.#known.set(parent, known)
    if (parent.visible || parent.hideExistence) return
    const { call, transaction } = this.#write
    const ids = [...new Set(named.flatMap(each => (each.parent === parent ? (each.id ?? []) : [])))]
    const store = call.storeOf(parent, transaction)
    for (let at = 0; at < ids.length; at += MAX_SET) {
      const set = ids.slice(at, at + MAX_SET)
      const found = await store.find(set, call.storeOptions)
      for (const [place, id] of set.entries()) known.set(String(id), found[place] !== undefined)
    }
  }

  async has({ parent, id, byClient }: NamedItem): Promise<boolean> {
    if (id === undefined) return false
    const known = this.#known.get(parent)
    const key = `${byClient} ${id}`
    const earlier = known?.get(String(id)) ?? known?.get(key)
    if (earlier !== undefined) return earlier
    const { call, transaction } = this.#write
    const found = (await findVisible(call, parent, id, byClient, transaction)) !== undefined
    known?.set(key, found)
    return found
  }
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
  const named = [...call.target.collection.targets].filter(([field, { guarded }]) => {
    const value = values?.[field] ?? null
    return guarded && value !== null && value !== current?.item[field]
  })
  if (named.length === 0) return runSteps(steps, write)
  const kept = store.facts?.()?.keptReferences
  const isKept = named.every(([field, to]) => kept?.has(field) && !to.collection.trash)
  if (!isKept) return runAtomically(write, steps)
  try {
    return await runSteps(steps, write)
  } catch (error) {
    // No database tells for certain which reference names nothing, and some look at unique values first.
    if (error instanceof ReferenceConflictError || error instanceof UniqueError)
      await checkReferences(write, () => true)
    throw error
  }
}
