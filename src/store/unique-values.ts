// Which item has the values of a unique set, in memory.
import { getValue, type Path, toPath } from '../base/paths.ts'
import { type Item, isScalar, type Scalar } from '../base/values.ts'
import { UniqueError } from './errors.ts'
import type { Id } from './store.ts'

/** Knows the values of one unique set, and which item has them. */
export class UniqueValues {
  readonly set: readonly string[]
  readonly #paths: readonly Path[]
  readonly #owners = new Map<Scalar, Id>()

  /** @param set dotted paths. */
  constructor(set: readonly string[]) {
    this.set = set
    this.#paths = set.map(toPath)
  }

  /** @throws UniqueError where another item has the values of this one. */
  check(item: Item, id: Id): void {
    if ((this.ownerOf(item) ?? id) !== id) throw new UniqueError(this.set)
  }

  /** Finds the item that has the values of this one. */
  ownerOf(item: Item): Id | undefined {
    const key = this.#key(item)
    return key === undefined ? undefined : this.#owners.get(key)
  }

  /** Frees the values of the old item, and reserves those of the new one. */
  replace(old: Item | undefined, item: Item | undefined, id: Id): void {
    const before = old && this.#key(old)
    const after = item && this.#key(item)
    if (before === after) return
    if (before !== undefined) this.#owners.delete(before)
    if (after !== undefined) this.#owners.set(after, id)
  }

  /** The values that no other item may have; `undefined` where one of them is null or absent. */
  #key(item: Item): Scalar | undefined {
    const [first, ...others] = this.#paths.map(path => getValue(item, path) ?? null)
    if (first === undefined || first === null || others.includes(null)) return undefined
    if (others.length === 0 && isScalar(first)) return first
    return JSON.stringify([first, ...others])
  }
}
