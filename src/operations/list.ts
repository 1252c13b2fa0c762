// list, search and count (specification, "Resource operations"; conventions, "Reading").
import { HttpError, throwIfAny } from '../errors.ts'
import { evaluate, type Validators } from '../http/conditional.ts'
import type { HeaderList, HttpRequest } from '../http/message.ts'
import { printPreferences } from '../http/prefer.ts'
import type { ApiDefinition, CollectionDefinition } from '../model/definition.ts'
import { compileListReader, type ListRequest } from '../pagination/list-reader.ts'
import { checksum, type Found, pageHeaders, type Window } from '../pagination.ts'
import type { Query } from '../query.ts'
import { memoize } from '../schema/memoize.ts'
import { picker } from '../schema/paths.ts'
import { type Awaitable, andThen, type Item } from '../schema/values.ts'
import { isSortKey, sortKeyOf } from '../store/selection.ts'
import type { ListOptions, Page, Slice, Stored, TotalMode } from '../store/store.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { runBefore } from './hooks.ts'
import { buildScope, requireParent } from './items.ts'
import { buildRowFilter } from './row-policy.ts'
import {
  requireDownload,
  requireRoom,
  selectReadableFields,
  serialize,
  splitByContents,
} from './serialize.ts'

const VARY_PREFER: readonly string[] = ['Prefer']
const VARY_PREFER_RANGE: readonly string[] = ['Prefer', 'Range']

/** `GET /<collection>` and `/search`: a page, or with a streaming format the whole list where no page is named. */
export function list(context: OperationContext): Awaitable<OperationResult> {
  const request = readList(context)
  const { query, window } = request
  const slice = sliceOf(window, query, context)
  requireDownload(context, query.fields)
  return andThen(beforeReading(context), () => {
    const selection = withScope(context, query)
    if (context.streams && !request.namesPage) return streamList(context, selection)
    const { ifMatch, ifNoneMatch } = context.preconditions
    // The count is enough for HEAD, but for a condition on the page's tag.
    if (context.method === 'HEAD' && !ifMatch && !ifNoneMatch)
      return headOfPage(context, selection, request)
    const store = context.storeOf(context.target.collection)
    const mode = totalMode(context)
    return andThen(store.list(selection, slice, mode, new PageOptions(context)), page =>
      buildPageResult(context, selection, request, page, mode),
    )
  })
}

/** Bounds the bytes of a page, and the work. A program gets every item: what it asks for is whole. */
class PageOptions implements ListOptions {
  readonly maxBytes: number | undefined
  readonly maxTime: number | undefined
  readonly #request: HttpRequest

  constructor({ inProcess, api, request }: OperationContext) {
    this.maxBytes = inProcess ? undefined : api.limits.page
    // A little less than the time for work, to say why it was too little.
    this.maxTime = inProcess ? undefined : api.limits.workTime * 0.9
    this.#request = request
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }

  get aborted(): boolean {
    return this.#request.aborted
  }
}

/** The parent exists and the `before` hook agrees. */
export function beforeReading(context: OperationContext): Awaitable<unknown> {
  return context.target.parent
    ? andThen(requireParent(context), () => runBefore(context, {}, undefined))
    : runBefore(context, {}, undefined)
}

export function withScope(context: OperationContext, query: Query): Query {
  const scope = buildScope(context)
  return scope.length === 0 ? query : { ...query, where: [...scope, ...query.where] }
}

/** Streams the whole list: nothing is counted, and no range is given of it. */
function streamList(context: OperationContext, query: Query): OperationResult {
  const common = { status: 200, headers: [], value: undefined }
  if (context.method === 'HEAD') return common
  const data = serializeBatches(context, query)
  return { ...common, representation: { kind: 'stream', ...describeList(context, query), data } }
}

async function* serializeBatches(
  context: OperationContext,
  query: Query,
): AsyncGenerator<readonly Item[]> {
  const { store, blobs } = context.target.collection
  for await (const batch of store.stream(query, context.request)) {
    const parts = blobs ? splitByContents(context, batch, query.fields) : [batch]
    for (const part of parts) yield serializeAll(context, part, query)
  }
}

async function headOfPage(
  context: OperationContext,
  query: Query,
  request: ListRequest,
): Promise<OperationResult> {
  const mode = totalMode(context)
  const store = context.storeOf(context.target.collection)
  const total = await store.count(query, mode, new PageOptions(context))
  return {
    status: 200,
    headers: [...headHeaders(context, request, mode, total), ...countApplied(context, mode)],
    vary: varyOf(request),
    value: total,
  }
}

function buildPageResult(
  context: OperationContext,
  query: Query,
  request: ListRequest,
  { items, more, total }: Page,
  mode: TotalMode,
): Awaitable<OperationResult> {
  const { window } = request
  const { collection } = context.target
  if (more && items.length < window.limit) requireWhole(context, request, items.length)
  const found = foundOf(items, more, total, query)
  const validators = listValidators(context, items, found, request)
  if (window.by === 'range' && items.length === 0) {
    // Conditions count first (RFC 9110 §14.2): `respond` evaluates them.
    const verdict = evaluate(context.preconditions, context.method, validators)
    if (verdict === 'proceed') throw rangeNotSatisfiable(collection.name, total)
  }
  requireRoom(context, items, query.fields)
  const headers = listHeaders(context, request, window, found)
  if (context.preferences.count === mode) headers.push(...countApplied(context, mode))
  const plain = !collection.blobs && collection.hidden.size === 0 && !query.fields
  return andThen(serializeAll(context, items, query), data => ({
    status: window.by === 'range' && items.length !== total ? 206 : 200,
    headers,
    representation: {
      kind: 'list',
      ...describeList(context, query),
      data,
      stored: plain ? items : undefined,
    },
    validators,
    vary: varyOf(request),
    value: plain ? data : items.map(({ item }) => item),
  }))
}

/**
 * Clients of a dialect that look up items by their ids expect all of them: a page that is cut would lose some.
 * @throws HttpError 400
 */
function requireWhole(
  { api, target: { collection } }: OperationContext,
  { query }: ListRequest,
  found: number,
): void {
  const { name } = collection.shape.identity
  const ids = query.where.find(
    ({ path, operator, values }) =>
      operator === 'in' && path.length === 1 && path[0] === name && values.length > 1,
  )
  if (!ids || api.dialects.length === 0) return
  const message = `The ${ids.values.length} items have more than ${api.limits.page} bytes together. Ask for ${found} at once.`
  throw new HttpError(400, [{ message, field: name, type: 'too_many_values' }])
}

/** What a list says of itself to the formats. */
function describeList({ target: { collection } }: OperationContext, { fields }: Query) {
  const { name, itemName } = collection
  return { name, itemName, fields: selectReadableFields(collection, fields) }
}

/** Serializes items: at once, unless there are binary properties to look up. */
function serializeAll(
  context: OperationContext,
  items: readonly Stored[],
  { fields }: Query,
): Awaitable<Item[]> {
  const pick = fields && picker(fields)
  const { blobs, hidden } = context.target.collection
  // What `fields` may name is readable.
  if (!blobs && pick) return items.map(({ item }) => pick(item))
  if (!blobs && hidden.size === 0) return items.map(({ item }) => item)
  return Promise.all(
    items.map(async ({ item }) => {
      const serialized = await serialize(context, item, { fields })
      return pick ? pick(serialized) : serialized
    }),
  )
}

/** `GET /<collection>/count`: the same filters as the list. */
export async function count(context: OperationContext): Promise<OperationResult> {
  const { query } = readList(context)
  await beforeReading(context)
  const wanted = context.preferences.count === 'estimated' ? 'estimated' : 'exact'
  const mode = allowedMode(context, wanted)
  const store = context.storeOf(context.target.collection)
  const options = new PageOptions(context)
  const number = await store.count(withScope(context, query), mode, options)
  return {
    status: 200,
    headers: countApplied(context, mode),
    representation: { kind: 'document', name: 'count', data: { count: number ?? null } },
    vary: VARY_PREFER,
    value: number,
  }
}

function readList(context: OperationContext): ListRequest {
  // No page is the whole that If-Range speaks of: with it, Range is left aside (RFC 9110 §14.2).
  const ranged = context.method === 'GET' && context.preconditions.ifRange === undefined
  const { list: readAll, search } = readersOf(context.api)(context.target.collection)
  const read = context.operation === 'search' ? search : readAll
  return read(context.parameters, ranged ? context.range : undefined, context.plainQuery)
}

/** The readers of an api's collections: its limits are theirs. */
const readersOf = memoize((api: ApiDefinition) =>
  memoize((collection: CollectionDefinition) => {
    const { shape, search } = collection
    const options = {
      fields: collection.queryFields,
      selectable: collection.selectableFields,
      id: shape.identity.name,
      sort: collection.sort,
      caps: api.limits,
      ...(shape.createdAt !== undefined && { createdAt: shape.createdAt }),
      unit: collection.name,
      defaultLimit: collection.defaultLimit,
      maxLimit: collection.maxLimit,
      byOffset: collection.store.pages === 'offset',
    }
    const searched = compileListReader({ ...options, ...(search && { search }) })
    // The clients of the dialects search by `q` on the list itself.
    const asSearch = api.dialects.length > 0 && search && !shape.fields.has('q')
    return { list: asSearch ? searched : compileListReader(options), search: searched }
  }),
)

function sliceOf(window: Window, { sort }: Query, { target }: OperationContext): Slice {
  if (window.by !== 'cursor') return { limit: window.limit, offset: window.offset }
  const { cursor, limit } = window
  const key = cursor?.key
  if (key !== undefined && !isSortKey(key, sort, target.collection.shape.fields)) {
    throwIfAny([
      { message: 'This cursor does not fit the sort', field: 'cursor', type: 'invalid_cursor' },
    ])
  }
  // `isSortKey` has just said that the key is one of these.
  return {
    limit,
    key: key as Extract<Slice, { backward: boolean }>['key'],
    backward: cursor?.backward ?? false,
  }
}

function foundOf(
  items: readonly Stored[],
  more: boolean,
  total: number | undefined,
  { sort }: Query,
): Found {
  const first = items[0]
  const last = items.at(-1)
  return {
    count: items.length,
    more,
    total,
    firstKey: first && sortKeyOf(first.item, sort),
    lastKey: last && sortKeyOf(last.item, sort),
  }
}

/** The tag of a page covers which versions of which items are on it, where it lies, and the total. */
function listValidators(
  context: OperationContext,
  items: readonly Stored[],
  { total, more }: Found,
  { window, fieldsText }: ListRequest,
): Validators {
  const place = window.by === 'cursor' ? (window.cursor?.position ?? 0) : window.offset
  const page = `${place} ${total ?? '*'} ${more} ${fieldsText}`
  const tag = checksum([page, ...items.map(({ version }) => version)])
  return { tag: `${tag}.${context.variant}` }
}

function listHeaders(
  context: OperationContext,
  { query: { sort }, links }: ListRequest,
  window: Window,
  found: Found,
): HeaderList {
  return pageHeaders(window, found, {
    unit: context.target.collection.name,
    sort,
    address: context.hrefAsRequested(context.target),
    links,
    streams: context.streams,
    // What is escaped, and the cursor, make a link longer than the address that was asked for.
  })
}

/**
 * What a HEAD of a list can tell from the count alone: its links go by offset. Where that is not
 * exact, it cannot tell what is on the page and whether another follows, as GET does.
 */
function headHeaders(
  context: OperationContext,
  request: ListRequest,
  mode: TotalMode,
  total: number | undefined,
): HeaderList {
  const { window } = request
  if (mode !== 'exact' || total === undefined) {
    const known = total === undefined ? [] : ['X-Result-Count', String(total)]
    return ['Accept-Ranges', context.target.collection.name, ...known]
  }
  const position = startOf(window)
  const left = Math.max(0, total - position)
  const found = { count: Math.min(window.limit, left), more: left > window.limit, total }
  const page = { by: 'offset', offset: position, limit: window.limit } as const
  return listHeaders(context, request, page, found)
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
    headers: total === undefined ? [] : ['Content-Range', `${unit} */${total}`],
  })
}

/** `Range` counts only where nothing in the query says which page: see {@link readWindow}. */
function varyOf({ namesPage }: ListRequest): readonly string[] {
  return namesPage ? VARY_PREFER : VARY_PREFER_RANGE
}

/** An estimate is made of all items: where a principal sees only some, it would tell of the others. */
function allowedMode(context: OperationContext, wanted: TotalMode): TotalMode {
  if (wanted !== 'estimated') return wanted
  return buildRowFilter(context, context.target.collection) ? 'exact' : wanted
}

/** How the total of a list is found. */
export function totalMode(context: OperationContext): TotalMode {
  return allowedMode(context, context.preferences.count ?? context.target.collection.total)
}

function countApplied({ preferences }: OperationContext, mode: TotalMode): HeaderList {
  return preferences.count === mode ? ['Preference-Applied', printPreferences({ count: mode })] : []
}
