// References: fields that hold ids of other items, and what becomes of an item when that one is deleted.
import { checkOptions, needed, OBJECT, oneOf, type Rule, type Rules, TEXT } from '../options.ts'
import type { Fields } from '../schema/fields.ts'
import type { CollectionDefinition } from './definition.ts'

/** A reference to another collection, and what the deletion of the named item does. */
export interface ReferenceOptions {
  /** The collection whose ids the field holds. */
  readonly collection: string
  /**
   * What the deletion of the named item does, in one transaction with it. `cascade` deletes these items too,
   * at most 10,000, without their hooks; `restrict` refuses it with 409 while there are any. A write that names
   * the item runs in a transaction too, so that it cannot be deleted meanwhile. Both need stores of one
   * database: a `TypeError` otherwise. Default: `restrict`, without that second transaction, where
   * the stores are of one database; elsewhere the items stay.
   */
  readonly onDelete?: 'cascade' | 'restrict' | undefined
}

/** Collections by the fields that hold their ids. */
export type References = Readonly<Record<string, string | ReferenceOptions>>

/** A field that holds an id. */
export interface Reference {
  readonly collection: string
  /** As it was declared. */
  readonly onDelete: 'cascade' | 'restrict' | undefined
}

/** A collection that refers to another one. */
export interface Child {
  readonly name: string
  readonly field: string
  readonly onDelete: 'cascade' | 'restrict'
}

const RULES: Rules<ReferenceOptions> = {
  collection: needed(TEXT),
  onDelete: oneOf('cascade', 'restrict'),
}

export const REFERENCE: Rule = {
  wanted: "a collection, or { collection: 'cars', onDelete: 'cascade' }",
  fits: value => TEXT.fits(value) || OBJECT.fits(value),
}

/** What references are declared with. */
interface Declared {
  readonly name: string
  readonly parents?: References | undefined
  readonly relation?: References | undefined
  readonly references?: References | undefined
}

/** @throws TypeError for a field that holds no id, or is declared twice. */
export function findReferences(
  { name, parents = {}, relation = {}, references = {} }: Declared,
  fields: Fields,
): Map<string, Reference> {
  const found = new Map<string, Reference>()
  for (const declared of [parents, relation, references]) {
    for (const [field, option] of Object.entries(declared)) {
      const reference = typeof option === 'string' ? { collection: option } : option
      checkOptions(`${name}, the reference ${field}`, reference, RULES)
      const { collection, onDelete } = reference
      const { kind } = fields.get(field) ?? {}
      if (kind !== 'string' && kind !== 'integer')
        throw new TypeError(`${name}: "${field}" must be a field that holds an id of ${collection}`)
      if (found.has(field))
        throw new TypeError(`${name}: "${field}" is declared as a reference twice`)
      found.set(field, { collection, onDelete })
    }
  }
  return found
}

/** @throws TypeError where the stores cannot do what the reference says. */
export function listChildren(
  parent: CollectionDefinition,
  collections: ReadonlyMap<string, CollectionDefinition>,
): Child[] {
  return [...collections.values()].flatMap(child =>
    [...child.references].flatMap(([field, { collection, onDelete }]): Child[] => {
      if (collection !== parent.name) return []
      const shared = sharesTransactions(child, parent)
      if (onDelete !== undefined && !shared) {
        throw new TypeError(
          `${child.name}: "${field}" has onDelete, but the stores of ${child.name} and ${parent.name} share no transactions. Keep both in one database, or leave onDelete out`,
        )
      }
      return shared ? [{ name: child.name, field, onDelete: onDelete ?? 'restrict' }] : []
    }),
  )
}

/**
 * Checks that the items of a collection can be seen through others.
 * @throws TypeError for a field that is no reference, for stores of two databases, and for a circle.
 */
export function checkVisible(
  definition: CollectionDefinition,
  collections: ReadonlyMap<string, CollectionDefinition>,
): void {
  const passed: string[] = []
  for (let at: CollectionDefinition | undefined = definition; at; ) {
    const { name, visible, references }: CollectionDefinition = at
    if (typeof visible !== 'object') return
    const field = visible.through
    const parent = collections.get(references.get(field)?.collection ?? '')
    if (!parent)
      throw new TypeError(`${name}: visible goes through "${field}", which is no reference`)
    passed.push(name)
    if (passed.includes(parent.name))
      throw new TypeError(
        `${name}: visible goes in a circle: ${[...passed, parent.name].join(', ')}`,
      )
    if (!sharesTransactions(at, parent)) {
      throw new TypeError(
        `${name}: visible goes through "${field}", but the stores of ${name} and ${parent.name} are not in one database`,
      )
    }
    at = parent
  }
}

/** Whether writes to both are one transaction. */
export function sharesTransactions(
  { store: one }: CollectionDefinition,
  { store: other }: CollectionDefinition,
): boolean {
  return (
    one.transaction !== undefined && one.database !== undefined && one.database === other.database
  )
}
