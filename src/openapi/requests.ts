// The parameters and the body of each operation, as OpenAPI 3.1.

import { JSON_PATCH_TYPE, MERGE_PATCH_TYPE } from '../formats/patch.ts'
import { isSafe, readsBody } from '../http/methods.ts'
import { DOWNLOAD, SEARCH } from '../model/compile/routes.ts'
import type { ActionDefinition, CollectionDefinition } from '../model/types/definition.ts'
import { FILTER_OPERATIONS } from '../model/types/operation.ts'
import { readTypes } from '../negotiate.ts'
import { isGroupParameter } from '../query/groups.ts'
import { INCLUDE } from '../query/include.ts'
import { listGroups, WHERE } from '../query/where.ts'
import { RESERVED } from '../query.ts'
import { type Fields, isFilterable } from '../schema/fields.ts'
import {
  embedSchema,
  fieldSchema,
  type JsonSchema,
  needsProperties,
} from '../schema/json-schema.ts'
import { listOperators, type OperatorWord } from '../store/operators.ts'
import {
  buildContent,
  isByFilter,
  JSON_TYPE,
  type MethodDescription,
  orArray,
  printItemType,
  shareSchema,
  takesArrays,
  toTypeName,
} from './components.ts'
import { isGroupName, listGroupParameters } from './groups.ts'
import { buildHeaderParameters } from './headers.ts'
import { buildQuery } from './query.ts'
import { describeInclude } from './relations.ts'
import { bodySchema, fileEncoding } from './schemas.ts'

const TEXT: JsonSchema = { type: 'string' }

/** Builds the parameters and the body of an operation. */
export function buildRequest(described: MethodDescription): Record<string, unknown> {
  const parameters = [...queryParameters(described), ...buildHeaderParameters(described)]
  return { parameters, requestBody: buildBody(described) }
}

function queryParameters(described: MethodDescription): object[] {
  const { target, method, name, components } = described
  const reads = isSafe(method) || isByFilter(described)
  if (!target.collection || !reads || method === 'QUERY') return []
  const { action, collection } = target
  if (action) return inputParameters(action.inputFields ?? new Map())
  const type = printItemType(collection)
  // A list has others of these names.
  const typeOf = (parameter: string) =>
    name === 'count' && isGroupParameter(parameter) ? `${type}.count` : type
  return parametersOf(described).map(each =>
    each === WORDS
      ? components.refer('parameters', 'q', WORDS, () => WORDS)
      : components.refer(
          'parameters',
          `${typeOf(each.name)}.${each.name}`,
          collection,
          () => each,
          collection.name,
        ),
  )
}

/** Lists the parameters of a query. */
function parametersOf({ api, target, name, components }: MethodDescription): QueryParameter[] {
  const { collection } = target
  if (name === DOWNLOAD || !collection) return []
  const include = describeInclude(collection, components)
  const fields = [
    parameter('fields', TEXT, FIELDS),
    ...(include ? [{ ...parameter(INCLUDE, include.schema, include.description), ...LISTED }] : []),
  ]
  if (name === 'read') return fields
  const { shape } = collection
  const id = shape.fields.get(shape.identity.name)
  const idSchema = id ? fieldSchema(id) : {}
  const groups = name === 'count' && collection.groups.size > 0
  const isTaken = (dotted: string) =>
    RESERVED.has(dotted) || (name === SEARCH && dotted === 'q') || (groups && isGroupName(dotted))
  // The clients of dialects search by `q` on the list itself.
  const asSearch = api.dialects.length > 0 && collection.search && !shape.fields.has('q')
  return [
    ...filtersOf(collection.queryFields, '', isTaken),
    ...describeWhere(collection.queryFields),
    ...(groups ? groupParameters(collection) : []),
    ...(FILTERS_ONLY.has(name) ? [] : [...fields, ...pageParameters(collection)]),
    ...(shape.createdAt === undefined ? [] : DATES),
    // A reader by it would miss items.
    ...(shape.identity.ordered === false
      ? []
      : [parameter('since_id', idSchema, 'Only items after this id')]),
    parameter('max_id', idSchema, 'Only items up to this id'),
    ...(name === SEARCH || asSearch ? [WORDS] : []),
  ]
}

/** The operations that are of all items of a list. */
const FILTERS_ONLY: ReadonlySet<string> = new Set(['count', ...FILTER_OPERATIONS])
/** A list is one text, separated by commas. */
const LISTED = { style: 'form', explode: false }

const FIELDS = 'The properties to return, separated by commas. Default: all'

/** A date-time or a date. */
const INSTANT: JsonSchema = {
  type: 'string',
  anyOf: [{ format: 'date-time' }, { format: 'date' }],
}

const WORDS = parameter('q', TEXT, 'Words to find')

const DATES = [
  parameter('since', INSTANT, 'The earliest creation date'),
  parameter('until', INSTANT, 'The latest creation date; a day to its end'),
]

/** Describes `where`: JSON in a text. A field of that name is a filter as all others are. */
function describeWhere(fields: Fields): QueryParameter[] {
  if (fields.has(WHERE)) return []
  const groups = listGroups(fields)
  const schemas = { or: MEMBERS, and: MEMBERS, not: MEMBER }
  const properties = Object.fromEntries(groups.map(word => [word, schemas[word]]))
  const contentSchema = { type: 'object', properties }
  const schema = { ...TEXT, contentMediaType: 'application/json', contentSchema }
  const words = groups.length > 0 ? `, combined by ${groups.join(', ')}` : ''
  return [parameter(WHERE, schema, `A JSON object of filters: {"price":{"gte":10}}${words}`)]
}

const MEMBER: JsonSchema = { type: 'object', minProperties: 1 }
const MEMBERS: JsonSchema = { type: 'array', items: MEMBER }

function pageParameters({ defaultLimit, maxLimit, store }: CollectionDefinition): QueryParameter[] {
  const number = { type: 'integer', minimum: 0 }
  const sort = 'Fields separated by commas, a minus before one that descends'
  const limit = { ...number, default: defaultLimit }
  const cut = `The maximum number of items; more than ${maxLimit} is taken as ${maxLimit}`
  const cursor = parameter('cursor', TEXT, 'A place in the list, from a Link header')
  return [
    parameter('sort', TEXT, sort),
    parameter('offset', number, 'The position of the first item'),
    parameter('limit', limit, cut),
    ...(store.pages === 'offset' ? [] : [cursor]),
  ]
}

/** Of a count: what `by` and the sums beside it may name. */
function groupParameters(collection: CollectionDefinition): QueryParameter[] {
  if (collection.groups.size === 0) return []
  return listGroupParameters(collection).map(([name, schema, description]) => ({
    ...parameter(name, schema, description),
    ...(schema.type === 'array' && LISTED),
  }))
}

function filtersOf(
  fields: Fields,
  prefix: string,
  isTaken: (dotted: string) => boolean,
): QueryParameter[] {
  return [...fields].flatMap(([name, field]) => {
    const dotted = prefix + name
    if (field.properties) return filtersOf(field.properties, `${dotted}.`, isTaken)
    if (!isFilterable(field)) return []
    const leaf = field.element ?? field
    const schema = leaf.kind === 'date-time' ? INSTANT : fieldSchema(leaf)
    const operators = listOperators(field).filter(word => word !== 'eq')
    const words = operators.map(word => `[${word}]`).join(' ')
    const also = `Filter; several values as a repeated parameter; also with ${words}`
    const properties = operators.map(word => [word, OPERANDS[word] ?? schema])
    const withOperators = { type: 'object', properties: Object.fromEntries(properties) }
    const either = { anyOf: [schema, { type: 'array', items: schema }, withOperators] }
    return [
      {
        ...parameter(isTaken(dotted) ? `filter[${dotted}]` : dotted, either, also),
        ...DEEP_OBJECT,
      },
    ]
  })
}

/** Clients print an object as `price[gte]=5`, and a list as `price=5&price=6`. */
const DEEP_OBJECT = { style: 'deepObject', explode: true }

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

/**
 * Lists the parameters for the input of an action that reads.
 * @param needed whether the object that contains the fields is required.
 */
function inputParameters(fields: Fields, prefix = '', needed = true): object[] {
  return [...fields].flatMap(([name, field]) => {
    const dotted = prefix + name
    const required = needed && !field.optional
    if (field.properties) return inputParameters(field.properties, `${dotted}.`, required)
    return [
      {
        ...parameter(dotted, fieldSchema(field)),
        ...(required && { required }),
        ...(field.kind === 'record' && DEEP_OBJECT),
      },
    ]
  })
}

interface QueryParameter {
  readonly name: string
  readonly in: 'query'
  readonly description: string | undefined
  readonly schema: JsonSchema
}

function parameter(name: string, schema: JsonSchema, description?: string): QueryParameter {
  return { name, in: 'query', description, schema }
}

/** The media types of a PATCH besides those of the formats. */
export const PATCH_TYPES = [MERGE_PATCH_TYPE, JSON_PATCH_TYPE]
const MULTIPART_TYPE = 'multipart/form-data'

const JSON_PATCH: JsonSchema = { type: 'array', items: { type: 'object' } }

/** How the names of body schemas end. */
const SUFFIXES = { create: 'Input', replace: 'Replacement', patch: 'Patch' }

function buildBody(described: MethodDescription): object | undefined {
  const { target, api, method, name } = described
  if (!target.collection || !readsBody(method)) return undefined
  const { collection, parent, action } = target
  if (action) return buildInput(described, collection, action)
  if (method === 'QUERY') return buildQuery(parametersOf(described))
  if (method === 'DELETE') return undefined
  // The other operations have no body.
  const operation = name === 'patchMany' ? 'patch' : (name as keyof typeof SUFFIXES)
  const types = readTypes(api.formats)
  const type = printItemType(collection) + SUFFIXES[operation]
  // A patch requires no property: the path has none to fill in.
  const filled = operation === 'patch' ? undefined : parent?.field
  const below = filled && parent ? `Of${printItemType(parent.collection)}` : ''
  const share = (part: 'body' | 'files') =>
    shareSchema(described, type + (part === 'files' ? 'Files' : '') + below, collection, part, id =>
      bodySchema(collection, { operation, filled, files: part === 'files' }, id),
    )
  const schema = share('body')
  const hasFiles = collection.blobs !== undefined && types.includes(MULTIPART_TYPE)
  const content = {
    ...buildContent(operation === 'patch' ? [...types, MERGE_PATCH_TYPE] : types, schema),
    ...(hasFiles && {
      [MULTIPART_TYPE]: { schema: share('files'), encoding: fileEncoding(collection) },
    }),
    ...(operation === 'create' &&
      types.includes(JSON_TYPE) &&
      takesArrays(api, collection) && {
        [JSON_TYPE]: { schema: orArray(schema, api.limits.arrayItems) },
      }),
    ...(operation === 'patch' && { [JSON_PATCH_TYPE]: { schema: JSON_PATCH } }),
  }
  return { required: true, content }
}

function buildInput(
  described: MethodDescription,
  collection: CollectionDefinition,
  action: ActionDefinition,
): object | undefined {
  const { input, name } = action
  if (!input) return undefined
  const build = (id: string) => embedSchema(input, { io: 'input', id })
  const type = `${printItemType(collection)}${toTypeName(name)}Input`
  const schema = shareSchema(described, type, action, 'body', build)
  return {
    ...(needsProperties(build(type)) && { required: true }),
    content: buildContent(readTypes(described.api.formats), schema),
  }
}
