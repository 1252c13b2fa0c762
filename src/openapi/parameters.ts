// The parameters of each query, as OpenAPI 3.1.

import { memoize } from '../base/memoize.ts'
import { toPath } from '../base/paths.ts'
import { isSafe } from '../http/methods.ts'
import { DOWNLOAD, SEARCH } from '../model/compile/routes.ts'
import { listArrayKeys, listKeys, ON_CONFLICT, UPSERT } from '../model/compile/unique-keys.ts'
import type { CollectionDefinition } from '../model/types/definition.ts'
import { FILTER_OPERATIONS } from '../model/types/operation.ts'
import { isGroupParameter } from '../query/groups.ts'
import { INCLUDE } from '../query/include.ts'
import {
  type DeclaredParameter,
  type ParameterEffect,
  type ParameterValue,
  selectParameters,
} from '../query/list-parameters.ts'
import { listGroups, WHERE } from '../query/where.ts'
import { RESERVED } from '../query.ts'
import { type Fields, findField } from '../schema/fields.ts'
import { fieldSchema, type JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'
import { buildFilters, DEEP_OBJECT, INSTANT, type QueryParameter } from './filters.ts'
import { isGroupName, listGroupParameters } from './groups.ts'
import { isByFilter, type MethodDescription, upsertsArrays } from './method.ts'
import { printItemType } from './names.ts'
import { describeInclude } from './relations.ts'

const TEXT: JsonSchema = { type: 'string' }
const NUMBER: JsonSchema = { type: 'integer', minimum: 0 }

/** Builds the parameters of the query of an operation. */
export function buildQueryParameters(described: MethodDescription): object[] {
  const { target, method, name, components } = described
  if (name === UPSERT && target.collection) return keyParameters(target.collection)
  if (target.collection && upsertsArrays(described)) return [conflictParameter(target.collection)]
  const reads = isSafe(method) || isByFilter(described)
  if (!target.collection || !reads || method === 'QUERY') return []
  const { action, collection } = target
  if (action) return inputParameters(action.inputFields ?? new Map())
  const type = printItemType(collection)
  // A list has others of these names.
  const typeOf = (parameter: string) =>
    name === 'count' && isGroupParameter(parameter) ? `${type}.count` : type
  return listQueryParameters(described).map(({ as, ...each }) => {
    // A reference would be as long.
    if (components.isLight && each.description === undefined) return each
    if (as !== undefined)
      return components.refer('parameters', as, { owner: as, isFirst: true }, () => each)
    if (each.filter !== undefined) return shareFilter(each, components)
    const wanted = `${typeOf(each.name)}.${each.name}`
    const naming = { owner: collection, scope: collection.name }
    return components.refer('parameters', wanted, naming, () => each)
  })
}

/** Lists the properties of the unique sets, each with the others of its sets. */
function keyParameters(collection: CollectionDefinition): object[] {
  const sets = listKeys(collection)
  return [...new Set(sets.flat())].flatMap(name => {
    const field = findField(collection.inputFields, toPath(name))
    const own = sets.filter(set => set.includes(name)).map(set => set.join(' and '))
    const required = sets.every(set => set.includes(name))
    const description = `Names the item: ${own.join(', or ')}, and nothing else`
    return field ? [{ name, in: 'query', required, description, schema: fieldSchema(field) }] : []
  })
}

/** Describes the parameter that names the set of an array's items. */
function conflictParameter(collection: CollectionDefinition): object {
  const description =
    'Of an array, with Prefer: resolution: the unique set by which it finds items that exist'
  const sets = listArrayKeys(collection).map(set => set.join())
  return { name: ON_CONFLICT, in: 'query', description, schema: { ...TEXT, enum: sets } }
}

/** Lists the parameters of a query. */
export function listQueryParameters({
  api,
  target,
  name,
  components,
}: MethodDescription): QueryParameter[] {
  const { collection } = target
  if (name === DOWNLOAD || !collection) return []
  const ofList = (...effects: readonly ParameterEffect[]) =>
    selectParameters(...effects).flatMap(each => describeParameter(each, collection, components))
  if (name === 'read') return ofList('shows')
  const { shape } = collection
  const groups = name === 'count' && collection.groups.size > 0
  const isTaken = (dotted: string) =>
    RESERVED.has(dotted) || (name === SEARCH && dotted === 'q') || (groups && isGroupName(dotted))
  // The clients of dialects search by `q` on the list itself.
  const asSearch = api.dialects.length > 0 && collection.search && !shape.fields.has('q')
  return [
    ...buildFilters(collection, components, isTaken),
    ...describeWhere(collection.queryFields),
    ...(groups ? groupParameters(collection) : []),
    ...(FILTERS_ONLY.has(name) ? [] : ofList('shows', 'orders', 'places', 'sizes')),
    ...ofList('bounds'),
    ...(name === SEARCH || asSearch ? [WORDS] : []),
  ]
}

/** The operations that are of all items of a list. */
const FILTERS_ONLY: ReadonlySet<string> = new Set(['count', ...FILTER_OPERATIONS])
/** A list is one text, separated by commas. */
const LISTED = { style: 'form', explode: false }

/** Of an id it depends on the collection. */
const SCHEMAS: Readonly<Record<Exclude<ParameterValue, 'id'>, JsonSchema>> = {
  names: TEXT,
  text: TEXT,
  number: NUMBER,
  time: INSTANT,
}

const WORDS = shared('q', TEXT, 'Words to find')

/** Describes a parameter of lists, unless the collection has no such one. */
function describeParameter(
  { name, value, description = '' }: DeclaredParameter,
  collection: CollectionDefinition,
  components: Components,
): QueryParameter[] {
  const { shape, store, defaultLimit, maxLimit } = collection
  const { identity, createdAt, fields } = shape
  switch (name) {
    case INCLUDE: {
      const include = describeInclude(collection, components)
      return include ? [{ name, in: 'query', ...include, ...LISTED }] : []
    }
    case 'limit': {
      const cut = `${description}; more than ${maxLimit} is taken as ${maxLimit}`
      const schema = { ...NUMBER, default: defaultLimit }
      return [shared(name, schema, cut, `${defaultLimit}.${maxLimit}`)]
    }
    case 'cursor':
      return store.pages === 'offset' ? [] : [shared(name, TEXT, description)]
  }
  if (value === 'time' && createdAt === undefined) return []
  if (value !== 'id') return [shared(name, SCHEMAS[value], description)]
  // A client that follows by `since_id` would miss items.
  if (components.isLight || (name === 'since_id' && identity.ordered === false)) return []
  const id = fields.get(identity.name)
  const schema = id ? fieldSchema(id) : {}
  return [shared(name, schema, description, String(schema.format ?? schema.type))]
}

/** Describes `where`: JSON in a text. A field of that name is a filter as all others are. */
function describeWhere(fields: Fields): QueryParameter[] {
  if (fields.has(WHERE)) return []
  const groups = listGroups(fields)
  const schemas = { or: MEMBERS, and: MEMBERS, not: MEMBER }
  const properties = Object.fromEntries(groups.map(word => [word, schemas[word]]))
  const contentSchema = { type: 'object', properties }
  const schema = { ...TEXT, contentMediaType: 'application/json', contentSchema }
  const words = groups.length > 0 ? `, combined by ${groups.join(', ')}` : ''
  const description = `A JSON object of filters: {"price":{"gte":10}}${words}`
  return [shared(WHERE, schema, description, groups.length < 3 ? groups.join('.') || 'flat' : '')]
}

const MEMBER: JsonSchema = { type: 'object', minProperties: 1 }
const MEMBERS: JsonSchema = { type: 'array', items: MEMBER }

/** Of a count: what `by` and the sums beside it may name. */
function groupParameters(collection: CollectionDefinition): QueryParameter[] {
  return listGroupParameters(collection).map(([name, schema, description]) => ({
    ...{ name, in: 'query', schema, description },
    ...(schema.type === 'array' && LISTED),
  }))
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
        ...{ name: dotted, in: 'query', schema: fieldSchema(field) },
        ...(required && { required }),
        ...(field.kind === 'record' && DEEP_OBJECT),
      },
    ]
  })
}

/** Shares a filter by what it says: many collections have fields of one name and type. */
function shareFilter(parameter: QueryParameter, components: Components): object {
  const { text, part, filter } = withoutType(parameter)
  return components.refer('parameters', part.name, { owner: text, scope: filter }, () => part)
}

/** Splits a filter from the name of its type, once: several operations have it. */
const withoutType = memoize(({ filter = '', ...part }: QueryParameter) => ({
  filter,
  part,
  text: JSON.stringify(part),
}))

/** A parameter that many collections have. @param variant tells it from others of that name. */
function shared(
  name: string,
  schema: JsonSchema,
  description: string,
  variant = '',
): QueryParameter {
  return { name, in: 'query', description, schema, as: variant ? `${name}.${variant}` : name }
}
