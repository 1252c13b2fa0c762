// Collections and apis as frozen data: `defineCollection` and `defineApi` build them, every other module reads them.

import type { Access } from '../../auth/access.ts'
import type { RateLimit } from '../../auth/rate-limit.ts'
import type { Scheme } from '../../auth/scheme.ts'
import type { Path } from '../../base/paths.ts'
import type { Awaitable } from '../../base/values.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { ContentPlaces } from '../../blobs/content-places.ts'
import type { Format } from '../../formats/format.ts'
import type { Cors } from '../../http/cors.ts'
import type { Limits } from '../../http/limits.ts'
import type { GroupKeys } from '../../query/groups.ts'
import type { Dialect } from '../../query.ts'
import type { BinaryForm } from '../../schema/blob-forms.ts'
import type { Fields } from '../../schema/fields.ts'
import type { Validator } from '../../schema/validate.ts'
import type { Schema } from '../../schema/zod-fields.ts'
import type { Filter } from '../../store/filter.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { LeaseFields } from '../../store/program-store.ts'
import type { SortKey } from '../../store/selection.ts'
import type { Shape, TotalMode } from '../../store/store.ts'
import type { Method, TrashOptions } from './collection-options.ts'
import type { CompiledHooks } from './compiled-hooks.ts'
import type { ActionRun, RowRule, Through } from './declaration.ts'
import type { FieldRoles, FieldRules, OwnerOptions } from './field-roles.ts'
import type { Operation } from './operation.ts'
import type { Contact, Failure, Messages } from './policies.ts'
import type { Reference } from './references.ts'

/** A compiled action. */
export interface ActionDefinition {
  readonly name: string
  readonly on: 'collection' | 'item'
  readonly method: Method
  readonly description: string | undefined
  /** Whether its work and the record of its idempotency key are one transaction. */
  readonly transaction: boolean
  /** Whether it may set cookies, and whether pages of other origins may send it then. */
  readonly cookies: boolean
  readonly crossSite: boolean
  /** Absent where `defineApi` declares it. */
  readonly run: ActionRun | undefined
  readonly input: Schema | undefined
  readonly inputFields: Fields | undefined
  /** Checks an input by the `input` schema; absent for an action without input. */
  readonly check: ((value: unknown) => Awaitable<unknown>) | undefined
  /** The schema of the result; absent where none is declared, and for `output: 'item'`. */
  readonly output: Schema | undefined
  /** The fields of the result, where `output` is an object. */
  readonly outputFields: Fields | undefined
  /** Whether the result is an item of the collection: `output: 'item'`. */
  readonly givesItem: boolean
}

/** A collection as frozen data, built by `defineCollection`. */
export interface CollectionDefinition {
  readonly name: string
  /** The name of one item: `car`. */
  readonly itemName: string
  readonly defaultLimit: number
  readonly maxLimit: number
  /** How lists are counted, unless the client asks otherwise. */
  readonly total: TotalMode
  /** The largest total that lists state, unless the client asks for the exact one; `undefined` without a maximum. */
  readonly exactUpTo: number | undefined
  /** Whether its lists may be followed. */
  readonly live: boolean
  readonly cacheControl: string
  /** The form of binary properties in answers. */
  readonly binary: BinaryForm
  /** Whether PUT to an id that does not exist creates it. */
  readonly putCreates: boolean
  /** Whether changes need `If-Match` or `If-Unmodified-Since`. */
  readonly requirePrecondition: boolean
  /** Whether a principal without the scope gets 404 in place of 403. */
  readonly hideExistence: boolean
  readonly schema: Schema
  readonly shape: Shape
  /** The fields of an answer, with binary properties in their form; the second also has those that only `fields` asks for. */
  readonly readableFields: Fields
  readonly selectableFields: Fields
  /** The store of binary contents; absent without binary properties. */
  readonly blobs: BlobStore | undefined
  /** Where items of its store have contents, whichever version or collection declares the property. */
  readonly contents: ContentPlaces
  /** The fields that a body may have: those that clients write, and those that the server ignores. */
  readonly bodyFields: Fields
  /** The fields that clients may write. */
  readonly inputFields: Fields
  /** The fields that lists filter and sort by: all except hidden ones. */
  readonly queryFields: Fields
  readonly roles: FieldRoles | undefined
  /** The properties that an item may be without, since another version of its table lacks them. */
  readonly lacking?: ReadonlySet<string> | undefined
  /** The properties that no answer has: write-only ones, also of other versions on the same store. */
  readonly hidden: ReadonlySet<string>
  /** Those of them that cannot be written either: to the client they do not exist. */
  readonly unknown: ReadonlySet<string>
  /** Who reads and who writes a property, by its name; absent where that is the same for everybody. */
  readonly fieldAccess: ReadonlyMap<string, FieldRules> | undefined
  /** Of what it is a view: the collection as some principals see it. Absent of the whole, as programs see it. */
  readonly view: View | undefined
  /** How the owner of an item is found; absent where items have no owner. */
  readonly owner: OwnerOptions | undefined
  readonly validator: Validator
  /** The whole store, which other collections may share. */
  readonly store: KeyedStore
  /** The part of the store that operations see. With a trash: the items outside of it. For a trash: the items in it. */
  readonly items: KeyedStore
  /** Narrows the store of a transaction to the same part. */
  readonly bind: (store: KeyedStore) => KeyedStore
  /** The filters of that part; empty without a trash. */
  readonly rows: readonly Filter[]
  /** The properties of deleted items; absent without a trash. */
  readonly trash: TrashOptions | undefined
  /** The collection, if this is its trash. */
  readonly trashOf: CollectionDefinition | undefined
  /** Its path below the version: its name, or `cars/trash`. */
  readonly path: string
  /** The unique sets of all items, each of which names one. */
  readonly keys: readonly (readonly string[])[]
  readonly sort: readonly SortKey[]
  /** The fields that `GET /<collection>/search?q=` searches. */
  readonly search: readonly Path[] | undefined
  /** What counts may be grouped by. Empty: their parameters are filters alone. */
  readonly groups: GroupKeys
  /** The fields by which items are handed out to jobs; absent without `lease`. */
  readonly lease: LeaseFields | undefined
  /** The collections that items belong to, each with the field that names the parent. */
  readonly parents: ReadonlyMap<string, string>
  /** The fields that hold ids of other items, those of the parents included. */
  readonly references: ReadonlyMap<string, Reference>
  /** What may be included in an item, by name. Empty outside of an api. */
  readonly relations: ReadonlyMap<string, RelationDefinition>
  /** What a write must refer to, by the field: declared here, or in another version of the store. Empty outside of an api. */
  readonly targets: ReadonlyMap<string, ReferenceTarget>
  /** What refers to its items, in any version of the api. Empty outside of an api. */
  readonly children: readonly Child[]
  /** Whether a request can reach it, or a sub-collection of it, in its version. Nothing names another one to a client. */
  readonly addressable: boolean
  readonly operations: ReadonlySet<Operation>
  readonly actions: ReadonlyMap<string, ActionDefinition>
  readonly hooks: CompiledHooks
  /** `cacheControl` for clients with credentials: no shared cache keeps the answer. */
  readonly privateCacheControl: string
  /** The access rules by operation; they count where the api has schemes. */
  readonly access: Access
  readonly visible: RowRule | Through | undefined
  readonly description: string | undefined
}

/** What makes a collection a view. */
export interface View {
  readonly whole: CollectionDefinition
  /** Tells the tags of its answers from those with other properties; empty where it has all of them. */
  readonly tag: string
}

/** What a field refers to. */
export interface ReferenceTarget {
  /** It is of another version where that alone declares the reference. */
  readonly collection: CollectionDefinition
  /** Whether it is in the same database: then no write refers to an item that is deleted meanwhile. */
  readonly guarded: boolean
}

/** A collection that refers to another one: it may be of another version. */
export interface Child {
  readonly collection: CollectionDefinition
  readonly field: string
  readonly onDelete: 'cascade' | 'restrict'
}

/** Items that belong to those of a collection: one that a field refers to, or those that refer to it as their parent. */
export interface RelationDefinition {
  readonly name: string
  readonly many: boolean
  /** Their collection, in the same version. */
  readonly collection: CollectionDefinition
  /** The field of an item that has the same value as `to` of those that belong to it. */
  readonly from: string
  readonly to: string
}

/** One version of an api: its collections under a path prefix. */
export interface VersionDefinition {
  /** `v1`; empty where the api has no versions. */
  readonly name: string
  readonly number: number | undefined
  readonly collections: ReadonlyMap<string, CollectionDefinition>
  /** When it was deprecated, and when it ends, in milliseconds since 1970. */
  readonly deprecated: number | undefined
  readonly sunset: number | undefined
}

/** An api as frozen data, built by `defineApi`. */
export interface ApiDefinition {
  readonly formats: readonly Format[]
  readonly dialects: readonly Dialect[]
  readonly schemes: readonly Scheme[]
  /** The access rules of the root, and of collections that have none. */
  readonly access: Access
  /** The answer to a change, unless `Prefer` asks for another. */
  readonly changes: 'redirect' | 'representation'
  /** Whether `/batch` exists. */
  readonly batch: boolean
  /** Whether `/health` exists. */
  readonly health: boolean
  readonly serverTiming: boolean
  readonly onError: (error: unknown, failure: Failure) => void
  readonly messages: Messages | undefined
  readonly clientAddress:
    | ((request: Request, ...host: readonly unknown[]) => string | null | undefined)
    | undefined
  /** The versions, newest first. */
  readonly versions: readonly VersionDefinition[]
  /** The version that the root describes: the newest that is not deprecated. */
  readonly defaultVersion: VersionDefinition
  /** The `info` of its OpenAPI document. */
  readonly info: {
    readonly title: string
    readonly description: string | undefined
    readonly contact: Contact | undefined
  }
  /** The public address of the root, no slash at its end; without, it comes from each request. */
  readonly baseUrl: string | undefined
  /** The path under which requests arrive when no host server strips it; `''` or `/api`. */
  readonly prefix: string
  /** Where people sign in: the page of a 401 links there. */
  readonly signIn: string | undefined
  /** How many proxies in front may name the client in `X-Forwarded-*`. */
  readonly trustProxy: number
  readonly cors: Cors
  readonly limits: Limits
  /** The request headers that may hold credentials. */
  readonly credentialHeaders: readonly string[]
  readonly rateLimit: RateLimit | undefined
}
