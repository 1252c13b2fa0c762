// list, count, read and search (specification, "Resource operations"; conventions, "Reading").

import { HttpError, type Issue, throwIfAny } from '../errors.ts'
import { evaluate, itemTag, type Validators } from '../http/conditional.ts'
import type { HeaderList, Parameter } from '../http/message.ts'
import { METHOD_PARAMETER } from '../http/method-override.ts'
import { printPreferences } from '../http/prefer.ts'
import { checksum, type Found, pageHeaders, readWindow, type Window } from '../pagination.ts'
import { type Query, RESERVED, readFields, readQuery } from '../query.ts'
import { type Path, picker } from '../schema/paths.ts'
import type { Item } from '../schema/values.ts'
import { isSortKey, sortKeyOf } from '../store/selection.ts'
import { printSort } from '../store/sort.ts'
import type { Slice, Stored, TotalMode } from '../store/store.ts'
import {
  buildScope,
  type Call,
  lastModifiedOf,
  type OperationResult,
  requireItem,
  requireParent,
  runBefore,
} from './call.ts'
import { buildRowFilter } from './row-policy.ts'
import {
  inParts,
  itemRepresentation,
  requireDownload,
  requireRoom,
  selectReadableFields,
  serialize,
} from './serialize.ts'

/** `GET /<collection>`: a page, or with a streaming format the whole list where no page is named. */
export async function list(call: Call): Promise<OperationResult> {
  const { query, window } = readList(call)
  requireDownload(call, query.fields)
  await requireParent(call)
  await runBefore(call, {}, undefined)
  const scoped = { ...query, where: [...buildScope(call), ...query.where] }
  if (call.streams && !namesPage(call)) return wholeList(call, scoped)
  const slice = sliceOf(window, query, call)
  const { ifMatch, ifNoneMatch } = call.preconditions
  // The count is enough for HEAD, but for a condition on the page's tag.
  const counted = call.method === 'HEAD' && !ifMatch && !ifNoneMatch
  return counted ? headOfPage(call, scoped, window) : page(call, scoped, window, slice)
}

/** Nothing is counted, whatever is preferred, and no range is given of it. */
function wholeList(call: Call, query: Query): OperationResult {
  const common = { status: 200, headers: [], result: undefined }
  if (call.method === 'HEAD') return common
  const { store, blobs } = call.target.collection
  const batches = store.stream(query, call.caller)
  const part = (batch: readonly Stored[]) => (blobs ? inParts(call, batch, query.fields) : [batch])
  const data = shownBatches(batches, part, items => shown(call, items, query))
  return { ...common, representation: { kind: 'stream', ...described(call, query), data } }
}

async function headOfPage(call: Call, query: Query, window: Window): Promise<OperationResult> {
  const mode = listMode(call)
  const total = await call.target.collection.store.count(query, mode, call.caller)
  return {
    status: 200,
    headers: [...headHeaders(call, query, window, mode, total), ...countApplied(call, mode)],
    vary: varyOf(call),
    result: total,
  }
}

async function page(
  call: Call,
  query: Query,
  window: Window,
  slice: Slice,
): Promise<OperationResult> {
  const { collection } = call.target
  const mode = listMode(call)
  const { items, more, total } = await collection.store.list(query, slice, mode, call.caller)
  const found = foundOf(items, more, total, query)

  const validators = listValidators(call, items, found, window)
  if (window.by === 'range' && items.length === 0) {
    // Conditions count first (RFC 9110 §14.2): what they make of it is said after the operation.
    const verdict = evaluate(call.preconditions, call.method, validators)
    if (verdict === 'proceed') throw rangeNotSatisfiable(collection.name, total)
  }
  requireRoom(call, items, query.fields)
  return {
    status: window.by === 'range' && items.length !== total ? 206 : 200,
    headers: [...listHeaders(call, query, window, found), ...countApplied(call, mode)],
    representation: {
      kind: 'list',
      ...described(call, query),
      taken: collection.takenFields,
      data: await shown(call, items, query),
    },
    validators,
    vary: varyOf(call),
    result: items.map(({ item }) => item),
  }
}

/** What a list says of itself to the formats. */
function described({ target: { collection } }: Call, { fields }: Query) {
  const { name, itemName } = collection
  return { name, itemName, fields: selectReadableFields(collection, fields) }
}

/** The items as they are given: at once, unless there are binary properties to look up. */
function shown(call: Call, items: readonly Stored[], { fields }: Query): Item[] | Promise<Item[]> {
  const picked = fields ? picker(fields) : (item: Item) => item
  return call.target.collection.blobs
    ? Promise.all(items.map(async ({ item }) => picked(await serialize(call, item, fields))))
    : items.map(({ item }) => picked(item))
}

/** `GET /<collection>/count`: the same filters as the list. */
export async function count(call: Call): Promise<OperationResult> {
  const { target } = call
  const { query } = readList(call)
  await requireParent(call)
  await runBefore(call, {}, undefined)
  const mode = countMode(call, call.preferences.count === 'estimated' ? 'estimated' : 'exact')
  const where = [...buildScope(call), ...query.where]
  const { store } = target.collection
  const number = await store.count({ ...query, where }, mode, call.caller)
  return {
    status: 200,
    headers: countApplied(call, mode),
    representation: { kind: 'document', name: 'count', data: { count: number ?? null } },
    vary: ['Prefer'],
    result: number,
  }
}

/** `GET /<collection>/<id>`. */
export async function read(call: Call): Promise<OperationResult> {
  const { target } = call
  const { collection } = target
  const issues: Issue[] = []
  const { selectableFields } = collection
  const fields = readFields(call.parameters, selectableFields, issues, call.limits)
  for (const { name } of call.parameters) {
    if (!RESERVED.has(name)) {
      issues.push({
        message: `${name.slice(0, 64)} has no meaning for a single item`,
        field: name.slice(0, 64),
        type: 'unknown_parameter',
      })
    }
  }
  throwIfAny(issues)
  requireDownload(call, fields)
  const stored = await requireItem(call)
  await runBefore(call, { item: stored.item }, undefined)
  requireRoom(call, [stored], fields)
  return {
    status: 200,
    headers: [],
    representation: await itemRepresentation(call, stored.item, fields),
    validators: itemValidators(stored, call.variant, fields),
    result: stored.item,
  }
}

/** The validators of an item's representation: its version, its format, its selection of fields. */
export function itemValidators(
  stored: Stored,
  variant: string,
  fields?: readonly Path[],
): Validators {
  const names = fields && checksum(fields.map(path => path.join('.')))
  const lastModified = lastModifiedOf(stored)
  return {
    tag: itemTag(stored.version, names === undefined ? variant : `${variant}.${names}`),
    ...(lastModified !== undefined && { lastModified }),
  }
}

function readList(call: Call): { query: Query; window: Window } {
  const { target, limits, operation } = call
  const { collection } = target
  const { shape } = collection
  const issues: Issue[] = []
  const query = readQuery(
    call.parameters,
    {
      fields: shape.fields,
      selectable: collection.selectableFields,
      id: shape.identity.name,
      sort: collection.sort,
      caps: limits,
      ...(shape.createdAt !== undefined && { createdAt: shape.createdAt }),
      ...(operation === 'search' && collection.search && { search: collection.search }),
    },
    issues,
  )
  // No page is the whole that If-Range speaks of: with it, Range is left aside (RFC 9110 §14.2).
  const ranged = call.method === 'GET' && call.preconditions.ifRange === undefined
  const range = ranged ? call.range : undefined
  const window = readWindow(
    call.parameters,
    range,
    {
      unit: collection.name,
      defaultLimit: collection.defaultLimit,
      maxLimit: collection.maxLimit,
      order: printSort(query.sort),
    },
    issues,
  )
  throwIfAny(issues)
  return { query, window }
}

function sliceOf(window: Window, { sort }: Query, { target }: Call): Slice {
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
    ...(first && { firstKey: sortKeyOf(first.item, sort) }),
    ...(last && { lastKey: sortKeyOf(last.item, sort) }),
  }
}

/** The tag of a page covers which versions of which items are on it, where it lies, and the total. */
function listValidators(
  call: Call,
  items: readonly Stored[],
  { total, more }: Found,
  window: Window,
): Validators {
  const place = window.by === 'cursor' ? (window.cursor?.position ?? 0) : window.offset
  const fields = call.parameters.find(({ name }) => name === 'fields')?.value ?? ''
  const page = [place, total ?? '*', more, fields].join(' ')
  const tag = checksum([page, ...items.map(({ version }) => version)])
  return { tag: `${tag}.${call.variant}` }
}

/** Parameters that name a place in the list: links say it anew. */
const PLACE = new Set(['offset', 'cursor', METHOD_PARAMETER])

const PAGE = new Set(['offset', 'cursor', 'limit'])

/** Whether the query says which page: a `Range` is ignored then, and no whole list is meant. */
function namesPage({ parameters }: Call): boolean {
  return parameters.some(({ name }) => PAGE.has(name))
}

function listHeaders(call: Call, query: Query, window: Window, found: Found): HeaderList {
  const kept: Pick<Parameter, 'name' | 'raw'>[] = call.parameters.filter(
    ({ name }) => !PLACE.has(name),
  )
  if (window.by === 'range') kept.push({ name: 'limit', raw: `limit=${window.limit}` })
  const address = call.href(call.target)
  const href = (place: string): string => {
    // Without a page named it is the whole list.
    if (place === '' && call.streams) return href('offset=0')
    const sized = /(?:^|&)limit=/.test(place)
    const others = sized ? kept.filter(({ name }) => name !== 'limit') : kept
    const text = [...others.map(({ raw }) => raw), place].filter(part => part !== '').join('&')
    return text === '' ? address : `${address}?${text}`
  }
  return pageHeaders(window, found, {
    unit: call.target.collection.name,
    order: printSort(query.sort),
    href,
    // What is escaped, and the cursor, make a link longer than the address that was asked for.
    leading: call.limits.target * 1.5,
  })
}

/**
 * What a HEAD of a list can tell from the count alone: its links go by offset. Where that is not
 * exact, it cannot tell what is on the page and whether another follows, as GET does.
 */
function headHeaders(
  call: Call,
  query: Query,
  window: Window,
  mode: TotalMode,
  total: number | undefined,
): HeaderList {
  if (mode !== 'exact' || total === undefined) {
    const known = total === undefined ? [] : ['X-Result-Count', String(total)]
    return ['Accept-Ranges', call.target.collection.name, ...known]
  }
  const position = window.by === 'cursor' ? (window.cursor?.position ?? 0) : window.offset
  const left = Math.max(0, total - position)
  const found = { count: Math.min(window.limit, left), more: left > window.limit, total }
  return listHeaders(call, query, { by: 'offset', offset: position, limit: window.limit }, found)
}

function rangeNotSatisfiable(unit: string, total: number | undefined): HttpError {
  const of = total === undefined ? 'item' : `of ${total} items`
  const message = `The range starts behind the last ${of}`
  return new HttpError(416, [{ message, field: 'range', type: 'range_not_satisfiable' }], {
    headers: total === undefined ? [] : ['Content-Range', `${unit} */${total}`],
  })
}

/** `Range` counts only where nothing in the query says which page: see {@link readWindow}. */
function varyOf(call: Call): string[] {
  return namesPage(call) ? ['Prefer'] : ['Prefer', 'Range']
}

/** An estimate is made of all items: where a principal sees only some, it would tell of the others. */
function countMode({ target, principal }: Call, wanted: TotalMode): TotalMode {
  return wanted === 'estimated' && buildRowFilter(target.collection, principal) ? 'exact' : wanted
}

/** How the total of a list is found. */
function listMode(call: Call): TotalMode {
  return countMode(call, call.preferences.count ?? call.target.collection.total)
}

function countApplied({ preferences }: Call, mode: TotalMode): HeaderList {
  return preferences.count === mode ? ['Preference-Applied', printPreferences({ count: mode })] : []
}

async function* shownBatches(
  batches: AsyncIterable<readonly Stored[]>,
  part: (batch: readonly Stored[]) => Iterable<readonly Stored[]>,
  show: (items: readonly Stored[]) => Item[] | Promise<Item[]>,
): AsyncGenerator<readonly Item[]> {
  for await (const batch of batches) for (const items of part(batch)) yield show(items)
}
