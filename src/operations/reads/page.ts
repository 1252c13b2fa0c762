// One page of a list as a response: its items, its headers, its tag.

import { type Awaitable, andThen } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import { type NestedItem, NestedList } from '../../formats/nested.ts'
import { evaluate, hashTexts } from '../../http/conditional.ts'
import { printDisposition } from '../../http/content-disposition.ts'
import { printContentRange } from '../../http/content-range.ts'
import type { HeaderList } from '../../http/message.ts'
import { printPreferences } from '../../http/prefer.ts'
import type { ListRequest } from '../../pagination/list-reader.ts'
import { type Found, printPageHeaders, type Window } from '../../pagination.ts'
import type { ParsedQuery } from '../../query.ts'
import type { Filter, ValueFilter } from '../../store/filter.ts'
import { sortKeyOf } from '../../store/selection.ts'
import type { Stored, StorePage, TotalMode } from '../../store/store.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { requireInlineLimit, selectReadableFields, toReadableItems } from '../calls/represent.ts'
import { describeIncluded, type Level, readIncluded } from './include.ts'

const VARY_PREFER_RANGE: readonly string[] = ['Prefer', 'Range']
export const VARY_PREFER: readonly string[] = ['Prefer']

/** A page that a client asks for. */
export interface PageCall {
  readonly context: OperationContext
  /** What is listed: the query with the filters of row policies. */
  readonly selection: ParsedQuery
  readonly request: ListRequest
  /** How the total is counted. */
  readonly mode: TotalMode
}

/** Builds the answer of a page with what its items include. */
export async function buildNestedResult(
  call: PageCall,
  page: StorePage,
  levels: readonly Level[],
): Promise<OperationResult> {
  const { context, selection, request } = call
  const { window } = request
  const backward = window.by === 'cursor' && window.cursor?.backward === true
  // Items beyond the limit are left out at the end further from the cursor.
  const ordered = backward ? page.items.toReversed() : page.items
  const { nested, isCut } = await readIncluded(context, levels, ordered, selection)
  if (backward) nested.reverse()
  const items = nested.map(({ stored }) => stored)
  const kept = { ...page, items, more: page.more || isCut }
  return buildPageResult(call, kept, nested)
}

/** Finds the total of a list; `undefined` if it exceeds `exactUpTo`. */
export function toStatedTotal(
  { exactUpTo = Number.POSITIVE_INFINITY }: OperationContext,
  counted: number | undefined,
): number | undefined {
  return counted !== undefined && counted > exactUpTo ? undefined : counted
}

/** Builds the response of a page. */
export function buildPageResult(
  { context, selection, request, mode }: PageCall,
  { items, more, total: counted }: StorePage,
  nested?: readonly NestedItem[],
): Awaitable<OperationResult> {
  const { window } = request
  const { collection } = context.target
  const total = toStatedTotal(context, counted)
  if (more && items.length < window.limit) requireWhole(context, request, items.length)
  const [first, last] = [items[0], items.at(-1)]
  const found = {
    count: items.length,
    more,
    total,
    firstKey: first && sortKeyOf(first.item, selection.sort),
    lastKey: last && sortKeyOf(last.item, selection.sort),
  }
  const place = window.by === 'cursor' ? (window.cursor?.position ?? 0) : window.offset
  const { fieldsText } = request
  const pageTag = printPageTag(items, { more, total, place, fieldsText }, nested)
  const validators = { tag: `${pageTag}.${context.variant}` }
  if (window.by === 'range' && items.length === 0 && window.offset > 0) {
    // Conditions count first (RFC 9110 §14.2): `respond` evaluates them.
    const verdict = evaluate(context.preconditions, context.method, validators)
    if (verdict === 'proceed') throw rangeNotSatisfiable(collection.name, total)
  }
  const headers = addCountApplied(listHeaders(context, request, window, found), context, mode)
  const plain = !collection.blobs && collection.hidden.size === 0 && !selection.fields
  const common = {
    status: window.by === 'range' && items.length > 0 && items.length !== total ? 206 : 200,
    headers,
    validators,
    vary: varyOf(request),
  }
  if (nested) {
    const representation = new NestedList(describeList(context, selection), nested)
    return { ...common, representation, value: items.map(({ item }) => item) }
  }
  requireInlineLimit(context, items, selection.fields)
  return andThen(toReadableItems(context, items, selection.fields), data => ({
    ...common,
    representation: {
      kind: 'list',
      ...describeList(context, selection),
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
export function describeList(
  { target: { collection } }: OperationContext,
  { fields, include }: ParsedQuery,
) {
  const { name, itemName } = collection
  const own = selectReadableFields(collection, fields)
  return { name, itemName, fields: include ? describeIncluded(include)(own) : own }
}

/** What the tag of a page covers besides its items. */
interface PagePlace extends Pick<Found, 'total' | 'more'> {
  /** The position of its first item. Default 0. */
  readonly place?: number
  readonly fieldsText?: string
}

/** The tag of a page covers which versions of which items are on it, where it lies, and the total. */
export function printPageTag(
  items: readonly Stored[],
  { total, more, place = 0, fieldsText = '' }: PagePlace,
  nested: readonly NestedItem[] = [],
): string {
  const texts = [`${place} ${total ?? '*'} ${more} ${fieldsText}`]
  for (const { version } of items) texts.push(version)
  for (const each of nested) each.addVersions(texts)
  return hashTexts(texts)
}

export function listHeaders(
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

function rangeNotSatisfiable(unit: string, total: number | undefined): HttpError {
  const of = total === undefined ? 'item' : `of ${total} items`
  const message = `The range starts behind the last ${of}`
  return new HttpError(416, [{ message, field: 'range', type: 'range_not_satisfiable' }], {
    headers: total === undefined ? [] : ['Content-Range', printContentRange({ unit, total })],
  })
}

/** Lists the headers that chose the page. `Range` applies only where the query names no page. */
export function varyOf({ namesPage }: ListRequest): readonly string[] {
  return namesPage ? VARY_PREFER : VARY_PREFER_RANGE
}

/** Adds `Preference-Applied` where the client preferred this way to count. */
export function addCountApplied(
  headers: HeaderList,
  { preferences }: OperationContext,
  mode: TotalMode,
): HeaderList {
  if (preferences.count === mode)
    headers.push('Preference-Applied', printPreferences({ count: mode }))
  return headers
}

/** Adds the name under which a browser keeps a table: `cars.csv`. */
export function addFileName(
  headers: HeaderList,
  { negotiated, target }: OperationContext,
): HeaderList {
  if (!negotiated?.format.tabular) return headers
  const { type, format } = negotiated
  const name = `${target.collection.name}.${format.extensions[0] ?? format.name}`
  headers.push('Content-Disposition', printDisposition({ type, name }))
  return headers
}
