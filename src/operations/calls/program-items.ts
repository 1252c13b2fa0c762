// The items that programs have read, with the version of each: a write with one is conditional.

import { hasDigits } from '../../base/exact-numbers.ts'
import { freezeDeep, type Item, isObject } from '../../base/values.ts'
import { NO_PRECONDITIONS, type Preconditions, parseEntityTags } from '../../http/conditional.ts'
import type { DefItem, UnknownDef } from '../../model/types/collection-types.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { WriteOptions } from '../../model/types/resource.ts'
import type { Id, Stored } from '../../store/store.ts'
import { protect } from './protect.ts'

/** An item as programs get it. */
export type ProgramItem = DefItem<UnknownDef>

interface Version extends Pick<Stored, 'id' | 'version'> {
  /** The name of its collection. */
  readonly collection: string
  /** The version before its lease was renewed: a transaction may still read it. */
  readonly earlier?: string
}

/** Versions by the object: a store gives the same frozen object until the next write of the item. */
const versions = new WeakMap<object, Version>()

/** Prepares an item for a program: frozen, since stores and other programs have the same object. */
export function toProgramItem(
  collection: CollectionDefinition,
  { id, version, item }: Stored,
  own: Item = protect(collection, item),
): ProgramItem {
  if (!Object.isFrozen(own)) freezeDeep(own)
  const readable = guardRounded(collection, own)
  versions.set(readable, { collection: collection.name, id, version })
  return readable as ProgramItem // the properties that the server adds are not in the type of `Item`
}

/** Finds the id and the version of an item; `undefined` for any other object. */
export function findVersion(item: object | undefined): Pick<Stored, 'id' | 'version'> | undefined {
  const known = item && versions.get(item)
  return known && { id: known.id, version: known.version }
}

/** Gives an item the version that its row has since its lease was renewed. */
export function renewVersion(item: object, version: string): void {
  const known = versions.get(item)
  if (known) versions.set(item, { ...known, version, earlier: known.version })
}

/** Puts a getter that throws in the place of each property with a number that JavaScript has rounded. */
function guardRounded({ name: of }: CollectionDefinition, item: Item): Item {
  if (!Object.values(item).some(hasDigits)) return item
  const guarded: Item = {}
  for (const [name, value] of Object.entries(item)) {
    if (!hasDigits(value)) guarded[name] = value
    else {
      const get = () => {
        const message = `${of}: ${name} holds a whole number beyond 2^53, which JavaScript would round. Read it as text by SQL, or serve a view that casts it to text`
        throw new TypeError(message)
      }
      Object.defineProperty(guarded, name, { enumerable: true, get })
    }
  }
  return Object.freeze(guarded)
}

/**
 * Gives the version of an item that was read in process: an opaque text. It belongs beside a copy, which has none, to
 * write the copy on that condition, in process or by the client: `patch(copy, changes, { version })`.
 * @returns `undefined` for any other object.
 * @example
 * import { defineApi, defineCollection, memoryStore, versionOf } from 'rest-conventions'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars } })
 * const car = await api.collection(cars).create({ price: 1 })
 * const page = JSON.stringify({ car, version: versionOf(car) }) // rendered on the server, for a browser
 */
export function versionOf(item: object): string | undefined {
  const known = versions.get(item)
  return known && `"${known.version}" ${printPath(known.collection, known.id)}`
}

/** Prints the path of an item as the client does: a dot would begin the extension of a format. */
function printPath(name: string, id: Id): string {
  return `${name}/${encodeURIComponent(id).replaceAll('.', '%2E')}`
}

/**
 * Reads the version of a copy. That of another item no item has.
 * @throws TypeError for that of an item of a client's list, which is a hash of its values
 */
function parseVersion(version: string, path: string): Preconditions {
  const [tag = '', of, hash] = version.split(' ')
  if (hash !== undefined)
    throw new TypeError(
      `${version} is the version of an item of a list, which is not a version over HTTP. Read the item, and take its version`,
    )
  return { ifMatch: (of === path && parseEntityTags(tag)) || [] }
}

/**
 * Reads the target of a write: an id alone sets no condition, an item that was read here must have its version.
 * @throws TypeError for an object whose version is not known, and for an item of another collection.
 */
export function parseWriteTarget(
  { name, shape }: CollectionDefinition,
  target: unknown,
  { ifMatch, unconditional = false, version }: WriteOptions = {},
): { readonly id: Id; readonly preconditions: Preconditions } {
  const known = isObject(target) ? versions.get(target) : undefined
  if (known && known.collection !== name)
    throw new TypeError(`${name}: this is an item of ${known.collection}`)
  const id = known?.id ?? (isObject(target) ? target[shape.identity.name] : target)
  if (typeof id !== 'string' && typeof id !== 'number')
    throw new TypeError(`${name}: a write needs an id or an item`)
  if (ifMatch !== undefined)
    return { id, preconditions: { ifMatch: parseIfMatch(ifMatch, unconditional) } }
  if (unconditional) return { id, preconditions: NO_PRECONDITIONS }
  if (version !== undefined)
    return { id, preconditions: parseVersion(version, printPath(name, id)) }
  if (!isObject(target)) return { id, preconditions: NO_PRECONDITIONS }
  if (known) {
    const { version: latest, earlier = latest } = known
    const ifMatch = [...new Set([latest, earlier])].map(opaque => ({ weak: false, opaque }))
    return { id, preconditions: { ifMatch } }
  }
  throw new TypeError(
    `${name}: this object was not read here, or is a copy. Pass what ${name} returned, or { version: versionOf(original) } or { unconditional: true }`,
  )
}

function parseIfMatch(ifMatch: string, unconditional: boolean): Preconditions['ifMatch'] {
  const tags = parseEntityTags(ifMatch)
  if (tags && !unconditional) return tags
  throw new TypeError(
    tags
      ? 'A write is either unconditional or has ifMatch: leave one out'
      : `ifMatch must be an entity tag such as "abc", with its quotes, or *; not ${ifMatch}`,
  )
}
