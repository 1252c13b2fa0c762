// The reads of one collection over HTTP.
import type { CallOptions, List, ReadOptions } from '../model/types/resource.ts'
import { notAnAnswer } from './errors.ts'
import type { Reply } from './fetch-reply.ts'
import { createList, findLink, type ReadPage } from './list.ts'
import { type ClientState, type CollectionPlace, printPath, remember, tagOf } from './place.ts'
import { isObject, printQuery } from './query-string.ts'

export type UntypedItem = Readonly<Record<string, unknown>>
type UntypedQuery = UntypedItem & {
  readonly limit?: number
  readonly fields?: readonly string[]
  readonly include?: readonly string[]
}

/** CollectionReads an address through the cache. A page of a walk is cached only if it is the whole list. */
type Get = <T>(
  path: string,
  options?: CallOptions,
  fits?: (value: unknown) => value is T,
  prefer?: string,
  walks?: boolean,
) => Promise<Reply<T>>

export interface CollectionReads {
  readonly get: Get
  readonly read: (target: unknown, options?: ReadOptions) => Promise<UntypedItem>
  readonly list: (query?: UntypedQuery, options?: CallOptions) => List<UntypedItem>
  readonly search: (words: string, query?: UntypedQuery, options?: CallOptions) => List<UntypedItem>
  readonly count: (filters?: UntypedItem, options?: CallOptions) => Promise<unknown>
}

export function createReads(
  place: CollectionPlace,
  { send, cache, max }: ClientState,
): CollectionReads {
  const { name } = place

  const get: Get = async (path, options, fits = isAnything, prefer, walks) => {
    const entry = `${prefer} ${path} ${JSON.stringify(options?.headers)}`
    const known = cache.get(entry)
    const headers = { prefer, 'if-none-match': known && tagOf(known.headers) }
    const fresh = await send('GET', path, { headers, options })
    const reply = fresh.status === 304 && known ? known : fresh
    const { value } = reply
    if (!fits(value)) throw notAnAnswer(reply)
    cache.delete(entry)
    if (reply.headers.has('etag') && !(walks && findLink(reply.headers, 'next')))
      cache.set(entry, reply)
    // The first one was not used for the longest time.
    for (const oldest of cache.keys()) if (cache.size > max) cache.delete(oldest)
    return { ...reply, value }
  }

  function list(path: string, query: UntypedQuery, options?: CallOptions, words?: string) {
    const headOf = (path: string) => path.split(/[.(]/)[0] ?? ''
    const included = query.include?.map(headOf) ?? []
    const fields = query.fields?.filter(path => !included.includes(headOf(path)))
    const source = printQuery({ fields }, place)
    const readPage: ReadPage<UntypedItem> = async (text, signal, counts, walks) => {
      const prefer = counts ? undefined : 'count=none'
      const page = await get(path + text, { ...options, signal }, isList, prefer, walks)
      remember(page.value, place, source, included)
      return page
    }
    const print = (limit?: number) => printQuery({ ...query, limit }, place, words)
    return createList(readPage, print, query.limit, options?.signal)
  }

  return {
    get,
    async read(target, { include, ...options } = {}) {
      const path = printPath(target, place) + printQuery({ include }, place)
      const { value, headers } = await get(path, options, isObject)
      remember([value], place, tagOf(headers))
      return value
    },
    list: (query = {}, options) => list(name, query, options),
    search: (words, query = {}, options) => list(`${name}/search`, query, options, words),
    async count(filters = {}, options) {
      const query = printQuery(filters, place, undefined, true)
      const { value } = await get(`${name}/count${query}`, options, isCountOrGroups)
      return value.count ?? value
    },
  }
}

const isAnything = <T>(_value: unknown): _value is T => true

export const isList = (value: unknown): value is readonly UntypedItem[] =>
  Array.isArray(value) && value.every(isObject)

export const isCount = (value: unknown): value is { readonly count: number } =>
  typeof Object(value).count === 'number'

const isCountOrGroups = (value: unknown): value is { readonly count?: number } =>
  isCount(value) || isList(value)
