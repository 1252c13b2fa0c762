// Members that a schema does not know, or drops though it knows them: a client must hear of them.
import { type Issue, MAX_ISSUES, suggestion } from '../errors.ts'
import { type Field, hasParts } from './fields.ts'
import { elementsBefore } from './keeping.ts'
import { getProperty, type Item, isObject, type Json, sameJson } from './values.ts'

interface Search {
  readonly prefix: string
  readonly found: Issue[]
  /** Members of what may be meant as well: they are none of the field's, there already or not. */
  readonly others?: ReadonlySet<string>
  /** Whether the field is a recursive one again. */
  readonly again?: boolean
}

/**
 * Adds the properties that a field does not know: zod drops them, and a client must hear of them instead.
 * What is there already may be sent back. More than are told are not looked for: to find near names
 * takes long.
 */
export function findUnknown(
  value: Json,
  current: Json | undefined,
  field: Field,
  search: Search,
): void {
  const { prefix, found, others, again = false } = search
  if (typeof value !== 'object' || value === null || found.length >= MAX_ISSUES) return
  if (field.again) {
    findUnknown(value, current, field.again(), { ...search, again: true })
    return
  }
  const { element, properties } = field
  const below = (name: string | number) => ({ prefix: `${prefix}${name}.`, found, again })
  const options = field.options?.filter(option => suits(value, option)) ?? []
  if (options.length > 0) {
    if (current !== undefined && sameJson(current, value)) return
    const rivals = options.length > 1 ? options : []
    // At each level of a recursive schema there would be as many ways again.
    if (again && rivals.length > 0) return
    // Where one option is meant, what is left of another goes with it; else nobody can say which goes.
    const names = rivals.flatMap(option => [...(option.properties?.keys() ?? [])])
    const named = new Set([...(others ?? []), ...names])
    // What suits one of several options is no issue; else the fewest issues are told.
    const lists = options.map(option => {
      const list: Issue[] = []
      findUnknown(value, current, option, { prefix, found: list, others: named, again })
      return list
    })
    found.push(...lists.reduce((least, list) => (list.length < least.length ? list : least)))
    return
  }
  if (Array.isArray(value)) {
    if (!hasParts(element)) return
    const before = elementsBefore(current, value)
    for (const [at, each] of value.entries()) findUnknown(each, before[at], element, below(at))
    return
  }
  if (!properties) {
    if (field.kind !== 'record' || !element) return
    for (const [name, each] of Object.entries(value))
      findUnknown(each, getProperty(current, name), element, below(name))
    return
  }
  for (const [name, each] of Object.entries(value)) {
    const property = properties.get(name)
    const known = getProperty(current, name)
    if (property) findUnknown(each, known, property, below(name))
    else if (field.open) continue
    else if (known === undefined || others?.has(name) || !sameJson(known, each))
      found.push(
        others?.has(name)
          ? otherOption(prefix + name)
          : unknownProperty(prefix + name, properties.keys()),
      )
    if (found.length >= MAX_ISSUES) return
  }
}

/**
 * Adds the properties that a plain schema dropped, though it knows them: of several options of a union that an
 * object fits, zod takes the first. What was there already goes with the option that was meant before.
 */
export function findDropped(
  value: Json,
  current: Json | undefined,
  given: unknown,
  path: string,
  found: Issue[],
): void {
  if (Array.isArray(value) && Array.isArray(given)) {
    const before = elementsBefore(current, value)
    for (const [at, each] of value.entries())
      findDropped(each, before[at], given[at], placeIn(path, at), found)
  }
  if (!isObject(value) || !isObject(given)) return
  for (const [name, each] of Object.entries(value)) {
    const known = getProperty(current, name)
    const field = placeIn(path, name)
    if (Object.hasOwn(given, name)) findDropped(each, known, given[name], field, found)
    else if (known === undefined || !sameJson(known, each)) {
      const message = `${field.slice(0, 64)} is no field of the first option that ${path.slice(0, 64) || 'the body'} fits`
      found.push({ message, field: field.slice(0, 128), type: 'unknown_field' })
    }
  }
}

function placeIn(path: string, name: string | number): string {
  return path ? `${path}.${name}` : String(name)
}

/** Whether an object or a list may be meant for an option of a union: what tells the options apart agrees. */
function suits(value: Item | Json[], { kind, properties, options }: Field): boolean {
  if (options) return options.some(option => suits(value, option))
  if (Array.isArray(value)) return kind === 'array' || kind === 'any'
  if (!properties) return kind === 'record' || kind === 'any'
  return [...properties].every(([name, { choices, optional, nullable }]) => {
    const given = getProperty(value, name)
    if (!choices || given === undefined) return !choices || optional
    return given === null ? nullable : choices.some(choice => choice === given)
  })
}

/** Of a property that goes with others than are there. */
function otherOption(field: string): Issue {
  const message = `${field.slice(0, 64)} does not go with the other fields here: it is of another option`
  return { message, field: field.slice(0, 128), type: 'unknown_field' }
}

export function unknownProperty(field: string, names: Iterable<string>): Issue {
  const name = field.slice(field.lastIndexOf('.') + 1)
  const message = `There is no field ${JSON.stringify(field.slice(0, 64))}${suggestion(name, names)}`
  return { message, field: field.slice(0, 128), type: 'unknown_field' }
}
