// The types of one declaration, in one parameter: its items, what its operations take, and its names.
import type { Input, Output, SomeSchema } from '../schema/zod-fields.ts'
import type { CollectionDefinition } from './definition.ts'

/** The ids that a store can make, and what they are in an item. */
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
  /** Who calls: a program may set read-only properties. */
  readonly by: 'client' | 'program'
}

/** The types of a collection whose schema is not known: any property may hold anything. */
export interface UnknownDef extends Def {
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
}

/** A collection without its types: lists of collections are checked against this, which compares no schema. */
export interface AnyCollection {
  readonly name: string
  /** For the type checker alone: `undefined` at run time. */
  readonly def: Def
  readonly definition: CollectionDefinition
}

/** The types of a declaration, made of what `defineCollection` infers. */
export interface Made<N, S, I, On, In, Out, Roles, Owner, Methods, Key> {
  readonly name: N
  readonly schema: S
  readonly id: I
  readonly on: On
  readonly input: In
  readonly output: Out
  readonly method: Methods
  readonly key: Key
  readonly readOnly: NamesWith<Roles, 'readOnly' | { readonly readOnly: unknown }> | Owner
  readonly writeOnly: NamesWith<Roles, 'writeOnly'>
  readonly immutable: NamesWith<Roles, 'immutable'>
  readonly by: 'program'
}

type NamesWith<Roles, Role> = {
  [F in keyof Roles & string]: Roles[F] extends Role ? F : never
}[keyof Roles & string]

/** The properties that the server adds to an item. */
export type ServerFields<Id> = {
  readonly id: Id
  readonly created_at: string
  readonly updated_at: string
}

/** Leaves properties out of each member of a union. Nothing to leave out costs the type checker nothing. */
export type Drop<T, K extends string> = [K] extends [never] ? T : Without<T, K>
type Without<T, K extends string> = T extends unknown
  ? { [P in keyof T as P extends K ? never : P]: T[P] }
  : never

export type IdOf<D extends Def> = MadeIds[D['id']]

/** A whole item, as hooks and actions get it: its write-only properties too. */
export type StoredOf<D extends Def> = Output<D['schema']> & ServerFields<IdOf<D>>

/**
 * An item as it is given: without its write-only properties. Two options are not in the type:
 * `timestamps: false` gives no dates, and `idField: 'identifier'` gives that property instead of `id`.
 */
export type ItemOf<D extends Def> = Drop<Output<D['schema']>, D['writeOnly']> &
  ServerFields<IdOf<D>>

/** What `create` and `replace` take: read-only properties may be given by a program, and by no client. */
export type NewOf<D extends Def> = [D['readOnly']] extends [never]
  ? Input<D['schema']>
  : Without<Input<D['schema']>, D['readOnly']> &
      (D['by'] extends 'program' ? Only<Input<D['schema']>, D['readOnly']> : unknown)

/** What `patch` takes: a merge patch without what the caller cannot change. */
export type ChangesOf<D extends Def> = Merge<
  Drop<Input<D['schema']>, D['immutable'] | (D['by'] extends 'program' ? never : D['readOnly'])>
>

type Only<T, K extends string> = T extends unknown
  ? { readonly [P in keyof T as P extends K ? P : never]?: T[P] }
  : never

/** A merge patch (RFC 7396): `null` removes what may be absent, and an entry of a record. */
export type Merge<T> = {
  readonly [K in keyof T]?:
    | (T[K] extends Plain ? T[K] : Merge<T[K]>)
    | (undefined extends T[K] ? null : string extends K ? null : never)
}

/** A value that filters compare. */
export type Comparable = string | number | boolean

/** A value that is not an object: nothing lies below it. */
export type Plain = Comparable | null | undefined | readonly unknown[]
