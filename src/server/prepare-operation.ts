// What an operation needs of the head: its headers and parameters, once the effective method and a form are known.

import { HttpError } from '../errors.ts'
import { readPreconditions, withoutNotModified } from '../http/conditional.ts'
import {
  findText,
  KEY_PARAMETER,
  MAX_PARAMETER,
  METHOD_PARAMETER,
  withIfMatch,
} from '../http/method-override.ts'
import { isConditional, isSafe } from '../http/methods.ts'
import { type Parameter, printParameters } from '../http/parameters.ts'
import { parseMaxAffected, parsePrefer } from '../http/prefer.ts'
import type { CollectionDefinition } from '../model/types/definition.ts'
import { authorize } from '../operations/calls/authorize.ts'
import {
  type CollectionContext,
  type RequestContext,
  type Step,
  toCollectionContext,
} from '../operations/calls/context.ts'
import { chooseWriteResponse } from '../operations/writes/results.ts'
import { INCLUDE } from '../query/include.ts'
import { NAMES } from '../query/list-parameters.ts'
import { step } from './steps.ts'

/** The step that says which operation it is, and reads what that needs of the head. */
export function prepareFor(operation: string): Step {
  const prepareOperation: Step = requested => {
    const context = toCollectionContext(requested)
    context.operation = operation
    readOperationHead(context)
  }
  return step(prepareOperation, 400, 401, 403)
}

/** Reads the preconditions from the headers, or `_if_match` from a form. @throws HttpError 400 */
export function readConditions(context: RequestContext): void {
  const { request, method, submitted, suppressed } = context
  const headers = submitted ? withIfMatch(request.headers, submitted) : request.headers
  const preconditions = readPreconditions(headers, method)
  // A client that reads no status cannot understand a 304.
  context.preconditions =
    suppressed && isConditional(method) ? withoutNotModified(preconditions) : preconditions
}

/** Reads the headers and parameters that the operation needs. @throws HttpError 400; of a search 401, 403 */
export function readOperationHead(context: CollectionContext): void {
  readConditions(context)
  const { request, method, suppressed } = context
  const { headers } = request
  if (headers.prefer !== undefined) context.preferences = parsePrefer(headers.prefer)
  const most = findText(context.submitted, MAX_PARAMETER)
  if (most !== undefined)
    context.preferences = { ...context.preferences, 'max-affected': parseMaxAffected(most) }
  if (!isSafe(method)) context.writeResponse = chooseWriteResponse(context)
  else if (suppressed) context.writeResponse = 'representation'
  else context.writeResponse = context.preferences.return ?? 'redirect'
  context.range = headers.range
  if (context.parameters.length > 0) cleanParameters(context)
  const key = headers['idempotency-key'] ?? findText(context.submitted, KEY_PARAMETER)
  if (key === undefined) return
  const parsed = parseIdempotencyKey(key)
  // A later request may have the key of one that is only tried, and do the work.
  if (isSafe(method) || context.preferences.tx === undefined) context.idempotencyKey = parsed
}

/** Takes out `_method` and, of pages, whose forms send every control, empty values; then rewrites dialects. */
function cleanParameters(context: CollectionContext): void {
  const { api, target, negotiated, method, parameters: sent } = context
  // Without an empty filter a write would be of more items.
  const isPage = negotiated?.format.page !== undefined && isSafe(method)
  const given = sent.filter(
    ({ name, value }) => name !== METHOD_PARAMETER && !(isPage && value === ''),
  )
  // Set before a dialect may throw: a page shows them again.
  context.parameters = given
  // Dialects are for lists: the input of an action is its own.
  if (!target.action) {
    const { shape, maxLimit, search } = target.collection
    const list = { id: shape.identity.name, maxLimit }
    context.parameters = api.dialects.reduce(
      (rewritten: readonly Parameter[], dialect) => dialect.rewrite(rewritten, list),
      joinNames(given, target.collection),
    )
    // The rule of a search may be stricter than that of the list.
    if (api.dialects.length > 0 && search && context.parameters.some(({ name }) => name === 'q'))
      authorize(context, ['search'])
  }
  const { parameters } = context
  if (parameters.length !== sent.length || parameters.some((each, at) => each !== sent[at]))
    context.queryKey = undefined
}

/** `fields[]` and `fields[0]`. */
const INDEXED = /^(\w+)\[\d*\]$/

/** Joins `fields[]=a&fields[]=b` or `fields[0]=a&fields[1]=b`, as clients print a list, to `fields=a,b`. */
function joinNames(
  parameters: readonly Parameter[],
  { queryFields }: CollectionDefinition,
): readonly Parameter[] {
  let joined = parameters
  if (!parameters.some(({ name }) => name.endsWith(']'))) return joined
  for (const name of NAMES) {
    const lists = parameters.filter(each => INDEXED.exec(each.name)?.[1] === name)
    // A field of this name is a filter.
    if (lists.length === 0 || (name === INCLUDE && queryFields.has(name))) continue
    const value = lists.map(each => each.value).join(',')
    const others = joined.filter(each => !lists.includes(each))
    joined = [...others, { name, value, raw: printParameters([[name, value]]) }]
  }
  return joined
}

/** A quoted string as the draft has it, or the bare text that clients send. @throws HttpError 400 */
export function parseIdempotencyKey(text: string): string {
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (key !== '' && key.length <= 255) return key
  const message = 'Idempotency-Key must have 1 to 255 characters.'
  throw new HttpError(400, [{ message, field: 'idempotency-key', type: 'invalid_header' }])
}
