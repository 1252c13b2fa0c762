// What each method of a target takes and gives, as an OpenAPI 3.1 path item: read by OPTIONS, and by
// whatever else describes the api.
import { z } from 'zod'
import type { ActionDefinition, CollectionDefinition } from './definition.ts'
import type { Field, Fields, Item } from './fields.ts'
import type { Format } from './formats/format.ts'
import type { HeaderList } from './http.ts'
import { readTypes } from './negotiate.ts'
import { JSON_PATCH_TYPE, MERGE_PATCH_TYPE } from './patch.ts'
import { isFilterable } from './query.ts'
import { type CollectionTarget, DOWNLOAD, type Match, type Target } from './route.ts'
import type { Schema } from './schema.ts'

/** The methods of a target in the order of printing, OPTIONS last. */
export function allowedMethods(methods: ReadonlyMap<string, string>): string {
  return [...methods.keys(), 'OPTIONS'].join(', ')
}

/** What OPTIONS says in headers: the methods, and what bodies may be (`Accept-Patch`: RFC 5789 §3.1). */
export function methodHeaders(
  methods: ReadonlyMap<string, string>,
  formats: readonly Format[],
): HeaderList {
  const allowed = allowedMethods(methods)
  const headers = ['Allow', allowed, 'Access-Control-Allow-Methods', allowed]
  const types = readTypes(formats)
  if (methods.has('POST')) headers.push('Accept-Post', types.join(', '))
  if (methods.has('PATCH'))
    headers.push('Accept-Patch', [...types, MERGE_PATCH_TYPE, JSON_PATCH_TYPE].join(', '))
  return headers
}

const descriptions = new WeakMap<Match['methods'], Item>()

/** The path item of a target; made once for each route. */
export function describeTarget({ target, methods }: Pick<Match, 'target' | 'methods'>): Item {
  const known = descriptions.get(methods)
  if (known !== undefined) return known
  const entries = [...methods].map(([method, name]) => [
    method.toLowerCase(),
    describeMethod(target, method, name),
  ])
  const description = plain({ summary: summaryOf(target), ...Object.fromEntries(entries) })
  descriptions.set(methods, description)
  return description
}

function summaryOf(target: Target): string {
  if (target.kind === 'root') return 'The resources of the api'
  const { collection, parent, kind, action } = target
  const place = parent ? `${collection.name} of one ${parent.collection.itemName}` : collection.name
  if (kind === 'item') return `One ${collection.itemName}`
  if (kind === 'blob') return `The ${target.property} of one ${collection.itemName}`
  if (kind === 'count') return `The number of ${place}`
  return action?.description ?? collection.description ?? `The ${place}`
}

const SUMMARIES: Readonly<Record<string, string>> = {
  list: 'A page of the list',
  search: 'A page of what a text search finds',
  count: 'The total number of items',
  read: 'One item',
  create: 'Creates an item',
  replace: 'Replaces an item: what is absent is removed or takes its default',
  patch: 'Changes an item by a JSON Merge Patch or a JSON Patch',
  delete: 'Removes an item',
  [DOWNLOAD]: 'The content, whole or in ranges',
  describe: 'The available resources',
}

function describeMethod(target: Target, method: string, name: string): Record<string, unknown> {
  if (target.kind === 'root')
    return { summary: SUMMARIES.describe, responses: { 200: { description: 'The resources' } } }
  const { collection, action } = target
  if (action) return describeAction(action)
  const safe = method === 'GET' || method === 'HEAD'
  return {
    operationId: `${method === 'HEAD' ? 'head-' : ''}${name}-${collection.name}`,
    summary: SUMMARIES[name],
    parameters: safe ? parametersOf(collection, name) : [],
    ...(!safe && name !== 'delete' && { requestBody: bodyOf(collection, name) }),
    responses: responsesOf(target, name),
  }
}

function describeAction(action: ActionDefinition): Record<string, unknown> {
  const { input, output, method } = action
  const described = input && jsonSchema(input, 'input')
  return {
    operationId: action.name,
    summary: action.description ?? action.name,
    ...(method === 'GET' && {
      parameters: [...(action.inputFields ?? [])].map(([name, field]) =>
        parameter(name, schemaOf(field)),
      ),
    }),
    ...(method !== 'GET' &&
      described && { requestBody: { content: { 'application/json': { schema: described } } } }),
    responses: {
      200: {
        description: 'What the action gives',
        ...(output && {
          content: { 'application/json': { schema: jsonSchema(output, 'output') } },
        }),
      },
    },
  }
}

function parametersOf(collection: CollectionDefinition, name: string): unknown[] {
  if (name === DOWNLOAD) return []
  const fields = parameter('fields', { type: 'string' }, 'The members to give, separated by commas')
  if (name === 'read') return [fields]
  const { shape, defaultLimit, maxLimit } = collection
  const number = { type: 'integer', minimum: 0 }
  return [
    ...filtersOf(shape.fields, ''),
    fields,
    parameter(
      'sort',
      { type: 'string' },
      'Fields separated by commas, a minus before one that descends',
    ),
    parameter('offset', number, 'The position of the first item'),
    parameter(
      'limit',
      { ...number, default: defaultLimit, maximum: maxLimit },
      'The most items of a page',
    ),
    parameter('cursor', { type: 'string' }, 'A place in the list, from a Link header'),
    ...(shape.createdAt === undefined
      ? []
      : [
          parameter('since', { type: 'string', format: 'date-time' }, 'The earliest creation date'),
          parameter('until', { type: 'string', format: 'date-time' }, 'The latest creation date'),
        ]),
    parameter('since_id', {}, 'Only items after this id'),
    parameter('max_id', {}, 'Only items up to this id'),
    ...(name === 'search' ? [parameter('q', { type: 'string' }, 'Words to find')] : []),
  ]
}

function filtersOf(fields: Fields, prefix: string): unknown[] {
  return [...fields].flatMap(([name, field]) => {
    if (field.members) return filtersOf(field.members, `${prefix}${name}.`)
    if (!isFilterable(field)) return []
    const leaf = field.element ?? field
    return [
      parameter(
        prefix + name,
        schemaOf(leaf),
        'Filter; also with [ne] [gt] [gte] [lt] [lte] [in] [nin] [like] [prefix] [exists]',
      ),
    ]
  })
}

function parameter(name: string, schema: unknown, description?: string): Record<string, unknown> {
  return { name, in: 'query', ...(description && { description }), schema }
}

/** A field as JSON Schema: enough for a parameter and for the members that the server adds. */
function schemaOf({ kind, choices }: Field): Record<string, unknown> {
  if (choices) return { enum: choices }
  switch (kind) {
    case 'date':
    case 'date-time':
      return { type: 'string', format: kind }
    case 'string':
    case 'number':
    case 'integer':
    case 'boolean':
      return { type: kind }
    default:
      return {}
  }
}

function bodyOf({ schema }: CollectionDefinition, name: string): Record<string, unknown> {
  const described = jsonSchema(schema, 'input')
  if (name !== 'patch')
    return { required: true, content: { 'application/json': { schema: described } } }
  const patch = { type: 'object', description: 'The members to change; null removes one' }
  return {
    required: true,
    content: {
      [MERGE_PATCH_TYPE]: { schema: patch },
      [JSON_PATCH_TYPE]: { schema: { type: 'array', items: { type: 'object' } } },
    },
  }
}

function responsesOf(
  { collection, property = '' }: CollectionTarget,
  name: string,
): Record<string, unknown> {
  const item = { content: { 'application/json': { schema: itemSchema(collection) } } }
  switch (name) {
    case 'list':
    case 'search': {
      const schema = { type: 'array', items: itemSchema(collection) }
      return { 200: { description: 'The page', content: { 'application/json': { schema } } } }
    }
    case 'count':
      return { 200: { description: 'An object with the member count' } }
    case DOWNLOAD: {
      const types = collection.shape.fields.get(property)?.accept ?? ['*/*']
      const content = Object.fromEntries(types.map(type => [type, {}]))
      return { 200: { description: 'The content', content } }
    }
    case 'create':
      return { 201: { description: 'The created item', ...item } }
    case 'replace':
    case 'patch':
      return { 303: { description: 'Changed: see the item' } }
    default:
      return { 200: { description: 'The item', ...item } }
  }
}

/** The JSON Schema of an item as it is given: the schema's output and the members that the server adds. */
function itemSchema({ schema, shape }: CollectionDefinition): Record<string, unknown> {
  const described = jsonSchema(schema, 'output')
  const added = [...shape.fields].filter(([, field]) => field.serverOwned)
  const properties = Object.fromEntries(
    added.map(([name, field]) => [name, { ...schemaOf(field), readOnly: true }]),
  )
  return {
    ...described,
    properties: { ...properties, ...(described.properties as object | undefined) },
  }
}

function jsonSchema(schema: Schema, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return described
}

/** Without `undefined` and without functions: what JSON keeps. */
function plain(value: object): Item {
  return JSON.parse(JSON.stringify(value))
}
