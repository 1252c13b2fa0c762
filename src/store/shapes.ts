// One shape of all the collections on a store: two versions of an API may serve the same items.
import type { Field, Fields } from '../schema/fields.ts'
import type { Shape } from './store.ts'

/**
 * The shape of a store that serves both: the fields, indexes and unique sets of either.
 * @throws TypeError where they disagree on the identity or on the names of the dates.
 */
export function mergeShapes(one: Shape, other: Shape): Shape {
  const clash = (what: string) =>
    new TypeError(`${one.name} and ${other.name} share a store but not ${what}`)
  if (one.identity.name !== other.identity.name || one.identity.kind !== other.identity.kind) {
    throw clash('their identity')
  }
  for (const date of ['createdAt', 'updatedAt'] as const) {
    if (one[date] !== undefined && other[date] !== undefined && one[date] !== other[date]) {
      throw clash('the names of their dates')
    }
  }
  const createdAt = one.createdAt ?? other.createdAt
  const updatedAt = one.updatedAt ?? other.updatedAt
  return {
    name: one.name,
    identity: one.identity,
    fields: mergeFields(one.fields, other.fields),
    ...((one.open || other.open) && { open: true }),
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    unique: distinct([...one.unique, ...other.unique]),
    indexes: distinct([...one.indexes, ...other.indexes]),
  }
}

/** How many items a stream gives at a time. */
export const BATCH = 500

/** The sets of paths to index: the declared ones, and the creation date for `since` and `until`. */
export function indexesOf({ indexes, createdAt }: Shape): (readonly string[])[] {
  return distinct(createdAt === undefined ? indexes : [...indexes, [createdAt]])
}

/** Each set of paths once. */
function distinct(sets: readonly (readonly string[])[]): (readonly string[])[] {
  return [...new Map(sets.map(set => [JSON.stringify(set), set])).values()]
}

function mergeFields(some: Fields, others: Fields): Fields {
  const merged = new Map<string, Field>()
  for (const [name, one] of some) {
    const other = others.get(name)
    merged.set(name, other ? mergeField(one, other) : { ...one, optional: true })
  }
  for (const [name, other] of others) {
    if (!some.has(name)) merged.set(name, { ...other, optional: true })
  }
  return merged
}

const ANY: Field = { kind: 'any', nullable: true, optional: true }

/** A field that is either; without the choices of both, since a store does not check values. */
function mergeField(one: Field, other: Field): Field {
  if (one === other) return one
  if (one.kind !== other.kind || one.kind === 'union') return ANY
  return {
    kind: one.kind,
    nullable: one.nullable || other.nullable,
    optional: one.optional || other.optional,
    ...(one.properties &&
      other.properties && { properties: mergeFields(one.properties, other.properties) }),
    ...((one.open || other.open) && { open: true }),
    ...(one.element && other.element && { element: mergeField(one.element, other.element) }),
  }
}
