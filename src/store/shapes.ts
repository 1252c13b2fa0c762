// Merges the shapes of the collections on one store: two versions of an API may serve the same items.
import { isDeepStrictEqual } from 'node:util'
import type { Field, Fields } from '../schema/fields.ts'
import type { PartialSet, Shape } from './store.ts'

/**
 * Builds the shape of a store that serves both: the fields, indexes and unique sets of either.
 * @throws TypeError where they disagree on the identity, on the names of the dates, or on the values of a field:
 * a write of one would lose what only the other declares in an object inside.
 */
export function mergeShapes(one: Shape, other: Shape): Shape {
  const clash = (what: string) =>
    new TypeError(`${one.name} and ${other.name} share a store but not ${what}`)
  if (!isDeepStrictEqual(one.identity, other.identity)) throw clash('their identity')
  for (const date of ['createdAt', 'updatedAt'] as const) {
    if (one[date] !== undefined && other[date] !== undefined && one[date] !== other[date]) {
      throw clash('the names of their dates')
    }
  }
  const createdAt = one.createdAt ?? other.createdAt
  const updatedAt = one.updatedAt ?? other.updatedAt
  const trash = one.trash ?? other.trash
  const mergeRole = (role: 'readOnly' | 'writeOnly') =>
    [...(one[role] ?? []), ...(other[role] ?? [])].filter(name =>
      [one, other].every(each => !each.fields.has(name) || each[role]?.includes(name)),
    )
  const [readOnly, writeOnly] = [mergeRole('readOnly'), mergeRole('writeOnly')]
  return {
    name: one.name,
    identity: one.identity,
    fields: mergeFields(one.fields, other.fields, name =>
      clash(
        `the values of ${name}: declare the same kind and the same properties inside in both, or give one of them another name`,
      ),
    ),
    ...((one.open || other.open) && { open: true }),
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    unique: distinct([...one.unique, ...other.unique]),
    ...((one.partial || other.partial) && {
      partial: distinct([...(one.partial ?? []), ...(other.partial ?? [])]),
    }),
    indexes: distinct([...one.indexes, ...other.indexes]),
    ...((one.search || other.search) && {
      search: [...new Set([...(one.search ?? []), ...(other.search ?? [])])],
    }),
    ...(trash !== undefined && { trash }),
    ...(readOnly.length > 0 && { readOnly: [...new Set(readOnly)] }),
    ...(writeOnly.length > 0 && { writeOnly: [...new Set(writeOnly)] }),
  }
}

/** Lists all sets of paths in which items are unique: all of them, or those that pass the conditions. */
export function uniquesOf({ unique, partial = [] }: Shape): readonly PartialSet[] {
  return [...unique.map(fields => ({ fields, where: [] })), ...partial]
}

/** Lists the paths that a unique set compares, with those of its conditions: a 409 names all of them. */
export function listSetFields({ fields, where }: PartialSet): string[] {
  return [...fields, ...where.map(({ path }) => path.join('.'))]
}

/** The sets of paths to index: the declared ones, and the creation date for `since` and `until`. */
export function indexesOf({ indexes, createdAt }: Shape): (readonly string[])[] {
  return distinct(createdAt === undefined ? indexes : [...indexes, [createdAt]])
}

/** Removes repeated sets of paths. */
function distinct<T>(sets: readonly T[]): T[] {
  return [...new Map(sets.map(set => [JSON.stringify(set), set])).values()]
}

/** @param clash makes the error for a property whose values differ. */
function mergeFields(some: Fields, others: Fields, clash: (name: string) => TypeError): Fields {
  const merged = new Map<string, Field>()
  for (const [name, field] of new Map([...some, ...others])) {
    const [one, other] = [some.get(name), others.get(name)]
    if (one && other && !isDeepStrictEqual(outline(one), outline(other))) throw clash(name)
    merged.set(name, {
      ...field,
      nullable: one?.nullable || other?.nullable || false,
      optional: !one || !other || one.optional || other.optional,
    })
  }
  return merged
}

/** Lists what a store reads of the values of a field: their kind, and the same of all values inside. */
function outline({ kind, open = false, properties, element }: Field): unknown {
  const inside = (field: Field) => [field.nullable, field.optional, outline(field)]
  const named = [...(properties ?? [])].map(([name, field]) => [name, inside(field)] as const)
  return [kind, open, new Map(named), element && inside(element)]
}
