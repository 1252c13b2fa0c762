// The entry point `rest-conventions/query`: options for TanStack Query, whose data has the versions of its items.
import type { DataTag, InfiniteData } from '@tanstack/query-core'
import type { Def, DefCompared, DefItem, IdOf } from '../model/types/collection-types.ts'
import type { CountBy, GroupName, GroupOf } from '../model/types/groups.ts'
import type { Matching } from '../model/types/list-query.ts'
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
  Member,
  OperationsOf,
  Remote,
  Resource,
} from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { ConflictError } from './errors.ts'
import { stateOf } from './place.ts'
import {
  type CacheContext,
  type CachedItem,
  type CachedPage,
  keepEqual,
  requireOneAddress,
  type ShownPage,
  settle,
  show,
  showItem,
  showPage,
  showPages,
  takeBack,
  toPrefix,
  type UntypedPage,
} from './query-cache.ts'
import { createProxy } from './resource.ts'
import { versionOf } from './versions.ts'

export type { CacheContext, CachedItem, CachedPage, QueryCache, ShownPage } from './query-cache.ts'

/** Options of your own that any query takes. */
export interface CommonQueryOptions {
  readonly enabled?: boolean
  readonly staleTime?: number
  readonly gcTime?: number
  readonly refetchInterval?: number | false
  readonly refetchOnMount?: boolean | 'always'
  readonly refetchOnWindowFocus?: boolean | 'always'
  readonly refetchOnReconnect?: boolean | 'always'
  readonly meta?: Record<string, unknown>
}

/** Options of your own for a query, with a `select`. */
export interface OwnQueryOptions<Shown, Result> extends CommonQueryOptions {
  /** Gets what the query gives: its items are known to the client. */
  readonly select: (shown: Shown) => Result
}

/** Options for `useQuery`, `fetchQuery` … @typeParam Shown what `useQuery` gives, where it is not what is cached. */
export interface CachedQueryOptions<Cached, Shown = Cached> extends CommonQueryOptions {
  readonly queryKey: DataTag<readonly unknown[], Cached>
  readonly queryFn: (context: { readonly signal: AbortSignal } & CacheContext) => Promise<Cached>
  readonly select: (cached: Cached) => Shown
  readonly structuralSharing: (before: unknown, after: unknown) => unknown
  /** The client retries. */
  readonly retry: false
}

/** Options for `useInfiniteQuery`: each page begins where the one before it ends. */
export interface InfiniteOptions<T> extends CommonQueryOptions {
  readonly queryKey: DataTag<readonly unknown[], InfiniteData<CachedPage<T>, string | undefined>>
  readonly queryFn: (
    context: {
      readonly signal: AbortSignal
      readonly pageParam: string | undefined
    } & CacheContext,
  ) => Promise<CachedPage<T>>
  readonly initialPageParam: string | undefined
  readonly getNextPageParam: (page: CachedPage<T>) => string | undefined
  readonly select: (
    data: InfiniteData<CachedPage<T>, string | undefined>,
  ) => InfiniteData<ShownPage<T>, string | undefined>
  readonly structuralSharing: (before: unknown, after: unknown) => unknown
  readonly retry: false
}

/** Options of your own for a mutation. */
export interface OwnMutationOptions<Args, Result> {
  readonly onMutate?: (args: Args, context: CacheContext) => unknown
  readonly onSuccess?: (
    result: Result,
    args: Args,
    before: unknown,
    context: CacheContext,
  ) => unknown
  readonly onError?: (error: Error, args: Args, before: unknown, context: CacheContext) => unknown
  readonly onSettled?: (
    result: Result | undefined,
    error: Error | null,
    args: Args,
    before: unknown,
    context: CacheContext,
  ) => unknown
  readonly scope?: { id: string }
  readonly meta?: Record<string, unknown>
}

/**
 * Options for `useMutation`. The variables are the arguments of the call: `mutate([car, { price: 3 }])`. The cache is
 * brought up to date by `mutationFn`, so that no callback of yours takes the place of that.
 */
export interface MutationOptions<Args, Result> extends OwnMutationOptions<Args, Result> {
  readonly mutationKey: readonly unknown[]
  readonly mutationFn: (args: Args, context: CacheContext) => Promise<Result>
  readonly retry: false
}

/** A list as queries. */
export interface ListQuery<T> {
  /** The first page: `limit` is its size. */
  queryOptions<R>(own: OwnQueryOptions<ShownPage<T>, R>): CachedQueryOptions<CachedPage<T>, R>
  queryOptions(own?: CommonQueryOptions): CachedQueryOptions<CachedPage<T>, ShownPage<T>>
  /** Page after page: nothing that stays is skipped or comes twice, whoever writes between them. */
  infiniteOptions(own?: CommonQueryOptions): InfiniteOptions<T>
}

/** An item as a query. */
export interface ItemQuery<T> {
  queryOptions<R>(own: OwnQueryOptions<T, R>): CachedQueryOptions<CachedItem<T>, R>
  queryOptions(own?: CommonQueryOptions): CachedQueryOptions<CachedItem<T>, T>
}

/** A count, or the result of an action, as a query. */
export interface ValueQuery<T> {
  queryOptions<R>(own: OwnQueryOptions<T, R>): CachedQueryOptions<T, R>
  queryOptions(own?: CommonQueryOptions): CachedQueryOptions<T>
}

/** A write as a mutation. */
export interface Mutation<Args, Result> {
  /**
   * It puts the item that the write gives into the query of the item, and marks all other queries of the collection as
   * old. On a conflict it does so with the item as it is now (`theirs`). Callbacks of yours run after that.
   */
  mutationOptions(own?: OwnMutationOptions<Args, Result>): MutationOptions<Args, Result>
}

/** A patch as a mutation. */
export interface PatchMutation<Args, Result> extends Mutation<Args, Result> {
  /**
   * The same, and the changes are shown at once: in the item's query and in lists. If the patch fails they are taken back,
   * on a conflict for the item as it is now.
   */
  optimistic(own?: OwnMutationOptions<Args, Result>): MutationOptions<Args, Result>
}

type MutationOf<F> = F extends (...args: infer Args) => Promise<infer Result>
  ? Mutation<Args, Result>
  : never

type PatchMutationOf<F> = F extends (...args: infer Args) => Promise<infer Result>
  ? PatchMutation<Args, Result>
  : never

type WriteName = 'create' | 'replace' | 'change' | 'delete'

/** The queries of a collection, with names as those of its resource. */
export interface ReadQueries<D extends Def, in out Named> {
  /** What the keys of all its queries begin with. */
  readonly key: readonly string[]
  list<const P extends string = never, const F extends string = never>(
    query?: RelatedQuery<D, Named, P, F>,
  ): ListQuery<RelatedItem<D, Named, P, F>>
  search<const P extends string = never, const F extends string = never>(
    words: string,
    query?: RelatedQuery<D, Named, P, F>,
  ): ListQuery<RelatedItem<D, Named, P, F>>
  count(filters?: Matching<DefCompared<D>> & RelatedFilters<D, Named>): ValueQuery<number>
  read(id: IdOf<D>): ItemQuery<DefItem<D>>
  read<const P extends string>(
    id: IdOf<D>,
    options: { readonly include: readonly IncludeOf<D, Named, P>[] },
  ): ItemQuery<Included<D, Named, P>>
}

/** The counts by groups, if the collection has `groups`. */
export interface GroupQueries<D extends Def, in out Named> {
  count<
    By extends GroupName<D['groups']> = never,
    Sum extends string = never,
    Avg extends string = never,
    Min extends string = never,
    Max extends string = never,
  >(
    query: CountBy<DefCompared<D>, By, { sum: Sum; avg: Avg; min: Min; max: Max }> &
      RelatedFilters<D, Named>,
  ): ValueQuery<readonly GroupOf<DefCompared<D>, By, { sum: Sum; avg: Avg; min: Min; max: Max }>[]>
}

/** An action by GET as a query, other actions as mutations. */
type ActionOptionsOf<F, Method> = 'GET' extends Method
  ? unknown extends Method
    ? MutationOf<F>
    : F extends (...args: infer Args) => Promise<infer Result>
      ? (...args: Args) => ValueQuery<Result>
      : never
  : MutationOf<F>

/** The mutations of a collection, actions included. */
export type WriteMutations<D extends Def, Named> = {
  readonly [K in WriteName]: MutationOf<OperationsOf<D, Named>[K]>
} & { readonly patch: PatchMutationOf<OperationsOf<D, Named>['patch']> } & {
  readonly [K in keyof ActionsOf<D>]: ActionOptionsOf<ActionsOf<D>[K], Member<D['method'], K>>
}

/** The queries and mutations of an api, by collection. */
export type Queries<Named> = {
  readonly [N in keyof Named]: Named[N] extends { readonly def: infer D extends Def }
    ? Declared<
        ([D['groups']] extends [never] ? unknown : GroupQueries<ByClient<D>, Named>) &
          ReadQueries<ByClient<D>, Named> &
          WriteMutations<ByClient<D>, Named>,
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
export function createQueries<Named>(
  client: ClientOf<Named>,
  { key }: QueriesOptions = {},
): Queries<Named> {
  const { url: address, methods } = stateOf(client, 'createQueries')
  const prefix = toPrefix(address, key)
  const resources = client as Readonly<Record<string, Resource>> // each property is one
  return createProxy({}, name =>
    createCollectionQueries([...prefix, name], address, resources[name] as Resource, methods[name]),
  )
}

/** The options of {@link createQueries}. */
export interface QueriesOptions {
  /**
   * What all keys begin with, before the version of the api: another for each api whose queries share a `QueryClient`, and
   * the same on a server and in its browsers. Default nothing.
   */
  readonly key?: string
}

type LoadContext = CallOptions & CacheContext & { readonly pageParam?: string }

/**
 * Every other name is a mutation; of an action by GET it is a query.
 * @param root what the keys of the collection begin with, its name the last.
 * @param methods of actions that are not POST.
 */
function createCollectionQueries(
  root: readonly string[],
  address: string,
  resource: Resource,
  methods: Readonly<Record<string, string>> = {},
): object {
  const toQuery = (
    key: readonly unknown[],
    load: (context: LoadContext) => unknown,
    show: (cached: never) => unknown,
    { select, ...own }: Partial<OwnQueryOptions<unknown, unknown>> = {},
    more?: object,
  ) => ({
    ...own,
    queryKey: [...root, ...key],
    queryFn: async (context: LoadContext) => {
      requireOneAddress(context.client, root, address)
      return load(context)
    },
    select: select ? (cached: never) => select(show(cached)) : show,
    structuralSharing: keepEqual,
    retry: false,
    ...more,
  })

  const toList = (
    key: readonly unknown[],
    list: (query: object, options: CallOptions) => List<object>,
  ) => {
    const load = async ({ signal, pageParam: cursor }: LoadContext) => {
      const page = await list({ cursor }, { signal }).page()
      return { ...page, versions: page.items.map(versionOf) }
    }
    return {
      queryOptions: (own?: object) => toQuery(key, load, showPage, own),
      infiniteOptions: (own?: object) =>
        toQuery([...key, 'infinite'], load, showPages, own, {
          initialPageParam: undefined,
          getNextPageParam: ({ cursor }: UntypedPage) => cursor,
        }),
    }
  }

  const toValue = (key: readonly unknown[], load: (context: LoadContext) => unknown) => ({
    queryOptions: (own?: object) => toQuery(key, load, (value: unknown) => value, own),
  })

  const reads = {
    key: root,
    list: (query: object = {}) =>
      toList(['list', query], (more, options) => resource.list({ ...query, ...more }, options)),
    search: (words: string, query: object = {}) =>
      toList(['search', words, query], (more, options) =>
        resource.search(words, { ...query, ...more }, options),
      ),
    count: (filters: object = {}) =>
      toValue(['count', filters], ({ signal }) => resource.count(filters, { signal })),
    read: (id: string, options?: { readonly include: readonly string[] }) => ({
      queryOptions: (own?: object) =>
        toQuery(
          ['read', `${id}`, ...(options ? [options] : [])],
          async ({ signal }) => {
            const item = await resource.read(id, { ...options, signal } as never)
            return { item, version: versionOf(item) }
          },
          showItem,
          own,
        ),
    }),
  }
  return createProxy(reads, name =>
    methods[name] === 'GET'
      ? (...args: readonly unknown[]) =>
          toValue([name, ...args], ({ signal }) => Reflect.get(resource, name)(...args, { signal }))
      : createMutation(root, address, name, resource),
  )
}

/** Creates a write, or an action, as a mutation. */
function createMutation(
  root: readonly string[],
  address: string,
  method: string,
  resource: Resource,
): object {
  const mutationOptions = (own?: object) => ({
    ...own,
    mutationKey: [...root, method],
    mutationFn: async (args: readonly unknown[], { client }: CacheContext) => {
      requireOneAddress(client, root, address)
      try {
        const item = await Reflect.get(resource, method)(...args)
        settle(root, client, args, item, method === 'delete')
        return item
      } catch (error) {
        takeBack.get(args)?.()
        if (error instanceof ConflictError) settle(root, client, args, error.theirs, !error.theirs)
        throw error
      }
    },
    retry: false,
  })
  const optimistic = (own: OwnMutationOptions<unknown, unknown> = {}) => ({
    ...mutationOptions(own),
    onMutate: async (args: readonly unknown[], context: CacheContext) => {
      await context.client.cancelQueries({ queryKey: root })
      takeBack.set(args, show(root, context.client, args))
      return own.onMutate?.(args, context)
    },
  })
  return { mutationOptions, optimistic }
}
