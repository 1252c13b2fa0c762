// Samples of what a schema takes: for the examples of a document, and for lines to copy.

import type { Item, Json, Scalar } from '../base/values.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'

/** The keywords of a schema that are read here. */
export interface SampleSchema {
  /** The name of a shared schema, where its reference is resolved. */
  readonly ref?: string
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly contentEncoding?: string
  readonly enum?: readonly Scalar[]
  readonly const?: Scalar
  readonly default?: Json
  readonly examples?: readonly Json[]
  readonly description?: string
  readonly readOnly?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, SampleSchema>>
  readonly required?: readonly string[]
  readonly propertyNames?: SampleSchema
  readonly additionalProperties?: SampleSchema | boolean
  readonly items?: SampleSchema | false
  readonly prefixItems?: readonly SampleSchema[]
  readonly anyOf?: readonly SampleSchema[]
  readonly oneOf?: readonly SampleSchema[]
  readonly allOf?: readonly SampleSchema[]
}

/** Removes `null` from the values of a schema; returns a schema without `null` as it is. */
export function withoutNull(schema: SampleSchema): SampleSchema {
  const { type, anyOf, ...common } = schema
  if (Array.isArray(type)) {
    const types = type.filter(each => each !== 'null')
    return types.length === type.length ? schema : { ...schema, type: types }
  }
  const others = anyOf?.filter(each => each.type !== 'null') ?? []
  if (others.length === (anyOf ?? []).length) return schema
  return others.length === 1 ? { ...common, ...others[0] } : { ...common, anyOf: others }
}

export function listOptions({ oneOf, anyOf = [] }: SampleSchema): readonly SampleSchema[] {
  return oneOf ?? anyOf
}

/** A GIF of one pixel: a file of any kind that has a sample needs bytes. */
const PIXEL = 'R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=='

const TEXTS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'ann@example.org',
  uuid: '01900000-0000-7000-8000-000000000000',
  uri: 'https://example.org/',
  base64: PIXEL,
}

/** How samples are made. */
export interface SampleOptions {
  /** Finds what a reference leads to. Default: it is resolved. */
  readonly follow?: (schema: SampleSchema) => SampleSchema | undefined
  /** Is called where the sample may not fit its schema. */
  readonly warn?: () => void
}

/** How deep recursive schemas are followed. */
const MAX_DEPTH = 4

/** How many characters or elements a sample has at most: a schema may ask for millions. */
const MAX_LENGTH = 1000

/** Makes a sample: the schema's example or default, else a value of its type. Patterns are checked, and not followed. */
export function makeSample(nullable: SampleSchema, options: SampleOptions = {}, depth = 0): Json {
  const { follow, warn } = options
  const schema = withoutNull(nullable)
  if (depth > MAX_DEPTH) {
    warn?.()
    return null
  }
  const make = (part: SampleSchema) => makeSample(part, options, depth + 1)
  const [option] = listOptions(schema)
  const known = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0]
  if (known !== undefined && known !== null) return known
  if (schema.$ref !== undefined) return make(follow?.(schema) ?? {})
  if (schema.properties) return makeObject(schema, make)
  if (option && schema.type === undefined) return make(option)
  const { items, prefixItems, additionalProperties: values, required = [], minItems = 1 } = schema
  switch ([schema.type].flat()[0]) {
    case 'integer':
    case 'number':
      return makeNumber(schema)
    case 'boolean':
      return true
    case 'array':
      if (minItems > MAX_LENGTH) warn?.()
      return (prefixItems ?? Array(Math.min(minItems, MAX_LENGTH)).fill(items || {})).map(make)
    case 'object':
      return Object.fromEntries(
        typeof values === 'object' ? required.map(key => [key, make(values)]) : [],
      )
    default:
      return makeText(schema, warn)
  }
}

function makeText(schema: SampleSchema, warn?: () => void): string {
  const { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema
  const format = schema.format ?? schema.contentEncoding
  const text =
    TEXTS[format ?? ''] ??
    'text'.padEnd(Math.min(minLength, MAX_LENGTH), ' text').slice(0, maxLength)
  if (
    text.length < minLength ||
    !matches(text, pattern) ||
    (format !== undefined && !TEXTS[format])
  )
    warn?.()
  return text
}

/** A pattern that needs another flag than `u` matches nothing here: a schema keeps no flags. */
function matches(text: string, pattern: string | undefined): boolean {
  if (pattern === undefined) return true
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return false
  }
}

/** Makes a number within the bounds, 1 where it may be. */
function makeNumber(schema: SampleSchema): number {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema
  const [low, high] = [above ?? minimum ?? -Infinity, below ?? maximum ?? Infinity]
  const isValid = (value: number) =>
    Number.isFinite(value) &&
    value >= low &&
    value <= high &&
    value !== above &&
    value !== below &&
    (multipleOf === undefined || value % multipleOf === 0)
  const step = multipleOf ?? 1
  const choices = [1, step, low, low + step, high - step, high, (low + high) / 2]
  return choices.find(isValid) ?? 1
}

/** Makes an object of its required properties, or of its first one. */
function makeObject(
  { properties = {}, required = [], allOf = [] }: SampleSchema,
  make: (part: SampleSchema) => Json,
): Item {
  const writable = Object.entries(properties).filter(([, { readOnly }]) => !readOnly)
  const either = allOf.flatMap(({ anyOf }) => anyOf?.[0]?.required ?? [])
  const needed = writable.filter(([name]) => required.includes(name) || either.includes(name))
  const chosen = needed.length > 0 ? needed : writable.slice(0, 1)
  return Object.fromEntries(chosen.map(([name, each]) => [name, make(each)]))
}

/** Makes the example of a body: none where it is not known to fit. */
export function makeExample(
  schema: JsonSchema,
  components: Components,
): { readonly example?: Json } {
  let fits = true
  const example = makeSample(schema, {
    follow: part => components.findSchema(part),
    warn() {
      fits = false
    },
  })
  return fits && Object.keys(Object(example)).length > 0 ? { example } : {}
}
