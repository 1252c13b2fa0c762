// What a collection and an api are, as frozen data: what `defineCollection` and `defineApi` make and
// everything after them reads.

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
import type { CompiledHooks } from './compile-hooks.ts'
import type { StoredOf, UnknownDef } from './def.ts'
import type { FieldRole, FieldRoles, OwnerOptions } from './field-roles.ts'
import type { HookContext, Hooks } from './hooks.ts'
import type { Child, Reference, References } from './references.ts'

export const OPERATIONS = ['list', 'count', 'read', 'create', 'replace', 'patch', 'delete'] as const

/** What can be done to a collection and its items; actions come under their own names. */
export type Operation = (typeof OPERATIONS)[number]

/** The items that a principal sees are those of the items it sees of another collection. */
export interface Through {
  /** The field that refers to those. */
  readonly through: string
}

/** Which items a principal sees, as filters. `{}` is all of them, `undefined` and an empty list of values none. */
export type RowRule = (
  principal: Principal | undefined,
) => Readonly<Record<string, unknown>> | undefined

/** What an action's `run` gets, without the types of its declaration. */
export interface ActionContext extends HookContext {
  /** What was sent, checked by the action's `input`. */
  readonly input: unknown
  /** The item acted on, frozen; absent for an action on the collection. */
  readonly item?: StoredOf<UnknownDef>
  readonly id?: Id
  /** Applies a merge patch to the item acted on, if it is still as it was read. */
  readonly update: (changes: Readonly<Record<string, unknown>>) => Promise<StoredOf<UnknownDef>>
}

/** A verb on a collection or an item, without the types of its declaration. */
export interface Action {
  readonly on: 'collection' | 'item'
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
  readonly input?: SomeSchema | undefined
  readonly output?: SomeSchema | 'item' | undefined
  readonly description?: string | undefined
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

/** An action as the core keeps it: its types are forgotten, its input is checked. */
export interface ActionDefinition {
  readonly name: string
  readonly on: 'collection' | 'item'
  readonly method: string
  readonly input: Schema | undefined
  readonly inputFields: Fields | undefined
  /** Checks what was sent by `input`; absent where the action takes nothing. */
  readonly check: ((value: unknown) => Awaitable<unknown>) | undefined
  /** Absent where it is not declared, and where the action gives an item of the collection. */
  readonly output: Schema | undefined
  /** What it gives, where `output` is an object. */
  readonly outputFields: Fields | undefined
  /** Whether it gives an item of the collection. */
  readonly givesItem: boolean
  readonly description: string | undefined
  /** Whether its work, with the record of its idempotency key, is one transaction. */
  readonly transaction: boolean
  /** Absent until `defineApi` gives it. */
  readonly run: ActionRun | undefined
}

/** Options as they count: each with its default. */
type Resolved<Options, Name extends keyof Options> = {
  readonly [N in Name]-?: Exclude<Options[N], undefined>
}

type OptionsWithDefault =
  | ('itemName' | 'defaultLimit' | 'maxLimit' | 'total' | 'cacheControl' | 'binary')
  | ('putCreates' | 'requirePrecondition' | 'hideExistence')

/** A collection as frozen data: what `defineCollection` makes of its options. */
export interface CollectionDefinition extends Resolved<PlainOptions, OptionsWithDefault> {
  readonly name: string
  readonly schema: Schema
  readonly shape: Shape
  /** The fields as they are given, binary properties in their form; those that `fields` may name besides. */
  readonly readableFields: Fields
  readonly selectableFields: Fields
  /** Where binary properties live; absent where there are none. */
  readonly blobs: BlobStore | undefined
  /** What a body may hold: what clients may write, and what the server gives and then ignores. */
  readonly bodyFields: Fields
  /** What a client may write. */
  readonly inputFields: Fields
  /** What lists filter and sort by: without write-only properties. */
  readonly queryFields: Fields
  readonly roles: FieldRoles | undefined
  /** The properties that no answer has: the write-only ones, those of other versions on the same store too. */
  readonly hidden: ReadonlySet<string>
  /** Whose items are; absent where they are nobody's. */
  readonly owner: OwnerOptions | undefined
  readonly validator: Validator
  readonly store: KeyedStore
  readonly sort: readonly SortKey[]
  /** The fields that `GET /<collection>/search?q=` looks through. */
  readonly search: readonly Path[] | undefined
  /** The collections that items belong to, each with the field that names the parent. */
  readonly parents: ReadonlyMap<string, string>
  /** The fields that hold ids of other items, those of the parents included. */
  readonly references: ReadonlyMap<string, Reference>
  /** Whether one of them says what a deletion does: writes then hold what they come to name. */
  readonly guarded: boolean
  /** Who refers to items of this collection, and matters when one is deleted. Known within an api. */
  readonly children: readonly Child[]
  readonly operations: ReadonlySet<Operation>
  readonly actions: ReadonlyMap<string, ActionDefinition>
  readonly hooks: CompiledHooks
  /** `cacheControl` for clients with credentials: no shared cache keeps the answer. */
  readonly privateCacheControl: string
  /** Who may do what, where the api has schemes. */
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
  /** When it was deprecated and when it ends, in milliseconds since 1970. */
  readonly deprecated: number | undefined
  readonly sunset: number | undefined
}

/** What `onError` is told of a failure that was answered with a 5xx. */
export interface Failure {
  /** What the client was told to quote: what stands in the message of a 500, else `requestId`. */
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

/** An api as frozen data: what `defineApi` makes of its options. */
export interface ApiDefinition
  extends Resolved<Policies, PoliciesWithDefault>,
    Pick<Policies, 'messages'> {
  readonly clientAddress: Policies['clientAddress']
  /** The newest first. */
  readonly versions: readonly VersionDefinition[]
  /** The version that the root describes: the newest that is not deprecated. */
  readonly defaultVersion: VersionDefinition
  /** What its OpenAPI document says of it. */
  readonly info: Resolved<Policies, 'title'> & Pick<Policies, 'description' | 'contact'>
  /** The public address of the root, no slash at its end; without, it comes from each request. */
  readonly baseUrl: string | undefined
  /** The path under which requests arrive when no host server strips it; `''` or `/api`. */
  readonly prefix: string
  /** How many proxies in front are trusted to tell whom they forward for. */
  readonly trustProxy: number
  readonly cors: Cors
  readonly limits: Limits
  /** The headers in which their credentials may stand. */
  readonly credentialHeaders: readonly string[]
  readonly rateLimit: RateLimit | undefined
}
