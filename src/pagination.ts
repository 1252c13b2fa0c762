// A page of a list and its place, both directions: `Range`, `offset`, `limit` and `cursor` in;
// `Content-Range`, `Link` and `X-Result-Count` out.

import type { Json } from './base/values.ts'
import type { Issue } from './errors.ts'
import { parseRange, printContentRange } from './http/content-range.ts'
import { escapeTarget } from './http/link.ts'
import type { HeaderList } from './http/message.ts'
import { METHOD_PARAMETER } from './http/method-override.ts'
import { type Parameter, readWholeNumber, single } from './http/parameters.ts'
import { type Cursor, parseCursor, printCursor } from './pagination/cursor.ts'
import { PLACES } from './query/list-parameters.ts'
import type { SortKey } from './store/selection.ts'

/** The part of a list that a request asks for, and in which way: the links continue in the same way. */
export type Window =
  | { readonly by: 'offset' | 'range'; readonly offset: number; readonly limit: number }
  | { readonly by: 'cursor'; readonly cursor: Cursor | undefined; readonly limit: number }

/** What `readWindow` needs to know of a collection. */
export interface WindowOptions {
  /** The range unit: the collection's name. */
  readonly unit: string
  /** The number of items where the request does not say. */
  readonly defaultLimit: number
  /** The maximum of items on a page; a request for more is cut to it. */
  readonly maxLimit: number
  /** The sort in force: a cursor of another one is refused. */
  readonly sort: readonly SortKey[]
  /** Whether pages lead on by `offset`, as the store cannot seek: a cursor is refused. Default false. */
  readonly byOffset?: boolean
}

/**
 * Reads the window that a request asks for. `Range` applies only where none of the parameters is sent.
 * Issues are added to the list.
 */
export function readWindow(
  parameters: readonly Parameter[],
  range: string | undefined,
  { unit, defaultLimit, maxLimit, sort, byOffset = false }: WindowOptions,
  issues: Issue[],
): Window {
  const limitText = single(parameters, 'limit', issues)
  const offsetText = single(parameters, 'offset', issues)
  const cursorText = single(parameters, 'cursor', issues)
  const limit = Math.min(readWholeNumber('limit', limitText, issues) ?? defaultLimit, maxLimit)
  const offset = readWholeNumber('offset', offsetText, issues)
  if (offset !== undefined && cursorText !== undefined) {
    const message = 'offset and cursor exclude each other: send one of them'
    issues.push({ message, field: 'cursor', type: 'conflicting_parameters' })
  }
  if (cursorText !== undefined && byOffset) {
    const message = 'This list has no cursors. Follow its Link header, or use offset.'
    issues.push({ message, field: 'cursor', type: 'invalid_cursor' })
  } else if (cursorText !== undefined) {
    const cursor = parseCursor(cursorText, sort)
    if (!cursor) {
      const message =
        'This cursor was changed or belongs to another sort: take it from a Link header'
      issues.push({ message, field: 'cursor', type: 'invalid_cursor' })
    }
    return { by: 'cursor', cursor, limit }
  }
  if (offset !== undefined) return { by: 'offset', offset, limit }
  const wanted =
    limitText === undefined && range !== undefined ? parseRange(range, unit) : undefined
  if (!wanted) return startWindow(limit, byOffset)
  const size = wanted.last === undefined ? maxLimit : wanted.last - wanted.first + 1
  return { by: 'range', offset: wanted.first, limit: Math.min(size, maxLimit) }
}

/** The window of a request that names no place. */
export function startWindow(limit: number, byOffset = false): Window {
  return byOffset ? { by: 'offset', offset: 0, limit } : { by: 'cursor', cursor: undefined, limit }
}

/** What a store found for a window. */
export interface Found {
  /** The number of items on the page. */
  readonly count: number
  /** Whether the store had at least one more in the window's direction. */
  readonly more: boolean
  /** The total, or `undefined` where it is unknown. */
  readonly total: number | undefined
  /** The sort keys of the first and the last item; absent on an empty page or where nothing was listed. */
  readonly firstKey?: readonly Json[] | undefined
  readonly lastKey?: readonly Json[] | undefined
}

/** The position of the page's first item, as far as it can be known while others write. */
function firstPosition(window: Window, { count, more, total }: Found): number {
  if (window.by !== 'cursor') return window.offset
  if (!window.cursor) return 0
  const { backward, key, position } = window.cursor
  if (backward && !more) return 0
  const atEnd = backward ? key === undefined : !more
  if (atEnd && total !== undefined) return total - count
  const start = Math.max(0, backward ? position - count : position)
  return total === undefined ? start : Math.max(0, Math.min(start, total - count))
}

type LinkParameter = Pick<Parameter, 'name' | 'raw'>

/** The parameters that the links of a list keep: prepared once for a query, for each of its pages. */
export class LinkQuery {
  readonly #parameters: readonly LinkParameter[]
  #address = ''
  #bare = ''

  /** @param parameters without those that name a place. */
  constructor(parameters: readonly LinkParameter[]) {
    this.#parameters = parameters
  }

  /** Prints a link to an address without a place. */
  bare(address: string): string {
    if (address !== this.#address) {
      this.#address = address
      this.#bare = printTarget(address, this.#parameters)
    }
    return this.#bare
  }

  /** Prints the start of a link to an address, up to the parameters that name the place. */
  start(address: string): string {
    return `${this.bare(address)}${this.#parameters.length === 0 ? '?' : '&'}`
  }

  /** Prints a link to an address with another limit. */
  sized(address: string, place: string): string {
    const others = this.#parameters.filter(({ name }) => name !== 'limit')
    return `${printTarget(address, others)}${others.length === 0 ? '?' : '&'}${place}`
  }
}

function printTarget(address: string, parameters: readonly LinkParameter[]): string {
  const query = parameters.map(({ raw }) => raw).join('&')
  return `<${escapeTarget(query === '' ? address : `${address}?${query}`)}`
}

/** What {@link pageHeaders} needs to know of a page. */
export interface PageOptions {
  /** The range unit: the collection's name. */
  readonly unit: string
  /** The sort in force, as `readQuery` gives it. */
  readonly sort: readonly SortKey[]
  /** The address of the list, without a query. */
  readonly address: string
  /** The parameters of the request: links keep those that name no place. Default none. */
  readonly parameters?: readonly Parameter[]
}

/**
 * Prints the headers of a list's page: `Content-Range`, `X-Result-Count`, `Accept-Ranges`, `Link`.
 * @returns them by their names, for `new Headers()` and `writeHead()`.
 */
export function pageHeaders(
  window: Window,
  found: Found,
  { parameters = [], ...options }: PageOptions,
): Record<string, string> {
  const links = new LinkQuery(keepParameters(parameters, window, UNLINKED))
  const list = printPageHeaders(window, found, { ...options, links })
  const names = list.filter((_, at) => at % 2 === 0)
  return Object.fromEntries(names.map((name, at) => [name, list[2 * at + 1] ?? '']))
}

/** Parameters that links do not keep: those of a place, since links name their own, and `_method`. */
export const UNLINKED: ReadonlySet<string> = new Set([...PLACES, METHOD_PARAMETER])

/** Lists the parameters that the links of a page keep; the size of a `Range` is their limit. */
export function keepParameters(
  parameters: readonly Parameter[],
  window: Window,
  unlinked: ReadonlySet<string>,
): LinkParameter[] {
  const kept: LinkParameter[] = parameters.filter(({ name }) => !unlinked.has(name))
  if (window.by === 'range') kept.push({ name: 'limit', raw: `limit=${window.limit}` })
  return kept
}

/** What {@link printPageHeaders} needs to know of a page. */
interface PrintOptions extends Omit<PageOptions, 'parameters'> {
  readonly links: LinkQuery
  /** Whether the address without a place is the whole list, so that its first page needs an offset. */
  readonly streams?: boolean
}

/** Prints the headers of a list's page, its links prepared. */
export function printPageHeaders(window: Window, found: Found, options: PrintOptions): HeaderList {
  const { unit } = options
  const { count, total } = found
  const first = firstPosition(window, found)
  const headers: HeaderList = ['Accept-Ranges', unit]
  if (count > 0)
    headers.push('Content-Range', `${unit} ${first}-${first + count - 1}/${total ?? '*'}`)
  else if (total !== undefined) headers.push('Content-Range', printContentRange({ unit, total }))
  if (total !== undefined) headers.push('X-Result-Count', String(total))
  if (window.limit === 0) return headers
  const links = pageLinks(window, found, first, options)
  const text = joinWithin(links, MAX_LINK)
  if (text !== '') headers.push('Link', text)
  return headers
}

/** How long a `Link` may grow with its query: nginx reads 4 KiB of headers in all unless configured otherwise. */
const MAX_LINK = 2800

/** Joins as many links from the start as fit; the first, which leads on, may be longer. */
function joinWithin(links: readonly string[], max: number): string {
  let text = links[0] ?? ''
  for (let at = 1; at < links.length; at++) {
    const longer = `${text}, ${links[at]}`
    if (longer.length + 2 > max) return text
    text = longer
  }
  return text
}

/** Prints the links of a page, the one that leads on first. */
function pageLinks(
  window: Window,
  { count, more, total, firstKey, lastKey }: Found,
  first: number,
  { sort, address, links, streams }: PrintOptions,
): string[] {
  const { limit } = window
  const start = links.start(address)
  const printed: string[] = []
  const byCursor = window.by === 'cursor'
  const backward = byCursor && window.cursor?.backward === true
  const atEnd = backward && window.cursor?.key === undefined
  const hasNext = backward ? !atEnd : more
  const hasPrevious = backward ? more : first > 0
  const to = (key: readonly Json[] | undefined, back: boolean, position: number) =>
    cursorTo({ key, backward: back, position }, sort)

  if (hasNext && (!byCursor || lastKey)) {
    const position = first + count
    const place = (byCursor && to(lastKey, false, position)) || `offset=${position}`
    printed.push(`${start}${place}>; rel="next"`)
  }
  let previous: string | undefined
  if (hasPrevious && (byCursor ? firstKey : total !== 0)) {
    const cursor = byCursor && to(firstKey, true, first)
    const end = Math.min(first, total ?? first)
    if (cursor) previous = `${start}${cursor}`
    // Nearer to the start than a page it is a shorter one: no item comes twice.
    else if (end > 0 && end < limit) previous = links.sized(address, `offset=0&limit=${end}`)
    else previous = `${start}offset=${Math.max(0, end - limit)}`
    printed.push(`${previous}>; rel="previous"`)
  }
  printed.push(`${byCursor && !streams ? links.bare(address) : `${start}offset=0`}>; rel="first"`)
  if (total !== undefined && total > 0) {
    const offset = total - ((total - 1) % limit) - 1
    const place = (byCursor && to(undefined, true, total)) || `offset=${offset}`
    printed.push(`${start}${place}>; rel="last"`)
  }
  if (previous !== undefined) printed.push(`${previous}>; rel="prev"`)
  return printed
}

/**
 * The maximum length of a cursor in a link: it holds whole values, and a long text would make headers that
 * no client reads. Then one continues by position.
 */
const MAX_CURSOR = 1024

function cursorTo(place: Cursor, sort: readonly SortKey[]): string | undefined {
  if (place.key?.some(value => typeof value === 'string' && value.length > MAX_CURSOR))
    return undefined
  const text = printCursor(place, sort)
  return text.length > MAX_CURSOR ? undefined : `cursor=${text}`
}
