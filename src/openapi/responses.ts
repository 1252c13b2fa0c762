// What a method answers, in the terms of OpenAPI 3.1.

import { isRead } from '../http/message.ts'
import { DOWNLOAD } from '../model/routes.ts'
import { writtenTypes } from '../negotiate.ts'
import { embedSchema, type JsonSchema } from '../schema/json-schema.ts'
import { buildContent, type Described, shareSchema, takesKey, toTypeName } from './described.ts'
import { buildErrorResponses } from './errors.ts'
import { buildResponseHeaders } from './headers.ts'
import { itemSchema } from './schemas.ts'

/** What an answer holds. */
type Content = 'item' | 'page' | 'count' | 'result' | 'bytes' | 'resources'

type Answer = readonly [description: string, content?: Content]

const UNCHANGED: Answer = ['Unchanged: what If-None-Match or If-Modified-Since asked']

const CHANGES: Readonly<Record<number, Answer>> = {
  200: ['The changed item, with Prefer: return=representation or a condition', 'item'],
  204: ['Changed, with Prefer: return=minimal'],
  303: ['Changed: see the item'],
}

const PAGES: Readonly<Record<number, Answer>> = {
  200: ['The page', 'page'],
  206: ['A part of the list, where Range asked', 'page'],
  304: UNCHANGED,
}

const ACTION: Readonly<Record<number, Answer>> = {
  200: ['What the action gives', 'result'],
  204: ['Done, where it gives nothing, with Prefer: return=minimal'],
  303: ['Done, where it gives nothing: see what it was done to'],
}

/** What each operation answers besides errors. */
const ANSWERS: Readonly<Record<string, Readonly<Record<number, Answer>>>> = {
  list: PAGES,
  search: PAGES,
  count: { 200: ['The number', 'count'], 304: UNCHANGED },
  read: { 200: ['The item', 'item'], 304: UNCHANGED },
  create: { 201: ['The created item; nothing of it with Prefer: return=minimal', 'item'] },
  replace: CHANGES,
  patch: CHANGES,
  delete: {
    200: ['The item as it was', 'item'],
    204: ['Removed, with Prefer: return=minimal'],
  },
  [DOWNLOAD]: {
    200: ['The content', 'bytes'],
    206: ['Parts of the content, where Range asked', 'bytes'],
    304: UNCHANGED,
  },
  describe: { 200: ['The resources', 'resources'], 304: UNCHANGED },
}

const CREATED: Answer = ['The created item, where there was none', 'item']
const EARLIER: Answer = ['Created before with this Idempotency-Key, and large: see the item']

function answersOf(described: Described): readonly (readonly [string, Answer])[] {
  const { target, name, method } = described
  const answers = target.kind === 'action' ? ACTION : ANSWERS[name]
  const creates = target.kind === 'item' && name === 'replace' && target.collection.putCreates
  const unchanged = target.kind === 'action' && isRead(method)
  return Object.entries({
    ...answers,
    ...(creates && { 201: CREATED }),
    ...(name === 'create' && takesKey(described) && { 303: EARLIER }),
    ...(unchanged && { 304: UNCHANGED }),
  })
}

/** The responses of a method. A HEAD answers with the headers alone, and never a part. */
export function buildResponses(described: Described): Record<string, unknown> {
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

/** Named objects, each with an address; that of something below an item has `{id}` in it. */
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
  described: Described,
  status: string,
  content: Content,
): Record<string, unknown> {
  const { target, api } = described
  const types = writtenTypes(api.formats)
  if (target.kind === 'root') return buildContent(types, RESOURCES)
  const { collection, property = '', action } = target
  const type = toTypeName(collection.itemName)
  const item = () =>
    shareSchema(described, type, collection, status, id => itemSchema(collection, id))
  switch (content) {
    case 'page':
      return buildContent(types, { type: 'array', items: item() })
    case 'count':
      return buildContent(types, NUMBER)
    case 'bytes': {
      const accepted = collection.shape.fields.get(property)?.accept ?? ['*/*']
      return Object.fromEntries(accepted.map(each => [each, {}]))
    }
    case 'result': {
      const { output, givesItem, name = '' } = action ?? {}
      if (givesItem) return buildContent(types, item())
      if (!output) return buildContent(types, undefined)
      const build = (id: string) => embedSchema(output, { io: 'output', id })
      const title = `${type}${toTypeName(name)}Output`
      return buildContent(types, shareSchema(described, title, output, status, build))
    }
    default:
      return buildContent(types, item())
  }
}
