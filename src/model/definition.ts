// Collections and apis as frozen data: `defineCollection` and `defineApi` build them, every other module reads them.

import type { Access } from '../auth/access.ts'
import type { RateLimit } from '../auth/rate-limit.ts'
import type { Principal } from '../auth/scheme.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { AnyErrorType, ErrorEntry, HttpError } from '../errors.ts'
import type { Cors } from '../http/cors.ts'
import type { Limits } from '../http/limits.ts'
import type { HttpRequest } from '../http/message.ts'
import type { Fields } from '../schema/fields.ts'
import type { Path } from '../schema/paths.ts'
import type { Validator } from '../schema/validate.ts'
import type { Awaitable } from '../schema/values.ts'
import type { Schema, SomeSchema } from '../schema/zod-fields.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import type { SortKey } from '../store/selection.ts'
import type { Id, Shape } from '../store/store.ts'
import type { Policies } from './build-api.ts'
import type { CollectionOptions, PlainOptions } from './collection-options.ts'
import type { StoredOf, UnknownDef } from './collection-types.ts'
import type { FieldRole, FieldRoles, OwnerOptions } from './compile-field-roles.ts'
import type { CompiledHooks } from './compile-hooks.ts'
import type { Child, Reference, References } from './compile-references.ts'
import type { HookContext, Hooks } from './hooks.ts'

export const OPERATIONS = ['list', 'count', 'read', 'create', 'replace', 'patch', 'delete'] as const

/** What can be done to a collection and its items; actions come under their own names. */
export type Operation = (typeof OPERATIONS)[number]

/** A principal sees an item where it sees the item of another collection that this one refers to. */
export interface Through {
  /** The field that holds the reference. */
  readonly through: string
}

/** Returns filters for the items that a principal sees: `{}` for all, `undefined` for none. */
export type RowRule = (
  principal: Principal | undefined,
) => Readonly<Record<string, unknown>> | undefined

/** The context that an action's `run` is called with, without the types of its declaration. */
export interface ActionContext extends HookContext {
  /** The input, checked by the action's `input` schema. */
  readonly input: unknown
  /** The item of the action, frozen; absent for an action on the collection. */
  readonly item?: StoredOf<UnknownDef>
  readonly id?: Id
  /** Applies a merge patch to the item, if it has not changed since it was read. */
  readonly update: (changes: Readonly<Record<string, unknown>>) => Promise<StoredOf<UnknownDef>>
}

/** An action as it is declared, without the types of its declaration. */
export interface Action {
  readonly on: 'collection' | 'item'
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
  readonly input?: SomeSchema | undefined
  readonly output?: SomeSchema | 'item' | undefined
  readonly description?: string | undefined
  /** Whether its work and the record of its idempotency key are one transaction. */
  readonly transaction?: boolean | undefined
  readonly run?: ActionRun | undefined
}

export type ActionRun = (context: ActionContext) => unknown

/** The options of a collection without the types of its schema. */
export interface Declaration
  extends Pick<
      CollectionOptions,
      'name' | 'id' | 'sort' | 'indexes' | 'unique' | 'search' | 'owner'
    >,
    PlainOptions {
  readonly schema: Schema
  readonly parents?: References | undefined
  readonly references?: References | undefined
  readonly relation?: References | undefined
  readonly fields?: Readonly<Record<string, FieldRole>> | undefined
  readonly actions?: Readonly<Record<string, Action>> | undefined
  readonly hooks?: Hooks | undefined
  readonly access?: Access | undefined
  readonly visible?: RowRule | Through | undefined
}

/** A compiled action; `run` is absent where `defineApi` declares it. */
export interface ActionDefinition
  extends Resolved<Action, 'on' | 'method' | 'transaction'>,
    Pick<Action, 'description' | 'run'> {
  readonly name: string
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

/** Options with their defaults filled in. */
type Resolved<Options, Name extends keyof Options> = {
  readonly [N in Name]-?: Exclude<Options[N], undefined>
}

type OptionsWithDefault =
  | ('itemName' | 'defaultLimit' | 'maxLimit' | 'total' | 'cacheControl' | 'binary')
  | ('putCreates' | 'requirePrecondition' | 'hideExistence')

/** A collection as frozen data, built by `defineCollection`. */
export interface CollectionDefinition extends Resolved<PlainOptions, OptionsWithDefault> {
  readonly name: string
  readonly schema: Schema
  readonly shape: Shape
  /** The fields of an answer, with binary properties in their form; the second also has those that only `fields` asks for. */
  readonly readableFields: Fields
  readonly selectableFields: Fields
  /** The store of binary contents; absent without binary properties. */
  readonly blobs: BlobStore | undefined
  /** The fields that a body may have: those that clients write, and those that the server ignores. */
  readonly bodyFields: Fields
  /** The fields that clients may write. */
  readonly inputFields: Fields
  /** The fields that lists filter and sort by: all except write-only ones. */
  readonly queryFields: Fields
  readonly roles: FieldRoles | undefined
  /** The write-only properties, also of other versions on the same store. No answer has them. */
  readonly writeOnly: ReadonlySet<string>
  /** How the owner of an item is found; absent where items have no owner. */
  readonly owner: OwnerOptions | undefined
  readonly validator: Validator
  readonly store: KeyedStore
  readonly sort: readonly SortKey[]
  /** The fields that `GET /<collection>/search?q=` searches. */
  readonly search: readonly Path[] | undefined
  /** The collections that items belong to, each with the field that names the parent. */
  readonly parents: ReadonlyMap<string, string>
  /** The fields that hold ids of other items, those of the parents included. */
  readonly references: ReadonlyMap<string, Reference>
  /** Whether a reference has `onDelete`: a write then locks the items that it refers to. */
  readonly hasOnDelete: boolean
  /** The collections whose references a deletion here must consider. Empty outside of an api. */
  readonly children: readonly Child[]
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

/** A failure that was answered with a 5xx, for `onError`. */
export interface Failure {
  /** The id that the client can quote: the one in the message of a 500, else `requestId`. */
  readonly reference: string
  readonly error: HttpError
  readonly request: HttpRequest
  /** The `X-Request-Id` of the answer. */
  readonly requestId: string
}

/**
 * The message of an issue: a text, or a function that makes it, in the language of the request for example.
 * `undefined` keeps the message.
 */
export type Message = string | ((issue: ErrorEntry, request: HttpRequest) => string | undefined)

/** Messages by the `type` of the issue; docs/errors.md lists the types. */
export type Messages = { readonly [Type in AnyErrorType]?: Message }

type PoliciesWithDefault =
  | ('formats' | 'dialects' | 'schemes' | 'access' | 'changes')
  | ('health' | 'serverTiming' | 'onError')

/** An api as frozen data, built by `defineApi`. */
export interface ApiDefinition
  extends Resolved<Policies, PoliciesWithDefault>,
    Pick<Policies, 'messages'> {
  readonly clientAddress: Policies['clientAddress']
  /** The versions, newest first. */
  readonly versions: readonly VersionDefinition[]
  /** The version that the root describes: the newest that is not deprecated. */
  readonly defaultVersion: VersionDefinition
  /** The `info` of its OpenAPI document. */
  readonly info: Resolved<Policies, 'title'> & Pick<Policies, 'description' | 'contact'>
  /** The public address of the root, no slash at its end; without, it comes from each request. */
  readonly baseUrl: string | undefined
  /** The path under which requests arrive when no host server strips it; `''` or `/api`. */
  readonly prefix: string
  /** How many proxies in front may name the client in `X-Forwarded-*`. */
  readonly trustProxy: number
  readonly cors: Cors
  readonly limits: Limits
  /** The request headers that may hold credentials. */
  readonly credentialHeaders: readonly string[]
  readonly rateLimit: RateLimit | undefined
}
