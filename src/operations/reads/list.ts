// list, search and count (specification, "Resource operations"; conventions, "Reading").

import { iterate } from '../../base/iterate.ts'
import { type Awaitable, andThen, type Item } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import type { HeaderList } from '../../http/message.ts'
import { isRanged } from '../../http/methods.ts'
import type { ApiDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import type { ListRequest } from '../../pagination/list-reader.ts'
import type { Window } from '../../pagination.ts'
import type { ParsedQuery } from '../../query.ts'
import { isSortKey } from '../../store/selection.ts'
import type { Slice, Stored, TotalMode } from '../../store/store.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { buildRowFilter } from '../calls/items.ts'
import { authorizeInlineContents, toReadableItems } from '../calls/represent.ts'
import { asksForGroups, compileCountBy } from './count-by.ts'
import { type Level, prepareIncludes, readIncluded, refuseLists } from './include.ts'
import {
  addCountApplied,
  addFileName,
  buildNestedResult,
  buildPageResult,
  describeList,
  listHeaders,
  toStatedTotal,
  VARY_PREFER,
  varyOf,
} from './page.ts'
import { compileReaders, prepareQuery, withEquivalentGet } from './query.ts'
import { listReached } from './related.ts'

/** Compiles `GET /<collection>`, `/search` or `/count`. */
export function compileList(
  api: ApiDefinition,
  collection: CollectionDefinition,
  operation: string,
): (context: OperationContext) => Awaitable<OperationResult> {
  const findReaders = compileReaders(api)(collection)
  const kind = operation === 'search' ? 'search' : 'list'
  const isCount = operation === 'count'
  const hasGroups = isCount && collection.groups.size > 0
  const countBy = hasGroups && compileCountBy(collection, findReaders)
  return withEquivalentGet(context => {
    const { method, preconditions, parameters, queryKey } = context
    const names = countBy ? parameters.map(({ name }) => name) : []
    if (countBy && asksForGroups(collection, names)) return countBy(context)
    // If-Range names a whole representation, and a page is only a part: Range is ignored then (RFC 9110 §14.2).
    const ranged = isRanged(method) && preconditions.ifRange === undefined
    const read = findReaders(context)[kind]
    const request = read(parameters, ranged ? context.range : undefined, queryKey)
    return isCount ? count(context, request.query) : list(context, request)
  })
}

/** Answers a page; with a streaming format the whole list where the query names no page. */
function list(context: OperationContext, request: ListRequest): Awaitable<OperationResult> {
  const { query, window } = request
  const slice = toSlice(window, query, context)
  authorizeInlineContents(context, query.fields)
  const streams = context.streams && !request.namesPage
  const levels = query.include && prepareIncludes(context, query.include)
  if (query.include) refuseLists(context, query.include, streams)
  return andThen(prepareQuery(context, query), selection => {
    if (streams) return streamList(context, selection, levels)
    const { ifMatch, ifNoneMatch } = context.preconditions
    // The count is enough for HEAD, but for a condition on the page's tag.
    if (context.method === 'HEAD' && !ifMatch && !ifNoneMatch)
      return headOfPage(context, selection, request)
    const store = context.storeOf(context.target.collection)
    const mode = chooseTotalMode(context, selection)
    const call = { context, selection, request, mode }
    return andThen(store.list(selection, slice, mode, context.listOptions), page =>
      levels ? buildNestedResult(call, page, levels) : buildPageResult(call, page),
    )
  })
}

/** Streams the whole list: nothing is counted, and no range is given of it. */
function streamList(
  context: OperationContext,
  query: ParsedQuery,
  levels: readonly Level[] | undefined,
): OperationResult {
  const common = { status: 200, headers: addFileName([], context) }
  if (context.method === 'HEAD') return common
  const data = toReadableBatches(context, query, levels)
  return { ...common, representation: { kind: 'stream', ...describeList(context, query), data } }
}

function toReadableBatches(
  context: OperationContext,
  query: ParsedQuery,
  levels: readonly Level[] | undefined,
): AsyncIterable<readonly Item[]> {
  const { collection } = context.target
  const { blobs } = collection
  const source = context
    .storeOf(collection)
    .stream(query, context.storeOptions)
    [Symbol.asyncIterator]()
  let parts: (readonly Stored[])[] = []
  return iterate(async () => {
    let part = parts.shift()
    if (!part) {
      const { done, value } = await source.next()
      if (done) return undefined
      // Contents may be large: only those of one item are held at a time.
      parts = blobs ? value.map(stored => [stored]) : [value]
      part = parts.shift() ?? []
    }
    if (!levels) return toReadableItems(context, part, query.fields)
    const { nested } = await readIncluded(context, levels, part, query)
    if (nested.length < part.length) parts.unshift(part.slice(nested.length))
    return nested.map(({ data }) => data)
  }, source)
}

async function headOfPage(
  context: OperationContext,
  query: ParsedQuery,
  request: ListRequest,
): Promise<OperationResult> {
  const mode = chooseTotalMode(context, query)
  const store = context.storeOf(context.target.collection)
  const counted = await store.count(query, mode, context.listOptions)
  const total = toStatedTotal(context, counted)
  return {
    status: 200,
    headers: addCountApplied(headHeaders(context, request, mode, total), context, mode),
    vary: varyOf(request),
    value: total,
  }
}

/** Counts the items that match: the exact number, unless the client prefers an estimate. */
export async function count(
  context: OperationContext,
  query: ParsedQuery,
): Promise<OperationResult> {
  const preferred = context.preferences.count === 'estimated' ? 'estimated' : 'exact'
  const mode = allowedMode(context, preferred, query)
  const selection = await prepareQuery(context, query)
  const store = context.storeOf(context.target.collection)
  const number = await store.count(selection, mode, context.listOptions)
  return {
    status: 200,
    headers: addCountApplied([], context, mode),
    representation: { kind: 'document', name: 'count', data: { count: number ?? null } },
    vary: VARY_PREFER,
    value: number,
  }
}

/** @throws HttpError 400 for a cursor whose key does not fit the sort. */
function toSlice(window: Window, { sort }: ParsedQuery, { target }: OperationContext): Slice {
  const { limit } = window
  if (window.by !== 'cursor') return { limit, offset: window.offset }
  const { key, backward = false } = window.cursor ?? {}
  if (key === undefined || isSortKey(key, sort, target.collection.shape.fields))
    return { limit, key, backward }
  const message = 'This cursor does not fit the sort'
  throw new HttpError(400, [{ message, field: 'cursor', type: 'invalid_cursor' }])
}

/**
 * Prints the headers of a HEAD from the count alone. The links of cursors need the keys of items: they are
 * left out. A count that is not exact does not say what is on the page and whether another follows.
 */
function headHeaders(
  context: OperationContext,
  request: ListRequest,
  mode: TotalMode,
  total: number | undefined,
): HeaderList {
  const { window } = request
  if (mode !== 'exact' || total === undefined) {
    const count = total === undefined ? [] : ['X-Result-Count', String(total)]
    return addFileName(['Accept-Ranges', context.target.collection.name, ...count], context)
  }
  const position = startOf(window)
  const left = Math.max(0, total - position)
  const found = { count: Math.min(window.limit, left), more: left > window.limit, total }
  // A page of no items has no links.
  const limit = window.by === 'cursor' ? 0 : window.limit
  return listHeaders(context, request, { by: 'offset', offset: position, limit }, found)
}

/** The position of the first item of a full page. */
function startOf(window: Window): number {
  if (window.by !== 'cursor') return window.offset
  const { position = 0, backward = false } = window.cursor ?? {}
  return backward ? Math.max(0, position - window.limit) : position
}

/** Replaces an estimate, which counts hidden items too, by an exact count where a row policy applies. */
function allowedMode(
  context: OperationContext,
  mode: TotalMode,
  { related = [] }: ParsedQuery,
): TotalMode {
  if (mode !== 'estimated') return mode
  const collections = [context.target.collection, ...listReached(context, related)]
  return collections.some(each => buildRowFilter(context, each)) ? 'exact' : mode
}

/** Chooses how the total of a list is counted. */
export function chooseTotalMode(context: OperationContext, query: ParsedQuery): TotalMode {
  const { preferences, target } = context
  return allowedMode(context, preferences.count ?? target.collection.total, query)
}
