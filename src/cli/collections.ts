// What an OpenAPI document of this library says of each collection.
import {
  findReference,
  getBelow,
  isObject,
  type JsonObject,
  listEntries,
  resolve,
  toList,
} from './json.ts'

/** An action of a collection, or of its items. */
export interface DescribedAction {
  readonly on: 'item' | 'collection'
  readonly method: string
  readonly description: unknown
  /** The schema of its input; `undefined` where it takes none. */
  readonly input: unknown
  /** That of its output. */
  readonly output: unknown
}

/** A collection, as the paths of a document have it. */
export interface FoundCollection {
  readonly name: string
  readonly description: unknown
  readonly operations: Set<string>
  readonly actions: Map<string, DescribedAction>
  /** The properties that are files. */
  readonly files: Set<string>
  /** The schemas of an item, of what creates one, of what replaces one and of what changes one. */
  item: unknown
  create: unknown
  replace: unknown
  patch: unknown
  /** The parameter of the id, and those of the count. */
  id: unknown
  count: readonly unknown[]
}

/** The operations by method, on the list and on an item. */
const ON_LIST = { get: 'list', post: 'create', patch: 'patchMany', delete: 'deleteMany' } as const
const ON_ITEM = { get: 'read', put: 'replace', patch: 'patch', delete: 'delete' } as const
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Finds the collections of a document, and the version that their paths begin with. */
export function findCollections(document: JsonObject) {
  const found = new Map<string, FoundCollection>()
  for (const tag of toList(document.tags)) {
    const name = getBelow(tag, 'name')
    if (typeof name === 'string') found.set(name, createFound(name, getBelow(tag, 'description')))
  }
  let version: string | undefined
  for (const [path, item] of listEntries(document.paths)) {
    const [first = '', ...others] = path.slice(1).split('/')
    const isVersion = /^v[1-9]\d*$/.test(first) && !found.has(first)
    if (isVersion) version = first
    const [name = '', ...below] = isVersion ? others : [first, ...others]
    const collection = found.get(name)
    if (collection) readPath({ document, item, collection }, below)
  }
  const isServed = ({ operations, actions }: FoundCollection) => operations.size + actions.size > 0
  return { version, collections: [...found.values()].filter(isServed) }
}

function createFound(name: string, description: unknown): FoundCollection {
  return {
    ...{ name, description, item: undefined, id: undefined, count: [] },
    ...{ create: undefined, replace: undefined, patch: undefined },
    ...{ operations: new Set(), actions: new Map(), files: new Set() },
  }
}

/** A path item of a collection. */
interface CollectionPath {
  readonly document: JsonObject
  readonly item: unknown
  readonly collection: FoundCollection
}

/** Reads a path item into its collection. @param below the segments after the name of the collection. */
function readPath(path: CollectionPath, below: readonly string[]): void {
  const { collection } = path
  const isItem = below[0] === '{id}'
  const [name = '', ...others] = isItem ? below.slice(1) : below
  if (others.length > 0 || name.startsWith('{')) return
  if (name === '') readOperations(path, isItem ? ON_ITEM : ON_LIST)
  else if (isItem) readAction(path, name, 'item')
  else if (name !== 'count' && name !== 'search') readAction(path, name, 'collection')
  else if (hasMethod(path, 'get')) collection.operations.add(name)
  if (name === '' && isItem) [collection.id] = listParameters(path)
  if (name === 'count' && !isItem) collection.count = listParameters(path, 'get')
}

const hasMethod = ({ item }: CollectionPath, method: string) => isObject(getBelow(item, method))

function readOperations(path: CollectionPath, names: Readonly<Record<string, string>>): void {
  const { collection } = path
  for (const [method, name] of Object.entries(names)) {
    if (!hasMethod(path, method)) continue
    collection.operations.add(name)
    if (name === 'create' || name === 'replace' || name === 'patch')
      collection[name] = findBody(path, method)
    const answer = findAnswer(path, method)
    if (name === 'list') collection.item = getBelow(answer, 'items')
    else if (name === 'read' || name === 'create') collection.item ??= answer
  }
}

function readAction(path: CollectionPath, name: string, on: DescribedAction['on']): void {
  const { item, collection } = path
  const method = METHODS.find(each => hasMethod(path, each))
  if (method === undefined) return
  const types = listEntries(findContent(path, method)).map(([type]) => type)
  if (method === 'get' && types.length > 0 && !types.includes(JSON_TYPE)) {
    collection.files.add(name)
    return
  }
  collection.actions.set(name, {
    on,
    method: method.toUpperCase(),
    description: getBelow(item, method, 'description'),
    input: method === 'get' ? findQuery(path) : findBody(path, method),
    output: findAnswer(path, method),
  })
}

function listParameters({ document, item }: CollectionPath, ...below: readonly string[]) {
  const parameters = toList(getBelow(item, ...below, 'parameters'))
  return parameters.map(parameter => resolve(document, parameter))
}

/** Builds the schema of an input that stands in the query. */
function findQuery(path: CollectionPath): unknown {
  const parts = listParameters(path, 'get').flatMap((parameter): QueryPart[] => {
    const name = getBelow(parameter, 'name')
    const isOne = typeof name === 'string' && getBelow(parameter, 'in') === 'query'
    return isOne ? [[name.split('.', MAX_DEPTH), parameter]] : []
  })
  return parts.length > 0 ? nest(parts) : undefined
}

/** Finds the schema of a body: of the form where that has files, else of JSON. */
function findBody({ document, item }: CollectionPath, method: string): unknown {
  const content = getBelow(resolve(document, getBelow(item, method, 'requestBody')), 'content')
  const form = getBelow(content, FORM_TYPE, 'schema')
  const properties = listProperties(document, form)
  const hasFiles = properties.some(([, schema]) => getBelow(schema, 'format') === 'binary')
  const json = getBelow(content, JSON_TYPE, 'schema')
  const [one, many] = toList(getBelow(json, 'anyOf'))
  // A create takes a list too.
  const isOneOrMany = getBelow(many, 'type') === 'array' && isSame(getBelow(many, 'items'), one)
  return hasFiles ? form : isOneOrMany ? one : json
}

const isSame = (schema: unknown, other: unknown) =>
  findReference(schema) !== undefined && findReference(schema) === findReference(other)

/** Finds the content of the answer to a request that succeeds. */
function findContent({ document, item }: CollectionPath, method: string): unknown {
  const responses = listEntries(getBelow(item, method, 'responses'))
  const [, response] = responses.find(([status]) => /^2\d\d$/.test(status)) ?? []
  return getBelow(resolve(document, response), 'content')
}

function findAnswer(path: CollectionPath, method: string): unknown {
  return getBelow(findContent(path, method), JSON_TYPE, 'schema')
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'multipart/form-data'

type QueryPart = readonly [path: readonly string[], parameter: unknown]
const MAX_DEPTH = 10

/** Builds the schema of an object whose properties are parameters: `a.b` is below `a`. */
function nest(parts: readonly QueryPart[]): JsonObject {
  const groups = new Map<string, QueryPart[]>()
  for (const part of parts) {
    const [[head = '']] = part
    const group = groups.get(head)
    if (group) group.push(part)
    else groups.set(head, [part])
  }
  const properties = [...groups].map(([head, group]): [string, unknown] => {
    const whole = group.find(([path]) => path.length === 1)
    const below = group.map(([path, parameter]): QueryPart => [path.slice(1), parameter])
    return [head, whole ? getBelow(whole[1], 'schema') : nest(below)]
  })
  const isRequired = ([, parameter]: QueryPart) => getBelow(parameter, 'required') === true
  const required = [...groups].filter(([, group]) => group.some(isRequired)).map(([head]) => head)
  return { type: 'object', properties: Object.fromEntries(properties), required }
}

/** A property of an object. */
export type DescribedProperty = readonly [name: string, schema: unknown, isRequired: boolean]

/** Lists the properties of an object, and of the options of a union. */
export function listProperties(
  document: JsonObject,
  schema: unknown,
  seen = new Set<unknown>(),
): readonly DescribedProperty[] {
  const found = resolve(document, schema)
  if (!isObject(found) || seen.has(found) || seen.size > MAX_OPTIONS) return []
  seen.add(found)
  const required = new Set(toList(found.required))
  const own = listEntries(found.properties).map(
    ([name, property]): DescribedProperty => [name, property, required.has(name)],
  )
  const options = [found.oneOf, found.anyOf, found.allOf].flatMap(toList)
  return [...own, ...options.flatMap(option => listProperties(document, option, seen))]
}
const MAX_OPTIONS = 1_000
