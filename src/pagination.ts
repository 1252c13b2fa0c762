// A page of a list and where it lies, both directions: `Range` (RFC 9110 §14), `offset`, `limit` and
// `cursor` in; `Content-Range` (§14.4), `Link` (RFC 8288) and `X-Result-Count` out.
import type { Issue } from './errors.ts'
import type { HeaderList } from './http/message.ts'
import type { Parameter } from './http/parameters.ts'
import type { Json } from './schema/values.ts'

/** First and last position, both inclusive and counted from 0; without a last, all that follows. */
export interface Range {
  readonly first: number
  readonly last: number | undefined
}

const RANGE = /^(\d{1,15})-(\d{0,15})$/

/**
 * Reads `Range: <unit>=<first>-<last>` of one collection; the last may be left out.
 * @returns `undefined` for another unit, several ranges, a suffix or anything malformed: RFC 9110
 * §14.2 has all of these ignored.
 */
export function parseRange(text: string, unit: string): Range | undefined {
  const equals = text.indexOf('=')
  if (text.slice(0, equals).trim().toLowerCase() !== unit.toLowerCase()) return undefined
  const positions = RANGE.exec(text.slice(equals + 1).trim())
  if (!positions) return undefined
  const first = Number(positions[1])
  const last = positions[2] === '' ? undefined : Number(positions[2])
  return last !== undefined && last < first ? undefined : { first, last }
}

export function printRange(range: Range, unit: string): string {
  return `${unit}=${range.first}-${range.last ?? ''}`
}

/** Where a page lies; `range` is absent for a page with nothing in it, `total` where it is unknown. */
export interface ContentRange {
  readonly unit: string
  readonly range?: { readonly first: number; readonly last: number }
  readonly total?: number
}

const CONTENT_RANGE = /^(\S+) (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15}|\*)$/

/** Reads `<unit> <first>-<last>/<total>`; `undefined` where it is none. */
export function parseContentRange(text: string): ContentRange | undefined {
  const parts = CONTENT_RANGE.exec(text)
  if (parts?.[1] === undefined) return undefined
  const [, unit, first, last, total] = parts
  if (first === undefined && total === '*') return undefined
  if (first !== undefined && Number(last) < Number(first)) return undefined
  if (last !== undefined && total !== '*' && Number(total) <= Number(last)) return undefined
  return {
    unit,
    ...(first === undefined ? {} : { range: { first: Number(first), last: Number(last) } }),
    ...(total === '*' ? {} : { total: Number(total) }),
  }
}

/** Prints `<unit> <first>-<last>/<total>`, `<unit> *\/<total>` for an empty page, `*` for an unknown total. */
export function printContentRange({ unit, range, total }: ContentRange): string {
  return `${unit} ${range ? `${range.first}-${range.last}` : '*'}/${total ?? '*'}`
}

export interface Link {
  readonly rel: string
  readonly href: string
}

/** What stands escaped in a target: a percent sign that begins no escape too. */
const NOT_IN_LINK = /[^A-Za-z0-9\-._~:/?#@!$&'()*+=%]|%(?![0-9A-Fa-f]{2})/gu

/**
 * Prints a `Link` header (RFC 8288 §3): `rel` first and quoted, one entry for each relation, and no
 * comma, semicolon, bracket or quote in a target, since stock parsers split at them.
 */
export function printLink(links: readonly Link[]): string {
  return links.map(printOne).join(', ')
}

function printOne({ rel, href }: Link): string {
  const target = href.toWellFormed().replace(NOT_IN_LINK, char => encodeURIComponent(char))
  return `<${target}>; rel="${rel}"`
}

const LINK_PARAMETER = /;\s*([^\s=;,]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/y

/** Reads a `Link` header: targets and relations; other parameters are passed over, `rel="a b"` gives two. */
export function parseLink(text: string): Link[] {
  const links: Link[] = []
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const end = text.indexOf('>', at)
    if (end === -1) break
    const href = text.slice(at + 1, end)
    let rel: string | undefined
    for (at = end + 1; ; at = LINK_PARAMETER.lastIndex) {
      LINK_PARAMETER.lastIndex = afterSpace(text, at)
      const parameter = LINK_PARAMETER.exec(text)
      if (!parameter) break
      // Of several `rel` the first counts (RFC 8288 §3.3).
      if (parameter[1]?.toLowerCase() === 'rel') rel ??= parameter[2] ?? parameter[3] ?? ''
    }
    const names = (rel ?? '').split(/\s+/).filter(name => name !== '')
    links.push(...names.map(name => ({ rel: name, href })))
  }
  return links
}

function afterSpace(text: string, at: number): number {
  while (/\s/.test(text.charAt(at))) at++
  return at
}

/** A place in a sorted list: pages continue from it, whatever is created or deleted meanwhile. */
export interface Cursor {
  /** The sort that it belongs to, as text. */
  readonly order: string
  /** The values of the sort keys at the place, the id last; without, one end of the list. */
  readonly key: readonly Json[] | undefined
  /** Whether the page ends before the place rather than starting after it. */
  readonly backward: boolean
  /** The position of the page's first item when the cursor was made: for `Content-Range` only. */
  readonly position: number
}

/**
 * Prints a cursor as an opaque text safe in a URL. The checksum finds damage, not malice: what a
 * cursor holds is checked, bound and filtered like any parameter.
 */
export function printCursor({ order, key, backward, position }: Cursor): string {
  const text = JSON.stringify([order, key ?? null, backward ? 1 : 0, position])
  return Buffer.from(checksum([text]) + text).toString('base64url')
}

/** Reads a cursor; `undefined` where it was changed or is none. The types of its key are not checked. */
export function parseCursor(text: string): Cursor | undefined {
  const whole = Buffer.from(text, 'base64url')
  if (whole.toString('base64url') !== text) return undefined
  const decoded = whole.toString()
  const json = decoded.slice(CHECKSUM_LENGTH)
  if (decoded.slice(0, CHECKSUM_LENGTH) !== checksum([json])) return undefined
  // Only what `printCursor` made, or someone who knows the checksum, comes this far.
  const value: unknown = safeParse(json)
  if (!Array.isArray(value) || value.length !== 4) return undefined
  const [order, key, backward, position] = value
  if (typeof order !== 'string' || !(key === null || Array.isArray(key))) return undefined
  if ((backward !== 0 && backward !== 1) || !Number.isSafeInteger(position) || position < 0) {
    return undefined
  }
  return { order, key: key ?? undefined, backward: backward === 1, position }
}

function safeParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const CHECKSUM_LENGTH = 20

/**
 * 64 bits of two interleaved multiply-xor hashes (after cyrb53), as 20 digits.
 * @param texts each ends before the next one: to join a page's versions would take as long again.
 */
export function checksum(texts: readonly string[]): string {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (const text of texts) {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      high = Math.imul(high ^ unit, 2654435761)
      low = Math.imul(low ^ unit, 1597334677)
    }
    // No unit is so large.
    high = Math.imul(high ^ 0x10000, 2654435761)
    low = Math.imul(low ^ 0x10000, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return String(high >>> 0).padStart(10, '0') + String(low >>> 0).padStart(10, '0')
}

/** Which part of a list is asked for, and in which way: the links continue in the same way. */
export type Window =
  | { readonly by: 'offset' | 'range'; readonly offset: number; readonly limit: number }
  | { readonly by: 'cursor'; readonly cursor: Cursor | undefined; readonly limit: number }

export interface WindowOptions {
  /** The range unit: the collection's name. */
  readonly unit: string
  /** How many items where the request does not say. */
  readonly defaultLimit: number
  /** The most items of a page; what asks for more is cut to it. */
  readonly maxLimit: number
  /** The sort in force, as text: a cursor of another one is refused. */
  readonly order: string
}

/**
 * The window that a request asks for. `Range` counts only where none of the parameters is given.
 * Issues are added to the list.
 */
export function readWindow(
  parameters: readonly Parameter[],
  range: string | undefined,
  { unit, defaultLimit, maxLimit, order }: WindowOptions,
  issues: Issue[],
): Window {
  const limitText = single(parameters, 'limit', issues)
  const offsetText = single(parameters, 'offset', issues)
  const cursorText = single(parameters, 'cursor', issues)
  const limit = Math.min(wholeNumber('limit', limitText, issues) ?? defaultLimit, maxLimit)
  const offset = wholeNumber('offset', offsetText, issues)
  if (offset !== undefined && cursorText !== undefined) {
    const message = 'offset and cursor exclude each other: send one of them'
    issues.push({ message, field: 'cursor', type: 'conflicting_parameters' })
  }
  if (cursorText !== undefined) {
    const cursor = parseCursor(cursorText)
    if (cursor?.order !== order) {
      const message = cursor
        ? `This cursor belongs to sort=${cursor.order}, the request asks for sort=${order}`
        : 'This cursor was changed or is none: take it as it stands in a Link header'
      issues.push({ message, field: 'cursor', type: 'invalid_cursor' })
    }
    return { by: 'cursor', cursor, limit }
  }
  if (offset !== undefined) return { by: 'offset', offset, limit }
  const wanted =
    limitText === undefined && range !== undefined ? parseRange(range, unit) : undefined
  if (!wanted) return { by: 'cursor', cursor: undefined, limit }
  const size = wanted.last === undefined ? maxLimit : wanted.last - wanted.first + 1
  return { by: 'range', offset: wanted.first, limit: Math.min(size, maxLimit) }
}

/** The value of a parameter that may be given once. */
export function single(
  parameters: readonly Parameter[],
  name: string,
  issues: Issue[],
): string | undefined {
  let found: Parameter | undefined
  let times = 0
  for (const parameter of parameters) {
    if (parameter.name !== name) continue
    found ??= parameter
    times++
  }
  if (times > 1) {
    issues.push({
      message: `${name} is given ${times} times; give it once`,
      field: name,
      type: 'repeated_parameter',
    })
  }
  return found?.value
}

function wholeNumber(name: string, text: string | undefined, issues: Issue[]): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const shown = JSON.stringify(text.slice(0, 32))
  issues.push({
    message: `${name} must be a whole number from 0, not ${shown}`,
    field: name,
    type: 'invalid_number',
  })
  return undefined
}

/** What a store gave for a window. */
export interface Found {
  /** How many items are on the page. */
  readonly count: number
  /** Whether the store had at least one more in the window's direction. */
  readonly more: boolean
  /** The total, or `undefined` where it is unknown. */
  readonly total: number | undefined
  /** The sort keys of the first and the last item; absent on an empty page or where nothing was listed. */
  readonly firstKey?: readonly Json[]
  readonly lastKey?: readonly Json[]
}

/** The position of the page's first item, as far as it can be known while others write. */
function firstPosition(window: Window, { count, more, total }: Found): number {
  if (window.by !== 'cursor') return window.offset
  if (!window.cursor) return 0
  const { backward, key, position } = window.cursor
  if (backward && !more) return 0
  const atEnd = backward ? key === undefined : !more
  if (atEnd && total !== undefined) return total - count
  return total === undefined ? position : Math.max(0, Math.min(position, total - count))
}

interface PageOptions {
  readonly unit: string
  readonly order: string
  readonly href: (parameters: string) => string
  /** The most characters of the first link: of a longer query, sent in a form, one goes on by `offset`. Default: no limit. */
  readonly leading?: number
}

/** The headers of a list's page: `Content-Range`, `X-Result-Count`, `Accept-Ranges`, `Link`. */
export function pageHeaders(
  window: Window,
  found: Found,
  { unit, order, href, leading = Number.POSITIVE_INFINITY }: PageOptions,
): HeaderList {
  const { count, total } = found
  const first = firstPosition(window, found)
  const range = count > 0 ? { range: { first, last: first + count - 1 } } : {}
  const headers: HeaderList = ['Accept-Ranges', unit]
  if (count > 0 || total !== undefined) {
    const value = printContentRange({ unit, ...range, ...(total === undefined ? {} : { total }) })
    headers.push('Content-Range', value)
  }
  if (total !== undefined) headers.push('X-Result-Count', String(total))
  const links = window.limit === 0 ? [] : pageLinks(window, found, first, order)
  const printed = links.map(({ rel, href: place }) => printOne({ rel, href: href(place) }))
  const fitting = withinLength(printed, MOST_LINK, leading)
  if (fitting.length > 0) headers.push('Link', fitting.join(', '))
  return headers
}

/** How long a `Link` may grow with its query: nginx reads 4 KiB of headers in all unless told otherwise. */
const MOST_LINK = 2800

/** As many texts from the front as fit in so many characters; the first, which leads on, beyond that. */
function withinLength(texts: readonly string[], most: number, first: number): readonly string[] {
  if ((texts[0]?.length ?? 0) > first) return []
  let length = 0
  const end = texts.findIndex(text => {
    length += text.length + 2
    return length > most
  })
  return end === -1 ? texts : texts.slice(0, Math.max(end, 1))
}

/** The links of a page; each `href` is only the parameters that name the place. */
function pageLinks(window: Window, found: Found, first: number, order: string): Link[] {
  const links = neighbours(window, found, first, order)
  const previous = links.find(link => link.rel === 'previous')
  return previous ? [...links, { rel: 'prev', href: previous.href }] : links
}

function neighbours(window: Window, found: Found, first: number, order: string): Link[] {
  const { count, more, total, firstKey, lastKey } = found
  const { limit } = window
  const backward = window.by === 'cursor' && window.cursor?.backward === true
  const atEnd = backward && window.cursor?.key === undefined
  const hasNext = backward ? !atEnd : more
  const hasPrevious = backward ? more : first > 0
  const lastOffset =
    total === undefined || total === 0 ? undefined : total - ((total - 1) % limit) - 1
  const links: Link[] = []
  const add = (rel: string, parameters: string) => links.push({ rel, href: parameters })

  if (window.by !== 'cursor') {
    if (hasNext) add('next', `offset=${first + count}`)
    if (hasPrevious && total !== 0) add('previous', offsetBefore(first, limit, total))
    add('first', 'offset=0')
    if (lastOffset !== undefined) add('last', `offset=${lastOffset}`)
    return links
  }
  if (hasNext && lastKey) {
    const position = first + count
    const place = { order, key: lastKey, backward: false, position }
    add('next', cursorTo(place) ?? `offset=${position}`)
  }
  if (hasPrevious && firstKey) {
    const position = Math.max(0, first - limit)
    const place = { order, key: firstKey, backward: true, position }
    add('previous', cursorTo(place) ?? offsetBefore(first, limit, total))
  }
  add('first', '')
  if (total !== undefined && total > 0) {
    const position = Math.max(0, total - limit)
    const place = { order, key: undefined, backward: true, position }
    add('last', cursorTo(place) ?? `offset=${position}`)
  }
  return links
}

/** The offset of the page before; nearer to the start than a page, it is a shorter one: no item comes twice. */
function offsetBefore(first: number, limit: number, total = first): string {
  const end = Math.min(first, total)
  return end > 0 && end < limit ? `offset=0&limit=${end}` : `offset=${Math.max(0, end - limit)}`
}

/**
 * How long a cursor may be in a link. It holds whole values: a long text would make headers that no
 * client reads, and a target that is refused. From there one goes on by position, and so from an object
 * or a list, which are no place in an order.
 */
const MOST_CURSOR = 1024

function cursorTo(place: Cursor): string | undefined {
  const unfit = place.key?.some(value =>
    typeof value === 'string' ? value.length > MOST_CURSOR : typeof value === 'object' && value,
  )
  const text = unfit ? undefined : printCursor(place)
  return text === undefined || text.length > MOST_CURSOR ? undefined : `cursor=${text}`
}
