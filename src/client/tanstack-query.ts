// The entry point `rest-conventions/query`: options for TanStack Query, whose data has the versions of its items.
import type {
  DataTag,
  InfiniteData,
  MutationFunctionContext,
  QueryClient,
} from '@tanstack/query-core'
import type { Def, DefCompared, DefItem, IdOf } from '../model/types/collection-types.ts'
import type { Matching, Query, Selected, WholeQuery } from '../model/types/list-query.ts'
import type {
  Included,
  IncludeOf,
  RelatedFilters,
  RelatedItem,
  RelatedQuery,
} from '../model/types/related.ts'
import type {
  ActionsOf,
  ByClient,
  CallOptions,
  List,
  OperationsOf,
  Page,
  Remote,
  Resource,
} from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { ConflictError } from './errors.ts'
import { isObject } from './query-string.ts'
import { createProxy } from './resource.ts'
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

/** Options for `useQuery`, `fetchQuery` … @typeParam Shown what `useQuery` gives, where it is not what is cached. */
export interface CachedQueryOptions<Cached, Shown = Cached> {
  readonly queryKey: DataTag<readonly unknown[], Cached>
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Cached>
  readonly select: (cached: Cached) => Shown
  readonly structuralSharing: (before: unknown, after: unknown) => unknown
  /** The client retries. */
  readonly retry: false
}

/** Options for `useInfiniteQuery`: each page begins where the one before it ends. */
export interface InfiniteOptions<T> {
  readonly queryKey: DataTag<readonly unknown[], InfiniteData<CachedPage<T>, string | undefined>>
  readonly queryFn: (context: {
    readonly signal: AbortSignal
    readonly pageParam: string | undefined
  }) => Promise<CachedPage<T>>
  readonly initialPageParam: string | undefined
  readonly getNextPageParam: (page: CachedPage<T>) => string | undefined
  readonly select: (
    data: InfiniteData<CachedPage<T>, string | undefined>,
  ) => InfiniteData<ShownPage<T>, string | undefined>
  readonly structuralSharing: (before: unknown, after: unknown) => unknown
  readonly retry: false
}

/** Options for `useMutation`. The variables are the arguments of the call: `mutate([car, { price: 3 }])`. */
export interface MutationOptions<Args, Result> {
  readonly mutationKey: readonly unknown[]
  readonly mutationFn: (args: Args) => Promise<Result>
  readonly onSuccess: (
    result: Result,
    args: Args,
    before: unknown,
    context: MutationFunctionContext,
  ) => void
  readonly onError: (
    error: Error,
    args: Args,
    before: unknown,
    context: MutationFunctionContext,
  ) => void
  readonly retry: false
}

/** A list as queries. */
export interface ListQuery<T> {
  /** The first page: `limit` is its size. */
  queryOptions(): CachedQueryOptions<CachedPage<T>, ShownPage<T>>
  /** Page after page: nothing that stays is skipped or comes twice, whoever writes between them. */
  infiniteOptions(): InfiniteOptions<T>
}

/** An item as a query. */
export interface ItemQuery<T> {
  queryOptions(): CachedQueryOptions<CachedItem<T>, T>
}

/** A count as a query. */
export interface CountQuery {
  queryOptions(): CachedQueryOptions<number>
}

/** A write as a mutation. */
export interface Mutation<Args, Result> {
  /**
   * It puts the item that the write gives into the query of the item, and marks all other queries of the collection as
   * old. On a conflict it does so with the item as it is now (`theirs`).
   */
  mutationOptions(): MutationOptions<Args, Result>
}

type MutationOf<F> = F extends (...args: infer Args) => Promise<infer Result>
  ? Mutation<Args, Result>
  : never

type WriteName = 'create' | 'replace' | 'patch' | 'change' | 'delete'

/** The queries of a collection, with names as those of its resource. */
export interface ReadQueries<D extends Def, in out Named> {
  /** What the keys of all its queries begin with. */
  readonly key: readonly [name: string]
  list(query?: WholeQuery<DefCompared<D>>): ListQuery<DefItem<D>>
  list<F extends string>(
    query: Query<DefCompared<D>, F, DefItem<D>>,
  ): ListQuery<Selected<DefItem<D>, F>>
  list<const P extends string = never, const F extends string = never>(
    query: RelatedQuery<D, Named, P, F>,
  ): ListQuery<RelatedItem<D, Named, P, F>>
  search(words: string, query?: WholeQuery<DefCompared<D>>): ListQuery<DefItem<D>>
  count(filters?: Matching<DefCompared<D>> & RelatedFilters<D, Named>): CountQuery
  read(id: IdOf<D>): ItemQuery<DefItem<D>>
  read<const P extends string>(
    id: IdOf<D>,
    options: { readonly include: readonly IncludeOf<D, Named, P>[] },
  ): ItemQuery<Included<D, Named, P>>
}

/** The mutations of a collection, actions included. */
export type WriteMutations<D extends Def, Named> = {
  readonly [K in WriteName]: MutationOf<OperationsOf<D, Named>[K]>
} & { readonly [K in keyof ActionsOf<D>]: MutationOf<ActionsOf<D>[K]> }

/** The queries and mutations of an api, by collection. */
export type Queries<Named> = {
  readonly [N in keyof Named]: Named[N] extends { readonly def: infer D extends Def }
    ? Declared<
        ReadQueries<ByClient<D>, Named> & WriteMutations<ByClient<D>, Named>,
        Remote<D, Named>
      >
    : never
}

/** Those whose names the resource has: no operation that the declaration leaves out. */
type Declared<All, Resource> = Pick<All, keyof All & (keyof Resource | 'key')>

/**
 * Creates queries and mutations for TanStack Query, with the names of the client: `useQuery(q.cars.read(7).queryOptions())`.
 * Items that queries give are written on the condition of their version, even if the cache came from a server or storage.
 * @example
 * import { QueryClient } from '@tanstack/query-core'
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { createQueries } from 'rest-conventions/query'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const q = createQueries(client)
 * const queries = new QueryClient()
 * const { items } = await queries.fetchQuery(q.cars.list({ price: { gte: 10 } }).queryOptions())
 */
export function createQueries<Named>(client: ClientOf<Named>): Queries<Named> {
  const resources = client as Readonly<Record<string, Resource>> // each property is one
  return createProxy({}, name => createCollectionQueries(name, resources[name] as Resource))
}

type UntypedPage = CachedPage<object>

/** Every other name is a mutation. */
function createCollectionQueries(name: string, resource: Resource): object {
  const toQuery = (key: readonly unknown[], queryFn: unknown, more?: object) => ({
    queryKey: [name, ...key],
    queryFn,
    structuralSharing: keepEqual,
    retry: false,
    ...more,
  })

  const toList = (
    key: readonly unknown[],
    list: (query: object, options: CallOptions) => List<object>,
  ) => {
    const load = async ({
      signal,
      pageParam: cursor,
    }: {
      readonly signal: AbortSignal
      readonly pageParam?: string
    }) => {
      const page = await list({ cursor }, { signal }).page()
      return { ...page, versions: page.items.map(versionOf) }
    }
    return {
      queryOptions: () => toQuery(key, load, { select: showPage }),
      infiniteOptions: () =>
        toQuery([...key, 'infinite'], load, {
          initialPageParam: undefined,
          getNextPageParam: ({ cursor }: UntypedPage) => cursor,
          select: showPages,
        }),
    }
  }

  const reads = {
    key: [name],
    list: (query: object = {}) =>
      toList(['list', query], (more, options) => resource.list({ ...query, ...more }, options)),
    search: (words: string, query: object = {}) =>
      toList(['search', words, query], (more, options) =>
        resource.search(words, { ...query, ...more }, options),
      ),
    count: (filters: object = {}) => ({
      queryOptions: () =>
        toQuery(['count', filters], ({ signal }: CallOptions) =>
          resource.count(filters, { signal }),
        ),
    }),
    read: (id: string, options?: { readonly include: readonly string[] }) => ({
      queryOptions: () =>
        toQuery(
          ['read', `${id}`, ...(options ? [options] : [])],
          async ({ signal }: CallOptions) => {
            const item = await resource.read(id, { ...options, signal } as never)
            return { item, version: versionOf(item) }
          },
          { select: showItem },
        ),
    }),
  }
  return createProxy(reads, method => ({
    mutationOptions: () => ({
      mutationKey: [name, method],
      mutationFn: (args: readonly unknown[]) => Reflect.get(resource, method)(...args),
      onSuccess: (
        item: unknown,
        args: readonly unknown[],
        _: unknown,
        { client }: MutationFunctionContext,
      ) => settle(name, client, args, item, method === 'delete'),
      onError: (
        error: unknown,
        args: readonly unknown[],
        _: unknown,
        { client }: MutationFunctionContext,
      ) => {
        if (error instanceof ConflictError) settle(name, client, args, error.theirs, !error.theirs)
      },
      retry: false,
    }),
  }))
}

/**
 * Puts the item of a write into its query, and marks all other queries of the collection as old.
 * @param args of the write, the target first.
 */
function settle(
  name: string,
  queries: QueryClient,
  args: readonly unknown[],
  item: unknown,
  isGone: boolean,
): void {
  const [target] = args
  const { version: given } = Object(args.at(-1))
  const version = isObject(item) ? versionOf(item) : undefined
  const id = idOf(version) ?? (isObject(target) ? idOf(versionOf(target) ?? given) : `${target}`)
  const queryKey = [name, 'read', id]
  if (isGone) queries.removeQueries({ queryKey })
  else if (version) queries.setQueryData(queryKey, { item, version })
  queries.invalidateQueries({
    queryKey: [name],
    // All but the one that is current.
    predicate: ({ queryKey: [, , of, more] }) => !version || of !== id || more !== undefined,
  })
}

/** Finds the id in the version of an item. */
function idOf(version: string | undefined): string | undefined {
  const segment = version?.split(' ')[1]?.split('/')[1]
  return segment && decodeURIComponent(segment)
}

/** Keeps data that has not changed. Data that is partly the same is not mixed: its items would have no versions. */
function keepEqual(before: unknown, after: unknown): unknown {
  return JSON.stringify(before) === JSON.stringify(after) ? before : after
}

/** Tells the client the version of an item that may be a copy. */
function showItem<T extends object>({ item, version }: CachedItem<T>): T {
  if (version) versions.set(item, () => version)
  return item
}

function showPage({ versions, ...page }: UntypedPage): ShownPage<object> {
  for (const [at, item] of page.items.entries()) showItem({ item, version: versions[at] })
  return page
}

function showPages({ pages, ...data }: InfiniteData<UntypedPage>): InfiniteData<ShownPage<object>> {
  return { ...data, pages: pages.map(showPage) }
}
