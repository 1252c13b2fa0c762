// Relations: what may be included in an item, and what its filters reach, each under a name. They are made of references.

import { assertValid } from '../../options.ts'
import type { QueryScope, Relation } from '../../query/relation.ts'
import type { Fields } from '../../schema/fields.ts'
import type { Store } from '../../store/store.ts'
import type { CollectionDefinition, RelationDefinition } from '../types/definition.ts'

const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Finds the relations of a collection: to one by its own references, to many by those of its children. A name that a
 * property has, or an earlier relation, is left out.
 * @param taken the names of properties.
 * @throws TypeError for such a name in `as`.
 */
export function findRelations(
  own: CollectionDefinition,
  collections: ReadonlyMap<string, CollectionDefinition>,
  taken: ReadonlySet<string> = NO_NAMES,
): readonly RelationDefinition[] {
  const found = new Map<string, RelationDefinition>()
  const { name, references, shape } = own
  const isFree = (each: string) => !taken.has(each) && !found.has(each)
  // Those with a name of their own come first: a default name gives way.
  const declared = [...references].sort(([, one], [, other]) => Number(!one.as) - Number(!other.as))
  for (const [field, reference] of declared) {
    const collection = collections.get(reference.collection)
    const as = reference.as ?? toName(field)
    assertValid(
      !reference.as || isFree(as),
      `${name}: the reference ${field} has as: '${as}', which is ${taken.has(as) ? 'a property' : 'another relation'}. Choose another name`,
    )
    // No body of an old declaration could have had the default name.
    const isNamed = reference.as !== undefined || (as !== '' && !shape.open)
    if (!collection || !isNamed || !isFree(as)) continue
    const to = collection.shape.identity.name
    found.set(as, { name: as, many: false, collection, from: field, to })
  }
  for (const collection of collections.values()) {
    const to = collection.parents.get(name)
    if (to === undefined || shape.open || !isFree(collection.name)) continue
    const from = shape.identity.name
    found.set(collection.name, { name: collection.name, many: true, collection, from, to })
  }
  return [...found.values()]
}

/** `model_id` and `modelId` refer to a `model`. */
function toName(field: string): string {
  return field.replace(/(?:_id|Id)$/, '')
}

/** Finds the collection of a relation as somebody sees it; `undefined` where the relation does not exist for them. */
export type SeeRelation = (relation: RelationDefinition) => CollectionDefinition | undefined

/** The operation that gives the items of a relation. */
export function operationOf({ many }: Pick<RelationDefinition, 'many'>): 'list' | 'read' {
  return many ? 'list' : 'read'
}

/** Finds relations among the collections that somebody sees: those whose items a request can get. */
export function seeRelations(
  see: (collection: CollectionDefinition) => CollectionDefinition | undefined,
): SeeRelation {
  return relation => {
    const { collection } = relation
    return collection.operations.has(operationOf(relation)) ? see(collection) : undefined
  }
}

/** A collection as a query sees it; the collections around it are looked at when a query leads there. */
export class CollectionScope implements QueryScope {
  readonly name: string
  readonly itemName: string
  readonly fields: Fields
  readonly readable: Fields
  readonly selectable: Fields
  readonly maxLimit: number
  readonly groups: readonly string[]
  readonly searches: boolean
  readonly #collection: CollectionDefinition
  readonly #see: SeeRelation
  readonly #isClient: boolean
  #relations: ReadonlyMap<string, Relation> | undefined

  /** @param isClient whether an operation that the declaration leaves out cannot be used. */
  constructor(collection: CollectionDefinition, see: SeeRelation, isClient = true) {
    this.name = collection.name
    this.itemName = collection.itemName
    this.fields = collection.queryFields
    this.readable = collection.readableFields
    this.selectable = collection.selectableFields
    this.maxLimit = collection.maxLimit
    this.groups = [...collection.groups.keys()]
    this.searches = collection.search !== undefined
    this.#collection = collection
    this.#see = see
    this.#isClient = isClient
  }

  get relations(): ReadonlyMap<string, Relation> {
    this.#relations ??= new Map(this.#listRelations())
    return this.#relations
  }

  *#listRelations(): Generator<[string, Relation]> {
    const { relations, store } = this.#collection
    for (const definition of relations.values()) {
      const { name, many, from, to } = definition
      const seen = this.#see(definition)
      // A field that its reader does not see tells nothing by what it refers to.
      if (!seen || !this.fields.has(from) || !seen.queryFields.has(to)) continue
      const scope = new CollectionScope(seen, this.#see, this.#isClient)
      const unfilterable = unfilterableReason(store, definition, this.#isClient)
      yield [name, { name, many, from, to, scope, unfilterable }]
    }
  }
}

/** Why filters do not reach the items of a relation: they would list them, in the database of the list. */
function unfilterableReason(
  { database }: Store,
  { name, many, from, collection: { name: others, store, operations } }: RelationDefinition,
  isClient: boolean,
): string | undefined {
  const instead = many ? `List ${others} instead` : `Filter by ${from} instead`
  if (isClient && !operations.has('list'))
    return `${others} cannot be listed, so ${name} takes no filter. ${instead}`
  if (database !== undefined && database === store.database) return undefined
  return `${name} is in another database, which no filter reaches. ${instead}`
}
