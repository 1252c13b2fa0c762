// What parts of a description are called: types, and words for people.

import { memoize } from '../base/memoize.ts'
import type { CollectionDefinition, VersionDefinition } from '../model/types/definition.ts'

/** Prints the name of a collection's items as a type: `Car` for `cars`, `Sheep` for `sheep`. */
export function printItemType(collection: CollectionDefinition): string {
  return toTypeName(hasOwnName(collection) ? collection.itemName : collection.name)
}

/** Prints a name as a type of a program would be called: `CarModel` for `car_model`. */
export function toTypeName(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]?)/g, (_, first: string) =>
    first.toUpperCase(),
  )
}

/** Prints a name as words: `car model` for `car_model` and `carModel`. */
export function toWords(name: string): string {
  return name
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase()
}

/** Prints one item in words: `a car`, `an option`, `an item of people`. */
export function printOneItem(collection: CollectionDefinition): string {
  if (!hasOwnName(collection)) return `an item of ${toWords(collection.name)}`
  const words = toWords(collection.itemName)
  return `${AN.test(words) ? 'an' : 'a'} ${words}`
}

/** Words that begin with the sound of a vowel. */
const AN = /^(?:[aio]|e(?!u)|u(?!ni|s[ae]|t[ei])|hour|hono)/

/** Whether one item has a name: the default for `people` is `item`. */
function hasOwnName({ name, itemName }: CollectionDefinition): boolean {
  return itemName !== 'item' || name === 'items'
}

/** Finds the name of the schema of a collection's items, unique in its version. What is hidden gives way. */
export function printSchemaName(
  version: VersionDefinition,
  { name }: CollectionDefinition,
): string {
  return listSchemaNames(version).get(name) ?? name
}

/** Names the schemas of a version, once: each name depends on all collections. */
const listSchemaNames = memoize(({ collections }: VersionDefinition) => {
  const all = [...collections.values()]
  const names = all.map((collection): [string, string] => {
    const { name, hideExistence } = collection
    const type = printItemType(collection)
    const rivals = all.filter(other => other.addressable && (!other.hideExistence || hideExistence))
    const isOne = rivals.every(other => other === collection || printItemType(other) !== type)
    return [name, isOne ? type : `${name}.${type}`]
  })
  return new Map(names)
})
