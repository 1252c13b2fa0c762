// The responses of each operation, as OpenAPI 3.1.

import { isSafe } from '../http/methods.ts'
import { DOWNLOAD } from '../model/compile/routes.ts'
import { writtenTypes } from '../negotiate.ts'
import { embedSchema, type JsonSchema } from '../schema/json-schema.ts'
import { buildErrorResponses } from './errors.ts'
import { groupsSchema } from './groups.ts'
import { buildResponseHeaders } from './headers.ts'
import {
  buildContent,
  hasArrays,
  JSON_TYPE,
  type MethodDescription,
  orArray,
  shareSchema,
  takesKey,
  upsertsArrays,
} from './method.ts'
import { printItemType, toTypeName } from './names.ts'
import { itemSchema } from './schemas.ts'

/** What the body of an answer is. */
type BodyKind = 'item' | 'created' | 'page' | 'live' | 'count' | 'result' | 'bytes' | 'resources'

/** The name is that of the shared answer, behind the type of the items where these are in it. */
type Answer = readonly [name: string, description: string, content?: BodyKind]

const UNCHANGED: Answer = ['NotModified', 'Not changed, by If-None-Match or If-Modified-Since']
const DONE: Answer = ['Done', 'Done, with Prefer: return=minimal']
const SEE: Answer = ['SeeOther', 'Done: see the item or the list']

/** One answer of reads and writes: it has the body of both, and the headers of each. */
const ITEM: Answer = ['Item', 'The item; a 201 has no body with Prefer: return=minimal', 'item']
const CREATED: Answer = ['Created', 'The created item or items', 'created']

const CHANGES: Readonly<Record<number, Answer>> = {
  200: ITEM,
  204: DONE,
  303: SEE,
}

const LIST: Answer = ['List', 'A page of the list, or the part that Range requests', 'page']

const LIVE_LIST: Answer = [
  'LiveList',
  'A page of the list, or as text/event-stream the whole list and then its changes',
  'live',
]

const PAGES: Readonly<Record<number, Answer>> = {
  200: LIST,
  206: LIST,
  304: UNCHANGED,
}

const ACTION: Readonly<Record<number, Answer>> = {
  200: ['Result', 'The result of the action', 'result'],
  204: DONE,
  303: SEE,
}

const AFFECTED: Readonly<Record<number, Answer>> = {
  200: ['Affected', 'The number of items', 'count'],
  204: DONE,
}

const CONTENT: Answer = ['Content', 'The content, or the part that Range requests', 'bytes']

/** The answers of each operation besides errors. */
const ANSWERS: Readonly<Record<string, Readonly<Record<number, Answer>>>> = {
  list: PAGES,
  search: PAGES,
  count: { 200: ['Count', 'The number', 'count'], 304: UNCHANGED },
  read: { 200: ITEM, 304: UNCHANGED },
  create: { 201: ITEM },
  replace: CHANGES,
  upsert: { ...CHANGES, 201: ITEM },
  patch: CHANGES,
  delete: { 200: ITEM, 204: DONE },
  patchMany: AFFECTED,
  deleteMany: AFFECTED,
  [DOWNLOAD]: {
    200: CONTENT,
    206: CONTENT,
    304: UNCHANGED,
  },
  describe: { 200: ['Resources', 'The resources', 'resources'], 304: UNCHANGED },
}

const NONE_CREATED: Answer = ['NoneCreated', 'The items, none of which is created', 'page']

/** What clients of a light document meet: it has none of the headers that ask for others. */
const LIGHT: ReadonlySet<string> = new Set(['200', '201', '303'])

function answersOf(described: MethodDescription): readonly (readonly [string, Answer])[] {
  const { target, name, method, components } = described
  const answers = target.kind === 'action' ? ACTION : ANSWERS[name]
  const creates = target.kind === 'item' && name === 'replace' && target.collection.putCreates
  const unchanged = target.kind === 'action' && isSafe(method)
  return Object.entries({
    ...answers,
    ...(creates && { 201: ITEM }),
    ...(hasArrays(described) && { 200: NONE_CREATED, 201: CREATED }),
    ...(hasArrays(described) && upsertsArrays(described) && { 204: DONE }),
    ...(name === 'list' && method === 'GET' && target.collection?.live && { 200: LIVE_LIST }),
    ...(name === 'create' && takesKey(described) && { 303: SEE }),
    ...(unchanged && { 304: UNCHANGED }),
  }).filter(([status]) => !components.isLight || LIGHT.has(status))
}

/** Builds the responses of an operation. */
export function buildResponses(described: MethodDescription): Record<string, unknown> {
  const responses = answersOf(described).map(([status, answer]) => [
    status,
    shareAnswer(described, status, answer),
  ])
  return { ...Object.fromEntries(responses), ...buildErrorResponses(described) }
}

/** Builds an answer where it is used; in a document those of several operations stand once. */
function shareAnswer(
  described: MethodDescription,
  status: string,
  [name, description, content]: Answer,
): object {
  const { target, components, api } = described
  const { collection, action, property } = target
  const body = () => content && { content: answerContent(described, status, content) }
  // Some generators do not follow references to answers, and none makes anything of their headers.
  if (components.isLight) return { description, ...body() }
  const build = () => ({ description, ...buildResponseHeaders(described, status), ...body() })
  if (!content || !collection) return components.refer('responses', name, { owner: api }, build)
  const part = toTypeName(content === 'bytes' ? (property ?? '') : (action?.name ?? ''))
  const of = content === 'count' && collection.groups.size === 0 ? '' : printItemType(collection)
  const owner = of === '' ? api : (collection.trashOf ?? collection)
  const scope = collection.name
  return components.refer('responses', of + part + name, { owner, scope }, build)
}

const ADDRESS: JsonSchema = { type: 'string', format: 'uri-template' }

/** Builds the schema of named resources, each with an address; below an item it contains `{id}`. */
function placesSchema(properties: JsonSchema['properties'] = {}): JsonSchema {
  const place = {
    type: 'object',
    properties: { url: ADDRESS, ...properties },
    required: ['url'],
  }
  return { type: 'object', additionalProperties: place }
}

const RESOURCES: JsonSchema = {
  type: 'object',
  properties: {
    url: ADDRESS,
    resources: placesSchema({
      actions: placesSchema({ method: { type: 'string' } }),
      resources: placesSchema({ methods: { type: 'array', items: { type: 'string' } } }),
    }),
    versions: placesSchema(),
  },
  required: ['url', 'resources'],
}

const NUMBER: JsonSchema = {
  type: 'object',
  properties: { count: { type: 'integer', minimum: 0 } },
  required: ['count'],
}

function answerContent(
  described: MethodDescription,
  status: string,
  content: BodyKind,
): Record<string, unknown> {
  const { target, api, components } = described
  const types = writtenTypes(api.formats)
  if (target.kind === 'root') return buildContent(types, RESOURCES)
  const { collection, property = '', action } = target
  const type = printItemType(collection)
  const item = () =>
    components.referToItem(collection, () =>
      itemSchema(collection, components, `${described.id}.${status}`),
    )
  switch (content) {
    case 'page':
      return buildContent(types, { type: 'array', items: item() })
    case 'live': {
      const list = buildContent(types, { type: 'array', items: item() })
      return { ...list, 'text/event-stream': { schema: { type: 'string' } } }
    }
    case 'created': {
      const one = buildContent(types, item())
      return types.includes(JSON_TYPE) ? { ...one, [JSON_TYPE]: { schema: orArray(item()) } } : one
    }
    case 'count': {
      if (collection.groups.size === 0) return buildContent(types, NUMBER)
      const groups = () => groupsSchema(collection)
      const naming = { owner: collection, part: status }
      const shared = shareSchema(described, `${type}Groups`, naming, groups)
      return buildContent(types, { oneOf: [NUMBER, shared] })
    }
    case 'bytes': {
      const accepted = collection.shape.fields.get(property)?.accept ?? ['*/*']
      return Object.fromEntries(accepted.map(each => [each, {}]))
    }
    case 'result': {
      if (action?.givesItem) return buildContent(types, item())
      const { output } = action ?? {}
      if (!action || !output) return buildContent(types, undefined)
      const { isInline, printed } = components
      const side = { io: 'output', isNamed: !isInline, printed } as const
      const build = (id: string) => embedSchema(output, { ...side, id })
      const title = `${type}${toTypeName(action.name)}Output`
      return buildContent(
        types,
        shareSchema(described, title, { owner: action, part: status }, build),
      )
    }
    default:
      return buildContent(types, item())
  }
}
