// Versions that serve one table: what one may declare that another one lacks.
import { assertValid } from '../../options.ts'
import { fieldsOf } from '../../schema/zod-fields.ts'
import type { CollectionDefinition, VersionDefinition } from '../types/definition.ts'

/** A collection, and the name of its version. */
interface Served {
  readonly version: string
  readonly collection: CollectionDefinition
}

/**
 * Finds for each collection the properties that items may lack, because another version creates them without.
 * @throws TypeError for a property that such an item must have, and for one that another version shows to nobody.
 */
export function compareVersions(versions: readonly VersionDefinition[]): VersionDefinition[] {
  const all = versions.flatMap(({ name, collections }) =>
    Array.from(collections.values(), collection => ({ version: name, collection })),
  )
  return versions.map(version => ({
    ...version,
    collections: new Map(
      Array.from(version.collections, ([name, collection]) => {
        const others = all.filter(
          each => each.version !== version.name && each.collection.store === collection.store,
        )
        return [name, compare({ version: version.name, collection }, others)] as const
      }),
    ),
  }))
}

function compare(own: Served, others: readonly Served[]): CollectionDefinition {
  const { collection } = own
  const inputs = fieldsOf(collection.schema, 'input')
  const lacking = new Set<string>()
  const { date, deletion } = collection.trash ?? {}
  const other = others.find(
    ({ collection: { trash } }) => trash?.date !== date || trash?.deletion !== deletion,
  )
  assertValid(
    !other,
    `${own.version}: ${collection.name}: versions of one table need the same trash, and ${other?.version} has another or none. Declare it in both`,
  )
  for (const [name, { serverOwned }] of collection.shape.fields) {
    if (serverOwned) continue
    const without = others.find(({ collection: other }) => !other.shape.fields.has(name))
    if (without) {
      lacking.add(name)
      assertValid(
        inputs.get(name)?.optional !== false || !without.collection.operations.has('create'),
        `${own.version}: ${collection.name}: ${name} is required, and ${without.version} creates ${without.collection.name} without it. Give it .default(…) or .optional()`,
      )
    }
    const hiding = others.find(({ collection: other }) => other.roles?.writeOnly.has(name))
    assertValid(
      !hiding || collection.roles?.writeOnly.has(name) || collection.fieldAccess?.get(name)?.read,
      `${own.version}: ${collection.name}: ${name} is readable, and write-only in ${hiding?.version}. Make it writeOnly here too, or give it a read rule`,
    )
  }
  return lacking.size === 0 ? collection : Object.freeze({ ...collection, lacking })
}
