// Upsert of an array: the items that a unique set finds are changed or stay as they are, and the others are created.

import { memoize } from '../../base/memoize.ts'
import type { Awaitable, Json } from '../../base/values.ts'
import { AnyHttpError, type AnyIssue, type ErrorType, HttpError } from '../../errors.ts'
import { printPreferences } from '../../http/prefer.ts'
import { findTrash } from '../../model/compile/compile-trash.ts'
import { listArrayKeys, ON_CONFLICT } from '../../model/compile/unique-keys.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { Stored } from '../../store/store.ts'
import { takesArrays } from '../../store/writes.ts'
import { authorize, offers } from '../calls/authorize.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { copyCall } from '../calls/derive-call.ts'
import { ArrayItems } from './array-items.ts'
import { choosesId } from './input.ts'
import { findByKeys, type ItemKey, type KeyNames, readKey } from './named-items.ts'
import { planUpsertMany, toPerformMany } from './plan.ts'
import { type ItemIssue, WriteState } from './steps.ts'

/** What happens to the items that exist. */
export const RESOLUTIONS = ['merge-duplicates', 'ignore-duplicates'] as const

/** Which items exist, and what happens to them. */
export interface Upsert {
  readonly names: KeyNames
  readonly resolution: (typeof RESOLUTIONS)[number]
}

/** Lists the sets that name items of an array for programs: unique ones, and the id if clients choose it. */
export function listProgramKeys(collection: CollectionDefinition): readonly KeyNames[] {
  const { keys, shape } = collection
  if (!takesArrays(collection.store)) return []
  return choosesId(collection) ? [[shape.identity.name], ...keys] : keys
}

/** Reads what a POST asks for. @throws HttpError 400, because creating the items instead would be dangerous. */
export function readUpsert({ parameters, preferences, target, body }: OperationContext): Upsert {
  const { name } = target.collection
  const sets = listArrayKeys(target.collection)
  const named = parameters.filter(each => each.name === ON_CONFLICT)
  const refuse = (message: string, field: string, type: ErrorType = 'not_supported') =>
    new HttpError(400, [{ message, field, type }])
  if (sets.length === 0) {
    const message = `${name} has no upsert of arrays: that needs a unique set, the operations create and patch, and a store with transactions. Leave out ${ON_CONFLICT} and resolution.`
    throw refuse(message, named.length > 0 ? ON_CONFLICT : 'prefer')
  }
  if (!Array.isArray(body?.value)) {
    const message = `${ON_CONFLICT} and resolution are for arrays. Send an array, or PUT the item by a unique set.`
    throw refuse(message, named.length > 0 ? ON_CONFLICT : 'prefer')
  }
  const resolution = RESOLUTIONS.find(each => each === preferences.resolution)
  if (!resolution) {
    const message = `${ON_CONFLICT} needs Prefer: ${RESOLUTIONS.map(each => `resolution=${each}`).join(' or ')}`
    throw refuse(message, 'prefer')
  }
  const names = findSet(
    sets,
    named.map(({ value }) => value.split(',').map(each => each.trim())),
  )
  if (names) return { names, resolution }
  const message = `${ON_CONFLICT} must name one unique set: ${sets.map(set => set.join()).join(' or ')}`
  throw refuse(message, ON_CONFLICT, 'unique_set_required')
}

/** Finds the set that is named, in any order; the only set if none is. */
export function findSet(
  sets: readonly KeyNames[],
  named: readonly KeyNames[],
): KeyNames | undefined {
  const [first, ...others] = named
  if (!first) return sets.length === 1 ? sets[0] : undefined
  const isNamed = (set: KeyNames) =>
    set.length === first.length && set.every(name => first.includes(name))
  return others.length === 0 ? sets.find(isNamed) : undefined
}

/** Compiled at the first one, for as long as the collection is: most collections have none. */
const compileUpsertMany = memoize((collection: CollectionDefinition) =>
  toPerformMany(planUpsertMany(collection)),
)

/** Creates or changes the items of an array. @throws HttpError 401, 403 without the rights for both. */
export function upsertMany(
  call: OperationContext,
  bodies: readonly Json[],
  upsert: Upsert,
): Awaitable<OperationResult> {
  authorize(call, ['patch'])
  const { collection } = call.target
  return compileUpsertMany(collection)(call, new UpsertItems(call, bodies, upsert))
}

/** The items of such an array. Its writes are those of the items that do not stay as they are. */
class UpsertItems extends ArrayItems {
  readonly texts: readonly string[]
  readonly #upsert: Upsert
  #keys: readonly ItemKey[] = []
  /** How many items of the array exist. */
  #existing = 0
  /** The items that stay as they are, by their places. */
  readonly #kept = new Map<number, Stored>()
  /** The place of each write in the array. */
  #places: readonly number[] | undefined

  constructor(call: OperationContext, bodies: readonly Json[], upsert: Upsert) {
    super(call, bodies)
    this.#upsert = upsert
    this.texts = [upsert.names.join(), upsert.resolution]
  }

  override async find({ call }: WriteState): Promise<WriteState[]> {
    this.#places = undefined
    this.#kept.clear()
    const created = this.createItems(call)
    this.#keys = this.#readKeys(created)
    const found = await this.#findExisting(call)
    await this.#refuseDeleted(call)
    const writes = new Map<number, WriteState>()
    for (const [at, item] of created.entries()) {
      const current = found.get(this.#keys[at]?.text ?? '')
      if (!current) writes.set(at, item)
      else if (this.#upsert.resolution === 'ignore-duplicates') this.#kept.set(at, current)
      else writes.set(at, toChange(item, current))
    }
    this.#places = [...writes.keys()]
    return [...writes.values()]
  }

  async #findExisting(call: OperationContext) {
    const found = await findByKeys(call, this.#upsert.names, this.#keys)
    this.#existing = found.size
    return found
  }

  /** @throws HttpError 409 for ids in the trash, if the principal has the rule `trash`. Otherwise the id is taken. */
  async #refuseDeleted(call: OperationContext): Promise<void> {
    const { target } = call
    const trash = findTrash(target.collection)
    const [name] = this.#upsert.names
    if (!trash || name !== target.collection.shape.identity.name) return
    if (!call.can(target.collection, 'trash')) return
    const inTrash = copyCall(call, { target: { ...target, collection: trash.deleted } })
    const deleted = await findByKeys(inTrash, this.#upsert.names, this.#keys)
    const issues = this.#keys.flatMap(({ text }, at) => {
      if (!deleted.has(text)) return []
      const message = 'The item is in the trash. Restore it first, or delete it for good.'
      return [{ at, issue: { message, field: name, type: 'in_trash' } } as const]
    })
    if (issues.length > 0) throw new AnyHttpError(409, this.locate(issues))
  }

  /** Whether other items exist by now than at the last attempt. */
  async isOutdated(call: OperationContext): Promise<boolean> {
    const before = this.#existing
    await this.#findExisting(call)
    return this.#existing !== before
  }

  /** Reads the keys of all items. @throws HttpError 400 without a key, and for one that two items have. */
  #readKeys(items: readonly WriteState[]): ItemKey[] {
    const { names } = this.#upsert
    const { collection } = this.call.target
    const { lines } = this.call.body ?? {}
    const words = names.join(' and ')
    const first = new Map<string, number>()
    const keys: ItemKey[] = []
    const issues: ItemIssue[] = []
    for (const [at, { body = null }] of items.entries()) {
      const key = readKey(collection, names, body)
      const [field = ''] = names
      const earlier = key && first.get(key.text)
      if (!key) {
        const message = `${ON_CONFLICT} needs a value of ${words} in each item`
        issues.push({ at, issue: { message, field, type: 'required' } })
      } else if (earlier !== undefined && key.text !== '') {
        const place = lines ? `line ${lines[earlier]}` : `item ${earlier}`
        const message = `${words} must not be as in ${place} of the same array. Send one of both.`
        issues.push({ at, issue: { message, field, type: 'not_unique' } })
      }
      if (!key) continue
      keys[at] = key
      if (earlier === undefined) first.set(key.text, at)
    }
    if (issues.length > 0) throw new AnyHttpError(400, this.locate(issues))
    return keys
  }

  override locate(issues: readonly ItemIssue[]): AnyIssue[] {
    const places = this.#places
    return super.locate(issues.map(({ at, issue }) => ({ at: places?.[at] ?? at, issue })))
  }

  override toAnswer(stored: readonly Stored[]): Json[] {
    return [this.#creates(), ...super.toAnswer(this.#addKept(stored))]
  }

  override async buildResult(stored: readonly Stored[]): Promise<OperationResult> {
    return this.#describe(await super.buildResult(this.#addKept(stored)), this.#creates())
  }

  override async replay(answer: Json): Promise<OperationResult> {
    // `toAnswer` has made it; it is empty if it was too large.
    const [created = true, ...kept] = Array.isArray(answer) ? answer : []
    return this.#describe(await super.replay(kept), created !== false)
  }

  #creates(): boolean {
    return this.items.some(({ current }) => current === undefined)
  }

  /** All items in the order of the array. */
  #addKept(stored: readonly Stored[]): readonly Stored[] {
    if (this.#kept.size === 0) return stored
    const all: Stored[] = []
    for (const [at, each] of this.#kept) all[at] = each
    for (const [at, each] of stored.entries()) all[this.#places?.[at] ?? at] = each
    return all
  }

  /** Answers 201 if an item is created. Who may not read the items does not get those that others have created. */
  #describe(result: OperationResult, created: boolean): OperationResult {
    const { resolution } = this.#upsert
    const representation = offers(this.call, 'read', 'list') ? result.representation : undefined
    const isMinimal = this.call.writeResponse === 'minimal'
    const { return: preferred } = this.call.preferences
    const applied = {
      ...(preferred === (isMinimal ? 'minimal' : 'representation') && { return: preferred }),
      resolution,
    }
    return {
      ...result,
      status: created ? 201 : representation ? 200 : 204,
      headers: ['Preference-Applied', printPreferences(applied)],
      representation,
    }
  }
}

/** The write of an item that exists, from that of a new one. */
function toChange({ call, body }: WriteState, current: Stored): WriteState {
  const target = { ...call.target, kind: 'item', id: current.id } as const
  const own = new WriteState(copyCall(call, { operation: 'patch', target }))
  return Object.assign(own, { body, current })
}
