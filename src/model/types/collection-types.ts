// The types of one declaration, in one type parameter: its items, the inputs of its operations, its names.
import type { BasePrincipal, Principal } from '../../auth/scheme.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { BlobRecord } from '../../schema/blob.ts'
import type { BinaryForm } from '../../schema/blob-forms.ts'
import type { Input, Output, SomeSchema } from '../../schema/zod-fields.ts'
import type { Shape } from '../../store/store.ts'
import type { Operation } from './operation.ts'

/** The kinds of ids that a store makes, and their types in an item. */
export interface MadeIds {
  readonly uuid: string
  readonly integer: number
}

/** The types of a collection: the only parameter of `Collection` and `Resource`. */
export interface Def {
  readonly name: string
  readonly schema: SomeSchema
  readonly id: keyof MadeIds
  /** By action: `item` or `collection`; the schema of its input; the schema of its output. */
  readonly on: object
  readonly input: object
  readonly output: object
  /** By action: its method, where the declaration names one. */
  readonly method: object
  /** The name of the id. */
  readonly key: string
  /** The names of the fields that have a role. */
  readonly readOnly: string
  readonly writeOnly: string
  readonly immutable: string
  /** The roles of fields as they are declared: some are read by some principals only. */
  readonly roles: unknown
  /** The operations that the declaration names: `never` where it names none, and allows all. */
  readonly operations: Operation
  /** The paths that `search` looks through: `never` where there is no search. */
  readonly search: string
  /** The paths by which items are counted: `never` where there are none. */
  readonly groups: string
  /** The field of the lease: `never` without one. */
  readonly lease: string
  /** The fields of the deletion; `never` without a trash. */
  readonly trash: string
  /** The properties that the server adds to an item: its id and dates. */
  readonly own: object
  /** The form of binary properties in answers: `never` where there are none. */
  readonly binary: BinaryForm
  /** The collections that fields refer to: those of parents, and others. */
  readonly parents: unknown
  readonly references: unknown
  /** The principals that its policies, hooks and actions count on. */
  readonly principal: BasePrincipal
  /** The query builder of its store, for statements in a transaction: of `sqlStore<DB>` a `Kysely<DB>`. */
  readonly sql?: unknown
  /** The kind of caller: a program may set read-only properties, and reads records of files. */
  readonly by: 'client' | 'program'
}

/** The types that an OpenAPI document says: its schemas are those of answers, and nothing is worked out. */
export interface DocumentDef extends Def {
  /** The properties of answers that are files, or addresses of them: `never` where there are none. */
  readonly files: string
}

/** The types of a collection whose schema is not known: any property may hold anything. */
export interface UnknownDef<P extends BasePrincipal = Principal> extends Def {
  readonly principal: P
  readonly schema: {
    readonly _zod: {
      readonly output: Readonly<Record<string, unknown>>
      readonly input: Readonly<Record<string, unknown>>
    }
  }
  readonly on: Readonly<Record<string, unknown>>
  readonly readOnly: never
  readonly writeOnly: never
  readonly immutable: never
  readonly roles: unknown
  readonly binary: never
  readonly lease: never
  readonly trash: never
  readonly own: ServerFields<string | number>
}

/** A principal with the claims that all of these types of collections count on. */
export type PrincipalOfAll<D extends Def> = (
  D extends unknown
    ? (principal: Counted<D['principal']>) => void
    : never
) extends (principal: infer P extends BasePrincipal) => void
  ? P
  : BasePrincipal

/** Nobody counts on claims of unknown types. */
type Counted<P> = string extends keyof P ? BasePrincipal : P

/** Any collection. It compares no schemas, so that the type checker stays fast. */
export interface AnyCollection {
  readonly name: string
  /** For the type checker alone: `undefined` at run time. */
  readonly def: Def
  /** Its items, as a store sees them. */
  readonly shape: Shape
}

/** The collections of an api of unknown type, by name. */
export type AnyNames = Readonly<Record<string, AnyCollection>>

/** Nothing of its kind is declared. */
export type None = Readonly<Record<never, never>>
/** A blob store that is not given: the type of its functions stays, for one that is written in place. */
export type NoBlobs = BlobStore & { readonly absent?: never }

/** The types of a declaration, built from those that `defineCollection` infers. */
export interface Made<
  N,
  S,
  I extends keyof MadeIds,
  On,
  In,
  Out,
  Roles,
  Owner,
  Methods,
  Key,
  Operations,
  Search,
  Blobs,
  Binary,
  Parents,
  References,
  P,
  Groups,
  Sql = unknown,
  Lease = never,
  Trash = never,
  Dates = true,
> {
  readonly name: N
  readonly schema: S
  readonly id: I
  readonly on: On
  readonly input: In
  readonly output: Out
  readonly method: Methods
  readonly key: Key
  readonly readOnly: NamesWith<Roles, 'readOnly'> | Owner | Trash
  readonly writeOnly: NamesWith<Roles, 'writeOnly'>
  readonly immutable: NamesWith<Roles, 'immutable'>
  readonly roles: Roles
  readonly operations: Operations
  readonly search: Search
  readonly groups: Groups
  readonly lease: Lease
  readonly trash: Trash
  readonly own: OwnFields<I, Dates>
  readonly binary: 'absent' extends keyof Blobs
    ? Binary
    : [Binary] extends [never]
      ? 'flat'
      : Binary
  readonly parents: Parents
  readonly references: References
  readonly principal: P
  readonly sql: Sql
  readonly by: 'program'
}

/**
 * The names of the fields whose role is this word, or an object with that key. Keys are looked up, because TypeScript 5
 * keeps an inferred object literal fresh: it extends no type that has fewer properties.
 */
type NamesWith<Roles, Word extends string> = {
  [F in keyof Roles & string]: Roles[F] extends Word ? F : Word extends keyof Roles[F] ? F : never
}[keyof Roles & string]

/** The properties that the server adds to an item. */
export type ServerFields<Id> = {
  readonly id: Id
  readonly created_at: string
  readonly updated_at: string
}

/** The properties that the server adds, by `timestamps`. */
export type OwnFields<I extends keyof MadeIds, Dates> = true extends Dates
  ? ServerFields<MadeIds[I]>
  : string extends DateNames<Dates>
    ? ServerFields<MadeIds[I]>
    : { readonly id: MadeIds[I] } & { readonly [K in DateNames<Dates>]: string }

/** The names of the dates that `timestamps` declares. */
export type DateNames<T> = true extends T
  ? 'created_at' | 'updated_at'
  : T extends object
    ? Extract<T[keyof T], string>
    : never

/** Leaves properties out of each member of a union. Without any it costs the type checker nothing. */
export type Drop<T, K extends string> = [K] extends [never] ? T : Without<T, K>
type Without<T, K extends string> = T extends unknown
  ? { [P in keyof T as P extends K ? never : P]: T[P] }
  : never

export type IdOf<D extends Def> = MadeIds[D['id']]

/** What names an item besides its `id`: an id, and an item whose id has another name. */
export type NamedBy<D extends Def> = D['key'] extends 'id'
  ? IdOf<D>
  : IdOf<D> | { readonly [K in D['key']]: IdOf<D> }

/** A whole item, as hooks and actions get it, with its write-only properties. */
export type DefStored<D extends Def> = Output<D['schema']> & D['own']

/**
 * An item as operations return it: frozen, without its write-only properties. A program reads a file as its
 * record, a client as its address. What only some principals read a client may lack. The type ignores one option: with
 * `idField: 'identifier'` there is no `id`. Editors show the properties, since the branches of a conditional type have no
 * name of their own.
 */
export type DefItem<D extends Def> = D['by'] extends 'client'
  ? D extends DocumentDef
    ? Readonly<D['schema']['_zod']['output']>
    : ([D['binary']] extends [never]
        ? Readonly<Maybe<Readable<D>, LimitedIn<D>>>
        : Addressed<Maybe<Readable<D>, LimitedIn<D>>, D['binary']>) &
        D['own']
  : Readable<D> & D['own']

/** What lists filter and sort by: no file has an order, or a value to compare. */
export type DefCompared<D extends Def> = D['by'] extends 'client'
  ? D extends DocumentDef
    ? Drop<DefItem<D>, D['files']>
    : WithoutFiles<Readable<D>> & D['own']
  : DefItem<D>

type Readable<D extends Def> = [D['writeOnly']] extends [never]
  ? Readonly<D['schema']['_zod']['output']>
  : Readonly<Without<D['schema']['_zod']['output'], D['writeOnly']>>

/** The names of the fields that only some principals read. */
type LimitedIn<D extends Def> = NamesWith<D['roles'], 'read'>

/** Makes properties optional. Without any it costs the type checker nothing. */
type Maybe<T, K extends string> = [K] extends [never] ? T : Without<T, K> & Only<T, K>

type IsFile<V> = unknown extends V ? false : Extract<V, BlobRecord> extends never ? false : true

type WithoutFiles<T> = T extends unknown
  ? { readonly [K in keyof T as IsFile<T[K]> extends true ? never : K]: T[K] }
  : never

/** Puts the address of each file in its place: see `binary`. Content is there where `fields` or `inlineBelow` says so. */
type Addressed<T, Form> = T extends unknown
  ? [Form] extends ['flat']
    ? {
        readonly [K in keyof T as IsFile<T[K]> extends true ? `${K & string}_url` : K]: IsFile<
          T[K]
        > extends true
          ? string | Exclude<T[K], BlobRecord>
          : T[K]
      } & {
        readonly [K in keyof T as IsFile<T[K]> extends true ? `${K & string}_data` : never]?: string
      }
    : {
        readonly [K in keyof T]: IsFile<T[K]> extends true
          ? BlobAddress | Exclude<T[K], BlobRecord>
          : T[K]
      }
  : never

/** A file in an answer, with `binary: 'object'`. */
export interface BlobAddress {
  readonly url: string
  readonly updated_at: string
  /** Its content in Base64, where `fields` or `inlineBelow` asks for it. */
  readonly data?: string
}

/** The input of `create` and `replace`. A program may set read-only properties, a client may not. */
export type DefInput<D extends Def> = [D['readOnly']] extends [never]
  ? D['schema']['_zod']['input']
  : Without<Input<D['schema']>, D['readOnly']> &
      (D['by'] extends 'program' ? Only<Input<D['schema']>, D['readOnly']> : unknown)

/** The same type in two parts, by which properties are required: an error about one that is missing shows the first part alone. */
export type Separated<T> = T extends unknown
  ? { [K in keyof T as object extends Pick<T, K> ? never : K]: T[K] } & {
      [K in keyof T as object extends Pick<T, K> ? K : never]?: T[K]
    }
  : never

/** The input of `patch`: a merge patch of the properties that the caller may change. */
export type DefChanges<D extends Def> = DefMerge<
  Drop<Input<D['schema']>, D['immutable'] | (D['by'] extends 'program' ? never : D['readOnly'])>
>

type Only<T, K extends string> = T extends unknown
  ? { readonly [P in keyof T as P extends K ? P : never]?: T[P] }
  : never

/** A merge patch (RFC 7396): `null` removes an optional property, or an entry of a record. */
export type DefMerge<T> = {
  readonly [K in keyof T]?:
    | (T[K] extends Plain ? T[K] : Merged<T[K]>)
    | (undefined extends T[K] ? null : string extends K ? null : never)
}

/** Each member of a union by itself. A list stays, since a patch replaces it: a list of any JSON would never end. */
type Merged<V> = unknown extends V ? V : V extends Plain ? V : DefMerge<V>

/** A value that filters compare. */
export type Comparable = string | number | boolean

/** A value that is not an object: nothing lies below it. */
export type Plain = Comparable | null | undefined | readonly unknown[]
