// The parameters that filter a list, as OpenAPI 3.1: one for each field, or one for each operator of it.

import { memoize } from '../base/memoize.ts'
import { hashTexts } from '../http/conditional.ts'
import type { CollectionDefinition } from '../model/types/definition.ts'
import { type Field, type Fields, isFilterable } from '../schema/fields.ts'
import { fieldSchema, type JsonSchema } from '../schema/json-schema.ts'
import { listOperators, type OperatorWord } from '../store/operators.ts'
import type { Components } from './components.ts'
import { printItemType, toTypeName } from './names.ts'

/** A parameter of a query. */
export interface QueryParameter {
  readonly name: string
  readonly in: 'query'
  readonly description?: string | undefined
  readonly schema: JsonSchema
  readonly style?: string
  readonly explode?: boolean
  /** The name under which a document shares it: many collections have the same. */
  readonly as?: string
  /** The name of its type, where it is a filter of a type that is shared. */
  readonly filter?: string
}

/** A date-time or a date. Pages take an option that names no type for a number. */
export const INSTANT: JsonSchema = {
  type: 'string',
  anyOf: ['date-time', 'date'].map(format => ({ type: 'string', format })),
}

/** Clients print an object as `price[gte]=5`, and a list as `price=5&price=6`. */
export const DEEP_OBJECT = { style: 'deepObject', explode: true }

/**
 * Builds the parameters of the filters: of each field one that takes a value, a list of them or an object of operators.
 * In a light document each operator has its own, since half of the generators print no such object; those that are
 * rarely used are left to `where`.
 * @param isTaken whether a name means another parameter.
 */
export function buildFilters(
  collection: CollectionDefinition,
  components: Components,
  isTaken: (dotted: string) => boolean,
): QueryParameter[] {
  return filtersOf(components)(collection).flatMap(({ dotted, build, plain }) =>
    isTaken(dotted) ? build(`filter[${dotted}]`) : plain,
  )
}

/** Finds the filters of a collection: many operations have the same. */
const filtersOf = memoize((components: Components) =>
  memoize((collection: CollectionDefinition) =>
    listFields(collection.queryFields).map(([dotted, field]) => {
      const build = toBuilder(collection, components, dotted, field)
      return { dotted, build, plain: build(dotted) }
    }),
  ),
)

function toBuilder(
  collection: CollectionDefinition,
  components: Components,
  dotted: string,
  field: Field,
): (name: string) => QueryParameter[] {
  if (components.isLight) return name => listLightFilters(name, field, findUse(collection, dotted))
  const filter = printFilterType(collection, dotted, field)
  const schema = shareSchema(filter, field, components)
  return name => [{ name, in: 'query', schema, ...DEEP_OBJECT, filter }]
}

/** Lists the fields that a filter compares, by their dotted names. */
function listFields(fields: Fields, prefix = ''): (readonly [dotted: string, field: Field])[] {
  return [...fields].flatMap(([name, field]) => {
    const dotted = prefix + name
    if (field.properties) return listFields(field.properties, `${dotted}.`)
    return isFilterable(field) ? [[dotted, field] as const] : []
  })
}

function valueSchema(field: Field): JsonSchema {
  const leaf = field.element ?? field
  return leaf.kind === 'date-time' ? INSTANT : fieldSchema(leaf)
}

/** Names the type of what a filter takes: `Number`, or `CarColor` for choices. */
function printFilterType(collection: CollectionDefinition, dotted: string, field: Field): string {
  const { choices, uuid, kind } = field.element ?? field
  if (choices) return printItemType(collection) + toTypeName(dotted)
  return toTypeName(uuid ? 'uuid' : kind)
}

/** Shares what filters of one type take. */
function shareSchema(type: string, field: Field, components: Components): JsonSchema {
  const schema = valueSchema(field)
  const operators = listOperators(field).filter(word => word !== 'eq')
  const owner = JSON.stringify([schema, operators])
  const build = () => filterSchema(schema, operators)
  return components.refer('schemas', `${type}Filter`, { owner, scope: hashTexts([owner]) }, build)
}

function filterSchema(schema: JsonSchema, operators: readonly OperatorWord[]): JsonSchema {
  // A bound need not be one of the choices, and may be a part of a date.
  const bound = schema.enum || schema.anyOf ? { type: schema.type } : schema
  const operandOf = (word: OperatorWord) => OPERANDS[word] ?? (word === 'ne' ? schema : bound)
  const properties = operators.map(word => [word, operandOf(word)])
  const withOperators = { type: 'object', properties: Object.fromEntries(properties) }
  return {
    description: `A filter: a value, several as a repeated parameter, or ${operators.map(word => `[${word}]`).join(' ')}`,
    anyOf: [schema, { type: 'array', items: schema }, withOperators],
  }
}

const TEXT: JsonSchema = { type: 'string' }

/** The operands of operators that do not compare with a value of the field. */
const OPERANDS: Readonly<Record<OperatorWord, JsonSchema | undefined>> = {
  eq: undefined,
  ne: undefined,
  in: TEXT,
  nin: TEXT,
  gt: undefined,
  gte: undefined,
  lt: undefined,
  lte: undefined,
  like: TEXT,
  prefix: TEXT,
  exists: { type: 'boolean' },
}

/** What a field is for, where that says how it is filtered. */
type Use = 'id' | 'created' | 'changed' | undefined

function findUse({ shape, references }: CollectionDefinition, dotted: string): Use {
  if (dotted === shape.identity.name || references.has(dotted)) return 'id'
  if (dotted === shape.createdAt) return 'created'
  return dotted === shape.updatedAt ? 'changed' : undefined
}

/** Lists the filters of a field that have parameters of their own in a light document. */
function listLightFilters(name: string, field: Field, use: Use): QueryParameter[] {
  // `since` and `until` are of it.
  if (use === 'created') return []
  const kind = use === 'id' || field.uuid || field.choices ? 'choices' : field.kind
  const words = new Set<OperatorWord>(use === 'changed' ? ['gte', 'lte'] : LIGHT[kind])
  if (use !== 'changed') words.add('eq')
  if (field.optional || field.nullable) words.add('exists')
  const leaf = field.element ?? field
  // A day is taken too.
  const schema = leaf.kind === 'date-time' ? TEXT : fieldSchema(leaf)
  return listOperators(field)
    .filter(word => words.has(word))
    .map(word => ({
      name: word === 'eq' ? name : `${name}[${word}]`,
      in: 'query',
      schema: OPERANDS[word] ?? schema,
    }))
}

const RANGE: readonly OperatorWord[] = ['gt', 'gte', 'lt', 'lte']

/** The operators of each kind that have parameters of their own in a light document. */
const LIGHT: Readonly<Partial<Record<Field['kind'] | 'choices', readonly OperatorWord[]>>> = {
  number: RANGE,
  integer: RANGE,
  date: RANGE,
  'date-time': RANGE,
  string: ['like', 'prefix'],
  choices: ['in'],
}
