// `createClient`: the collections of an api as typed resources, over HTTP.
import type { Def } from '../model/types/collection-types.ts'
import type { Remote } from '../model/types/resource.ts'
import { createResources } from './resource.ts'
import { createSend, type SendOptions } from './send.ts'

/** The numbers of the versions of an api; `undefined` where it has none. */
export type ApiVersion<A> = A extends { readonly versions: infer Versions }
  ? keyof Versions extends `v${infer Number extends number}`
    ? Number
    : never
  : undefined

type NamedCollections = Readonly<Record<string, { readonly def: Def }>>

/** The collections of an api, or of one of its versions, by name. */
type NamedOf<A, V> = A extends { readonly versions: infer Versions }
  ? NamedOf<Versions[`v${V & number}` & keyof Versions], V>
  : A extends { readonly collections: infer Named extends NamedCollections }
    ? Named
    : never

/** The resources of an api by the names of its collections. */
export type Client<A, V = ApiVersion<A>> = NamedResources<NamedOf<A, V>> & ClientOf<NamedOf<A, V>>

declare const COLLECTIONS: unique symbol
/** A client of these collections, for functions that take one. The property is for types alone. */
export interface ClientOf<in out Named> {
  readonly [COLLECTIONS]?: Named
}
type NamedResources<Named extends NamedCollections> = {
  readonly [N in keyof Named]: Remote<Named[N]['def'], Named>
}

interface PlainClientOptions extends SendOptions {
  /** The version of the api: `/v<number>` follows the URL. Default: none follows. */
  readonly version?: number | undefined
  /** Methods of actions that are not POST, by collection and action. Default none. */
  readonly methods?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined
  /** Names of ids that are not `id`, by collection. Default none. */
  readonly ids?: Readonly<Record<string, string>> | undefined
  /** How many replies are kept, to be revalidated by their `ETag`. Default 100. */
  readonly cache?: number | undefined
}

/** The options of {@link createClient}. Those that a program cannot read from types at run time are required. */
export type ClientOptions<A, V = ApiVersion<A>> = PlainClientOptions &
  // Without `strict`, undefined extends a number too.
  ([V] extends [undefined] ? unknown : { readonly version: V }) &
  Needed<NamedOf<A, V>>

/** The options that some collection needs. It looks at all collections at once first: most need nothing. */
type Needed<Named extends NamedCollections> = (Named[keyof Named]['def']['key'] extends 'id'
  ? unknown
  : { readonly ids: KeysOf<Named> }) &
  ([OtherMethods<Named[keyof Named]['def']['method']>] extends [never]
    ? unknown
    : { readonly methods: MethodsOf<Named> })

type KeysOf<Named extends NamedCollections> = {
  readonly [N in keyof Named as Named[N]['def']['key'] extends 'id'
    ? never
    : N]: Named[N]['def']['key']
}

type MethodsOf<Named extends NamedCollections> = {
  readonly [N in keyof Named as [OtherMethods<Named[N]['def']['method']>] extends [never]
    ? never
    : N]: Pick<
    Named[N]['def']['method'],
    OtherMethods<Named[N]['def']['method']> & keyof Named[N]['def']['method']
  >
}

/** The names of the actions with another method than POST. */
type OtherMethods<Methods> = Methods extends unknown
  ? {
      [K in keyof Methods]: unknown extends Methods[K]
        ? never
        : Methods[K] extends 'POST'
          ? never
          : K
    }[keyof Methods]
  : never

/**
 * Creates a client of an api: each collection is a `Resource`, as in process. It sends nothing before the
 * first call, and bundles nothing of the server: `createClient<typeof api>` reads types alone.
 *
 * Objects that a client returns are frozen: an unchanged reply is the same object again.
 * @param url the root of the api, without its version.
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const car = await client.cars.create({ color: 'red' })
 * await client.cars.patch(car, { color: 'blue' })
 */
export function createClient<A, V extends ApiVersion<A> = ApiVersion<A>>(
  url: string,
  ...[options]: object extends ClientOptions<A, V>
    ? [options?: ClientOptions<A, V>]
    : [options: ClientOptions<A, V>]
): Client<A, V> {
  const {
    version,
    methods = {},
    ids = {},
    cache = 100,
    ...rest
  }: PlainClientOptions = Object(options)
  // A browser has a URL of its own, and what a `fetch` of yours makes of a relative one is not known.
  const { location } = globalThis as { readonly location?: { readonly href: string } } // the types of Node lack it
  if (!url || !(rest.fetch || URL.canParse(url, location?.href)))
    throw new TypeError(`createClient needs a whole URL, such as https://api.example, not ${url}`)
  const root = url.replace(/\/$/, '') + (version ? `/v${version}` : '')
  return createResources({
    send: createSend(root, rest),
    fetch: rest.fetch,
    url: root,
    cache: new Map(),
    max: cache,
    ids,
    methods,
  })
}
