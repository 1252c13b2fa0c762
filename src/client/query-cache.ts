// What the queries and mutations do to the cache of a `QueryClient`.
import type { Page } from '../model/types/resource.ts'
import { merge } from './merge.ts'
import { isObject } from './query-string.ts'
import { versionOf, versions } from './versions.ts'

/** An item in the cache of queries: a copy of it is as good, from a server or storage. */
export interface CachedItem<T> {
  readonly item: T
  /** For `patch(item, …, { version })`; the client knows it of items that queries give. */
  readonly version: string | undefined
}

/** A page in the cache of queries. */
export interface CachedPage<T> extends ShownPage<T> {
  /** The versions of its items, in their order. */
  readonly versions: readonly (string | undefined)[]
}

/** A page as queries give it. */
export type ShownPage<T> = Pick<Page<T>, 'items' | 'total' | 'cursor'>

/** What is used of a `QueryClient`: of whichever copy of its package, since two have types that do not fit. */
export interface QueryCache {
  getQueriesData(filters: {
    readonly queryKey: readonly unknown[]
  }): readonly (readonly [key: readonly unknown[], data: QueryData | undefined])[]
  getQueryData(key: readonly unknown[]): unknown
  setQueryData(key: readonly unknown[], data: unknown): unknown
  removeQueries(filters: { readonly queryKey: readonly unknown[] }): void
  cancelQueries(filters: { readonly queryKey: readonly unknown[] }): Promise<void>
  invalidateQueries(filters: {
    readonly queryKey: readonly unknown[]
    readonly predicate?: (query: { readonly queryKey: readonly unknown[] }) => boolean
  }): Promise<void>
}

/** What a function of a query or a mutation gets beside its own arguments. */
export interface CacheContext {
  readonly client: QueryCache
}

/** A page whose items may be any. */
export type UntypedPage = CachedPage<object>

interface UntypedPages {
  readonly pages: readonly UntypedPage[]
}

/** The data of a query: of an item, a page, several pages, or a count. */
type QueryData = Partial<CachedItem<object> & UntypedPage & UntypedPages>

/** Builds the start of the query keys of an api: the `key` that the program chose, and the version. */
export function toPrefix(address: string, key: string | undefined): string[] {
  const [, version] = /\/(v\d+)$/.exec(address) ?? []
  return [key, version].filter(each => each !== undefined)
}

/** The addresses of the apis whose data a cache has, by the beginning of their keys. */
const addresses = new WeakMap<QueryCache, Map<string, string>>()

/** @throws TypeError for a second api under the same keys: each would show the items of the other. */
export function requireOneAddress(
  queries: QueryCache,
  root: readonly string[],
  address: string,
): void {
  const known = addresses.get(queries) ?? new Map<string, string>()
  addresses.set(queries, known)
  const keys = JSON.stringify(root.slice(0, -1))
  const first = known.get(keys) ?? address
  known.set(keys, first)
  if (first !== address)
    throw new TypeError(
      `createQueries: ${first} and ${address} share a QueryClient. Give each a key: createQueries(client, { key: 'shop' }).`,
    )
}

/** What takes back the changes that are shown of a mutation that has not ended, by its variables. */
export const takeBack = new WeakMap<readonly unknown[], () => void>()

/** Shows the changes of a patch in all queries that have the item. @returns what takes them back. */
export function show(
  root: readonly string[],
  queries: QueryCache,
  args: readonly unknown[],
): () => void {
  const id = targetOf(args)
  const changed = (item: unknown, version: string | undefined) =>
    idOf(version) === id ? merge(item, args[1]) : item
  const inPage = (page: Pick<UntypedPage, 'items' | 'versions'>) => ({
    ...page,
    items: page.items.map((item, at) => changed(item, page.versions[at])),
  })
  const shown = queries.getQueriesData({ queryKey: root }).flatMap(([key, before]) => {
    if (!isObject(before)) return []
    const { item, version, items, versions = [], pages } = before
    const data = item
      ? { ...before, item: changed(item, version) }
      : items
        ? inPage({ ...before, items, versions })
        : pages
          ? { ...before, pages: pages.map(inPage) }
          : before
    queries.setQueryData(key, data)
    return [{ key, before, data: queries.getQueryData(key) }]
  })
  return () => {
    for (const { key, before, data } of shown)
      if (queries.getQueryData(key) === data) queries.setQueryData(key, before)
  }
}

/** Finds the id of the target of a write. */
function targetOf(args: readonly unknown[]): string | undefined {
  const [target] = args
  const { version: given } = Object(args.at(-1))
  return isObject(target) ? idOf(versionOf(target) ?? given) : `${target}`
}

/**
 * Puts the item of a write into its query, and marks all other queries of the collection as old.
 * @param args of the write, the target first.
 */
export function settle(
  root: readonly string[],
  queries: QueryCache,
  args: readonly unknown[],
  item: unknown,
  isGone: boolean,
): void {
  const version = isObject(item) ? versionOf(item) : undefined
  const id = idOf(version) ?? targetOf(args)
  const queryKey = [...root, 'read', id]
  if (isGone) queries.removeQueries({ queryKey })
  else if (version) queries.setQueryData(queryKey, { item, version })
  queries.invalidateQueries({
    queryKey: root,
    // All but the one that is current.
    predicate: ({ queryKey: key }) => {
      const [, of, more] = key.slice(root.length)
      return !version || of !== id || more !== undefined
    },
  })
}

/** Finds the id in the version of an item. */
function idOf(version: string | undefined): string | undefined {
  const segment = version?.split(' ')[1]?.split('/')[1]
  return segment && decodeURIComponent(segment)
}

/** Keeps data that has not changed. Data that is partly the same is not mixed: its items would have no versions. */
export function keepEqual(before: unknown, after: unknown): unknown {
  return JSON.stringify(before) === JSON.stringify(after) ? before : after
}

/** Tells the client the version of an item that may be a copy. */
export function showItem<T extends object>({ item, version }: CachedItem<T>): T {
  if (version) versions.set(item, () => version)
  return item
}

export function showPage({ versions, ...page }: UntypedPage): ShownPage<object> {
  for (const [at, item] of page.items.entries()) showItem({ item, version: versions[at] })
  return page
}

export function showPages({ pages, ...data }: UntypedPages) {
  return { ...data, pages: pages.map(showPage) }
}
