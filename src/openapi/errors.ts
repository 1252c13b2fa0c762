// The error responses of each operation, as OpenAPI 3.1.

import { STATUS_CODES } from 'node:http'
import { ERROR_TYPES } from '../errors.ts'
import { PROBLEM_TYPE } from '../formats/json.ts'
import { isSafe } from '../http/methods.ts'
import { DOWNLOAD, SEARCH } from '../model/compile/routes.ts'
import { writtenTypes } from '../negotiate.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import {
  buildContent,
  isByFilter,
  JSON_TYPE,
  type MethodDescription,
  takesKey,
} from './components.ts'
import { listCommonHeaders, referToHeaders } from './headers.ts'

const ALWAYS = [400, 412, 414, 431, 500, 503]

/** Lists the error statuses of an operation, except those that a program throws. */
function listStatuses(described: MethodDescription): number[] {
  const { api, target, method, name } = described
  const writes = !isSafe(method)
  const guarded = api.schemes.length > 0
  const statuses = new Set(ALWAYS)
  const add = (condition: unknown, ...codes: readonly number[]) => {
    if (condition) for (const code of codes) statuses.add(code)
  }
  add(guarded, 401, 403)
  add(writes, 403)
  add(api.rateLimit, 429)
  add(target.kind !== 'blob', 406)
  // Those of its steps too.
  add(name === 'batch', 404, 408, 409, 413, 415, 422, 428)
  if (target.kind === 'root') return [...statuses].sort((one, other) => one - other)
  const { collection, parent, action, kind } = target
  const ofItem = kind === 'item' || kind === 'blob' || action?.on === 'item'
  add(ofItem || parent || collection.hideExistence, 404)
  add(kind !== 'count', 413)
  add(writes && (action || method !== 'DELETE'), 408, 415)
  add(method === 'POST', 405)
  add(writes, 409)
  add(name === 'list' || name === SEARCH || name === DOWNLOAD, 416)
  add(takesKey(described), 422)
  add(writes && (ofItem || isByFilter(described)) && collection.requirePrecondition, 428)
  return [...statuses].sort((one, other) => one - other)
}

const HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Allow'],
  409: ['Retry-After'],
  416: ['Content-Range'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** Builds the error responses of an operation: `default` alone in the answer to OPTIONS. */
export function buildErrorResponses(described: MethodDescription): Record<string, unknown> {
  const { api, components, method, target } = described
  const other = 'An error that a program throws, or one of HTTP itself'
  const statuses = components.isInline ? [] : listStatuses(described)
  if (method === 'HEAD') {
    const known = statuses.map(status => [status, { description: phraseOf(status) }])
    return { ...Object.fromEntries(known), default: { description: other } }
  }
  const refer = (name: string, description: string, status?: number) =>
    components.refer('responses', name, api, () => ({
      description,
      ...referToHeaders(components, [
        ...(HEADERS[status ?? 0] ?? []),
        ...listCommonHeaders(api, target.version ?? api.defaultVersion),
      ]),
      content: buildErrors(described, status),
    }))
  const known = statuses.map(status => {
    const phrase = phraseOf(status)
    return [status, refer(phrase.replaceAll(' ', ''), phrase, status)]
  })
  return { ...Object.fromEntries(known), default: refer('OtherError', other) }
}

function phraseOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error'
}

function buildErrors(
  { api: { formats, dialects }, components }: MethodDescription,
  status: number | undefined,
): Record<string, unknown> {
  const types = writtenTypes(formats)
  const entries = { type: 'array', minItems: 1, items: entrySchema(status) }
  const message = dialects.length > 0 && { message: { type: 'string' } }
  const theirs = dialects.find(dialect => dialect.errors)?.errors?.schema
  const errors: JsonSchema = {
    type: 'object',
    properties: { ...message, errors: { ...(theirs ?? entries) } },
    required: [...Object.keys(message || {}), 'errors'],
  }
  const problem = { schema: components.refer('schemas', 'Problem', 'errors', () => PROBLEM) }
  return {
    ...buildContent(types, errors),
    ...(types.includes(JSON_TYPE) && { [PROBLEM_TYPE]: problem }),
  }
}

/** Builds the schema of one error. A program may throw other types than those of the table. */
function entrySchema(status: number | undefined): JsonSchema {
  const known: Readonly<Record<number, Readonly<Record<string, string>>>> = ERROR_TYPES
  const types = Object.entries(known[status ?? 0] ?? {})
  const choices = types.map(([type, description]) => ({ const: type, description }))
  return {
    type: 'object',
    properties: {
      message: { type: 'string' },
      code: { ...(status ? { const: status } : { type: 'integer' }), description: 'The status' },
      field: { type: 'string', description: 'The property, parameter or header at fault' },
      type: {
        description: 'A stable name of the kind of error',
        ...(choices.length > 0 ? { anyOf: [...choices, { type: 'string' }] } : { type: 'string' }),
      },
    },
    required: ['message', 'code'],
  }
}

const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'Problem details (RFC 9457)',
  properties: {
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    errors: { type: 'array', items: entrySchema(undefined) },
  },
  required: ['title', 'status', 'detail', 'errors'],
}
