// The tables of stores, for filters that reach into another one.
import type { Filter } from '../store/selection.ts'
import type { Store } from '../store/store.ts'
import type { TableMapping } from './table-mapping.ts'

const mappings = new WeakMap<Store, TableMapping>()

/** Remembers the table of a store, once its catalog is read. */
export function setMapping(store: Store, mapping: TableMapping): void {
  mappings.set(store, mapping)
}

/** @throws TypeError for a store of another database. */
export function getMapping(store: Store): TableMapping {
  const mapping = mappings.get(store)
  if (mapping) return mapping
  throw new TypeError('The stores of a filter are in different databases')
}

/** Lists the stores that filters reach into. */
export function listStores(where: readonly Filter[]): Store[] {
  return where.flatMap(filter =>
    filter.operator === 'within' ? [filter.within.store, ...listStores(filter.within.where)] : [],
  )
}
