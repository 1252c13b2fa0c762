// The body of a QUERY (RFC 10008), read before anything reads the parameters: from then on it is the GET of them.

import type { Json } from '../base/values.ts'
import { type ErrorType, HttpError, type Issue, quote, throwIfAny } from '../errors.ts'
import { parseJson } from '../formats/json.ts'
import { checkJson } from '../formats/json-value.ts'
import { decodeText, readText, WholeBody } from '../formats/read-body.ts'
import type { Limits } from '../http/limits.ts'
import type { RequestBody } from '../http/message.ts'
import { describeEscape, type Parameter, parseParameters } from '../http/parameters.ts'
import { type MediaType, parseMediaType } from '../negotiate.ts'
import {
  type CollectionContext,
  type RequestContext,
  toCollectionContext,
} from '../operations/calls/context.ts'
import { asksForGroups } from '../operations/reads/count-by.ts'
import {
  FORM_QUERY,
  JSON_QUERY,
  MAX_QUERY_BODY,
  printPairs,
  QUERY_TYPES,
  toQueryParameters,
} from '../query/body.ts'
import { NAME_LISTS } from '../query/groups.ts'
import { requireUncompressed } from './body.ts'

/** Reads the parameters of a QUERY. @throws HttpError 400, 408, 413, 415 */
export async function readQueryBody(requested: RequestContext): Promise<void> {
  const context = toCollectionContext(requested)
  const { request, api } = context
  if (context.parameters.length > 0) {
    const message = 'The parameters of a QUERY stand in its body. Leave the query of the URL out.'
    throw invalid(message, 'unknown_parameter')
  }
  requireUncompressed(request)
  const media = findMediaType(request.headers['content-type'])
  const limits = { ...api.limits, body: Math.min(MAX_QUERY_BODY, api.limits.body) }
  const sent = await readSent(request.body, media, limits, request.headers['content-length'])
  const issues: Issue[] = []
  const read = toParameters(sent, media, context, issues)
  if (read.length > limits.parameters) {
    const message = `A query must have at most ${limits.parameters} parameters.`
    throw invalid(message, 'too_many_parameters')
  }
  throwIfAny(issues)
  context.parameters = read
  context.queryKey = read.map(({ raw }) => raw).join('&')
}

function invalid(message: string, type: ErrorType): HttpError {
  return new HttpError(400, [{ message, type }])
}

/** @throws HttpError 400 without a type, which a QUERY must have (§2); 415 for another one. */
function findMediaType(text: string | undefined): MediaType {
  const types = `Send ${JSON_QUERY} or ${FORM_QUERY}`
  const field = 'content-type'
  const headers = ['Accept-Query', QUERY_TYPES]
  if (text === undefined) {
    const message = `A QUERY needs a Content-Type. ${types}.`
    throw new HttpError(400, [{ message, field, type: 'invalid_header' }], { headers })
  }
  const media = parseMediaType(text)
  if (media?.type === JSON_QUERY || media?.type === FORM_QUERY) return media
  const message = `A QUERY cannot be ${quote(text)}. ${types}.`
  throw new HttpError(415, [{ message, field, type: 'unsupported_media_type' }], { headers })
}

/** Reads the text of a body, or takes what a host server has parsed. */
async function readSent(
  body: RequestBody | undefined,
  { parameters }: MediaType,
  limits: Limits,
  announced: string | undefined,
): Promise<{ readonly text: string } | { readonly parsed: unknown }> {
  if (!body) return { text: '' }
  if (!('parsed' in body)) {
    const whole = await body.whole?.()
    const length = announced === undefined ? undefined : Number(announced)
    const bytes = whole ? new WholeBody(whole) : body
    return { text: await readText(bytes, { limits, length, parameters }) }
  }
  const { parsed } = body
  if (typeof parsed === 'string') return { text: parsed }
  return parsed instanceof Uint8Array ? { text: decodeText(parsed) } : { parsed }
}

function toParameters(
  sent: { readonly text: string } | { readonly parsed: unknown },
  { type }: MediaType,
  { api, target: { kind, collection } }: CollectionContext,
  issues: Issue[],
): Parameter[] {
  const { depth, members } = api.limits
  if ('text' in sent && type === FORM_QUERY) return readForm(sent.text, issues)
  const value =
    'text' in sent ? parseJson(sent.text, depth, members) : toChecked(sent.parsed, depth)
  const hasGroups = kind === 'count' && asksForGroups(collection, Object.keys(Object(value)))
  return toQueryParameters(
    value,
    collection.queryFields,
    issues,
    hasGroups ? NAME_LISTS : undefined,
  )
}

function toChecked(parsed: unknown, depth: number): Json {
  checkJson(parsed, '', depth)
  return parsed
}

/** @throws HttpError 400 for what the query of a URL cannot be either. */
function readForm(text: string, issues: Issue[]): Parameter[] {
  const parameters = parseParameters(text)
  if (!parameters) throw invalid(describeEscape('body', text), 'invalid_encoding')
  if (text.includes('\0') || text.includes('%00'))
    throw invalid('The body must not contain the character U+0000.', 'invalid_query')
  return printPairs(
    parameters.map(({ name, value }) => [name, value]),
    issues,
  )
}
