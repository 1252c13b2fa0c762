// The responses of each operation, as OpenAPI 3.1.

import { isSafe } from '../http/methods.ts'
import { DOWNLOAD } from '../model/compile/routes.ts'
import { writtenTypes } from '../negotiate.ts'
import { embedSchema, type JsonSchema } from '../schema/json-schema.ts'
import {
  buildContent,
  JSON_TYPE,
  type MethodDescription,
  orArray,
  printItemType,
  shareSchema,
  takesArrays,
  takesKey,
  toTypeName,
} from './components.ts'
import { buildErrorResponses } from './errors.ts'
import { groupsSchema } from './groups.ts'
import { buildResponseHeaders } from './headers.ts'
import { itemSchema } from './schemas.ts'

/** What the body of an answer is. */
type BodyKind = 'item' | 'created' | 'page' | 'count' | 'result' | 'bytes' | 'resources'

type Answer = readonly [description: string, content?: BodyKind]

const UNCHANGED: Answer = ['Not changed, by If-None-Match or If-Modified-Since']

const CHANGES: Readonly<Record<number, Answer>> = {
  200: ['The changed item, with Prefer: return=representation or a condition', 'item'],
  204: ['Changed, with Prefer: return=minimal'],
  303: ['Changed: see the item'],
}

const PAGES: Readonly<Record<number, Answer>> = {
  200: ['The page', 'page'],
  206: ['The part of the list that Range requests', 'page'],
  304: UNCHANGED,
}

const ACTION: Readonly<Record<number, Answer>> = {
  200: ['The result of the action', 'result'],
  204: ['Done without a result, with Prefer: return=minimal'],
  303: ['Done without a result: see the item or the list'],
}

const AFFECTED: Readonly<Record<number, Answer>> = {
  200: ['The number of items', 'count'],
  204: ['Done, with Prefer: return=minimal'],
}

/** The answers of each operation besides errors. */
const ANSWERS: Readonly<Record<string, Readonly<Record<number, Answer>>>> = {
  list: PAGES,
  search: PAGES,
  count: { 200: ['The number', 'count'], 304: UNCHANGED },
  read: { 200: ['The item', 'item'], 304: UNCHANGED },
  create: { 201: ['The created item; no body with Prefer: return=minimal', 'created'] },
  replace: CHANGES,
  patch: CHANGES,
  delete: {
    200: ['The deleted item', 'item'],
    204: ['Removed, with Prefer: return=minimal'],
  },
  patchMany: AFFECTED,
  deleteMany: AFFECTED,
  [DOWNLOAD]: {
    200: ['The content', 'bytes'],
    206: ['The part of the content that Range requests', 'bytes'],
    304: UNCHANGED,
  },
  describe: { 200: ['The resources', 'resources'], 304: UNCHANGED },
}

const CREATED: Answer = ['The created item', 'item']
const EARLIER: Answer = ['Created before with this Idempotency-Key: see the item']

function answersOf(described: MethodDescription): readonly (readonly [string, Answer])[] {
  const { target, name, method } = described
  const answers = target.kind === 'action' ? ACTION : ANSWERS[name]
  const creates = target.kind === 'item' && name === 'replace' && target.collection.putCreates
  const unchanged = target.kind === 'action' && isSafe(method)
  return Object.entries({
    ...answers,
    ...(creates && { 201: CREATED }),
    ...(name === 'create' && takesKey(described) && { 303: EARLIER }),
    ...(unchanged && { 304: UNCHANGED }),
  })
}

/** Builds the responses of an operation. A HEAD has no content, and never a part. */
export function buildResponses(described: MethodDescription): Record<string, unknown> {
  const isHead = described.method === 'HEAD'
  const responses = answersOf(described)
    .filter(([status]) => !isHead || status !== '206')
    .map(([status, [description, content]]) => [
      status,
      {
        description,
        ...buildResponseHeaders(described, status),
        ...(content && !isHead && { content: answerContent(described, status, content) }),
      },
    ])
  return { ...Object.fromEntries(responses), ...buildErrorResponses(described) }
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
  const { target, api } = described
  const types = writtenTypes(api.formats)
  if (target.kind === 'root') return buildContent(types, RESOURCES)
  const { collection, property = '', action } = target
  const type = printItemType(collection)
  const item = () =>
    shareSchema(described, type, collection, status, id =>
      itemSchema(collection, described.components, id),
    )
  switch (content) {
    case 'page':
      return buildContent(types, { type: 'array', items: item() })
    case 'created': {
      const one = buildContent(types, item())
      if (!takesArrays(api, collection) || !types.includes(JSON_TYPE)) return one
      return { ...one, [JSON_TYPE]: { schema: orArray(item()) } }
    }
    case 'count': {
      if (collection.groups.size === 0) return buildContent(types, NUMBER)
      const groups = () => groupsSchema(collection)
      const shared = shareSchema(described, `${type}Groups`, collection, status, groups)
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
      const build = (id: string) => embedSchema(output, { io: 'output', id })
      const title = `${type}${toTypeName(action.name)}Output`
      return buildContent(types, shareSchema(described, title, action, status, build))
    }
    default:
      return buildContent(types, item())
  }
}
