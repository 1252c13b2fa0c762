// What a method answers, in the terms of OpenAPI 3.1.

import { PROBLEM_TYPE } from '../formats/json.ts'
import { DOWNLOAD } from '../model/routes.ts'
import { writtenTypes } from '../negotiate.ts'
import { embedSchema, type JsonSchema } from '../schema/json-schema.ts'
import { buildContent, type Described, JSON_TYPE } from './requests.ts'
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

/** What each operation answers besides refusals. */
const ANSWERS: Readonly<Record<string, Readonly<Record<number, Answer>>>> = {
  list: PAGES,
  search: PAGES,
  count: { 200: ['The number', 'count'] },
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
  describe: { 200: ['The resources', 'resources'] },
}

const CREATED: Answer = ['The created item, where there was none', 'item']

function answersOf({ target, name }: Described): readonly (readonly [string, Answer])[] {
  const answers = target.kind === 'action' ? ACTION : ANSWERS[name]
  const creates = target.kind === 'item' && name === 'replace' && target.collection.putCreates
  return Object.entries({ ...answers, ...(creates && { 201: CREATED }) })
}

/** The answers of a method, refusals as one. */
export function buildResponses(described: Described): Record<string, unknown> {
  const { formats } = described
  const responses = answersOf(described).map(([status, [description, content]]) => [
    status,
    { description, ...(content && { content: answerContent(described, status, content) }) },
  ])
  const types = writtenTypes(formats)
  const problems = types.includes(JSON_TYPE) && { [PROBLEM_TYPE]: {} }
  const content = { ...buildContent(types, ERRORS), ...problems }
  return { ...Object.fromEntries(responses), default: { description: REFUSAL, content } }
}

/** A HEAD answers with the headers alone, and never a part. */
export function buildHeadResponses(described: Described): Record<string, unknown> {
  const answers = answersOf(described).filter(([status]) => status !== '206')
  const responses = answers.map(([status, [description]]) => [status, { description }])
  return { ...Object.fromEntries(responses), default: { description: REFUSAL } }
}

const REFUSAL = 'A refusal or a failure'

const ERRORS: JsonSchema = {
  type: 'object',
  properties: {
    errors: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: {
          message: { type: 'string' },
          code: { type: 'integer', description: 'The HTTP status' },
          field: { type: 'string', description: 'The property, parameter or header at fault' },
          type: { type: 'string', description: 'A stable name for the kind of issue' },
        },
        required: ['message', 'code'],
      },
    },
  },
  required: ['errors'],
}

const PLACES: JsonSchema = {
  type: 'object',
  additionalProperties: {
    type: 'object',
    properties: { url: { type: 'string', format: 'uri' } },
    required: ['url'],
  },
}

const RESOURCES: JsonSchema = {
  type: 'object',
  properties: { url: { type: 'string', format: 'uri' }, resources: PLACES, versions: PLACES },
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
  const { target, formats } = described
  const types = writtenTypes(formats)
  const id = `${described.id}.${status}`
  if (target.kind === 'root') return buildContent(types, RESOURCES)
  const { collection, property = '', action } = target
  switch (content) {
    case 'page':
      return buildContent(types, { type: 'array', items: itemSchema(collection, id) })
    case 'count':
      return buildContent(types, NUMBER)
    case 'bytes': {
      const accepted = collection.shape.fields.get(property)?.accept ?? ['*/*']
      return Object.fromEntries(accepted.map(type => [type, {}]))
    }
    case 'result': {
      const output = action?.output
      return buildContent(types, output && embedSchema(output, { io: 'output', id, open: true }))
    }
    default:
      return buildContent(types, itemSchema(collection, id))
  }
}
