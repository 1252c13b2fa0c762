// The options of `defineCollection`, as the type checker sees them: names are those of the schema.
import type { AccessRule } from '../../auth/access.ts'
import type { BasePrincipal, Principal } from '../../auth/scheme.ts'
import type { Awaitable, Scalar } from '../../base/values.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { BinaryForm } from '../../schema/blob-forms.ts'
import type { Output, SomeSchema } from '../../schema/zod-fields.ts'
import type { Store, TotalMode } from '../../store/store.ts'
import type { DateNames, Def, DefStored, MadeIds } from './collection-types.ts'
import type { FieldRole, OwnerOptions } from './field-roles.ts'
import type { ActionResult, Hooks, OwnDef, RunContext } from './hooks.ts'
import type { Among, PathOf, Where } from './list-query.ts'
import type { Operation } from './operation.ts'
import type { ReferenceOptions } from './references.ts'
import type { RelationName } from './related.ts'
import type { Member, Resource } from './resource.ts'
import type { RowPolicy } from './row-policy.ts'
import type { SearchOptions } from './search.ts'

/** The names of the dates that the server sets: an item lacks one that has no name here. */
export interface Timestamps {
  /** When the item was created; `since` and `until` compare it. */
  readonly created?: string | false | undefined
  /** When it was last written: `Last-Modified`. */
  readonly updated?: string | false | undefined
}

/** The options that name no field. */
export interface PlainOptions {
  /** Where the items live. Versions of a collection may share one; other collections may not. */
  readonly store: Store
  /** The name of one item: `car`. Default: the name without its plural ending. */
  readonly itemName?: string | undefined
  /** The name of the identifying property. Default `id`. */
  readonly idField?: 'id' | 'identifier' | undefined
  /**
   * Whether ids become visible in their order, so that a reader by `since_id` misses none. With false a SQL store makes
   * them in the process: creates do not wait for each other, and `since_id` is refused. Not with `id: 'integer'`.
   * Default true.
   */
  readonly ordered?: boolean | undefined
  /**
   * Which issues refuse a change. `'changed'` leaves out those of properties that the write does not touch, if the stored item
   * has them too: for rows that are older than the schema. Issues of the whole item count. Not with read and write rules in
   * `fields`. Default `'all'`.
   */
  readonly checks?: 'all' | 'changed' | undefined
  /** How many items a page has if the request has no `limit`. Default 25. */
  readonly defaultLimit?: number | undefined
  /** The most items of a page. Default 100. */
  readonly maxLimit?: number | undefined
  /** The allowed operations. Default: all but `patchMany` and `deleteMany`, which need those of one item and `list`. */
  readonly operations?: readonly Operation[] | undefined
  /** Whether PUT to an id that does not exist creates it; needs ids chosen by clients. Default false. */
  readonly putCreates?: boolean | undefined
  /** Whether changes need `If-Match` or `If-Unmodified-Since`; 428 without. Default false. */
  readonly requirePrecondition?: boolean | undefined
  /**
   * Whether clients may follow lists: `GET /cars` with `Accept: text/event-stream` is the list and then each change, of whatever
   * program. It needs a store with `changes`: {@link memoryStore}, or `sqlStore({ changes: true })`. Default false.
   */
  readonly live?: boolean | undefined
  /**
   * How lists are counted, unless `Prefer` asks otherwise. With `{ exactUpTo: 100_000 }` a longer list has no total, which
   * then costs no more than so many rows; `/count`, calls in process and apis with `dialects` count exactly. Default `exact`.
   */
  readonly total?: TotalMode | { readonly exactUpTo: number } | undefined
  /**
   * `Cache-Control` of reads. For clients with credentials `private` is added, and `public` and `s-maxage` are left
   * out. Default `no-cache, max-age=0`.
   */
  readonly cacheControl?: string | undefined
  /** Whether a principal without the scope gets 404 in place of 403. Default false. */
  readonly hideExistence?: boolean | undefined
  /** A description for readers of OPTIONS and HTML pages. Default none. */
  readonly description?: string | undefined
  /** Where the contents of `blob()` properties live. Needed where the schema has any. */
  readonly blobs?: BlobStore | undefined
  /** The form of binary properties in answers: `flat` (`photo_url`, the default) or `object` (`photo: { url, updated_at }`). */
  readonly binary?: BinaryForm | undefined
}

/** The names of a schema's properties; any text where the schema's type is not known. */
type FieldOf<S extends SomeSchema> = unknown extends Output<S> ? string : NameOf<Output<S>>
type NameOf<T> = T extends unknown ? keyof T & string : never

/** The dotted paths of a schema; the second also has the properties that the server adds. */
type PathIn<S extends SomeSchema> = unknown extends Output<S> ? string : PathOf<Output<S>>
type PathInItem<S extends SomeSchema, Dates> = PathIn<S> | 'id' | DateNames<Dates>

/** A path to sort by; `-` before it sorts downwards. */
type SortIn<S extends SomeSchema, Dates> = PathInItem<S, Dates> | `-${PathInItem<S, Dates>}`

/** By action: whether it acts on an item or on the collection. */
export type Places = Readonly<Record<string, 'item' | 'collection'>>

/** The methods of actions. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Names that no action may have. */
type TakenNames = {
  readonly [K in
    | keyof Resource
    | 'then']?: 'is a method of every resource: give the action another name'
}

/**
 * The actions of a collection. Each part has its own type parameter, inferred from the same literal:
 * where actions stand, what they take, what they give.
 */
type ActionsOption<D extends Def, On, In, Out, Methods> = TakenNames & {
  readonly [K in keyof On]: {
    /** Where it stands: `/<collection>/<action>`, or `/<collection>/<id>/<action>`. */
    readonly on: On[K]
    /** A description for readers of OPTIONS and HTML pages. Default none. */
    readonly description?: string | undefined
    /**
     * Whether its work is one transaction, with the record of its `Idempotency-Key`: `run` may run more than
     * once and must have no effect outside `collection()` and `update()`. Default false.
     */
    readonly transaction?: boolean | undefined
    /**
     * Whether it may set cookies: `response.headers.append('Set-Cookie', …)`. A page of another origin gets 403 then,
     * before `run`, unless `cors` lists its origin with `credentials`: it could log its reader in as somebody else. Never
     * with GET. Default false.
     */
    readonly cookies?: boolean | undefined
    /**
     * Whether pages of all origins may send it, with `cookies`: for SAML and `response_mode=form_post`, where the input
     * itself proves whom it is from. Default false.
     */
    readonly crossSite?: boolean | undefined
  }
} & {
  readonly [K in keyof Methods]: {
    /** GET (and HEAD) for an action that changes nothing; POST is the default. */
    readonly method?: (Methods[K] & Method) | undefined
  }
} & {
  readonly [K in keyof In]: {
    /** The schema of its input: the body, or the query where the method is GET. Default: no input. */
    readonly input?: In[K] | undefined
  }
} & {
  readonly [K in keyof Out]: {
    /** The schema of its result, or `item` for an item of the collection. The result is not checked at run time. */
    readonly output?: Out[K] | undefined
    /**
     * Its result is answered with 200; `undefined` with 303 to the item or the collection. Where it is left out,
     * `defineApi({ actions })` declares it.
     */
    run?(context: RunContext<D, Member<On, K>, Member<In, K>>): Awaitable<ActionResult<D, Out[K]>>
  }
}

/** Who may do what, by operation and action. */
type AccessOption<On> = {
  readonly [K in Operation | 'search' | 'download' | 'trash' | 'default' | (keyof On & string)]?:
    | AccessRule
    | undefined
}

/** Collections by the fields that hold their ids. */
type ReferencesOf<Field extends string, Given> = {
  readonly [F in keyof Given]: F extends Field
    ? Given[F]
    : `${F & string} is no field of the schema`
} & { readonly [F in Field]?: string | ReferenceOptions }

/** The filters of an item; any filter where its type is not known. */
type FiltersOf<D extends Def> =
  unknown extends Output<D['schema']>
    ? Readonly<Record<string, unknown>>
    : Where<DefStored<D> & Referred<keyof DefStored<D>>>

/** The properties that a deletion sets. */
export interface TrashOptions<Field extends string = string> {
  /** The date of the deletion. */
  readonly date: Field
  /** The id of the deletion. Items that were deleted together have the same one. */
  readonly deletion?: Field | undefined
}

/** A unique set of the items that pass all conditions. */
export interface PartialUnique<Path extends string = string> {
  readonly fields: Path | readonly Path[]
  /** The conditions, by property of the item itself: `{ deleted_at: { exists: false }, kind: 'car' }`. */
  readonly where: {
    readonly [F in Path]?: Scalar | { readonly eq: Scalar } | { readonly exists: boolean }
  }
}

type ThroughWith<Field, Policy> = { readonly through: Field; readonly and?: Policy | undefined }

/** What fields refer to, by the default names. The types of those items are not known here. */
type Referred<Field> = {
  readonly [F in Field as Exclude<RelationName<F, unknown>, Field>]: Readonly<
    Record<string, unknown>
  >
}

/** What `defineCollection` takes. Names of fields are those of the schema. */
export interface CollectionOptions<
  N extends string = string,
  S extends SomeSchema = SomeSchema,
  I extends keyof MadeIds = keyof MadeIds,
  On extends Places = Places,
  In = unknown,
  Out = unknown,
  Roles = unknown,
  Owner extends string = string,
  Methods = unknown,
  Key extends 'id' | 'identifier' = 'id' | 'identifier',
  Operations extends Operation = Operation,
  Search extends string = string,
  Blobs extends BlobStore = BlobStore,
  Binary extends BinaryForm = BinaryForm,
  Parents = unknown,
  Relation = unknown,
  References = unknown,
  Rows = unknown,
  P extends BasePrincipal = Principal,
  Groups extends string = string,
  Sql = unknown,
  Lease extends string = string,
  Trash extends string = string,
  Dates extends boolean | Timestamps = boolean | Timestamps,
> extends PlainOptions {
  readonly store: Store & { readonly sql?: Sql | undefined }
  /** A plural noun: the path segment, the range unit, the table. Letters, digits, `_` and `-`. */
  readonly name: N
  /** An object schema without the properties that the server adds. With a text property for the id, clients choose ids. */
  readonly schema: S
  /**
   * The ids that the store makes: UUIDv7 (default) or whole numbers from 1. Or the two references that are the key of a link
   * table, `['post_id', 'tag_id']`: its ids are strings such as `3~7`.
   */
  readonly id?: I | readonly [NoInfer<FieldOf<S>>, NoInfer<FieldOf<S>>] | undefined
  readonly idField?: Key | undefined
  /**
   * Whether items have `created_at` and `updated_at`, or the names of those that they have: `{ created: 'createdAt',
   * updated: 'updatedAt' }`, `{ created: 'created_at' }` for one alone. Default true.
   */
  readonly timestamps?: Dates | undefined
  readonly operations?: readonly Operations[] | undefined
  readonly blobs?: Blobs | undefined
  readonly binary?: Binary | undefined
  /** The order of a list without `sort`, such as `-created_at`. Default: creation, oldest first. */
  readonly sort?: NoInfer<SortIn<S, Dates>> | readonly NoInfer<SortIn<S, Dates>>[] | undefined
  /** Fields, or sets of fields, that lists often filter or sort by. */
  readonly indexes?:
    | readonly NoInfer<PathInItem<S, Dates> | readonly PathInItem<S, Dates>[]>[]
    | undefined
  /**
   * Fields, or sets of fields, in which no two items may be equal. An item that breaks two of them gets the error of one,
   * which differs by store. Among some items only: `{ fields: ['slug'], where: { deleted_at: { exists: false } } }`. Each
   * condition is a value or `exists`, as in a partial index.
   */
  readonly unique?:
    | readonly NoInfer<
        PathInItem<S, Dates> | readonly PathInItem<S, Dates>[] | PartialUnique<PathInItem<S, Dates>>
      >[]
    | undefined
  /**
   * Fields that name an item of another collection: `{ car_id: 'cars' }` serves `/cars/<id>/<name>` too.
   * `{ car_id: { collection: 'cars', onDelete: 'cascade' } }` says what becomes of these items when that one
   * is deleted: see {@link ReferenceOptions}.
   */
  readonly parents?: ReferencesOf<NoInfer<FieldOf<S>>, Parents> | undefined
  /** The same without a path of their own: `{ author_id: 'users' }`. Several may name one collection. */
  readonly references?: ReferencesOf<NoInfer<FieldOf<S>>, References> | undefined
  /** The same for a relation between two collections: exactly two fields, unique as a pair. */
  readonly relation?: ReferencesOf<NoInfer<FieldOf<S>>, Relation> | undefined
  /**
   * The roles of properties, by name: `{ views: 'readOnly', password: 'writeOnly',
   * sku: 'immutable' }`. Properties of the item itself only. Default none.
   */
  readonly fields?:
    | ({
        readonly [F in keyof Roles]: F extends NoInfer<FieldOf<S>>
          ? Roles[F]
          : `${F & string} is no field of the schema`
      } & {
        readonly [F in NoInfer<FieldOf<S>>]?: FieldRole<P>
      })
    | undefined
  /**
   * The property that holds who created an item: the principal's id, read-only. Only the owner replaces,
   * patches and deletes it: 403, or 404 with `hideExistence`; `except` names scopes that may too. A create
   * over HTTP needs a principal: 401. In process a program may name the owner, and without a principal
   * changes everything. An action checks the owner itself. Who may see items depends on `visible`. Default none.
   */
  readonly owner?: Among<Owner, FieldOf<S>> | OwnerOptions<Among<Owner, FieldOf<S>>> | undefined
  /**
   * The text fields that `GET /<name>/search?q=` searches, without regard to diacritics and capital letters, unless
   * `{ fields, fold: false }` says otherwise. Default: no search.
   */
  readonly search?:
    | readonly Among<Search, PathIn<S>>[]
    | SearchOptions<Among<Search, PathIn<S>>>
    | undefined
  /**
   * The fields by which items may be counted: `GET /<name>/count?by=color&sum=price`, and of a date by its day, month
   * and year, `by=created_at:month`. A count may name up to four of them, and has at most 1,000 groups. Default none.
   */
  readonly groups?: readonly Among<Groups, PathInItem<S, Dates>>[] | undefined
  /**
   * The field of the time until then a job has an item: an optional date-time, such as `taken_until`. With it
   * `take()` hands out items to the jobs of several servers, each to one. Default none.
   */
  readonly lease?: Among<Lease, FieldOf<S>> | undefined
  /** The field that counts how often an item was taken: a whole number, such as `z.int().default(0)`. Default none. */
  readonly attempts?: NoInfer<FieldOf<S>> | undefined
  /**
   * Keeps deleted items: DELETE sets this date, and `POST /<name>/<id>/restore` removes it. Until then the item is in
   * `GET /<name>/trash`, which needs the rule `trash`. The date is an optional date-time, such as `deleted_at`. With
   * cascades also name a string for the id of the deletion: `{ date: 'deleted_at', deletion: 'deletion_id' }`. Default none.
   */
  readonly trash?: // A template infers from a string alone: an object gives both of its names.
  `${Among<Trash, FieldOf<S>>}` | TrashOptions<Among<Trash, FieldOf<S>>> | undefined
  /** Actions by their verbs: `buy` of an item is `POST /<name>/<id>/buy`. Default none. */
  readonly actions?: ActionsOption<OwnDef<S, I, P, Sql, Dates>, On, In, Out, Methods> | undefined
  /** Functions around every operation and action. Default none. */
  readonly hooks?: Hooks<OwnDef<S, I, P, Sql, Dates>> | undefined
  /**
   * The access rules by operation or action; they count where the api has `schemes`: `{ list: 'public', create: ['cars:write'] }`.
   * Default: every principal may do everything.
   */
  readonly access?: AccessOption<NoInfer<On>> | undefined
  /**
   * Returns filters for the items that a principal sees: `principal => principal && { owner_id: principal.id }`. `{}`
   * shows all, `undefined` and an empty list of values none; `principal` is `undefined` without credentials.
   * Other items do not exist for it, in lists, counts, reads, writes, sub-collections, actions and downloads
   * alike. A set of `unique` fields should include the field of the filter: otherwise a 409 reveals that another
   * principal has the same values.
   *
   * Filters may reach related items, as in `where`: `{ order: { owner_id: principal.id } }`. The policy of that collection
   * is not asked.
   *
   * `{ through: 'order_id' }` for a field that is a reference: a principal that sees the order sees these items. With
   * `and: principal => ({ internal: false })` it sees those of them that pass the filters too. Both collections need stores
   * of one database.
   */
  readonly visible?:
    | RowPolicy<P, Rows, FiltersOf<OwnDef<S, I, P, Sql, Dates>>>
    | ThroughWith<NoInfer<FieldOf<S>>, RowPolicy<P, Rows, FiltersOf<OwnDef<S, I, P, Sql, Dates>>>>
    | undefined
}
