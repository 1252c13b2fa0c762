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

/**
 * Reads an address through the cache. A page of a walk is cached only if it is the whole list.
 * @param fits whether a value is what this api answers. Default: anything is.
 */
export type Get = <T>(
  path: string,
  options?: CallOptions,
  fits?: (value: unknown) => value is T,
  prefer?: string,
  walks?: boolean,
) => Promise<Reply<T>>

export interface CollectionReads {
  readonly read: (target: unknown, options?: ReadOptions) => Promise<UntypedItem>
  readonly list: (query?: UntypedQuery, options?: CallOptions) => List<UntypedItem>
  readonly search: (words: string, query?: UntypedQuery, options?: CallOptions) => List<UntypedItem>
  readonly count: (filters?: UntypedItem, options?: CallOptions) => Promise<unknown>
}

export function createReads(
  place: CollectionPlace,
  { send, cache, max }: ClientState,
): readonly [get: Get, reads: CollectionReads] {
  const { name } = place

  const get: Get = async <T>(
    path: string,
    options?: CallOptions,
    fits?: (value: unknown) => value is T,
    prefer?: string,
    walks?: boolean,
  ) => {
    const entry = `${prefer} ${path} ${JSON.stringify(options?.headers)}`
    const known = cache.get(entry)
    const headers = { prefer, 'if-none-match': known && tagOf(known.headers) }
    const fresh = await send('GET', path, { headers, options })
    const reply = fresh.status === 304 && known ? known : fresh
    if (fits && !fits(reply.value)) throw notAnAnswer(reply)
    cache.delete(entry)
    if (reply.headers.has('etag') && !(walks && findLink(reply.headers, 'next')))
      cache.set(entry, reply)
    // The first one was not used for the longest time.
    for (const oldest of cache.keys()) if (cache.size > max) cache.delete(oldest)
    return reply as Reply<T> // it fits
  }

  function list(path: string, query: UntypedQuery, options?: CallOptions, words?: string) {
    const headOf = (path: string) => path.replace(/[.(].*/, '')
    const included = query.include?.map(headOf) ?? []
    const fields = query.fields?.filter(path => !included.includes(headOf(path)))
    const source = printQuery({ fields }, place)
    const readPage: ReadPage<UntypedItem> = async (text, signal, prefer, walks) => {
      const page = await get(path + text, { ...options, signal }, isList, prefer, walks)
      remember(page.value, place, source, included)
      return page
    }
    const print = (limit?: number) => printQuery({ ...query, limit }, place, words)
    return createList(readPage, print, query.limit, options?.signal)
  }

  const reads: CollectionReads = {
    async read(target, { include, ...options } = {}) {
      const path = printPath(target, place) + printQuery({ include }, place)
      const { value, headers } = await get(path, options, isObject)
      remember(value, place, tagOf(headers))
      return value
    },
    list: (query = {}, options) => list(name, query, options),
    search: (words, query = {}, options) => list(`${name}/search`, query, options, words),
    async count(filters = {}, options) {
      const query = printQuery(filters, place, undefined, true)
      const { value } = await get(
        `${name}/count${query}`,
        options,
        (each): each is { readonly count?: number } => isCount(each) || isList(each),
      )
      return value.count ?? value
    },
  }
  return [get, reads]
}

export const isList = (value: unknown): value is readonly UntypedItem[] =>
  Array.isArray(value) && value.every(isObject)

export const isCount = (value: unknown): value is { readonly count: number } =>
  typeof Object(value).count === 'number'
