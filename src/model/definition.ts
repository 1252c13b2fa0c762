// What a collection and an api are, as frozen data: what `defineCollection` and `defineApi` make and
// everything after them reads.

import type { Access } from '../auth/access.ts'
import type { RateLimit } from '../auth/rate-limit.ts'
import type { Principal, Scheme } from '../auth/scheme.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { AnyErrorType, ErrorEntry, HttpError } from '../errors.ts'
import type { Format } from '../formats/format.ts'
import type { Cors } from '../http/cors.ts'
import type { Limits } from '../http/limits.ts'
import type { HttpRequest } from '../http/message.ts'
import type { Dialect } from '../query.ts'
import type { BinaryForm } from '../schema/blob-forms.ts'
import type { Fields } from '../schema/fields.ts'
import type { Path } from '../schema/paths.ts'
import type { Validator } from '../schema/validate.ts'
import type { Awaitable, Item } from '../schema/values.ts'
import type { Input, Output, Schema, SomeSchema } from '../schema/zod-fields.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import type { SortKey } from '../store/selection.ts'
import type { Id, Shape, TotalMode } from '../store/store.ts'
import type { FieldRoles, OwnerOptions } from './field-roles.ts'

/** What can be done to a collection and its items; actions come under their own names. */
export type Operation = 'list' | 'count' | 'read' | 'create' | 'replace' | 'patch' | 'delete'

export const OPERATIONS: readonly Operation[] = [
  'list',
  'count',
  'read',
  'create',
  'replace',
  'patch',
  'delete',
]

/** What a hook is told. */
export interface OperationEvent {
  readonly collection: string
  /** An operation's or an action's name. */
  readonly operation: string
  readonly id?: Id
  /** The item as it is before the operation, frozen. */
  readonly item?: Item
  /** What the client sent, frozen: of a patch only its changes by property, of a JSON Patch too (null where it removes one). */
  readonly input?: unknown
  /** What is to be, to be changed in place too: of a write the checked values of the whole item, of an action its input. */
  readonly value?: unknown
  readonly principal: Principal | undefined
  readonly signal: AbortSignal
}

/**
 * Functions around the operations of one collection, awaited. What they throw is answered: an
 * `HttpError` as it is.
 */
export interface Hooks {
  /**
   * Before the store is asked to change or to list anything. An object returned takes the place of
   * `value`: dates become texts. Of an item what differs is checked by the schema (400), by its properties
   * alone where it has transforms, as none runs twice; the input of an action is taken as it is.
   */
  before?(event: OperationEvent): unknown
  /**
   * After success; `result` is the item, the items, the count or what the action gave, frozen. Once for each
   * `Idempotency-Key`: not where an earlier answer is given again.
   */
  after?(event: OperationEvent, result: unknown): unknown
  /** After a failure, a refusal included. */
  error?(event: OperationEvent, error: unknown): unknown
}

/**
 * Parameters of a list as a program gives them: `{ color: 'red', 'price[gte]': 10, limit: 5 }`. A
 * program is given whole items: `fields` is checked, and selects nothing.
 */
export type ListParameters = Readonly<
  Record<string, string | number | boolean | readonly (string | number | boolean)[]>
>

/**
 * Which items a principal sees, as filters: `{ owner_id: principal.id }`. `{}` is all of them, `undefined`
 * and an empty list of values none; `undefined` is given for who has no credentials.
 */
export type RowRule = (principal: Principal | undefined) => ListParameters | undefined

/** What is undefined counts as not given. */
export interface CallOptions {
  /** Who calls, for row rules and hooks. Default: within an action who called that, else nobody. */
  readonly principal?: Principal | undefined
  /** Ends the work early: the call throws the signal's reason. Default: within an action the signal of that, else none. */
  readonly signal?: AbortSignal | undefined
}

/** The ids that a store can make, and what they are in an item. */
export interface MadeIds {
  readonly uuid: string
  readonly integer: number
}

/**
 * An item as it is given: what the schema gives, with the properties that the server adds. Not told by
 * the type: `timestamps: false` gives no dates, `idField: 'identifier'` that property instead of `id`, and
 * a `Date` that a transform makes is its text.
 */
export type ItemOf<S extends SomeSchema, Ids extends keyof MadeIds = keyof MadeIds> = Output<S> & {
  readonly id: MadeIds[Ids]
  readonly created_at: string
  readonly updated_at: string
}

/** The operations of one collection called in process: the same path as over HTTP, `HttpError` included. */
export interface Calls<
  S extends SomeSchema = SomeSchema,
  Ids extends keyof MadeIds = keyof MadeIds,
> {
  list(parameters?: ListParameters, options?: CallOptions): Promise<ItemOf<S, Ids>[]>
  count(parameters?: ListParameters, options?: CallOptions): Promise<number>
  read(id: Id, options?: CallOptions): Promise<ItemOf<S, Ids>>
  create(value: Input<S>, options?: CallOptions): Promise<ItemOf<S, Ids>>
  replace(id: Id, value: Input<S>, options?: CallOptions): Promise<ItemOf<S, Ids>>
  /** Applies a JSON Merge Patch. */
  patch(
    id: Id,
    changes: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<ItemOf<S, Ids>>
  delete(id: Id, options?: CallOptions): Promise<ItemOf<S, Ids>>
  /** Runs an action, of an item where an id is given. */
  act(
    name: string,
    call?: CallOptions & { readonly id?: Id | undefined; readonly input?: unknown },
  ): Promise<unknown>
}

/** Finds the operations of a collection: by its declaration with the types of its schema, or by its name. */
export interface CollectionCalls {
  <S extends SomeSchema, Ids extends keyof MadeIds>(collection: {
    readonly name: string
    readonly schema: S
    readonly ids: Ids
  }): Calls<S, Ids>
  (name: string): Calls
}

/** What an action's `run` receives. */
export interface ActionContext<S extends SomeSchema = SomeSchema> {
  /** What the client sent, checked by the action's `input`. */
  readonly input: Output<S>
  /** The item acted on, frozen; absent for an action on the collection. */
  readonly item?: Item
  readonly id?: Id
  readonly principal: Principal | undefined
  readonly signal: AbortSignal
  /** The operations of a collection of the same api, as this principal. */
  readonly collection: CollectionCalls
  /**
   * Applies a merge patch to the item acted on, if it is still as it was read.
   * @throws HttpError 409 where it was changed meanwhile (412 where the client sent a precondition).
   */
  readonly update: (changes: Readonly<Record<string, unknown>>) => Promise<Item>
}

/** A verb on a collection or an item. */
export interface Action<S extends SomeSchema = SomeSchema> {
  /** Where it stands: `/<collection>/<action>`, or `/<collection>/<id>/<action>`. */
  readonly on: 'collection' | 'item'
  /** GET (and HEAD) for an action that changes nothing; POST is the default. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
  /** What it takes: from the body, or from the query where the method is GET. Without, nothing. */
  readonly input?: S | undefined
  /** What it gives, for the description; what `run` returns is not checked against it. */
  readonly output?: SomeSchema | undefined
  /** What it does, for people: in what OPTIONS answers, and on pages. Default none. */
  readonly description?: string | undefined
  /** Its result is the answer, 200: the item acted on is given as anywhere, its contents by address. `undefined` answers 303 to the item or the collection. */
  run(context: ActionContext<S>): unknown
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
  readonly output: Schema | undefined
  /** What it gives, where `output` is an object. */
  readonly outputFields: Fields | undefined
  readonly description: string | undefined
  run(context: ActionContext): unknown
}

export interface CollectionDefinition {
  readonly name: string
  /** One item's name: `car`. */
  readonly itemName: string
  readonly schema: Schema
  readonly shape: Shape
  /** The fields as they are given, binary properties in their form; those that `fields` may name besides. */
  readonly readableFields: Fields
  readonly selectableFields: Fields
  /** Where binary properties live; absent where there are none. */
  readonly blobs: BlobStore | undefined
  readonly binary: BinaryForm
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
  readonly defaultLimit: number
  readonly maxLimit: number
  readonly sort: readonly SortKey[]
  /** The fields that `GET /<collection>/search?q=` looks through. */
  readonly search: readonly Path[] | undefined
  readonly total: TotalMode
  /** The collections that items belong to, each with the field that names the parent. */
  readonly parents: ReadonlyMap<string, string>
  readonly operations: ReadonlySet<Operation>
  readonly actions: ReadonlyMap<string, ActionDefinition>
  readonly hooks: Hooks
  readonly putCreates: boolean
  readonly requirePrecondition: boolean
  readonly cacheControl: string
  /** The same for who has credentials: for no cache that others share. */
  readonly privateCacheControl: string
  /** Who may do what, where the api has schemes. */
  readonly access: Access
  readonly visible: RowRule | undefined
  /** Whether what a principal may not do looks to it as if it did not exist. */
  readonly hideExistence: boolean
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

/** The address of a client, from its request or from what a host server gives `fetch` besides. */
type ClientAddress = (request: Request, ...host: readonly unknown[]) => string | null | undefined

export interface ApiDefinition {
  /** The newest first. */
  readonly versions: readonly VersionDefinition[]
  /** The version that the root describes: the newest that is not deprecated. */
  readonly defaultVersion: VersionDefinition
  /** What its OpenAPI document says of it. */
  readonly info: {
    readonly title: string
    readonly description: string | undefined
    readonly contact: object | undefined
  }
  /** The public address of the root, no slash at its end; without, it comes from each request. */
  readonly baseUrl: string | undefined
  /** The path under which requests arrive when no host server strips it; `''` or `/api`. */
  readonly prefix: string
  /** How many proxies in front are trusted to tell whom they forward for. */
  readonly trustProxy: number
  /** Tells `fetch` who asks. */
  readonly clientAddress: ClientAddress | undefined
  readonly formats: readonly Format[]
  readonly dialects: readonly Dialect[]
  readonly cors: Cors
  readonly limits: Limits
  /** How credentials are checked; without any, everybody may do everything. */
  readonly schemes: readonly Scheme[]
  /** The headers in which their credentials may stand. */
  readonly credentialHeaders: readonly string[]
  /** What a PUT or PATCH is answered with where the request does not say. */
  readonly changes: 'redirect' | 'representation'
  /** Who may read the root (`root`), and the rule of collections that have none (`default`). */
  readonly access: Access
  readonly rateLimit: RateLimit | undefined
  /** Whether `/health` tells if the stores can be reached. */
  readonly health: boolean
  /** Whether answers tell how long their steps took. */
  readonly serverTiming: boolean
  readonly onError: (error: unknown, failure: Failure) => void
  readonly messages: Messages | undefined
}
