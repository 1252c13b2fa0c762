// The items that programs were given, with the version of each: a write with one is conditional.
import type { ItemOf, UnknownDef } from '../model/def.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { freezeDeep, type Item, isObject } from '../schema/values.ts'
import type { Id, Stored } from '../store/store.ts'
import { protect } from './field-roles.ts'

/** An item as programs get it. */
export type GivenItem = ItemOf<UnknownDef>

interface Given extends Pick<Stored, 'id' | 'version'> {
  /** The name of its collection. */
  readonly collection: string
}

/** By identity: a store gives the same frozen object until the next write of the item. */
const given = new WeakMap<object, Given>()

/** Gives an item to a program: frozen, since stores and other programs have the same object. */
export function giveItem(
  collection: CollectionDefinition,
  { id, version, item }: Stored,
  shown: Item = protect(collection, item),
): GivenItem {
  if (!Object.isFrozen(shown)) freezeDeep(shown)
  given.set(shown, { collection: collection.name, id, version })
  return shown as GivenItem // the properties that the server adds are not in the type of `Item`
}

/** What a write is for: an id, and the version that was read where the program gave an item. */
export interface WriteTarget {
  readonly id: Id
  readonly version?: string | undefined
}

/**
 * Reads what a program wants to write: an id, or an item that it was given.
 * @param anyVersion whether the options say which version, so that any object with an id will do.
 * @throws TypeError for another object, and for an item of another collection.
 */
export function readTarget(
  { name, shape }: CollectionDefinition,
  target: unknown,
  anyVersion: boolean,
): WriteTarget {
  if (typeof target === 'string' || typeof target === 'number') return { id: target }
  const known = typeof target === 'object' && target !== null ? given.get(target) : undefined
  if (known && known.collection !== name)
    throw new TypeError(`${name}: this is an item of ${known.collection}`)
  if (known) return { id: known.id, version: anyVersion ? undefined : known.version }
  const id = isObject(target) ? target[shape.identity.name] : undefined
  if (typeof id !== 'string' && typeof id !== 'number')
    throw new TypeError(`${name}: a write needs an id or an item`)
  if (anyVersion) return { id }
  throw new TypeError(
    `${name}: this object is not an item that was read here, so its version is not known. Pass the item itself, or say { ifMatch: … } or { unconditional: true }`,
  )
}
