// Write-only properties in process: programs may read them, and no response has them.

import { type Item, isObject } from '../../base/values.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'

/**
 * Hides the properties of an item that no answer has for a program: `item.password` can be read, but copies
 * (`{ ...item }`) and JSON do not have it.
 */
export function protect({ hidden }: CollectionDefinition, item: Item): Item {
  if (hidden.size === 0) return item
  const copy: Item = {}
  for (const [name, value] of Object.entries(item)) {
    if (hidden.has(name)) Object.defineProperty(copy, name, { value })
    else copy[name] = value
  }
  return copy
}

/** Protects the items in the result of an operation. */
export function protectResult(collection: CollectionDefinition, value: unknown): unknown {
  if (Array.isArray(value)) return value.map(each => protectResult(collection, each))
  return isObject(value) ? protect(collection, value) : value
}
