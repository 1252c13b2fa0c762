// Infers schemas and references from the lists of a JSON file. Values of mixed types accept any JSON.
import { z } from 'zod'
import { isObject } from '../../base/values.ts'
import { toPlural } from '../pull/names.ts'

/** A list of a file that can be a collection. */
export interface JsonList {
  readonly name: string
  readonly id: 'integer' | 'text'
  /** Each has an id. */
  readonly items: readonly Readonly<Record<string, unknown>>[]
  /** Whether it is a single object, such as `/profile`, and not a list. */
  readonly isSingle: boolean
}

/** Converts a value of the file to a list. @returns the reason as a string if it cannot be a collection. */
export function findList(name: string, value: unknown): JsonList | string {
  if (!/^[A-Za-z][\w-]*$/.test(name)) return 'its name may only have letters, digits, _ and -'
  if (isObject(value)) return { name, id: 'text', items: [{ ...value, id: name }], isSingle: true }
  if (!Array.isArray(value))
    return 'it is neither a list nor an object. Write a list, such as [{ "id": 1 }]'
  if (!value.every(isObject)) return 'its items are not objects'
  const ids = value.map(({ id }) => id).filter(id => id !== undefined)
  const isText = ids.length > 0 && ids.every(id => typeof id === 'string' && id !== '')
  const isCounted = ids.every(id => Number.isSafeInteger(id) && Number(id) >= 0)
  if (!isText && !isCounted) return 'its ids must all be whole numbers from 0, or all strings'
  if (new Set(ids).size < ids.length) return 'two items have the same id'
  if (isText && ids.length < value.length) return 'an item has no id'
  let last = isText ? 0 : ids.reduce((most: number, id) => Math.max(most, Number(id)), 0)
  const items = value.map(item => ({ id: ++last, ...item }))
  return { name, id: isText ? 'text' : 'integer', items: isText ? value : items, isSingle: false }
}

/** The maximum of declared properties of an object, and of nested levels. */
const MAX_PROPERTIES = 200
const MAX_LEVELS = 4
/** The names that a filter can use. */
const PROPERTY = /^[A-Za-z_$][\w$-]*$/

/**
 * Builds the schema of a list. All properties are optional. A property that no item has fails with 400, because it is
 * probably a typing error. An empty list accepts any property, and so does a list with properties that a schema cannot name.
 */
export function inferSchema(
  { id, items }: JsonList,
  references: ReadonlyMap<string, JsonList>,
): z.ZodObject {
  const shape = inferShape(items, MAX_LEVELS)
  const isWhole =
    items.length > 0 &&
    items.every(item => Object.keys(item).every(each => each === 'id' || each in shape))
  delete shape.id
  for (const [property, { id: kind }] of references)
    shape[property] = (kind === 'integer' ? z.int() : z.string()).nullable().optional()
  const object = z.object({ ...(id === 'text' && { id: z.string() }), ...shape })
  return isWhole ? object : object.loose()
}

/** Lists the properties that hold strings. */
export function listStrings({ items }: JsonList): string[] {
  return Object.entries(groupValues(items)).flatMap(([name, values]) =>
    name !== 'id' && values.every(value => typeof value === 'string') ? [name] : [],
  )
}

/** Finds the properties that refer to other lists: `postId` and `post_id` refer to `posts`. */
export function findReferences(
  list: JsonList,
  lists: ReadonlyMap<string, JsonList>,
): ReadonlyMap<string, JsonList> {
  const found = new Map<string, JsonList>()
  for (const [property, values] of Object.entries(groupValues(list.items))) {
    const [, name] = /^(.+?)(?:_id|Id)$/.exec(property) ?? []
    const other = name && (lists.get(toPlural(name)) ?? lists.get(name))
    if (!other || other.isSingle) continue
    const isId = (value: unknown) =>
      value === null ||
      (other.id === 'integer' ? Number.isInteger(value) : typeof value === 'string')
    if (values.every(isId)) found.set(property, other)
  }
  return found
}

function groupValues(items: readonly Readonly<Record<string, unknown>>[]) {
  const groups: Record<string, unknown[]> = Object.create(null)
  for (const item of items) {
    for (const [name, value] of Object.entries(item)) {
      if (!PROPERTY.test(name) || name in {}) continue
      groups[name] ??= []
      groups[name].push(value)
    }
  }
  return groups
}

function inferShape(items: readonly Readonly<Record<string, unknown>>[], levels: number) {
  const shape: Record<string, z.ZodType> = {}
  for (const [name, values] of Object.entries(groupValues(items)).slice(0, MAX_PROPERTIES))
    shape[name] = inferValue(values, levels).optional()
  return shape
}

function inferValue(values: readonly unknown[], levels: number): z.ZodType {
  const present = values.filter(value => value !== null)
  const schema = present.length === 0 ? z.json() : inferPresent(present, levels)
  return present.length < values.length ? schema.nullable() : schema
}

function inferPresent(values: readonly unknown[], levels: number): z.ZodType {
  if (values.every(value => typeof value === 'string')) return z.string()
  if (values.every(value => typeof value === 'number')) return z.number()
  if (values.every(value => typeof value === 'boolean')) return z.boolean()
  if (levels > 0 && values.every(isObject)) return z.looseObject(inferShape(values, levels - 1))
  const elements = values.every(Array.isArray) ? values.flat() : []
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'
  return elements.length > 0 && elements.every(isPlain)
    ? z.array(inferPresent(elements, 0))
    : z.json()
}
