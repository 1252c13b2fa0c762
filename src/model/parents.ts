// Parents: the fields of a collection that hold ids of other collections of the same api.
import { listBlobFields } from '../schema/blob.ts'
import type { CollectionDefinition, Declaration } from './definition.ts'
import { omitFields } from './field-roles.ts'
import { checkVisible, listChildren, type Reference } from './references.ts'

/** A field that holds an id, by its kind: what it is, and how it is declared. */
const ID_FIELDS = {
  integer: { what: 'a whole number', declared: 'z.int()' },
  string: { what: 'a text', declared: 'z.string()' },
}

/**
 * Relates the collections of one version: a field that names a parent whose ids are UUIDs holds
 * UUIDs.
 * @throws TypeError for a parent that is not among the collections, or whose ids the field cannot hold.
 */
export function relateCollections(
  collections: ReadonlyMap<string, CollectionDefinition>,
): ReadonlyMap<string, CollectionDefinition> {
  checkParents(collections)
  checkReferences(collections)
  const related = new Map<string, CollectionDefinition>()
  for (const [name, definition] of collections) {
    const { shape, references, hidden } = definition
    const fields = new Map(shape.fields)
    for (const [property, { collection }] of references) {
      const field = fields.get(property)
      const uuid = collections.get(collection)?.shape.identity.kind === 'uuid'
      if (field && uuid) fields.set(property, { ...field, uuid })
    }
    const children = listChildren(definition, collections)
    checkVisible(definition, collections)
    const isRelated = references.size + children.length > 0
    related.set(
      name,
      isRelated
        ? Object.freeze({
            ...definition,
            shape: Object.freeze({ ...shape, fields }),
            queryFields: omitFields(fields, hidden),
            children,
          })
        : definition,
    )
  }
  return related
}

function checkReferences(collections: ReadonlyMap<string, CollectionDefinition>): void {
  for (const { name, shape, references } of collections.values()) {
    for (const [field, { collection }] of references) {
      const known = collections.get(collection)
      if (!known)
        throw new TypeError(
          `${name}: its parent "${collection}" is not a collection of the same api`,
        )
      const own = shape.fields.get(field)?.kind === 'integer' ? 'integer' : 'string'
      const wanted = known.shape.identity.kind === 'integer' ? 'integer' : 'string'
      if (own !== wanted) {
        const { what, declared } = ID_FIELDS[wanted]
        throw new TypeError(
          `${name}: "${field}" is ${ID_FIELDS[own].declared}, but an id of ${collection} is ${what}; declare ${declared}`,
        )
      }
    }
  }
}

function checkParents(collections: ReadonlyMap<string, CollectionDefinition>): void {
  for (const { name, parents } of collections.values()) {
    for (const parent of parents.keys()) {
      const known = collections.get(parent)
      if (
        known?.actions.has(name) ||
        listBlobFields(known?.shape.fields ?? new Map()).includes(name)
      ) {
        throw new TypeError(
          `${parent}: "${name}" is a sub-collection and an action or a blob() too`,
        )
      }
    }
  }
}

/** Finds the field that names each parent: those of the paths below it. */
export function findParents(
  { name, parents = {}, relation = {} }: Declaration,
  references: ReadonlyMap<string, Reference>,
): Map<string, string> {
  if (Object.keys(relation).length !== 0 && Object.keys(relation).length !== 2) {
    throw new TypeError(`${name}: a relation has exactly two fields`)
  }
  const found = new Map<string, string>()
  for (const field of Object.keys({ ...parents, ...relation })) {
    const parent = references.get(field)?.collection ?? ''
    if (found.has(parent)) throw new TypeError(`${name}: two fields name ${parent} as parent`)
    found.set(parent, field)
  }
  return found
}
