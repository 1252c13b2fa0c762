// The error responses of each operation, as OpenAPI 3.1.

import { STATUS_CODES } from 'node:http'
import { ERROR_TYPES } from '../errors.ts'
import { PROBLEM_TYPE } from '../formats/json.ts'
import { isSafe } from '../http/methods.ts'
import type { ApiDefinition } from '../model/types/definition.ts'
import { writtenTypes } from '../negotiate.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import type { Components } from './components.ts'
import { listCommonHeaders, referToHeaders } from './headers.ts'
import {
  buildContent,
  isByFilter,
  JSON_TYPE,
  type MethodDescription,
  upsertsArrays,
} from './method.ts'

/** The errors that any request may have: `default` stands for them. */
const COMMON = [403, 405, 406, 408, 412, 413, 414, 415, 416, 422, 431, 500, 503]

/** Lists the error statuses of an operation, except the common ones and those that a program throws. */
function listStatuses(described: MethodDescription): number[] {
  const { api, target, method, name } = described
  const writes = !isSafe(method)
  const guarded = api.schemes.length > 0
  const statuses = new Set([400])
  const add = (condition: unknown, ...codes: readonly number[]) => {
    if (condition) for (const code of codes) statuses.add(code)
  }
  add(guarded, 401, 403)
  add(writes, 409, 412)
  add(api.rateLimit, 429)
  // Those of its steps too.
  add(name === 'batch', 404, 428)
  const { collection, parent, action, kind } = target
  if (collection) {
    const ofItem = kind === 'item' || kind === 'blob' || action?.on === 'item'
    add(ofItem || parent || collection.hideExistence, 404)
    add(
      writes &&
        (ofItem || name === 'upsert' || isByFilter(described) || upsertsArrays(described)) &&
        collection.requirePrecondition,
      428,
    )
  }
  return [...statuses].sort((one, other) => one - other)
}

const HEADERS: Readonly<Record<number, readonly string[]>> = {
  // The common ones.
  0: ['Allow', 'Content-Range', 'Retry-After', 'WWW-Authenticate'],
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  409: ['Retry-After'],
  429: ['Retry-After'],
}

/** Builds the error responses of an operation: `default` alone in the answer to OPTIONS, and in a light document. */
export function buildErrorResponses(described: MethodDescription): Record<string, unknown> {
  const { api, components } = described
  const refer = (name: string, description: string, status?: number) =>
    components.refer('responses', name, { owner: api }, () => ({
      description,
      ...referToHeaders(components, [
        ...(HEADERS[status ?? 0] ?? []),
        ...listCommonHeaders(api, components.version),
      ]),
      content: buildContents(api, components),
    }))
  const isShort = components.isInline || components.isLight
  const known = (isShort ? [] : listStatuses(described)).map(status => {
    const phrase = STATUS_CODES[status] ?? 'Error'
    return [status, refer(phrase.replaceAll(' ', ''), describeStatus(phrase, status), status)]
  })
  return { ...Object.fromEntries(known), default: refer('OtherError', OTHER) }
}

const OTHER = `An error of any request (${COMMON.join(', ')}), or one that a program throws`

const TYPES: Readonly<Record<number, object>> = ERROR_TYPES

/** Names the types of errors of a status: those of a 400 are in the schema. */
function describeStatus(phrase: string, status: number): string {
  if (status === 400) return `${phrase}: each error says in \`field\` what is wrong`
  const types = Object.keys(TYPES[status] ?? {}).map(type => `\`${type}\``)
  return `${phrase}: ${types.join(', ')}`
}

function buildContents({ formats, dialects }: ApiDefinition, components: Components) {
  const types = writtenTypes(formats)
  const build = () => entrySchema(!components.isLight)
  const naming = { owner: 'errors' }
  const entry = components.refer('schemas', 'ErrorEntry', naming, build)
  const entries = { type: 'array', minItems: 1, items: entry }
  const message = dialects.length > 0 && { message: { type: 'string' } }
  const theirs = dialects.find(dialect => dialect.errors)?.errors?.schema
  const buildErrors = (): JsonSchema => ({
    type: 'object',
    properties: { ...message, errors: { ...(theirs ?? entries) } },
    required: [...Object.keys(message || {}), 'errors'],
  })
  const errors = components.refer('schemas', 'Errors', naming, buildErrors)
  const hasProblems = types.includes(JSON_TYPE) && !components.isLight
  const problem = () => components.refer('schemas', 'Problem', naming, () => problemSchema(entry))
  return {
    ...buildContent(types, errors),
    ...(hasProblems && { [PROBLEM_TYPE]: { schema: problem() } }),
  }
}

/** Builds the schema of one error. @param isWhole whether its types are named; a program may throw others. */
function entrySchema(isWhole: boolean): JsonSchema {
  const types = [...new Set(Object.values(TYPES).flatMap(each => Object.keys(each)))].sort()
  const text = { type: 'string' }
  return {
    type: 'object',
    properties: {
      message: text,
      code: { type: 'integer', description: 'The status' },
      field: { ...text, description: 'The property, parameter or header at fault' },
      type: {
        description: 'A stable name of the kind of error',
        ...(isWhole ? { anyOf: [{ ...text, enum: types }, text] } : text),
      },
    },
    required: ['message', 'code'],
  }
}

/** @param entry the schema of one error. */
function problemSchema(entry: JsonSchema): JsonSchema {
  return {
    type: 'object',
    description: 'Problem details (RFC 9457)',
    properties: {
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      errors: { type: 'array', items: entry },
    },
    required: ['title', 'status', 'detail', 'errors'],
  }
}
