// References: fields that hold ids of other items. Some have a path below that item; each says what its deletion does.
import * as rule from '../../options.ts'
import { assertValid, checkOptions, type Rules } from '../../options.ts'
import { listBlobFields } from '../../schema/blob.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import type { Declaration } from '../types/declaration.ts'
import type { CollectionDefinition } from '../types/definition.ts'
import type { Reference, ReferenceOptions } from '../types/references.ts'
import { omitFields } from './compile-field-roles.ts'
import { RESTORE, TRASH } from './compile-trash.ts'
import { sharesTransactions } from './link-references.ts'

const RULES: Rules<ReferenceOptions> = {
  collection: rule.needed(rule.TEXT),
  onDelete: rule.oneOf('cascade', 'restrict'),
  as: rule.matching('a name of letters, digits, _ and -', /^[A-Za-z][\w-]*$/),
}

export const REFERENCE = rule.either(
  "a collection, or { collection: 'cars', onDelete: 'cascade' }",
  rule.TEXT,
  rule.OBJECT,
)

/**
 * Finds the references of a collection by their fields.
 * @throws TypeError for a field that holds no id, or is declared twice.
 */
export function findReferences(
  { name, parents = {}, relation = {}, references = {} }: Declaration,
  fields: Fields,
): Map<string, Reference> {
  const found = new Map<string, Reference>()
  const size = Object.keys(relation).length
  assertValid(size === 0 || size === 2, `${name}: a relation has exactly two fields`)
  for (const declared of [parents, relation, references]) {
    for (const [field, option] of Object.entries(declared)) {
      const reference = typeof option === 'string' ? { collection: option } : option
      checkOptions(`${name}, the reference ${field}`, reference, RULES)
      const { collection, onDelete, as } = reference
      const isId = /^(?:string|integer)$/.test(fields.get(field)?.kind ?? '')
      assertValid(isId, `${name}: "${field}" must be a field that holds an id of ${collection}`)
      assertValid(!found.has(field), `${name}: "${field}" is declared as a reference twice`)
      found.set(field, { collection, isParent: declared !== references, onDelete, as })
    }
  }
  return found
}

/**
 * Finds the field that names each parent.
 * @throws TypeError where two fields name the same one.
 */
export function findParents(
  name: string,
  references: ReadonlyMap<string, Reference>,
): Map<string, string> {
  const found = new Map<string, string>()
  for (const [field, { collection, isParent }] of references) {
    if (!isParent) continue
    assertValid(!found.has(collection), `${name}: two fields name ${collection} as parent`)
    found.set(collection, field)
  }
  return found
}

type CollectionMap = ReadonlyMap<string, CollectionDefinition>

/**
 * Relates the collections of one version: a field that refers to a collection whose ids are UUIDs holds UUIDs.
 * @throws TypeError for a reference to no collection of the version, or whose ids the field cannot hold.
 */
export function relateCollections(collections: CollectionMap): CollectionMap {
  const related = new Map<string, CollectionDefinition>()
  for (const [name, definition] of collections) {
    const { shape, references, hidden } = definition
    const fields = new Map(shape.fields)
    for (const [property, { collection, isParent }] of references) {
      const field = fields.get(property)
      if (!field) continue
      const parent = collections.get(collection)
      assertValid(
        parent,
        `${name}: its parent "${collection}" is not a collection of the same api. Add it to collections`,
      )
      const { actions } = parent
      assertValid(
        !isParent || !(actions.has(name) || listBlobFields(parent.shape.fields).includes(name)),
        `${collection}: "${name}" is a sub-collection and an action or a blob() too`,
      )
      assertValid(
        !isParent || !parent.trash || (name !== TRASH && name !== RESTORE),
        `${collection} has a trash: no sub-collection may be called "${name}". Rename it`,
      )
      fields.set(property, relateField(name, property, field, parent))
    }
    checkVisible(definition, collections)
    checkOnDelete(definition, collections)
    related.set(
      name,
      Object.freeze({
        ...definition,
        shape: Object.freeze({ ...shape, fields }),
        queryFields: omitFields(fields, hidden),
      }),
    )
  }
  return related
}

/** Adds to a field of a collection that it holds UUIDs, if the collection that it refers to has such ids. */
function relateField(
  name: string,
  property: string,
  field: Field,
  parent: CollectionDefinition,
): Field {
  const { kind, parts } = parent.shape.identity
  assertValid(
    !parts,
    `${name}: "${property}" cannot hold an id of ${parent.name}, which consists of two columns. Give ${parent.name} an id in one column`,
  )
  const [wanted, what] =
    kind === 'integer' ? ['z.int()', 'a whole number'] : ['z.string()', 'a string']
  const own = field.kind === 'integer' ? 'z.int()' : 'z.string()'
  assertValid(
    own === wanted,
    `${name}: "${property}" is ${own}, but an id of ${parent.name} is ${what}; declare ${wanted}`,
  )
  return kind === 'uuid' ? { ...field, uuid: true } : field
}

/** @throws TypeError where the stores cannot do what a reference says. */
function checkOnDelete(child: CollectionDefinition, collections: CollectionMap): void {
  for (const [field, { collection, onDelete }] of child.references) {
    const parent = collections.get(collection)
    assertValid(
      onDelete === undefined || (parent && sharesTransactions(child.store, parent.store)),
      `${child.name}: "${field}" has onDelete, but the stores of ${child.name} and ${collection} share no transactions. Keep both in one database, or leave onDelete out`,
    )
  }
}

/**
 * Checks that the items of a collection can be seen through others.
 * @throws TypeError for a field that is no reference, for stores of two databases, and for a circle.
 */
function checkVisible(definition: CollectionDefinition, collections: CollectionMap): void {
  const passed: string[] = []
  let at = definition
  while (typeof at.visible === 'object') {
    const { name, references } = at
    const field = at.visible.through
    const where = `${name}: visible goes through "${field}"`
    const parent = collections.get(references.get(field)?.collection ?? '')
    assertValid(parent, `${where}, which is no reference`)
    passed.push(name)
    const circle = [...passed, parent.name].join(', ')
    assertValid(!passed.includes(parent.name), `${name}: visible goes in a circle: ${circle}`)
    assertValid(
      sharesTransactions(at.store, parent.store),
      `${where}, but the stores of ${name} and ${parent.name} are not in one database`,
    )
    at = parent
  }
}
