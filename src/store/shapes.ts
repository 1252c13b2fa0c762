// Merges the shapes of the collections on one store: two versions of an API may serve the same items.
import type { Field, Fields } from '../schema/fields.ts'
import type { Shape } from './store.ts'

/**
 * The shape of a store that serves both: the fields, indexes and unique sets of either.
 * @throws TypeError where they disagree on the identity, on the names of the dates, or on the properties of an
 * object inside: a write of one would lose what only the other declares there.
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
    fields: mergeFields(one.fields, other.fields, path =>
      clash(
        `the properties of ${path}: declare the same ones in both, or those of one version at the top`,
      ),
    ),
    ...((one.open || other.open) && { open: true }),
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    unique: distinct([...one.unique, ...other.unique]),
    indexes: distinct([...one.indexes, ...other.indexes]),
  }
}

/** The number of items that a stream yields at a time. */
export const BATCH = 200
/** The bytes of such a batch as JSON, where one item is not larger. */
export const BATCH_BYTES = 256 * 1024

/** The sets of paths to index: the declared ones, and the creation date for `since` and `until`. */
export function indexesOf({ indexes, createdAt }: Shape): (readonly string[])[] {
  return distinct(createdAt === undefined ? indexes : [...indexes, [createdAt]])
}

/** Each set of paths once. */
function distinct(sets: readonly (readonly string[])[]): (readonly string[])[] {
  return [...new Map(sets.map(set => [JSON.stringify(set), set])).values()]
}

/** Makes the error for an object at a path whose properties differ. */
type Clash = (path: string) => TypeError

function mergeFields(some: Fields, others: Fields, clash: Clash, above = ''): Fields {
  const merged = new Map<string, Field>()
  for (const [name, field] of new Map([...some, ...others])) {
    const [one, other] = [some.get(name), others.get(name)]
    const both = one && other && mergeField(one, other, above + name, clash)
    merged.set(name, both ?? { ...field, optional: true })
  }
  return merged
}

const ANY: Field = { kind: 'any', nullable: true, optional: true }

/** A field that is either; without the choices of both, since a store does not check values. */
function mergeField(one: Field, other: Field, path: string, clash: Clash): Field {
  if (one === other) return one
  const { properties: mine, element } = one
  const { properties: theirs } = other
  const properties = mine && theirs && mergeFields(mine, theirs, clash, `${path}.`)
  if (properties) {
    // Names that only one of them has make more of them.
    const hasSameNames = properties.size === mine.size && properties.size === theirs.size
    if (!hasSameNames || Boolean(one.open) !== Boolean(other.open)) throw clash(path)
  }
  const elements = element && other.element && mergeField(element, other.element, path, clash)
  if (one.kind !== other.kind || one.kind === 'union') return ANY
  return {
    kind: one.kind,
    nullable: one.nullable || other.nullable,
    optional: one.optional || other.optional,
    ...(properties && { properties }),
    ...(one.open && { open: true }),
    ...(elements && { element: elements }),
  }
}
