// `defineApi`: collections and policies to one api, maybe in several versions.

import type { Collection } from './collection.ts'
import { buildApi, POLICY_RULES, type Policies } from './model/build-api.ts'
import type {
  ApiDefinition,
  Calls,
  CollectionDefinition,
  MadeIds,
  VersionDefinition,
} from './model/definition.ts'
import { relateCollections } from './model/parents.ts'
import { createCalls } from './operations/calls.ts'
import type { CallScope } from './operations/context.ts'
import {
  ANYTHING,
  checkOptions,
  DATE,
  listOf,
  needed,
  OBJECT,
  type Rule,
  type Rules,
} from './options.ts'
import type { SomeSchema } from './schema/zod-fields.ts'
import { createHandlers, type Handlers } from './server/handlers.ts'
import type { Store } from './store/store.ts'

/** An array; that it may be an empty tuple keeps the type checker from comparing every two of them. */
type Collections = readonly Collection[] | readonly []

/** One version: its collections under `/v<number>/`. */
export interface VersionOptions {
  /** A whole number from 1. */
  readonly version: number
  readonly collections: Collections
  /** When it was deprecated (RFC 9745). */
  readonly deprecated?: Date | undefined
  /** When it will answer no more (RFC 8594). */
  readonly sunset?: Date | undefined
}

export type ApiOptions = Policies &
  (
    | { readonly versions: readonly VersionOptions[]; readonly collections?: undefined }
    | {
        readonly collections: Collections
        /** Without a number the collections stand at the root. */
        readonly version?: number | undefined
        readonly versions?: undefined
      }
  )

export interface Api extends Handlers {
  readonly definition: ApiDefinition
  /**
   * The operations of a collection of the default version, called in process. By the collection
   * itself they are typed.
   * @throws TypeError where there is no such collection.
   */
  collection<S extends SomeSchema, Ids extends keyof MadeIds>(
    collection: Collection<S, Ids>,
  ): Calls<S, Ids>
  collection(name: string): Calls
  /** Closes the stores: running calls end first. */
  close(): Promise<void>
}

const COLLECTIONS = listOf({
  wanted: 'made by defineCollection',
  fits: value => typeof value === 'object' && value !== null && 'definition' in value,
})

const VERSION_RULES: Rules<VersionOptions> = {
  version: ANYTHING,
  collections: needed(COLLECTIONS),
  deprecated: DATE,
  sunset: DATE,
}

const API_RULES: Rules<Policies & Pick<VersionOptions, 'version' | 'collections'>> & {
  readonly versions: Rule
} = { ...POLICY_RULES, version: ANYTHING, collections: COLLECTIONS, versions: listOf(OBJECT) }

/**
 * Defines an api. Its root lists the collections; every version has a root of its own.
 * @throws TypeError for every issue in the declaration.
 */
export function defineApi(options: ApiOptions): Api {
  checkOptions('defineApi', options, API_RULES)
  if ((options.versions === undefined) === (options.collections === undefined)) {
    throw new TypeError('defineApi takes either collections or versions')
  }
  const versions = options.versions ? options.versions.map(versionOf) : [onlyVersion(options)]
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    throw new TypeError('Two versions of the api have the same number')
  }
  const definition = buildApi(versions, options)
  const { handler, fetch, runtime } = createHandlers(definition)
  const base = definition.baseUrl ?? definition.prefix
  const scope: CallScope = { runtime, version: definition.defaultVersion, base }
  return {
    definition,
    handler,
    fetch,
    // A collection's own calls have the types of its schema.
    collection: <S extends SomeSchema, Ids extends keyof MadeIds>(
      collection: Collection<S, Ids> | string,
    ) =>
      createCalls(scope, typeof collection === 'string' ? collection : collection.name) as Calls<
        S,
        Ids
      >,
    close: async () => {
      const stores = versions.flatMap(({ collections }) =>
        [...collections.values()].map(({ store }) => store),
      )
      await Promise.all([...new Set(stores)].map(store => store.close()))
    },
  }
}

function versionOf(options: VersionOptions): VersionDefinition {
  checkOptions(`The version ${options.version}`, options, VERSION_RULES)
  const { version, collections, deprecated, sunset } = options
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new TypeError(`A version is a whole number from 1, not ${version}`)
  }
  return {
    name: `v${version}`,
    number: version,
    collections: byName(collections),
    deprecated: deprecated?.getTime(),
    sunset: sunset?.getTime(),
  }
}

function onlyVersion(options: {
  readonly collections: readonly Collection[]
  readonly version?: number | undefined
}): VersionDefinition {
  const { version, collections } = options
  if (version !== undefined) return versionOf({ version, collections })
  return {
    name: '',
    number: undefined,
    collections: byName(collections),
    deprecated: undefined,
    sunset: undefined,
  }
}

function byName(collections: readonly Collection[]) {
  const named = new Map(collections.map(({ name, definition }) => [name, definition]))
  if (named.size < collections.length) throw new TypeError('Two collections have the same name')
  checkStores(named)
  return relateCollections(named)
}

/** @throws TypeError for two collections whose items would be in one table. */
function checkStores(collections: ReadonlyMap<string, CollectionDefinition>): void {
  const owners = new Map<Store, string>()
  for (const { name, store } of collections.values()) {
    const owner = owners.get(store)
    if (owner !== undefined) {
      throw new TypeError(
        `${owner} and ${name} have the same store: give each a store of its own, or their items are one list`,
      )
    }
    owners.set(store, name)
  }
}
