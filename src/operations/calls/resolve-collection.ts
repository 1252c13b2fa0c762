// The collections that hooks, actions and programs call: those of a version, and what only other versions have.
import type { CollectionTarget } from '../../model/compile/routes.ts'
import type { Find, NamedCollection } from '../../model/types/hooks.ts'
import type { CallScope } from './context.ts'

/** Creates the function that finds the resources of a scope; without a name its own collection. */
export function createFind(scope: CallScope): Find {
  const find = (collection: NamedCollection = scope.own ?? '') =>
    scope.runtime.createResource(scope, collection)
  return find as Find // a resource has the types of its collection
}

/**
 * Finds a collection in a version, otherwise in the newest version that has it: a hook that several versions share calls
 * the same collections in each.
 * @throws TypeError if no version has it.
 */
export function resolveCollection(
  { runtime, version: own }: Pick<CallScope, 'runtime' | 'version'>,
  wanted: NamedCollection,
): Pick<CollectionTarget, 'version' | 'collection'> {
  const { name, shape } = typeof wanted === 'string' ? { name: wanted } : wanted
  const names = new Set<string>()
  for (const version of [own, ...runtime.api.versions]) {
    const collection = version.collections.get(name)
    // An api may know more of the fields; the identity is that of the declaration.
    if (collection && (!shape || collection.shape.identity === shape.identity))
      return { version, collection }
    for (const each of version.collections.keys()) names.add(each)
  }
  throw new TypeError(
    names.has(name)
      ? `This api has another collection "${name}" than this one. Pass the one that the api has.`
      : `There is no collection "${name}". Collections: ${[...names].join(', ')}.`,
  )
}
