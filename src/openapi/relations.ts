// What may be included, in a description: the parameter with its names, and the properties that answers have by it.

import { CollectionScope } from '../model/compile/relations.ts'
import type { CollectionDefinition, RelationDefinition } from '../model/types/definition.ts'
import { INCLUDE } from '../query/include.ts'
import type { Relation } from '../query/relation.ts'
import { takesInclude } from '../query/selected.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'

/** Lists the relations of a collection that a description names. */
function listRelations(
  collection: CollectionDefinition,
  { see }: Components,
): readonly (readonly [Relation, RelationDefinition])[] {
  const scope = new CollectionScope(collection, see)
  if (!takesInclude(scope)) return []
  return [...scope.relations.values()].flatMap(relation => {
    const definition = collection.relations.get(relation.name)
    return definition ? [[relation, definition] as const] : []
  })
}

/** Builds the schema of the parameter, and its description; `undefined` where nothing can be included. */
export function describeInclude(
  collection: CollectionDefinition,
  components: Components,
): { readonly schema: JsonSchema; readonly description: string } | undefined {
  const relations = listRelations(collection, components)
  const [first] = relations
  if (!first) return undefined
  const names = relations.map(([{ name }]) => name)
  const many = relations.find(([relation]) => relation.many)?.[0].name
  const pattern = `^(?:${names.join('|')})(?:\\([1-9]\\d*\\))?(?:\\..+)?$`
  const some = many === undefined ? '' : `; the first 5 of a list: ${many}(5)`
  const description = `Related items to include, separated by commas: ${names.join(', ')}${some}. Those of related items follow a dot. Filters reach them too: ${first[0].name}[exists]=true`
  return { schema: { type: 'array', items: { type: 'string', pattern }, minItems: 1 }, description }
}

/** Builds the properties that an answer has where they are included. */
export function includedProperties(
  collection: CollectionDefinition,
  components: Components,
  build: (collection: CollectionDefinition) => object,
): Readonly<Record<string, JsonSchema>> {
  const properties = listRelations(collection, components).map(
    ([relation, definition]): [string, JsonSchema] => {
      const { name, many } = relation
      const seen = components.see(definition) ?? definition.collection
      // A reference is an object with the one property of that name.
      const item: JsonSchema = components.isInline
        ? { type: 'object' }
        : components.referToItem(seen, () => build(seen))
      const schema = many ? { type: 'array', items: item } : { anyOf: [item, { type: 'null' }] }
      return [name, { ...schema, readOnly: true, description: `With ${INCLUDE}=${name}` }]
    },
  )
  return Object.fromEntries(properties)
}
