// `defineApi`: collections and policies to one api, maybe in several versions.

import { suggestion } from './errors.ts'
import { buildApi, POLICY_RULES } from './model/compile/build-api.ts'
import { completeActions } from './model/compile/compile-actions.ts'
import { replaceHooks } from './model/compile/compile-hooks.ts'
import { relateCollections } from './model/compile/compile-references.ts'
import { findCollectionDefinition, isCollection, keepApiDefinition } from './model/definitions.ts'
import type { AnyCollection } from './model/types/collection-types.ts'
import type { ActionRun } from './model/types/declaration.ts'
import type { CollectionDefinition, VersionDefinition } from './model/types/definition.ts'
import type {
  DefOf,
  Hooks,
  ResourceOf,
  RunOf,
  Transaction,
  TransactionOptions,
} from './model/types/hooks.ts'
import type { Policies } from './model/types/policies.ts'
import type { CallScope } from './operations/context.ts'
import {
  assertValid,
  checkOptions,
  DATE,
  either,
  listOf,
  needed,
  OBJECT,
  type Rule,
  type Rules,
  recordOf,
  wholeFrom,
} from './options.ts'
import { createHandlers, type Handlers } from './server/create-handlers.ts'
import type { Store } from './store/store.ts'

/** Collections by name: the key is the collection's name. */
export type Collections = Readonly<Record<string, AnyCollection>>

/** Collections by name, or a list of them: the calls of a list are typed by the collection, not by its name. */
type CollectionsOption = Collections | readonly AnyCollection[]

/** One version: its collections under `/v<number>/`. */
export interface VersionOptions<
  V extends number = number,
  C extends CollectionsOption = CollectionsOption,
> {
  /** A whole number from 1. */
  readonly version: V
  readonly collections: C
  /** When it was deprecated (RFC 9745). */
  readonly deprecated?: Date | undefined
  /** When it will answer no more (RFC 8594). */
  readonly sunset?: Date | undefined
}

/** What the type of an api tells of its collections. */
type Named<C> = C extends readonly unknown[] ? Collections : C

/** Hooks by collection: for collections that need each other. */
type HooksOption<C> = {
  readonly [N in keyof Named<C>]?: Hooks<DefOf<Named<C>, N>, Named<C>>
}

/** What actions without a `run` of their own do, by collection and action. */
type RunsOption<C> = {
  readonly [N in keyof Named<C>]?: RunOf<DefOf<Named<C>, N>, Named<C>>
}

/** What `defineApi` takes: the collections, or versions of them, and the policies of all. */
export type ApiOptions<
  C extends CollectionsOption = CollectionsOption,
  V extends readonly VersionOptions[] = readonly VersionOptions[],
> = Policies &
  (
    | { readonly versions: V; readonly collections?: undefined }
    | {
        /** By name (`{ cars, options }`), or as a list. */
        readonly collections: C
        /** Without a number the collections stand at the root. */
        readonly version?: number | undefined
        readonly versions?: undefined
        /** Hooks of collections that need each other, by collection; typed with all names. Default none. */
        readonly hooks?: HooksOption<NoInfer<C>> | undefined
        /** What actions that are declared without `run` do, by collection; typed with all names. Default none. */
        readonly actions?: RunsOption<NoInfer<C>> | undefined
      }
  )

/** The collections of one version, called in process. */
export interface Resources<C = Collections> {
  /** The collections by name. */
  readonly collections: C
  /**
   * The resource of a collection, typed by the collection or its name.
   * @throws TypeError where there is no such collection.
   */
  collection<T extends keyof C | AnyCollection>(collection: T): ResourceOf<C, T>
  /**
   * Runs work that may run more than once and must have no effect outside `tx` as one transaction: all of its
   * changes happen, or none. It is in one database, ends after `workTime`, and runs again where another one was
   * in the way. Nested work that fails undoes it, even if the error is caught; so does a call that is not awaited.
   * A call of the work on the api itself is a TypeError.
   * @throws TypeError where the stores have no transactions, or are in several databases.
   */
  transaction<R>(work: (tx: Transaction<C>) => Promise<R>, options?: TransactionOptions): Promise<R>
}

/** An api: it answers requests, and its collections can be called in process. */
export interface Api<C = Collections> extends Handlers, Resources<C> {
  /**
   * Opens the stores and schemes, to be awaited at start: otherwise the first call of each does. Tables are made
   * where that is asked for.
   * @throws Error for tables that cannot be served, with the SQL that adds the columns they lack, and where
   * `bearerJwt()` lacks the package `jose`.
   */
  open(): Promise<void>
  /** Closes the stores: running calls end first. */
  close(): Promise<void>
}

/** The versions of an api by name: `api.versions.v2.collection(cars)`. */
type VersionsOf<V extends readonly VersionOptions[]> = {
  readonly [K in keyof V & `${number}` as V[K] extends VersionOptions
    ? `v${V[K]['version']}`
    : never]: V[K] extends VersionOptions ? Resources<Named<V[K]['collections']>> : never
}

/** An api with versions; it is called itself as its default version, the newest that is not deprecated. */
export interface VersionedApi<V extends readonly VersionOptions[]> extends Api {
  readonly versions: VersionsOf<V>
}

const COLLECTION: Rule = { wanted: 'a collection', fits: isCollection }
const COLLECTIONS = either(
  'collections made by defineCollection, by name: { cars, options }',
  listOf(COLLECTION),
  recordOf(COLLECTION),
)

const VERSION_RULES: Rules<VersionOptions> = {
  version: needed(wholeFrom(1)),
  collections: needed(COLLECTIONS),
  deprecated: DATE,
  sunset: DATE,
}

/** The options of `defineApi` without the types of its collections. */
interface PlainApiOptions extends Policies {
  readonly collections?: CollectionsOption
  readonly version?: number | undefined
  readonly versions?: readonly VersionOptions[] | undefined
  readonly hooks?: Readonly<Record<string, Hooks | undefined>> | undefined
  readonly actions?:
    | Readonly<Record<string, Readonly<Record<string, ActionRun | undefined>> | undefined>>
    | undefined
}

const API_RULES: Rules<PlainApiOptions> = {
  ...POLICY_RULES,
  version: wholeFrom(1),
  collections: COLLECTIONS,
  versions: listOf(OBJECT),
  hooks: OBJECT,
  actions: OBJECT,
}

/**
 * Defines an api. Its root lists the collections; every version has a root of its own.
 * @throws TypeError for every issue in the declaration.
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars }, limits: { body: 100_000 } })
 * const answer = await api.fetch(new Request('https://api.example/cars'))
 */
export function defineApi<
  C extends CollectionsOption = never,
  const V extends readonly VersionOptions[] = never,
>(options: ApiOptions<C, V>): [V] extends [never] ? Api<Named<C>> : VersionedApi<V>
export function defineApi(options: object): unknown {
  const plain = options as PlainApiOptions // what they say of their collections is for the type checker alone
  checkOptions('defineApi', plain, API_RULES)
  for (const each of plain.versions ?? [])
    checkOptions(`The version ${each.version}`, each, VERSION_RULES)
  assertValid(
    (plain.versions === undefined) !== (plain.collections === undefined),
    'defineApi takes either collections or versions',
  )
  const { version, collections = [] } = plain
  const declared: readonly DeclaredVersion[] = plain.versions ?? [{ version, collections }]
  const versions = declared.map(each => buildVersion(each, plain.versions ? {} : plain))
  const names = new Set(versions.map(({ name }) => name))
  assertValid(names.size === versions.length, 'Two versions of the api have the same number')
  const definition = buildApi(versions, plain)
  const { handler, fetch, runtime } = createHandlers(definition)
  const base = definition.baseUrl ?? definition.prefix
  const resources = (version: VersionDefinition) => {
    const scope: CallScope = { runtime, version, base }
    const { collections = [] } = declared.find(each => each.version === version.number) ?? {}
    return {
      collections: Object.fromEntries(Object.values(collections).map(each => [each.name, each])),
      collection: (collection: string | AnyCollection) =>
        runtime.createResource(scope, nameOf(collection)),
      transaction: (work: (tx: Transaction) => Promise<unknown>, options?: TransactionOptions) =>
        runtime.runTransaction(scope, work, options),
    }
  }
  const stores = new Set(
    versions.flatMap(({ collections }) => [...collections.values()].map(({ store }) => store)),
  )
  const api = {
    handler,
    fetch,
    ...resources(definition.defaultVersion),
    ...(plain.versions && {
      versions: Object.fromEntries(
        versions.flatMap(({ name }) => {
          const version = definition.versions.find(each => each.name === name)
          return version ? [[name, resources(version)]] : []
        }),
      ),
    }),
    open: async () => {
      const parts = [...stores, ...definition.schemes]
      const opened = await Promise.allSettled(parts.map(async part => part.open?.()))
      const failures = opened.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
      if (failures.length <= 1) for (const failure of failures) throw failure
      else throw new AggregateError(failures, failures.map(String).join('\n'))
    },
    close: async () => {
      await Promise.all([...stores].map(store => store.close()))
    },
  }
  keepApiDefinition(api, definition)
  return api
}

function nameOf(collection: string | AnyCollection): string {
  return typeof collection === 'string' ? collection : collection.name
}

type ByName = Pick<PlainApiOptions, 'hooks' | 'actions'>

/** A version as it is declared; without a number its collections stand at the root. */
type DeclaredVersion = Omit<VersionOptions, 'version'> & { readonly version?: number | undefined }

function buildVersion(
  { version, collections, deprecated, sunset }: DeclaredVersion,
  byName: ByName,
): VersionDefinition {
  return {
    name: version === undefined ? '' : `v${version}`,
    number: version,
    collections: relate(collections, byName),
    deprecated: deprecated?.getTime(),
    sunset: sunset?.getTime(),
  }
}

/** Relates the collections of one version, with the hooks and actions that `defineApi` declares by name. */
function relate(collections: CollectionsOption, { hooks = {}, actions = {} }: ByName) {
  const found = new Map<string, CollectionDefinition>()
  for (const [key, collection] of Object.entries(collections)) {
    const { name } = collection
    assertValid(
      Array.isArray(collections) || key === name,
      `defineApi: the collection "${name}" stands under the key "${key}". Use its name as the key.`,
    )
    assertValid(!found.has(name), `Two collections have the name "${name}"`)
    found.set(name, findCollectionDefinition(collection))
  }
  for (const name of [...Object.keys(hooks), ...Object.keys(actions)]) {
    if (found.has(name)) continue
    const hint = suggestion(name, [...found.keys()])
    throw new TypeError(`defineApi: hooks and actions: there is no collection "${name}"${hint}`)
  }
  for (const [name, definition] of found) {
    const completed = {
      actions: completeActions(definition, actions[name]),
      hooks: replaceHooks(definition, hooks[name]),
    }
    if (hooks[name] || actions[name])
      found.set(name, Object.freeze({ ...definition, ...completed }))
  }
  checkStores(found)
  return relateCollections(found)
}

/** @throws TypeError for two collections whose items would be in one table. */
function checkStores(collections: ReadonlyMap<string, CollectionDefinition>): void {
  const owners = new Map<Store, string>()
  for (const { name, store } of collections.values()) {
    assertValid(
      !owners.has(store),
      `${owners.get(store)} and ${name} have the same store: give each its own store, or their items are one list`,
    )
    owners.set(store, name)
  }
}
