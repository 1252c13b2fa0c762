// Which item has the values of a unique set, in memory.
import { getValue, type Path, toPath } from '../base/paths.ts'
import { type Item, isScalar, type Scalar } from '../base/values.ts'
import { UniqueError } from './errors.ts'
import { matcher } from './selection.ts'
import { uniquesOf } from './shapes.ts'
import type { Id, Shape } from './store.ts'

/** Knows the values of one unique set, and which item has them. */
export class UniqueValues {
  readonly set: readonly string[]
  readonly #paths: readonly Path[]
  readonly #has: ((item: Item) => boolean) | undefined
  readonly #owners = new Map<Scalar, Id>()

  /**
   * @param set dotted paths.
   * @param has whether an item passes the conditions. Default: all items do.
   */
  constructor(set: readonly string[], has?: (item: Item) => boolean) {
    this.set = set
    this.#paths = set.map(toPath)
    this.#has = has
  }

  /** Makes the sets of a shape, the partial ones too. They have no values yet. */
  static of(shape: Shape): UniqueValues[] {
    return uniquesOf(shape).map(
      ({ fields, where }) =>
        new UniqueValues(fields, where.length > 0 ? matcher({ where }, shape.fields) : undefined),
    )
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

  /** The values that no other item may have; `undefined` if one of them is null or absent, or the item does not pass the conditions. */
  #key(item: Item): Scalar | undefined {
    if (this.#has?.(item) === false) return undefined
    const [first, ...others] = this.#paths.map(path => getValue(item, path) ?? null)
    if (first === undefined || first === null || others.includes(null)) return undefined
    if (others.length === 0 && isScalar(first)) return first
    return JSON.stringify([first, ...others])
  }
}
