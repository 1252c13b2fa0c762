// The properties of an item by dotted path: what a field is, reading one, picking many.
import { type Issue, suggestion } from '../errors.ts'

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** An item as stored and printed: a JSON object. */
export type Item = { [name: string]: Json }

export type Scalar = string | number | boolean

/** `model.name` as `['model', 'name']`. */
export type Path = readonly string[]

/** What a schema says of a value, as far as query, formats and stores need to know. */
export type Kind =
  | 'string'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'date'
  | 'date-time'
  | 'object'
  | 'record'
  | 'array'
  | 'union'
  | 'any'
  | 'blob'

export interface Field {
  readonly kind: Kind
  readonly nullable: boolean
  /** Whether an item may lack it. */
  readonly optional: boolean
  /** The only values there are: of an enum or of literals. */
  readonly choices?: readonly Scalar[]
  /** Whether its texts are UUIDs, kept in lower case. */
  readonly uuid?: boolean
  /** The properties of an object, in the schema's order. */
  readonly properties?: Fields
  /** Whether an object may have properties beyond the named ones. */
  readonly open?: boolean
  /** What an array or a record holds. */
  readonly element?: Field
  /** What a union may be. */
  readonly options?: readonly Field[]
  /** Of what a recursive schema is again, deeper: its field. No table goes on there. */
  readonly again?: () => Field
  /** Of a binary property, and of the property that gives its address: the media types it takes, such as `image/*`. */
  readonly accept?: readonly string[]
  /** Of a binary property: up to this size in bytes its content is given inline too. */
  readonly inlineBelow?: number
  /** Set by the server alone: ignored on write. */
  readonly serverOwned?: boolean
}

/** Fields by name, in the schema's order. */
export type Fields = ReadonlyMap<string, Field>

const NONE: ReadonlySet<string> = new Set()

export function toPath(dotted: string): Path {
  return dotted.split('.')
}

/**
 * The issue of a parameter that names a field there is not.
 * @param others what else could have been named there.
 */
export function unknownField(
  name: string,
  fields: Fields,
  field: string,
  others: ReadonlySet<string> = NONE,
): Issue {
  const shown = JSON.stringify(name.slice(0, 64))
  const near = suggestion(name, [...listPaths(fields), ...others])
  const rest = others.size > 0 ? `; what is no field is one of ${[...others].join(', ')}` : ''
  const message = `There is no field ${shown}${near || rest}`
  return { message, field, type: 'unknown_field' }
}

/** Whether a field has values that a filter can name; `[exists]` is for any field. */
export function isFilterable(field: Field): boolean {
  if (field.kind === 'array') return field.element !== undefined && isFilterable(field.element)
  return field.kind !== 'object' && field.kind !== 'record' && field.kind !== 'blob'
}

/** The field at a path, or `undefined`; a record has a field under every name. */
export function findField(fields: Fields, path: Path): Field | undefined {
  let field: Field | undefined
  let properties: Fields | undefined = fields
  for (const name of path) {
    if (field?.kind === 'record') field = field.element
    else field = properties?.get(name)
    if (!field) return undefined
    properties = field.properties
  }
  return field
}

/** Whether a field knows parts of its values, of which it may not know all. */
export function hasParts(field: Field | undefined): field is Field {
  return (field?.element ?? field?.properties ?? field?.options ?? field?.again) !== undefined
}

/** The field of what an array, a record or an object has under a name, as far as it tells. */
export function getPropertyField(field: Field | undefined, name: string): Field | undefined {
  return field?.element ?? field?.properties?.get(name)
}

/** The fields at these paths and no others, in the table's order; a path that is none is passed over. */
export function selectFields(fields: Fields, paths: readonly Path[]): Fields {
  const selected = new Map<string, Field>()
  for (const [name, field] of fields) {
    const below = paths.filter(path => path[0] === name).map(path => path.slice(1))
    if (below.length === 0) continue
    const part = field.properties && !below.some(path => path.length === 0)
    selected.set(
      name,
      part ? { ...field, properties: selectFields(field.properties, below) } : field,
    )
  }
  return selected
}

/** Every dotted path of a field table, parents before their properties; records and arrays end a path. */
export function listPaths(fields: Fields, prefix = ''): string[] {
  const paths: string[] = []
  for (const [name, field] of fields) {
    paths.push(prefix + name)
    if (field.properties) paths.push(...listPaths(field.properties, `${prefix}${name}.`))
  }
  return paths
}

/** The value at a path, or `undefined` where the item or a parent lacks it. Own properties only. */
export function getValue(item: Json | undefined, path: Path): Json | undefined {
  let value = item
  for (const name of path) value = getProperty(value, name)
  return value
}

/** What an object has under a name. Own properties only. */
export function getProperty(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

export function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Tree = Map<string, Tree | undefined>

/** Freezes a JSON value at every depth: what a store has given is changed by nobody who is told of it. */
export function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const property of Object.values(value)) freezeDeep(property)
  Object.freeze(value)
}

/**
 * Compiles a picker of paths: it gives exactly those properties, in the item's own order. A path
 * picked whole wins over its parts; a parent that the item lacks stays away.
 */
export function picker(paths: readonly Path[]): (item: Item) => Item {
  const tree: Tree = new Map()
  for (const path of paths) plant(tree, path)
  return item => pick(item, tree)
}

function plant(tree: Tree, path: Path): void {
  const [name, ...rest] = path
  if (name === undefined || (tree.has(name) && tree.get(name) === undefined)) return
  if (rest.length === 0) {
    tree.set(name, undefined)
    return
  }
  const branch = tree.get(name) ?? new Map()
  tree.set(name, branch)
  plant(branch, rest)
}

function pick(item: Item, tree: Tree): Item {
  const picked: Item = {}
  for (const [name, value] of Object.entries(item)) {
    if (!tree.has(name)) continue
    const branch = tree.get(name)
    if (!branch) picked[name] = value
    else if (isObject(value)) picked[name] = pick(value, branch)
    else if (value === null) picked[name] = null
  }
  return picked
}

/** Whether two JSON values are the same; the order of an object's properties does not count. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, at) => sameJson(value, other[at]))
  }
  if (!isObject(one) || !isObject(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every(name => Object.hasOwn(other, name) && sameJson(one[name], other[name]))
  )
}

/**
 * Compares texts by Unicode code point, as SQLite's `BINARY` and PostgreSQL's `"C"` do; JavaScript's
 * own `<` compares UTF-16 units and puts U+1F600 before U+FF5E.
 */
export function compareText(one: string, other: string): number {
  if (one === other) return 0
  const length = Math.min(one.length, other.length)
  let at = 0
  // What long texts begin with alike is passed over in pieces.
  while (at + PIECE < length && one.slice(at, at + PIECE) === other.slice(at, at + PIECE))
    at += PIECE
  for (; at < length; at++) {
    const a = one.charCodeAt(at)
    const b = other.charCodeAt(at)
    if (a !== b) return surrogatesLast(a) - surrogatesLast(b)
  }
  return one.length - other.length
}

const PIECE = 512

function surrogatesLast(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/**
 * A date-time (RFC 3339) as milliseconds since 1970, `NaN` where it is none; one without an offset
 * is UTC. Finer than a millisecond is cut.
 */
export function parseInstant(text: string): number {
  // A date alone is UTC by ECMA-262; with a `Z` behind it a year below 100 would be one of 19xx.
  return Date.parse(DATE.test(text) || /(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`)
}

/** The last instant that a date-time in UTC can say. */
export const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z')
const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00.000Z')

/** An instant as a date-time in UTC, with milliseconds; before the year 0000 or after 9999 the nearest one. */
export function printInstant(time: number): string {
  return new Date(Math.min(Math.max(time, FIRST_INSTANT), LAST_INSTANT)).toISOString()
}

/**
 * The order of two values of one field: absent and null first, then numbers, texts by code point,
 * date-times by their instant, false before true.
 */
export function compareValues(
  one: Json | undefined,
  other: Json | undefined,
  kind: Kind = 'any',
): number {
  const a = one ?? null
  const b = other ?? null
  if (a === null || b === null) return Number(a !== null) - Number(b !== null)
  if (typeof a === 'string' && typeof b === 'string') {
    return kind === 'date-time' ? parseInstant(a) - parseInstant(b) : compareText(a, b)
  }
  const order = rank(a) - rank(b)
  return order !== 0 || typeof a === 'object' ? order : Number(a) - Number(b)
}

/** Values of different types: numbers and booleans before texts before the rest. */
function rank(value: Json): number {
  if (typeof value === 'number' || typeof value === 'boolean') return 0
  return typeof value === 'string' ? 1 : 2
}

const ONE_TYPE: ReadonlySet<Kind> = new Set<Kind>([
  'string',
  'number',
  'integer',
  'boolean',
  'date',
  'date-time',
])

/** Whether all values of a kind have one type, and so one order. */
export function hasOneType(kind: Kind | undefined): boolean {
  return kind !== undefined && ONE_TYPE.has(kind)
}

/** Whether a value can be one of a kind that has one type; false for the kinds that have not. */
export function isOfKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'number':
    case 'integer':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'date-time':
      return typeof value === 'string' && !Number.isNaN(parseInstant(value))
    case 'string':
    case 'date':
      return typeof value === 'string'
    default:
      return false
  }
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/

/** Whether a text is a day of the calendar, ISO 8601 short form: `2024-02-30` is none. */
export function isDate(text: string): boolean {
  const parts = DATE.exec(text)
  if (!parts) return false
  const day = new Date(Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])))
  return day.getUTCDate() === Number(parts[3]) && day.getUTCMonth() === Number(parts[2]) - 1
}

/** Whether a text is a date and time, ISO 8601 full form, with or without an offset. */
export function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text)
  return parts?.[1] !== undefined && isDate(parts[1])
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text is a UUID, in either case (RFC 9562 §4). */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

const INTEGER = /^[+-]?\d{1,16}$/
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/
const TRUE = new Set(['true', '1', 'on', 'yes'])
const FALSE = new Set(['false', '0', 'off', 'no'])

/**
 * The values that a text can mean for a field, by its kind and never by how the text looks: one,
 * or none where it is ill-typed; a union's options each give theirs.
 */
export function parseScalars(text: string, field: Field): Scalar[] {
  if (field.kind === 'union') {
    const all = (field.options ?? []).flatMap(option => parseScalars(text, option))
    return [...new Set(all)]
  }
  if (field.kind === 'array') return field.element ? parseScalars(text, field.element) : []
  const value = scalarOf(text, field.kind)
  if (value === undefined || (field.choices && !field.choices.includes(value))) return []
  return [value]
}

function scalarOf(text: string, kind: Kind): Scalar | undefined {
  switch (kind) {
    case 'string':
    case 'any':
      return text
    case 'number':
      return NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined
    case 'integer':
      return INTEGER.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'boolean':
      if (TRUE.has(text.toLowerCase())) return true
      return FALSE.has(text.toLowerCase()) ? false : undefined
    case 'date':
      return isDate(text) ? text : undefined
    case 'date-time':
      return isDateTime(text) || isDate(text) ? text : undefined
    default:
      return undefined
  }
}

/** What a text must be to suit a field, for a message: `one of "red", "blue"`, `a whole number`. */
export function describeField(field: Field): string {
  if (field.choices)
    return `one of ${field.choices.map(choice => JSON.stringify(choice)).join(', ')}`
  if (field.uuid) return 'a UUID such as 01900000-0000-7000-8000-000000000000'
  switch (field.kind) {
    case 'string':
    case 'any':
      return 'a text'
    case 'number':
      return 'a number'
    case 'integer':
      return 'a whole number'
    case 'boolean':
      return 'true or false'
    case 'date':
      return 'a date such as 2026-01-31'
    case 'date-time':
      return 'a date and time such as 2026-01-31T12:00:00Z'
    case 'array':
      return field.element ? describeField(field.element) : 'a text'
    case 'union':
      return (field.options ?? []).map(describeField).join(' or ')
    case 'blob':
      return 'a file'
    default:
      return `an ${field.kind === 'object' ? 'object' : 'object of named values'}`
  }
}
