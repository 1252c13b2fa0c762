// Parents: the fields of a collection that hold ids of other collections of the same api.
import { listBlobFields } from '../schema/blob.ts'
import type { Fields } from '../schema/fields.ts'
import type { CollectionDefinition, Declaration } from './definition.ts'
import { omitFields } from './field-roles.ts'

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
  const related = new Map(collections)
  for (const [name, definition] of collections) {
    const { shape, parents } = definition
    const fields = new Map(shape.fields)
    for (const [parent, property] of parents) {
      const field = fields.get(property)
      const uuid = collections.get(parent)?.shape.identity.kind === 'uuid'
      if (field && uuid) fields.set(property, { ...field, uuid })
    }
    if (parents.size > 0)
      related.set(
        name,
        Object.freeze({
          ...definition,
          shape: Object.freeze({ ...shape, fields }),
          queryFields: omitFields(fields, definition.hidden),
        }),
      )
  }
  return related
}

function checkParents(collections: ReadonlyMap<string, CollectionDefinition>): void {
  for (const { name, shape, parents } of collections.values()) {
    for (const [parent, field] of parents) {
      const known = collections.get(parent)
      if (!known)
        throw new TypeError(`${name}: its parent "${parent}" is not a collection of the same api`)
      const own = shape.fields.get(field)?.kind === 'integer' ? 'integer' : 'string'
      const wanted = known.shape.identity.kind === 'integer' ? 'integer' : 'string'
      if (own !== wanted) {
        const { what, declared } = ID_FIELDS[wanted]
        throw new TypeError(
          `${name}: "${field}" is ${ID_FIELDS[own].declared}, but an id of ${parent} is ${what}; declare ${declared}`,
        )
      }
      if (known.actions.has(name) || listBlobFields(known.shape.fields).includes(name)) {
        throw new TypeError(
          `${parent}: "${name}" is a sub-collection and an action or a blob() too`,
        )
      }
    }
  }
}

export function findParents(
  { name, parents = {}, relation = {} }: Declaration,
  fields: Fields,
): Map<string, string> {
  if (Object.keys(relation).length !== 0 && Object.keys(relation).length !== 2) {
    throw new TypeError(`${name}: a relation has exactly two fields`)
  }
  const found = new Map<string, string>()
  for (const [field, parent] of Object.entries({ ...parents, ...relation })) {
    const known = fields.get(field)
    if (known?.kind !== 'string' && known?.kind !== 'integer') {
      throw new TypeError(`${name}: "${field}" must be a field that holds an id of ${parent}`)
    }
    if (found.has(parent)) throw new TypeError(`${name}: two fields name ${parent} as parent`)
    found.set(parent, field)
  }
  return found
}
