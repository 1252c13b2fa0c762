// `defineApi`: collections and policies to one api, maybe in several versions.

import type { BasePrincipal, Principal, Scheme } from './auth/scheme.ts'
import { suggestion } from './errors.ts'
import type { HttpRequest } from './http/message.ts'
import { buildApi, POLICY_RULES } from './model/compile/build-api.ts'
import { completeActions } from './model/compile/compile-actions.ts'
import { addHooks } from './model/compile/compile-hooks.ts'
import { relateCollections } from './model/compile/compile-references.ts'
import { findCollectionDefinition, isCollection, keepApiDefinition } from './model/definitions.ts'
import type { AnyCollection, PrincipalOfAll } from './model/types/collection-types.ts'
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
import type { CallScope, Pages } from './operations/calls/context.ts'
import { warnOfUnaddressed } from './operations/reads/unaddressed-ids.ts'
import * as rule from './options.ts'
import { assertValid, checkOptions, type Rule, type Rules } from './options.ts'
import { createHandlers, type Handlers } from './server/handlers/create-handlers.ts'
import type { Store } from './store/store.ts'

/** Collections by name: the key is the collection's name. */
export type Collections = Readonly<Record<string, AnyCollection>>

/** Collections by name, or a list of them: the calls of a list are typed by the collection, not by its name. */
type CollectionsOption = Collections | readonly AnyCollection[]

/** What the type of an api tells of its collections. */
type Named<C> = C extends readonly unknown[] ? Collections : C

/** The principals that these collections count on, and so what `schemes` must find. */
type PrincipalFor<C> = PrincipalOfAll<DefIn<C extends readonly (infer Each)[] ? Each : C[keyof C]>>
/** A scheme whose principals have the claims that these collections count on. Its members are not worked out before they are used. */
interface SchemeFor<C> extends Scheme<BasePrincipal> {
  authenticate(request: HttpRequest, baseUrl?: string): Promise<PrincipalFor<C> | undefined>
}
type DefIn<T> = T extends AnyCollection ? T['def'] : never

/** Hooks by collection: for collections that need each other. */
type HooksOption<C> = {
  readonly [N in keyof Named<C>]?: Hooks<DefOf<Named<C>, N>, Named<C>>
}

/** What actions without a `run` of their own do, by collection and action. */
type RunsOption<C> = {
  readonly [N in keyof Named<C>]?: RunOf<DefOf<Named<C>, N>, Named<C>>
}

/** Hooks and actions of collections that need each other: of an api, or of one of its versions. */
interface ByName<C> {
  /** Hooks by collection, typed with all names; they run before those of the collection itself. Default none. */
  readonly hooks?: HooksOption<C> | undefined
  /** What actions that are declared without `run` do, by collection; typed with all names. Default none. */
  readonly actions?: RunsOption<C> | undefined
}

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

/** How browsers see the api. */
interface PagesOption {
  /** Prints every resource for browsers, and `/docs`: `html` of `rest-conventions/html`. Default: none. */
  readonly pages?: Pages | undefined
}

/** What `defineApi` takes: the collections, or versions of them, and the policies of all. */
export type ApiOptions<
  C extends CollectionsOption = CollectionsOption,
  V extends readonly VersionOptions[] = readonly VersionOptions[],
> = Policies &
  PagesOption &
  (
    | {
        readonly schemes?: readonly SchemeFor<V[number]['collections']>[] | undefined
        /** Each as an object; `defineVersion` makes one with hooks and actions of its own. */
        readonly versions: V
        readonly collections?: undefined
      }
    | (ByName<NoInfer<C>> & {
        readonly schemes?: readonly SchemeFor<C>[] | undefined
        /** By name (`{ cars, options }`), or as a list. */
        readonly collections: C
        /** Without a number the collections stand at the root. */
        readonly version?: number | undefined
        readonly versions?: undefined
      })
  )

/** The collections of one version, called in process. */
export interface Resources<C = Collections> {
  /** The collections by name. */
  readonly collections: C
  /**
   * The resource of a collection, typed by the collection or its name: of this version, otherwise of the newest version
   * that has it.
   * @throws TypeError if no version has it.
   */
  collection<T extends keyof C | AnyCollection>(collection: T): ResourceOf<C, T>
  /**
   * Runs work that may run more than once and must have no effect outside `tx` as one transaction: all of its
   * changes happen, or none. It is in one database, ends after `workTime`, and runs again where another one was
   * in the way. Nested work that fails undoes it, even if the error is caught; so does a call that is not awaited.
   * A call of the work on the api itself is a TypeError.
   * @throws TypeError where the stores have no transactions, or are in several databases.
   */
  transaction<R>(
    work: (tx: Transaction<C>) => Promise<R>,
    options?: TransactionOptions<PrincipalFor<C> & Principal>,
  ): Promise<R>
  /**
   * The same for jobs: calls see and change items that no row policy (`visible`) or owner lets anybody else. Schemas,
   * field roles, `immutable` and limits hold, and hooks see `system: true`. No request can become such a call.
   */
  asSystem(): Resources<C>
}

/** An api: it answers requests, and its collections can be called in process. */
export interface Api<C = Collections> extends Handlers, Resources<C> {
  /**
   * Opens the stores and schemes, to be awaited at start: otherwise the first call of each does. Tables are made
   * where that is asked for. Warns of items whose ids no URL can name, where these are found within a second.
   * @throws Error for tables that cannot be served, with the SQL that adds the columns they lack, and where
   * `bearerJwt()` lacks the package `jose`.
   */
  open(): Promise<void>
  /** Closes the stores: running calls end first. */
  close(): Promise<void>
}

/**
 * Defines a version with hooks and actions of its own, typed by its collections:
 * `versions: [defineVersion({ version: 1, collections: { cars }, hooks: { cars: { … } } })]`.
 */
export function defineVersion<const V extends number, C extends CollectionsOption>(
  options: VersionOptions<V, C> & ByName<NoInfer<C>>,
): VersionOptions<V, C> {
  return options
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
const COLLECTIONS = rule.either(
  'collections made by defineCollection, by name: { cars, options }',
  rule.listOf(COLLECTION),
  rule.recordOf(COLLECTION),
)

const VERSION_RULES: Rules<VersionOptions & PlainByName> = {
  version: rule.needed(rule.wholeFrom(1)),
  hooks: rule.OBJECT,
  actions: rule.OBJECT,
  collections: rule.needed(COLLECTIONS),
  deprecated: rule.DATE,
  sunset: rule.DATE,
}

/** Hooks and actions by collection, without the types of these. */
interface PlainByName {
  readonly hooks?: Readonly<Record<string, Hooks | undefined>> | undefined
  readonly actions?:
    | Readonly<Record<string, Readonly<Record<string, ActionRun | undefined>> | undefined>>
    | undefined
}

/** The options of `defineApi` without the types of its collections. */
interface PlainApiOptions extends Policies, PagesOption, PlainByName {
  readonly collections?: CollectionsOption
  readonly version?: number | undefined
  readonly versions?: readonly (VersionOptions & PlainByName)[] | undefined
}

const API_RULES: Rules<PlainApiOptions> = {
  collections: COLLECTIONS,
  ...POLICY_RULES,
  pages: rule.having('pages such as html, imported from rest-conventions/html', 'print'),
  version: rule.wholeFrom(1),
  versions: rule.listOf(rule.OBJECT),
  hooks: rule.OBJECT,
  actions: rule.OBJECT,
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
  assertValid(
    plain.versions === undefined || (!plain.hooks && !plain.actions),
    'defineApi: with versions the hooks and actions are those of each: versions: [{ version: 1, collections, hooks }]',
  )
  const { version, collections = [], hooks, actions } = plain
  const alone: DeclaredVersion = { version, collections, hooks, actions }
  const declared = plain.versions ?? [alone]
  const versions = declared.map(buildVersion)
  const names = new Set(versions.map(({ name }) => name))
  assertValid(names.size === versions.length, 'Two versions of the api have the same number')
  const definition = buildApi(versions, plain, plain.pages?.format)
  const { handler, fetch, runtime } = createHandlers(definition, plain.pages)
  const base = definition.baseUrl ?? definition.prefix
  const resources = (version: VersionDefinition, system = false) => {
    const scope: CallScope = { runtime, version, base, system }
    const { collections = [] } = declared.find(each => each.version === version.number) ?? {}
    return {
      collections: Object.fromEntries(Object.values(collections).map(each => [each.name, each])),
      collection: (collection: string | AnyCollection) => runtime.createResource(scope, collection),
      transaction: (work: (tx: Transaction) => Promise<unknown>, options?: TransactionOptions) =>
        runtime.runTransaction(scope, work, options),
      asSystem: () => resources(version, true),
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
      const reasons = opened.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
      // Of a database that is away all stores say the same.
      const failures = [...new Map(reasons.map(each => [String(each), each])).values()]
      if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('\n'))
      for (const failure of failures) throw failure
      const chosen = versions
        .flatMap(({ collections }) => [...collections.values()])
        .filter(({ shape: { identity } }) => identity.kind === 'text' && !identity.parts)
      await Promise.all(chosen.map(warnOfUnaddressed))
    },
    close: async () => {
      for (const end of runtime.onClose) end()
      await Promise.all([...stores].map(store => store.close()))
    },
  }
  keepApiDefinition(api, definition)
  return api
}

/** A version as it is declared; without a number its collections stand at the root. */
type DeclaredVersion = Omit<VersionOptions, 'version'> &
  PlainByName & { readonly version?: number | undefined }

function buildVersion(declared: DeclaredVersion): VersionDefinition {
  const { version, collections, deprecated, sunset } = declared
  return {
    name: version === undefined ? '' : `v${version}`,
    number: version,
    collections: relate(collections, declared),
    deprecated: deprecated?.getTime(),
    sunset: sunset?.getTime(),
  }
}

/** Relates the collections of one version, with the hooks and actions that `defineApi` declares by name. */
function relate(collections: CollectionsOption, { hooks = {}, actions = {} }: PlainByName) {
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
      hooks: addHooks(definition, hooks[name]),
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
      `${owners.get(store)} and ${name} share one store. Create a store for each collection.`,
    )
    owners.set(store, name)
  }
}
