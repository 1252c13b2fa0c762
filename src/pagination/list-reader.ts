// A list request read as a whole: its query, its window, and the start of its links, remembered by the
// raw text of the query.
import { type Issue, throwIfAny } from '../errors.ts'
import type { Parameter } from '../http/parameters.ts'
import {
  keepParameters,
  LinkQuery,
  readWindow,
  startWindow,
  UNLINKED,
  type Window,
  type WindowOptions,
} from '../pagination.ts'
import { listParameters, PLACES } from '../query/list-parameters.ts'
import { CACHE_BUSTER, compileQueryReader, type ParsedQuery, type QueryOptions } from '../query.ts'
import { parseCursor } from './cursor.ts'

export interface ListReaderOptions extends QueryOptions, Omit<WindowOptions, 'sort'> {}

/** A list request. It is remembered for other requests: nothing in it may be changed. */
export interface ListRequest {
  readonly query: ParsedQuery
  readonly window: Window
  readonly links: LinkQuery
  /** Whether the query names a page: then a `Range` is ignored, and a format that streams prints a page. */
  readonly namesPage: boolean
  /** The values of `fields` and `include`, which tell representations apart. */
  readonly fieldsText: string
}

interface ReadRequest extends ListRequest {
  /** How many parameters name a place. */
  readonly places: number
  /** Whether the query has a limit. */
  readonly sized: boolean
}

/**
 * Reads a list request.
 * @param range the `Range` header, if the request may have one.
 * @param text the raw text of the parameters: the key under which the result is remembered.
 * @throws HttpError 400 with all issues together.
 */
export type ListReader = (
  parameters: readonly Parameter[],
  range: string | undefined,
  text?: string,
) => ListRequest

/** Parameters that say what an answer has of each item. */
const SHOWN = listParameters('shows')

/** How many queries a reader remembers, and of which length. */
const MAX_REMEMBERED = 1000
const MAX_REMEMBERED_LENGTH = 512

/** Compiles the reader of a collection's lists. */
export function compileListReader(options: ListReaderOptions): ListReader {
  const readQuery = compileQueryReader(options)
  const unlinked = new Set(UNLINKED)
  if (!options.fields.has(CACHE_BUSTER)) unlinked.add(CACHE_BUSTER)
  const remembered = new Map<string, ReadRequest>()

  function read(parameters: readonly Parameter[], range: string | undefined): ReadRequest {
    const issues: Issue[] = []
    const query = readQuery(parameters, issues)
    const window = readWindow(parameters, range, { ...options, sort: query.sort }, issues)
    throwIfAny(issues)
    const places = parameters.filter(({ name }) => PLACES.has(name)).length
    const sized = parameters.some(({ name }) => name === 'limit')
    return {
      query,
      window,
      links: new LinkQuery(keepParameters(parameters, window, unlinked)),
      namesPage: sized || places > 0,
      fieldsText: parameters
        .filter(({ name }) => SHOWN.has(name))
        .map(({ value }) => value)
        .join(' '),
      places,
      sized,
    }
  }

  /** Moves a remembered request to another place; `undefined` if the whole query must be read. */
  function atPlace(known: ReadRequest, { name, value }: ListPlace): ListRequest | undefined {
    const { limit } = known.window
    if (name === 'offset') {
      if (!/^\d{1,15}$/.test(value)) return undefined
      return { ...known, namesPage: true, window: { by: 'offset', offset: Number(value), limit } }
    }
    const cursor = options.byOffset ? undefined : parseCursor(value, known.query.sort)
    return cursor && { ...known, namesPage: true, window: { by: 'cursor', cursor, limit } }
  }

  /** @param place the parameter that was cut from the text; the query may have more of them. */
  function remember(rest: string, place: ListPlace | undefined, request: ReadRequest): void {
    const { window } = request
    if (window.by === 'range' || (!place && request.places > 0) || request.places > 1) return
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    const start = startWindow(window.limit, options.byOffset)
    remembered.set(rest, { ...request, window: start, namesPage: request.sized })
  }

  return (parameters, range, text) => {
    if (text === undefined) return read(parameters, range)
    const { rest, place } = cutPlace(text)
    const known = remembered.get(rest)
    if (known && place) {
      const request = atPlace(known, place)
      if (request) return request
    } else if (known && (range === undefined || known.namesPage)) return known
    const request = read(parameters, range)
    if (!known && rest.length <= MAX_REMEMBERED_LENGTH) remember(rest, place, request)
    return request
  }
}

interface ListPlace {
  readonly name: 'cursor' | 'offset'
  readonly value: string
}

/** Cuts the first `cursor=…` or `offset=…` out of the text of a query. */
function cutPlace(text: string): { rest: string; place: ListPlace | undefined } {
  for (const name of ['cursor', 'offset'] as const) {
    const start = text.startsWith(`${name}=`) ? 0 : text.indexOf(`&${name}=`)
    if (start === -1) continue
    const from = text.indexOf('=', start) + 1
    const end = text.indexOf('&', from)
    const value = end === -1 ? text.slice(from) : text.slice(from, end)
    const after = end === -1 ? '' : text.slice(start === 0 ? end + 1 : end)
    return { rest: text.slice(0, start) + after, place: { name, value } }
  }
  return { rest: text, place: undefined }
}
