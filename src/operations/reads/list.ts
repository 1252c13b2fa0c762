// list, search and count (specification, "Resource operations"; conventions, "Reading").

import { iterate } from '../../base/iterate.ts'
import { type Awaitable, andThen, type Item } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import { type NestedItem, NestedList } from '../../formats/nested.ts'
import { evaluate, hashTexts, type Validators } from '../../http/conditional.ts'
import { printDisposition } from '../../http/content-disposition.ts'
import { printContentRange } from '../../http/content-range.ts'
import type { HeaderList } from '../../http/message.ts'
import { isRanged } from '../../http/methods.ts'
import { printPreferences } from '../../http/prefer.ts'
import type { ApiDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import type { ListRequest } from '../../pagination/list-reader.ts'
import { type Found, printPageHeaders, type Window } from '../../pagination.ts'
import type { ParsedQuery } from '../../query.ts'
import type { Filter, ValueFilter } from '../../store/filter.ts'
import { isSortKey, sortKeyOf } from '../../store/selection.ts'
import type { Slice, Stored, StorePage, TotalMode } from '../../store/store.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { buildRowFilter } from '../calls/items.ts'
import {
  authorizeInlineContents,
  requireInlineLimit,
  selectReadableFields,
  toReadableItems,
} from '../calls/represent.ts'
import { asksForGroups, compileCountBy } from './count-by.ts'
import { withEquivalent } from './equivalent.ts'
import {
  describeIncluded,
  type Level,
  prepareIncludes,
  readIncluded,
  refuseLists,
} from './include.ts'
import { prepareQuery } from './prepare-query.ts'
import { compileReaders } from './readers.ts'
import { listReached } from './related.ts'

const VARY_PREFER: readonly string[] = ['Prefer']
const VARY_PREFER_RANGE: readonly string[] = ['Prefer', 'Range']

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
  return withEquivalent(context => {
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
    return andThen(store.list(selection, slice, mode, context.listOptions), page =>
      levels
        ? buildNestedResult(context, selection, request, page, mode, levels)
        : buildPageResult(context, selection, request, page, mode),
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
  const { store, blobs } = context.target.collection
  const source = store.stream(query, context.storeOptions)[Symbol.asyncIterator]()
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
  const total = await store.count(query, mode, context.listOptions)
  return {
    status: 200,
    headers: addCountApplied(headHeaders(context, request, mode, total), context, mode),
    vary: varyOf(request),
    value: total,
  }
}

/** Builds the answer of a page with what its items include. */
async function buildNestedResult(
  context: OperationContext,
  query: ParsedQuery,
  request: ListRequest,
  page: StorePage,
  mode: TotalMode,
  levels: readonly Level[],
): Promise<OperationResult> {
  const { window } = request
  const backward = window.by === 'cursor' && window.cursor?.backward === true
  const { nested, isCut } = await readIncluded(context, levels, page.items, query, backward)
  const items = nested.map(({ stored }) => stored)
  const kept = { ...page, items, more: page.more || isCut }
  return buildPageResult(context, query, request, kept, mode, nested)
}

function buildPageResult(
  context: OperationContext,
  query: ParsedQuery,
  request: ListRequest,
  { items, more, total }: StorePage,
  mode: TotalMode,
  nested?: readonly NestedItem[],
): Awaitable<OperationResult> {
  const { window } = request
  const { collection } = context.target
  if (more && items.length < window.limit) requireWhole(context, request, items.length)
  const [first, last] = [items[0], items.at(-1)]
  const found = {
    count: items.length,
    more,
    total,
    firstKey: first && sortKeyOf(first.item, query.sort),
    lastKey: last && sortKeyOf(last.item, query.sort),
  }
  const validators = listValidators(context, items, found, request, nested)
  if (window.by === 'range' && items.length === 0 && window.offset > 0) {
    // Conditions count first (RFC 9110 §14.2): `respond` evaluates them.
    const verdict = evaluate(context.preconditions, context.method, validators)
    if (verdict === 'proceed') throw rangeNotSatisfiable(collection.name, total)
  }
  const headers = addCountApplied(listHeaders(context, request, window, found), context, mode)
  const plain = !collection.blobs && collection.hidden.size === 0 && !query.fields
  const common = {
    status: window.by === 'range' && items.length > 0 && items.length !== total ? 206 : 200,
    headers,
    validators,
    vary: varyOf(request),
  }
  if (nested) {
    const representation = new NestedList(describeList(context, query), nested)
    return { ...common, representation, value: items.map(({ item }) => item) }
  }
  requireInlineLimit(context, items, query.fields)
  return andThen(toReadableItems(context, items, query.fields), data => ({
    ...common,
    representation: {
      kind: 'list',
      ...describeList(context, query),
      data,
      stored: plain ? items : undefined,
    },
    value: plain ? data : items.map(({ item }) => item),
  }))
}

/**
 * Refuses a cut page to clients of a dialect that look up items by their ids: they expect all of them.
 * @throws HttpError 400
 */
function requireWhole(
  { api, target: { collection } }: OperationContext,
  { query }: ListRequest,
  found: number,
): void {
  const { name } = collection.shape.identity
  const ids = query.where.find(each => isLookup(each, name))
  if (!ids || api.dialects.length === 0) return
  const message = `The ${ids.values.length} items have more than ${api.limits.page} bytes together. Ask for ${found} at once.`
  throw new HttpError(400, [{ message, field: name, type: 'too_many_values' }])
}

/** Whether a filter names several items. */
function isLookup(filter: Filter, id: string): filter is ValueFilter {
  if (filter.operator !== 'in') return false
  const { path, values } = filter
  return path.length === 1 && path[0] === id && values.length > 1
}

/** Describes a list to the formats. */
function describeList(
  { target: { collection } }: OperationContext,
  { fields, include }: ParsedQuery,
) {
  const { name, itemName } = collection
  const own = selectReadableFields(collection, fields)
  return { name, itemName, fields: include ? describeIncluded(include)(own) : own }
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

function listValidators(
  context: OperationContext,
  items: readonly Stored[],
  found: Found,
  { window, fieldsText }: ListRequest,
  nested: readonly NestedItem[] = [],
): Validators {
  const place = window.by === 'cursor' ? (window.cursor?.position ?? 0) : window.offset
  return { tag: `${printPageTag(items, found, place, fieldsText, nested)}.${context.variant}` }
}

/** The tag of a page covers which versions of which items are on it, where it lies, and the total. */
export function printPageTag(
  items: readonly Stored[],
  { total, more }: Pick<Found, 'total' | 'more'>,
  place = 0,
  fieldsText = '',
  nested: readonly NestedItem[] = [],
): string {
  const texts = [`${place} ${total ?? '*'} ${more} ${fieldsText}`]
  for (const { version } of items) texts.push(version)
  for (const each of nested) each.addVersions(texts)
  return hashTexts(texts)
}

function listHeaders(
  context: OperationContext,
  { query: { sort }, links }: ListRequest,
  window: Window,
  found: Found,
): HeaderList {
  const headers = printPageHeaders(window, found, {
    unit: context.target.collection.name,
    sort,
    address: context.hrefAsRequested(context.target),
    links,
    streams: context.streams,
  })
  return addFileName(headers, context)
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

function rangeNotSatisfiable(unit: string, total: number | undefined): HttpError {
  const of = total === undefined ? 'item' : `of ${total} items`
  const message = `The range starts behind the last ${of}`
  return new HttpError(416, [{ message, field: 'range', type: 'range_not_satisfiable' }], {
    headers: total === undefined ? [] : ['Content-Range', printContentRange({ unit, total })],
  })
}

/** Lists the headers that chose the page. `Range` applies only where the query names no page. */
function varyOf({ namesPage }: ListRequest): readonly string[] {
  return namesPage ? VARY_PREFER : VARY_PREFER_RANGE
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

/** Adds `Preference-Applied` where the client preferred this way to count. */
function addCountApplied(
  headers: HeaderList,
  { preferences }: OperationContext,
  mode: TotalMode,
): HeaderList {
  if (preferences.count === mode)
    headers.push('Preference-Applied', printPreferences({ count: mode }))
  return headers
}

/** Adds the name under which a browser keeps a table: `cars.csv`. */
function addFileName(headers: HeaderList, { negotiated, target }: OperationContext): HeaderList {
  if (!negotiated?.format.tabular) return headers
  const { type, format } = negotiated
  const name = `${target.collection.name}.${format.extensions[0] ?? format.name}`
  headers.push('Content-Disposition', printDisposition({ type, name }))
  return headers
}
