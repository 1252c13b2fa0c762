// References over all versions of an api: a table may serve several of them, and its rows refer in each.

import { assertValid } from '../../options.ts'
import type { Store, StoreReference } from '../../store/store.ts'
import type {
  Child,
  CollectionDefinition,
  ReferenceTarget,
  RelationDefinition,
  VersionDefinition,
} from '../types/definition.ts'
import { linkTrash } from './compile-trash.ts'
import { findRelations } from './relations.ts'

/** A reference as the store of its items has it, for every version. */
interface StoreLink extends StoreReference {
  readonly child: Store
}

/**
 * Tells each collection what refers to its items in any version, and what its own items must refer to.
 * @throws TypeError where two versions of one store disagree on a reference.
 */
export function linkReferences(versions: readonly VersionDefinition[]): VersionDefinition[] {
  const links = mergeLinks(versions)
  const children = new Map<CollectionDefinition, Child[]>()
  const targets = new Map<CollectionDefinition, Map<string, ReferenceTarget>>()
  const relations = new Map<CollectionDefinition, Map<string, RelationDefinition>>()
  const linked = versions.map(version => ({
    ...version,
    collections: new Map(
      [...version.collections].map(([name, each]) => [name, link(each, version)]),
    ),
  }))

  function link(
    collection: CollectionDefinition,
    { collections }: VersionDefinition,
  ): CollectionDefinition {
    const list: Child[] = []
    const named = new Map<string, ReferenceTarget>()
    const related = new Map<string, RelationDefinition>()
    const addressable = [...collections.values()].some(
      each => isReached(each) && (each === collection || each.parents.has(collection.name)),
    )
    const made = Object.freeze({
      ...collection,
      addressable,
      children: list,
      targets: named,
      relations: related,
    })
    children.set(made, list)
    targets.set(made, named)
    relations.set(made, related)
    return made
  }

  for (const { collections } of linked) {
    for (const collection of collections.values()) {
      for (const { child, store, field, onDelete = 'restrict' } of links) {
        if (store !== collection.store) continue
        const found = findOn(child, [{ collections }, ...linked], field)
        if (found) children.get(collection)?.push({ collection: found, field, onDelete })
      }
    }
  }
  for (const { collections } of linked) {
    for (const collection of collections.values()) {
      for (const [field, { collection: name }] of collection.references) {
        const found = collections.get(name)
        if (found) targets.get(collection)?.set(field, { collection: found, guarded: false })
      }
      for (const { child, store, field } of links) {
        if (child !== collection.store || !collection.shape.fields.has(field)) continue
        const found = findOn(store, [{ collections }, ...linked])
        if (found) targets.get(collection)?.set(field, { collection: found, guarded: true })
      }
    }
  }
  linkTrash(children)
  const taken = listNames(versions)
  for (const { collections } of linked) {
    for (const collection of collections.values()) {
      const found = findRelations(collection, collections, taken.get(collection.store))
      for (const each of found) relations.get(collection)?.set(each.name, each)
    }
  }
  for (const { child, ...reference } of links) child.relate?.([reference])
  return linked
}

/** Whether requests can do anything with a collection itself. */
function isReached({ operations, actions }: CollectionDefinition): boolean {
  return operations.size + actions.size > 0
}

/** Lists the names of all properties that items of a store may have, in any version. */
function listNames(
  versions: readonly VersionDefinition[],
): ReadonlyMap<Store, ReadonlySet<string>> {
  const names = new Map<Store, Set<string>>()
  for (const { collections } of versions) {
    for (const { store, shape, bodyFields } of collections.values()) {
      const known = names.get(store) ?? new Set()
      for (const fields of [shape.fields, bodyFields])
        for (const name of fields.keys()) known.add(name)
      names.set(store, known)
    }
  }
  return names
}

/** Finds the collection on a store: of the first version that has one, and there declares a reference where that is given. */
function findOn(
  store: Store,
  versions: readonly Pick<VersionDefinition, 'collections'>[],
  field?: string,
): CollectionDefinition | undefined {
  return versions
    .flatMap(({ collections }) => [...collections.values()])
    .find(each => each.store === store && (field === undefined || each.references.has(field)))
}

/** Lists the references within one database, each once for all versions. */
function mergeLinks(versions: readonly VersionDefinition[]): StoreLink[] {
  const links = new Map<Store, Map<string, StoreLink>>()
  for (const { collections } of versions) {
    for (const { name, store, references } of collections.values()) {
      const byField = links.get(store) ?? new Map<string, StoreLink>()
      links.set(store, byField)
      for (const [field, { collection, onDelete }] of references) {
        const parent = collections.get(collection)?.store
        if (!parent || !sharesTransactions(store, parent)) continue
        const known = byField.get(field)
        assertValid(
          !known || known.store === parent,
          `${name}: "${field}" refers to items of two stores in two versions. Have it refer to one`,
        )
        const words = new Set([known?.onDelete, onDelete].filter(word => word !== undefined))
        assertValid(
          words.size < 2,
          `${name}: "${field}" says onDelete: ${[...words].join(' and ')} in two versions of one store. Say the same in both`,
        )
        byField.set(field, { child: store, store: parent, field, onDelete: [...words][0] })
      }
    }
  }
  return [...links.values()].flatMap(byField => [...byField.values()])
}

/** Whether writes to both can be one transaction. */
export function sharesTransactions(one: Store, other: Store): boolean {
  return (
    one.transaction !== undefined && one.database !== undefined && one.database === other.database
  )
}
