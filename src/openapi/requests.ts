// What a method takes: its parameters and its body, in the terms of OpenAPI 3.1.

import type { Format } from '../formats/format.ts'
import { JSON_PATCH_TYPE, MERGE_PATCH_TYPE } from '../formats/patch.ts'
import { isRead } from '../http/message.ts'
import type { ActionDefinition, CollectionDefinition } from '../model/definition.ts'
import { type CollectionTarget, DOWNLOAD, SEARCH, type Target } from '../model/routes.ts'
import { readTypes } from '../negotiate.ts'
import { RESERVED } from '../query.ts'
import { type Fields, isFilterable } from '../schema/fields.ts'
import {
  embedSchema,
  fieldSchema,
  type JsonSchema,
  needsProperties,
} from '../schema/json-schema.ts'
import { listOperators } from '../store/operators.ts'
import { bodySchema, fileSchemas } from './schemas.ts'

/** One method of a target. */
export interface Described<T extends Target = Target> {
  readonly target: T
  readonly formats: readonly Format[]
  readonly method: string
  /** The operation's or action's name. */
  readonly name: string
  /** The `operationId`, which no other one in the api has. */
  readonly id: string
}

export const JSON_TYPE = 'application/json'

/** Media types; the schema, which is of every one of them, stands with JSON, else with the first. */
export function buildContent(
  types: readonly string[],
  schema: JsonSchema | undefined,
): Record<string, unknown> {
  const main = types.find(type => type === JSON_TYPE) ?? types[0]
  return Object.fromEntries(types.map(type => [type, type === main && schema ? { schema } : {}]))
}

/** The properties of an operation that say what it takes. */
export function buildRequest(described: Described<CollectionTarget>): Record<string, unknown> {
  const { target, method, name } = described
  const { collection, action } = target
  const safe = isRead(method)
  if (action) {
    return safe
      ? { parameters: inputParameters(action.inputFields ?? new Map()) }
      : { requestBody: inputOf(described, action) }
  }
  if (safe) return { parameters: parametersOf(collection, name) }
  return { parameters: [], ...(name !== 'delete' && { requestBody: bodyOf(described) }) }
}

function parametersOf(collection: CollectionDefinition, name: string): unknown[] {
  if (name === DOWNLOAD) return []
  const fields = parameter('fields', { type: 'string' }, FIELDS)
  if (name === 'read') return [fields]
  const { shape } = collection
  const id = shape.fields.get(shape.identity.name)
  const idSchema = id ? fieldSchema(id) : {}
  return [
    ...filtersOf(shape.fields, '', name === SEARCH),
    ...(name === 'count' ? [] : [fields, ...pageParameters(collection)]),
    ...(shape.createdAt === undefined
      ? []
      : [
          parameter('since', INSTANT, 'The earliest creation date'),
          parameter('until', INSTANT, 'The latest creation date; a day to its end'),
        ]),
    parameter('since_id', idSchema, 'Only items after this id'),
    parameter('max_id', idSchema, 'Only items up to this id'),
    ...(name === SEARCH ? [parameter('q', { type: 'string' }, 'Words to find')] : []),
  ]
}

const FIELDS = 'The only properties to give, separated by commas; without it all are given'

/** A time, or a day, as the query takes it. */
const INSTANT: JsonSchema = {
  type: 'string',
  anyOf: [{ format: 'date-time' }, { format: 'date' }],
}

function pageParameters({ defaultLimit, maxLimit }: CollectionDefinition): unknown[] {
  const number = { type: 'integer', minimum: 0 }
  const sort = 'Fields separated by commas, a minus before one that descends'
  const limit = { ...number, default: defaultLimit, maximum: maxLimit }
  return [
    parameter('sort', { type: 'string' }, sort),
    parameter('offset', number, 'The position of the first item'),
    parameter('limit', limit, 'The most items of a page'),
    parameter('cursor', { type: 'string' }, 'A place in the list, from a Link header'),
  ]
}

function filtersOf(fields: Fields, prefix: string, searches: boolean): unknown[] {
  return [...fields].flatMap(([name, field]) => {
    const dotted = prefix + name
    if (field.properties) return filtersOf(field.properties, `${dotted}.`, searches)
    if (!isFilterable(field)) return []
    const leaf = field.element ?? field
    const schema = leaf.kind === 'date-time' ? INSTANT : fieldSchema(leaf)
    const taken = RESERVED.has(dotted) || (searches && dotted === 'q')
    const operators = listOperators(field).filter(word => word !== 'eq')
    const also = `Filter; also with ${operators.map(word => `[${word}]`).join(' ')}`
    return [parameter(taken ? `filter[${dotted}]` : dotted, schema, also)]
  })
}

/** The input of an action that reads, where it stands in the query. @param needed whether what it is part of must be there. */
function inputParameters(fields: Fields, prefix = '', needed = true): unknown[] {
  return [...fields].flatMap(([name, field]) => {
    const dotted = prefix + name
    const required = needed && !field.optional
    if (field.properties) return inputParameters(field.properties, `${dotted}.`, required)
    return [
      {
        ...parameter(dotted, fieldSchema(field)),
        ...(required && { required }),
        ...(field.kind === 'record' && { style: 'deepObject', explode: true }),
      },
    ]
  })
}

function parameter(
  name: string,
  schema: JsonSchema,
  description?: string,
): Record<string, unknown> {
  return { name, in: 'query', ...(description && { description }), schema }
}

function inputOf({ formats, id }: Described, { input }: ActionDefinition): unknown {
  if (!input) return undefined
  const schema = embedSchema(input, { io: 'input', id: `${id}.body` })
  const content = buildContent(readTypes(formats), schema)
  return { ...(needsProperties(schema) && { required: true }), content }
}

/** The media types of a PATCH that no format is of. */
export const PATCH_TYPES = [MERGE_PATCH_TYPE, JSON_PATCH_TYPE]
const MULTIPART_TYPE = 'multipart/form-data'

const MERGE_PATCH: JsonSchema = {
  type: 'object',
  description: 'The properties to change; null removes one',
}

const JSON_PATCH: JsonSchema = { type: 'array', items: { type: 'object' } }

function bodyOf({ target, formats, name, id }: Described<CollectionTarget>): unknown {
  const { collection, parent } = target
  const types = readTypes(formats)
  const filled = parent?.field
  const { properties, encoding } = fileSchemas(collection)
  const files = collection.blobs !== undefined && types.includes(MULTIPART_TYPE)
  const multipart = (schema: JsonSchema) => files && { [MULTIPART_TYPE]: { schema, encoding } }
  if (name === 'patch') {
    const content = {
      ...buildContent(types, MERGE_PATCH),
      ...multipart({ ...MERGE_PATCH, properties }),
      [MERGE_PATCH_TYPE]: { schema: MERGE_PATCH },
      [JSON_PATCH_TYPE]: { schema: JSON_PATCH },
    }
    return { required: true, content }
  }
  const operation = name === 'create' ? 'create' : 'replace'
  const content = {
    ...buildContent(types, bodySchema(collection, { operation, filled }, `${id}.body`)),
    ...multipart(bodySchema(collection, { operation, filled, files: true }, `${id}.files`)),
  }
  return { required: true, content }
}
