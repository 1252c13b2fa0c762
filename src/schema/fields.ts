// The field table of a schema: the properties of its items, found by name or path.

import type { Path } from '../base/paths.ts'
import type { Json, Scalar } from '../base/values.ts'
import { type Issue, listNames, nearest, quote } from '../errors.ts'

/** The type of a value, as far as queries, formats and stores need to know it. */
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

/** The kinds whose values have one type, as `typeof` names it. */
export const TYPE_OF_KIND: Readonly<Partial<Record<Kind, string>>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  date: 'string',
  'date-time': 'string',
}

/** Whether all values of a kind have one type, and so one order. */
export function hasOneType(kind: Kind | undefined): boolean {
  return kind !== undefined && TYPE_OF_KIND[kind] !== undefined
}

/** A property of an item, as its schema declares it. */
export interface Field {
  readonly kind: Kind
  readonly nullable: boolean
  /** Whether an item may lack it. */
  readonly optional: boolean
  /** What a page calls a property, and says of it: `.meta({ title, description })`. */
  readonly title?: string
  readonly description?: string
  /** The allowed values of an enum or of literals. */
  readonly choices?: readonly Scalar[]
  /** Whether its texts are UUIDs, kept in lower case. */
  readonly uuid?: boolean
  /** Whether its text is a password, which no page shows. */
  readonly password?: boolean
  /** Whether it is a text of no format that may have more than 255 characters, by its `max`. */
  readonly long?: boolean
  /** The properties of an object, in the schema's order. */
  readonly properties?: Fields
  /** Whether an object may have properties beyond the named ones. */
  readonly open?: boolean
  /** The field of each value in an array or a record. */
  readonly element?: Field
  /** The fields of the options of a union. */
  readonly options?: readonly Field[]
  /** The media types that a binary property accepts, such as `image/*`; its address has them too. */
  readonly accept?: readonly string[]
  /** Up to this size in bytes a binary property has its content inline too. */
  readonly inlineBelow?: number
  /** The default value, if it is always the same. */
  readonly default?: Json
  /** Set by the server alone: ignored on write. */
  readonly serverOwned?: boolean
  /** The role of a property that the client writes: no client reads it, this one does not, or none changes it. */
  readonly role?: 'writeOnly' | 'unreadable' | 'immutable'
}

/** Fields by name, in the schema's order. */
export type Fields = ReadonlyMap<string, Field>

/** What to use for the parameters of other libraries. */
const MEANT: readonly (readonly [names: RegExp, hint: string])[] = [
  [
    /^(?:page|per_?page|page_?size|skip|start|size)$/i,
    'Use limit and offset, or follow the Link header.',
  ],
  [/^(?:order|order_?by|ordering)$/i, 'Use sort, such as sort=-created_at.'],
  [/^(?:q|query|search)$/i, 'Search at /search. A collection has it by the option search.'],
  [/^(?:select|only|columns)$/i, 'Use fields, such as fields=id.'],
  [/^_?(?:expand|populate|embed)$/i, 'Use include, such as include=model.'],
  [
    /^(?:after|before|starting_?after|ending_?before|(?:next_?)?(?:page_?)?token)$/i,
    'Follow the Link header: its URLs have the cursor.',
  ],
  [/^filters?$/i, 'Filter by a field, such as color=red, or by where.'],
  [
    /^(?:by|group_?by)$/i,
    'Count by groups at /count, by fields that the collection lists in the option groups.',
  ],
]

/** Creates the issue of a parameter whose value names an unknown field. @param parameter its name. */
export function unknownField(name: string, fields: Fields, parameter: string): Issue {
  const near = nearest(name, listPaths(fields))
  const hint = near === undefined ? listNames(listPaths(fields)) : `: did you mean ${near}?`
  const place = parameter === name ? '' : ` in ${parameter}`
  const message = `Unknown field ${quote(name)}${place}${hint}`
  return { message, field: parameter, type: 'unknown_field' }
}

/**
 * Creates the issue of a query parameter that names no field.
 * @param others which other names are allowed there.
 * @param hint what to send instead. Default: by the name, as other libraries use it.
 */
export function unknownParameter(
  name: string,
  fields: Fields,
  others: ReadonlySet<string>,
  hint?: string,
): Issue {
  const near = nearest(name, [...listPaths(fields), ...others])
  const [, meant = `Use a field name or one of: ${[...others].join(', ')}`] =
    MEANT.find(([names]) => names.test(name)) ?? []
  const end = near === undefined ? `. ${hint ?? meant}` : `: did you mean ${near}?`
  const message = `Unknown query parameter ${quote(name)}${end}`
  return { message, field: name.slice(0, 64), type: 'unknown_field' }
}

/** Whether a client that writes a property does not read it: it does not know the value that an empty control stands for. */
export function isUnreadable({ role }: Field): boolean {
  return role === 'writeOnly' || role === 'unreadable'
}

/** Whether a filter can compare the values of a field, or the elements of a list; `[exists]` is for any field. */
export function isFilterable({ kind, element }: Field): boolean {
  return hasOneType(kind === 'array' ? element?.kind : kind)
}

/** Finds the field at a path; the entries of a record are no fields. */
export function findField(fields: Fields, [name = '', ...inner]: Path): Field | undefined {
  return inner.reduce((field, each) => field?.properties?.get(each), fields.get(name))
}

/** Finds the field of the values at a path; a record has one under every name. */
export function findValueField(fields: Fields, [name = '', ...inner]: Path): Field | undefined {
  return inner.reduce(
    (field, each) => (field?.kind === 'record' ? field.element : field?.properties?.get(each)),
    fields.get(name),
  )
}

/** Finds the field of a value inside an array, a record or an object. */
export function getPropertyField(field: Field | undefined, name: string): Field | undefined {
  return field?.element ?? field?.properties?.get(name)
}

/** Selects the fields at these paths, in the table's order; unknown paths are skipped. */
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

/** Lists every dotted path of a field table, parents first; records and arrays end a path. */
export function listPaths(fields: Fields, prefix = ''): string[] {
  return [...fields].flatMap(([name, { properties = new Map() }]) => [
    prefix + name,
    ...listPaths(properties, `${prefix}${name}.`),
  ])
}

/** Descriptions of the values of a kind, for messages. */
const DESCRIPTIONS: Readonly<Record<Exclude<Kind, 'union'>, string>> = {
  string: 'a string',
  any: 'any value',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  date: 'a date that exists, such as 2026-01-31',
  'date-time': 'a date and time such as 2026-01-31T12:00:00Z',
  array: 'a string',
  object: 'an object',
  record: 'an object of named values',
  blob: 'a file',
}

/** Describes the values of a field for a message: `one of red, blue`, `a whole number`. */
export function describeField({ kind, choices, uuid, element, options }: Field): string {
  if (choices) return describeChoices(choices)
  if (uuid) return 'a UUID such as 01900000-0000-7000-8000-000000000000'
  if (kind === 'array' && element) return describeField(element)
  if (kind === 'union') return [...new Set(options?.map(describeField))].join(' or ')
  return DESCRIPTIONS[kind]
}

/** Describes the only values for a message: `one of red, blue`. */
export function describeChoices(values: readonly unknown[]): string {
  const texts = values.map(value => (value === '' ? '""' : String(value)))
  return `${texts.length > 1 ? 'one of ' : ''}${texts.join(', ')}`
}
