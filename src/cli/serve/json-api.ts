// Defines the collections of a JSON file: one for each list, and one for each single object.
import { isDeepStrictEqual } from 'node:util'
import type { Item } from '../../base/values.ts'
import { defineCollection } from '../../collection.ts'
import type { Operation } from '../../model/types/operation.ts'
import { UnavailableError } from '../../store/errors.ts'
import { createVersion } from '../../store/ids.ts'
import type { Id, Store, Stored } from '../../store/store.ts'
import { scanStore } from '../../store-authors/scan-store.ts'
import {
  findList,
  findReferences,
  inferSchema,
  type JsonList,
  listStrings,
} from './infer-collection.ts'
import type { JsonFile } from './json-file.ts'
import type { ServedSource } from './served.ts'

/** The items of each list, by their ids. */
export type ListItems = Map<string, ReadonlyMap<Id, Stored>>

/** Enough for a whole list: a larger file is too slow, because each write replaces all of it. */
const MAX_LIMIT = 10_000

/**
 * Defines the collections of a file.
 * @param before the items that were read before. Items that did not change keep their versions.
 */
export function describeFile(file: JsonFile, isWritten: boolean, before: ListItems): ServedSource {
  const lists = new Map<string, JsonList>()
  const leftOut: string[] = []
  for (const [name, value] of Object.entries(file.data)) {
    const list = name.startsWith('$') ? undefined : findList(name, value)
    if (typeof list === 'string') leftOut.push(`${name} is left out: ${list}.`)
    else if (list) lists.set(name, list)
  }
  const collections = [...lists.values()].map(list => {
    const references = findReferences(list, lists)
    const search = listStrings(list)
    const others = [...references].map(([property, { name }]) => [property, name] as const)
    // Only the first reference to a list becomes its parent, because the path below a parent must be unique.
    const isFirst = ([, name]: readonly [string, string], at: number) =>
      name !== list.name && others.findIndex(([, other]) => other === name) === at
    return defineCollection({
      name: list.name,
      schema: inferSchema(list, references),
      store: createListStore(file, list, before),
      ...(list.id === 'integer' && { id: 'integer' }),
      timestamps: false,
      defaultLimit: MAX_LIMIT,
      maxLimit: MAX_LIMIT,
      parents: Object.fromEntries(others.filter(isFirst)),
      references: Object.fromEntries(others.filter((each, at) => !isFirst(each, at))),
      ...(search.length > 0 && !list.isSingle && { search }),
      operations: listOperations(list, isWritten),
    })
  })
  const singles = new Set([...lists.values()].flatMap(each => (each.isSingle ? [each.name] : [])))
  return { collections, leftOut, singles, close: async () => {} }
}

function listOperations({ isSingle }: JsonList, isWritten: boolean): Operation[] | undefined {
  if (isSingle) return isWritten ? ['read', 'replace', 'patch'] : ['read']
  return isWritten ? undefined : ['list', 'count', 'read']
}

function createListStore(
  file: JsonFile,
  { name, items, isSingle }: JsonList,
  all: ListItems,
): Store {
  const before = all.get(name)
  let own = new Map<Id, Stored>()
  for (const item of items as readonly Item[]) {
    // they come from JSON
    const id = item.id as Id // a list has ids of one kind
    const known = before?.get(id)
    const isSame = known && isDeepStrictEqual(known.item, item)
    own.set(id, isSame ? known : { id, item, version: createVersion() })
  }
  all.set(name, own)
  /** Writes the file with a change of the items. If it cannot be written, the old items stay. */
  const write = (change: (next: Map<Id, Stored>) => unknown) => {
    // A request that began before the file was read again would bring back the old items.
    if (all.get(name) !== own) throw new UnavailableError('The file was read again meanwhile')
    const next = new Map(own)
    change(next)
    const left = Array.from(next.values(), ({ item }) => item)
    const { id: _id, ...single } = left[0] ?? {}
    file.save(name, isSingle ? single : left)
    own = next
    all.set(name, own)
  }
  return scanStore({
    all: () => own.values(),
    get: id => own.get(id),
    put: item => write(next => next.set(item.id, item)),
    remove: ({ id }) => write(next => next.delete(id)),
  })
}
