// The references of a store to others of its database, and the order in which their tables are opened.

import type { Shape, Store, StoreReference } from '../store/store.ts'
import type { DatabaseName, ForeignKey, KeyTarget } from './databases/database.ts'
import { DATABASES } from './databases/databases.ts'
import type { TableMappingOptions } from './table/mapping-options.ts'
import { TableMapping } from './table/table-mapping.ts'

/** A store as its table is made. */
export interface StoreDescription {
  readonly shape: Shape
  readonly options: TableMappingOptions
  readonly database: DatabaseName
}

/** A store whose ids may be named by keys of others. */
interface Related {
  readonly references: TableReferences
  /** Its ids as its table is, once that is open; `undefined` where no key can name them. */
  findTarget(): Promise<KeyTarget | undefined>
  describe(): StoreDescription
}

/** What stands behind each store of SQL: the contract of a store does not say it. */
const related = new WeakMap<Store, Related>()

/** Lets other stores refer to one. */
export function registerRelated(store: Store, member: Related): void {
  related.set(store, member)
}

/** Describes a store of SQL that a collection is attached to; `undefined` for any other. */
export function describeStore(store: Store): StoreDescription | undefined {
  return related.get(store)?.describe()
}

/** The ids of a store as its table would be made. */
function plainTarget({ shape, options, database }: StoreDescription): KeyTarget {
  const { table, id } = new TableMapping({ shape, database: DATABASES[database], options })
  return { table, column: id.column, type: id.made }
}

export class TableReferences {
  readonly #references = new Map<string, StoreReference>()

  /**
   * Adds references. @returns whether there are new ones.
   * @param isOpen whether the table is open: its keys are made.
   * @throws TypeError for a reference that is another one than before.
   */
  add(references: readonly StoreReference[], isOpen: boolean): boolean {
    let grows = false
    for (const reference of references) {
      const { field, store } = reference
      const known = this.#references.get(field)
      const onDelete = reference.onDelete ?? known?.onDelete
      if (known && (known.store !== store || (known.onDelete ?? onDelete) !== onDelete)) {
        throw new TypeError(
          `"${field}" refers to another store, or says another onDelete, than the same field did before: one table has one reference for it`,
        )
      }
      if (known && isOpen && (known.onDelete ?? 'restrict') !== (onDelete ?? 'restrict')) {
        throw new TypeError(
          `"${field}" says onDelete: ${onDelete} after its table was opened: define the api before its stores are used`,
        )
      }
      grows ||= !known
      this.#references.set(field, { field, store, onDelete })
    }
    return grows
  }

  /** Finds what the keys of a store name. What it refers to is opened first, or two processes wait for each other. */
  async findKeys(self: Store): Promise<ForeignKey[]> {
    const keys = await Promise.all(
      [...this.#references.values()].map(async ({ field, store, onDelete = 'restrict' }) => {
        const parent = related.get(store)
        if (!parent) return []
        const circular = store !== self && parent.references.leadTo(self)
        const target =
          store === self || circular ? plainTarget(parent.describe()) : await parent.findTarget()
        return target ? [{ ...target, field, onDelete, circular }] : []
      }),
    )
    return keys.flat()
  }

  /** Whether the references lead to a store. */
  leadTo(wanted: Store, seen = new Set<TableReferences>()): boolean {
    if (seen.has(this)) return false
    seen.add(this)
    return [...this.#references.values()].some(
      ({ store }) => store === wanted || related.get(store)?.references.leadTo(wanted, seen),
    )
  }
}
