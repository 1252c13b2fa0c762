// The validators of a create, a replace and a patch, derived once from a collection's schema.
import { z } from 'zod'
import { asJson } from './as-json.ts'
import { HttpError, type Mistake, MOST_MISTAKES, refuse, suggestion } from './errors.ts'
import {
  type Field,
  type Fields,
  hasOneType,
  type Item,
  isObject,
  type Json,
  sameJson,
} from './fields.ts'
import { changeOf, elementsBefore, isPlain, keepingSchema, typesIn } from './keeping.ts'
import { fieldsOf, rootField, type Schema } from './schema.ts'

/** Checks what a client sent against a collection's schema; all mistakes of a value in one `HttpError` 400. */
export interface Validator {
  /** A new item: defaults filled in. */
  create(value: unknown): Promise<Item>
  /** The whole of an existing item: what is absent is removed or takes its default. */
  replace(current: Item, value: Json): Promise<Item>
  /** An item as a patch left it: what the patch did not touch stays as it is, byte for byte. */
  patch(current: Item, patched: Json): Promise<Item>
  /**
   * Checked values as a program has changed them. A schema with transforms, which may not run twice,
   * only says which members there are.
   */
  adopt(current: Item, changed: Json): Promise<Item>
}

export function validatorOf(schema: Schema): Validator {
  const check = checkerOf(schema)
  const input = rootField(schema, 'input')
  const plain = isPlain(schema)
  const keeping = plain ? undefined : keepingSchema(schema)
  const output = plain ? undefined : rootField(schema, 'output')

  const change = async (current: Item, next: Json) => {
    const own = withoutForeign(current, current, input, output ?? input)
    const sent = withoutForeign(current, next, input, output ?? input)
    const instead = keeping && { schema: keeping, value: changeOf(own, sent) }
    return toItem(output, await check(sent, own, instead))
  }
  const patch = async (current: Item, patched: Json) => {
    if (sameJson(current, patched)) return current
    const given = await change(current, patched)
    const restored = restore(current, patched, given, input)
    // What `change` gives is an object, and putting parts back leaves it one.
    return withForeign(current, patched, restored, input, output ?? input) as Item
  }
  return {
    create: async value => toItem(output, await check(value)),
    replace: change,
    patch,
    adopt: async (current, changed) => {
      if (!output) return patch(current, changed)
      const mistakes: Mistake[] = []
      findUnknown(changed, current, output, { prefix: '', found: mistakes })
      refuse(mistakes)
      return toItem(output, changed)
    },
  }
}

/**
 * Compiles the check of an object that a client sent: what the schema makes of it.
 * @throws HttpError 400 with every mistake, members that the schema does not know included.
 */
export function checkerOf(schema: Schema) {
  const members = fieldsOf(schema, 'input')
  const input = rootField(schema, 'input')
  const types = typesIn(schema)
  // Of what a transform or a `catch` gives nobody can tell what it was made of.
  const chooses = isPlain(schema) && types.has('union') && !types.has('catch')
  /** @param instead what to check in the place of the value, and by what. */
  return async (
    value: unknown,
    current: Json = {},
    instead: { schema: Schema; value: unknown } = { schema, value },
  ): Promise<unknown> => {
    if (!isObject(value)) {
      throw new HttpError(400, [{ message: 'The body must be an object', type: 'invalid_type' }])
    }
    const mistakes: Mistake[] = []
    findUnknown(value, current, input, { prefix: '', found: mistakes })
    const result = await z.safeParseAsync(instead.schema, instead.value)
    if (!result.success) mistakes.push(...mistakesOf(result.error.issues, value, members))
    else if (chooses && mistakes.length === 0)
      findDropped(value, current, result.data, '', mistakes)
    refuse(mistakes)
    return result.data
  }
}

/** What zod says of a value that is not there, by the type that was wanted. */
const ABSENT: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

/** One entry for each issue: where, what, and what would be right. */
export function mistakesOf(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  members: Fields,
): Mistake[] {
  return issues.slice(0, MOST_MISTAKES).flatMap(issue => {
    const field = issue.path.map(String).join('.')
    if (issue.code === 'unrecognized_keys') {
      return issue.keys
        .slice(0, MOST_MISTAKES)
        .map(key => unknownMember(field ? `${field}.${key}` : key, members.keys()))
    }
    const absent = ABSENT.has(issue.code)
    const missing = absent && valueBelow(value, issue.path) === undefined
    // The schema wants the record that becomes of a file.
    const member = members.get(field)
    const file = absent && member?.kind === 'blob' && !member.optional
    const plain = missing ? issue.message.replace(/, received undefined$/, '') : issue.message
    const said = file ? 'a file is needed' : plain
    const message = missing ? `${field} is required: ${said}` : field ? `${field}: ${said}` : said
    return [{ message, ...(field && { field }), type: missing ? 'required' : issue.code }]
  })
}

function valueBelow(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
        ? Reflect.get(parent, key)
        : undefined,
    value,
  )
}

interface Search {
  readonly prefix: string
  readonly found: Mistake[]
  /** Members of what may be meant as well: they are none of the field's, there already or not. */
  readonly others?: ReadonlySet<string>
  /** Whether the field is a recursive one again. */
  readonly again?: boolean
}

/**
 * Adds the members that a field does not know: zod drops them, and a client must hear of them instead.
 * What is there already may be sent back. More than are told are not looked for: to find near names
 * takes long.
 */
function findUnknown(value: Json, current: Json | undefined, field: Field, search: Search): void {
  const { prefix, found, others, again = false } = search
  if (typeof value !== 'object' || value === null || found.length >= MOST_MISTAKES) return
  if (field.again) {
    findUnknown(value, current, field.again(), { ...search, again: true })
    return
  }
  const { element, members } = field
  const below = (name: string | number) => ({ prefix: `${prefix}${name}.`, found, again })
  const options = field.options?.filter(option => suits(value, option)) ?? []
  if (options.length > 0) {
    if (current !== undefined && sameJson(current, value)) return
    const rivals = options.length > 1 ? options : []
    // At each level of a recursive schema there would be as many ways again.
    if (again && rivals.length > 0) return
    // Where one option is meant, what is left of another goes with it; else nobody can say which goes.
    const names = rivals.flatMap(option => [...(option.members?.keys() ?? [])])
    const named = new Set([...(others ?? []), ...names])
    // What suits one of several options is no mistake; else the fewest mistakes are told.
    const lists = options.map(option => {
      const list: Mistake[] = []
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
  if (!members) {
    if (field.kind !== 'record' || !element) return
    for (const [name, each] of Object.entries(value))
      findUnknown(each, memberOf(current, name), element, below(name))
    return
  }
  for (const [name, each] of Object.entries(value)) {
    const member = members.get(name)
    const known = memberOf(current, name)
    if (member) findUnknown(each, known, member, below(name))
    else if (field.open) continue
    else if (known === undefined || others?.has(name) || !sameJson(known, each))
      found.push(unknownMember(prefix + name, members.keys()))
    if (found.length >= MOST_MISTAKES) return
  }
}

/**
 * Adds the members that a plain schema dropped, though it knows them: of several options of a union that an
 * object fits, zod takes the first. What was there already goes with the option that was meant before.
 */
function findDropped(
  value: Json,
  current: Json | undefined,
  given: unknown,
  path: string,
  found: Mistake[],
): void {
  if (Array.isArray(value) && Array.isArray(given)) {
    const before = elementsBefore(current, value)
    for (const [at, each] of value.entries())
      findDropped(each, before[at], given[at], placeIn(path, at), found)
  }
  if (!isObject(value) || !isObject(given)) return
  for (const [name, each] of Object.entries(value)) {
    const known = memberOf(current, name)
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
function suits(value: Item | Json[], { kind, members, options }: Field): boolean {
  if (options) return options.some(option => suits(value, option))
  if (Array.isArray(value)) return kind === 'array' || kind === 'any'
  if (!members) return kind === 'record' || kind === 'any'
  return [...members].every(([name, { choices, optional, nullable }]) => {
    const given = memberOf(value, name)
    if (!choices || given === undefined) return !choices || optional
    return given === null ? nullable : choices.some(choice => choice === given)
  })
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function unknownMember(field: string, names: Iterable<string>): Mistake {
  const name = field.slice(field.lastIndexOf('.') + 1)
  const message = `There is no field ${JSON.stringify(field.slice(0, 64))}${suggestion(name, names)}`
  return { message, field: field.slice(0, 128), type: 'unknown_field' }
}

/** What a schema gave, as it will be printed: without `undefined`, with dates as texts. */
function toItem(order: Field | undefined, value: unknown): Item {
  // Most values are JSON already: they are not copied.
  const json: unknown = !order && isJson(value) ? value : asJson(value)
  if (!isObject(json)) throw new TypeError('The schema of a collection must give an object')
  return order ? inOrder(json, order) : json
}

/** Whether a value is what its JSON text gives back. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  // `undefined` in an array's gaps too.
  if (Array.isArray(value)) return Array.from(value).every(isJson)
  return isPlainObject(value) && Object.values(value).every(isJson)
}

function isPlainObject(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}

/** Members in the order of the schema: what zod awaited comes late. */
function inOrder<T extends Json>(value: T, field: Field | undefined): T {
  if (!field || typeof value !== 'object' || value === null) return value
  const { element, members } = field
  const ordered = Array.isArray(value)
    ? value.map(each => inOrder(each, element))
    : Object.fromEntries(
        [...new Set([...(members?.keys() ?? []), ...Object.keys(value)])]
          .filter(name => Object.hasOwn(value, name))
          .map(name => [
            name,
            inOrder(memberOf(value, name) ?? null, element ?? members?.get(name)),
          ]),
      )
  // The same value but for the order of its members.
  return ordered as T
}

/**
 * What validation gave, with every part that the patch left alone put back as it was: no default
 * comes in and no transform runs where nobody wrote. Members that the schema itself makes from
 * others are as it made them, and another option of a union has its own defaults.
 */
function restore(
  current: Json | undefined,
  patched: Json | undefined,
  given: Json,
  field: Field | undefined,
): Json {
  if (current !== undefined && patched !== undefined && sameJson(current, patched)) return current
  if (!isObject(current) || !isObject(patched) || !isObject(given)) return given
  const switched = field?.kind === 'union' && isSwitched(current, given, field)
  const restored: Item = {}
  for (const [name, value] of Object.entries(given)) {
    const member = memberField(field, name)
    const before = memberOf(current, name)
    const wanted = memberOf(patched, name)
    const made = field?.members !== undefined && !field.open && member === undefined
    if (made) restored[name] = value
    else if (before !== undefined || wanted !== undefined || switched)
      restored[name] = restore(before, wanted, value, member)
  }
  return restored
}

/**
 * A value without what is foreign to the schema and stays as it is: a strict one would refuse it.
 * @param field what the schema takes.
 * @param output what it gives.
 */
function withoutForeign(
  current: Json | undefined,
  next: Json,
  field: Field | undefined,
  output: Field | undefined,
): Json {
  if (!hasParts(field)) return next
  if (Array.isArray(next)) {
    if (!hasParts(field.element)) return next
    const before = elementsBefore(current, next)
    return next.map((each, at) => withoutForeign(before[at], each, field.element, output?.element))
  }
  if (!isObject(current) || !isObject(next)) return next
  const own = Object.entries(next)
    .filter(
      ([name, value]) =>
        !isForeign(current, name, field, output) || !sameJson(value, current[name] ?? null),
    )
    .map(([name, value]) => [
      name,
      withoutForeign(
        memberOf(current, name),
        value,
        memberField(field, name),
        memberField(output, name),
      ),
    ])
  return Object.fromEntries(own)
}

/** What a schema gave of a patched value, and what {@link withoutForeign} had taken from that. */
function withForeign(
  current: Json | undefined,
  patched: Json | undefined,
  given: Json,
  field: Field | undefined,
  output: Field | undefined,
): Json {
  if (!hasParts(field)) return given
  if (Array.isArray(patched) && Array.isArray(given)) {
    if (!hasParts(field.element)) return given
    const element = [field.element, output?.element] as const
    const before = elementsBefore(current, patched)
    return given.map((each, at) => {
      const wanted = patched[at] ?? null
      // A schema may have put the elements in another order: one is told by what was sent of it.
      const same = holds(each, withoutForeign(before[at], wanted, ...element))
      return same ? withForeign(before[at], wanted, each, ...element) : each
    })
  }
  if (!isObject(current) || !isObject(patched) || !isObject(given)) return given
  const whole = { ...given }
  for (const [name, value] of Object.entries(patched)) {
    if (isForeign(current, name, field, output)) whole[name] = value
    else if (Object.hasOwn(given, name))
      whole[name] = withForeign(
        memberOf(current, name),
        value,
        given[name] ?? null,
        memberField(field, name),
        memberField(output, name),
      )
  }
  return whole
}

/** Whether a value is another one, but for members that a schema added to it. */
function holds(value: Json | undefined, other: Json | undefined): boolean {
  if (Array.isArray(value) && Array.isArray(other))
    return value.length === other.length && value.every((each, at) => holds(each, other[at]))
  if (isObject(value) && isObject(other))
    return Object.entries(other).every(([name, each]) => holds(memberOf(value, name), each))
  return value === other
}

/** Whether a member that an item has is of another version of its collection. */
function isForeign(
  current: Item,
  name: string,
  field: Field | undefined,
  output: Field | undefined,
): boolean {
  return Object.hasOwn(current, name) && !knows(field, name) && !knows(output, name)
}

/** Whether a field knows parts of its values, of which it may not know all. */
function hasParts(field: Field | undefined): field is Field {
  return (field?.element ?? field?.members ?? field?.options ?? field?.again) !== undefined
}

function memberField(field: Field | undefined, name: string): Field | undefined {
  return field?.element ?? field?.members?.get(name)
}

/** Whether a field may have a member of this name, as far as it tells. */
function knows(field: Field | undefined, name: string): boolean {
  if (field?.options)
    return field.options.some(option => !hasOneType(option.kind) && knows(option, name))
  return !field?.members || field.open === true || field.members.has(name)
}

/** Whether a member that tells the options of a union apart has changed. */
function isSwitched(current: Item, given: Item, { members }: Field): boolean {
  return [...(members ?? [])].some(
    ([name, { kind, choices, options }]) =>
      (choices !== undefined || (kind === 'union' && options?.some(each => each.choices))) &&
      !sameJson(memberOf(current, name), memberOf(given, name)),
  )
}
