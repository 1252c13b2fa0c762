// The query of a list in a program: filters as objects. The type checker works out only the fields in use.
import type { GroupWord } from '../../query/where.ts'
import type { OperatorWord } from '../../store/operators.ts'
import type { Comparable, Plain } from './collection-types.ts'

interface Equality<V> {
  readonly eq?: V
  readonly ne?: V
  readonly in?: readonly V[]
  readonly nin?: readonly V[]
  readonly exists?: boolean
}
interface Ordered<V> extends Equality<V> {
  readonly gt?: V
  readonly gte?: V
  readonly lt?: V
  readonly lte?: V
}
interface Textual<V> extends Ordered<V> {
  readonly like?: string
  readonly prefix?: string
}
/** @typeParam _Word every word has a type above: the compiler says so. */
type Operators<V, _Word extends keyof Textual<V> = OperatorWord> = [V] extends [boolean]
  ? Equality<V>
  : [V] extends [number]
    ? Ordered<V>
    : Textual<V>

/** A value, a list of which one must be equal, or operators. */
type Condition<V> = V | readonly V[] | Operators<V>

type Nothing = null | undefined

/** The operator for objects and lists of objects. */
export interface Exists {
  readonly exists: boolean
}

/**
 * Filters by field: `{ color: ['red', 'blue'], price: { gte: 10 }, model: { name: { prefix: 'Cl' } } }`.
 * An item must match all of them; an empty list of values matches nothing. Of a list of values one must match.
 */
export type Filters<T> = {
  readonly [K in keyof T]?: T[K] extends Comparable | Nothing
    ? Condition<NonNullable<T[K]>>
    : T[K] extends readonly (infer E)[] | Nothing
      ? OfElements<E>
      : Filters<NonNullable<T[K]>> | Exists
}

/**
 * Filters by field, and groups of them: `{ sold: false, or: [{ color: 'red' }, { price: { lt: 1000 } }] }`. At least
 * one of `or` must match, all of `and`, and `not` must not match. A field of such a name is the field.
 */
export type Where<T> = Filters<T> & Groups<T>
type Groups<T> = {
  readonly [K in Exclude<GroupWord, keyof T>]?: K extends 'not' ? Where<T> : readonly Where<T>[]
}

/** Conditions for the elements of a list: only scalars are compared. */
type OfElements<E> = [E & Comparable] extends [never] ? Exists : Condition<Extract<E, Comparable>>

type Keys<T> = T extends unknown ? keyof T & string : never

/** The dotted paths of an item, three deep: `color`, `model.name`, `model.maker.name`. */
export type PathOf<T> = Keys<T> | (T extends unknown ? SubPaths<T> : never)
type SubPaths<T> = {
  [K in keyof T & string]: T[K] extends Plain ? never : `${K}.${Sub<Exclude<T[K], Plain>>}`
}[keyof T & string]
type Sub<T> = T extends unknown
  ?
      | (keyof T & string)
      | {
          [K in keyof T & string]: T[K] extends Plain
            ? never
            : `${K}.${keyof Exclude<T[K], Plain> & string}`
        }[keyof T & string]
  : never

/** A path to sort by: of a text, a number or a boolean; `-` before it sorts downwards. */
export type SortPath<T> = T extends unknown
  ? {
      [K in keyof T & string]: IsSortable<T[K]> extends true
        ? `${Sign}${K}`
        : `${Sign}${K}.${ScalarsBelow<Exclude<T[K], Plain>>}`
    }[keyof T & string]
  : never
type Sign = '' | '-'
type ScalarsBelow<T> = T extends unknown
  ? {
      [K in keyof T & string]: IsSortable<T[K]> extends true
        ? K
        : `${K}.${ScalarKeys<Exclude<T[K], Plain>>}`
    }[keyof T & string]
  : never
type ScalarKeys<T> = T extends unknown
  ? { [K in keyof T & string]: IsSortable<T[K]> extends true ? K : never }[keyof T & string]
  : never
/** A value of unknown type may be a scalar. */
type IsSortable<V> = unknown extends V ? true : [V] extends [Comparable | Nothing] ? true : false

/** The properties that `fields` names. */
export type Selected<T, F extends string> = T extends Plain
  ? T extends readonly (infer E)[]
    ? readonly Selected<E, F>[]
    : T
  : {
      readonly [K in keyof T as K extends Head<F> ? K : never]: K extends F
        ? T[K]
        : Selected<T[K], Rest<F, K & string>>
    }
/** The part of a path before its first dot. */
export type Head<F extends string> = F extends `${infer First}.${string}` ? First : F
/** The part of a path below a property. */
export type Rest<F extends string, K extends string> = F extends `${K}.${infer Others}`
  ? Others
  : never

/** Infers a name and checks it; as a constraint it would work out every path, and read every schema, at once. */
export type Among<F extends string, All extends string> = F extends All ? F : All

/** The bounds of a list besides filters by field. */
export interface Bounds<T> {
  /** Filters for fields whose names are parameters: `{ where: { limit: 5 } }`. */
  readonly where?: Where<T>
  /** The first and the last time of creation, both included (ISO 8601). A day as `until` counts whole (UTC). */
  readonly since?: string | Date
  readonly until?: string | Date
  /** After this item in the order of ids; up to this item, itself included. */
  readonly since_id?: string | number
  readonly max_id?: string | number
}

export interface Selecting<T> extends Bounds<T> {
  /** Paths to sort by, the most significant first. Default: the order of the collection. */
  readonly sort?: SortPath<T> | readonly SortPath<T>[]
  /** The most items of the list; of `page()` the items of one page. Default: all of them. */
  readonly limit?: number
  /** How many items to leave out at the start. Default 0. */
  readonly offset?: number
  /** Where to go on: `cursor` of a page of this list. */
  readonly cursor?: string | undefined
}

/** The input of `count`: which items. */
export type Matching<T> = Where<T> & Bounds<T>

/**
 * The input of `list`: which items, in which order. A parameter wins over a field of the same name: see `where`.
 * `I` is an item as it is returned, where it differs: `fields` names its properties.
 */
export type Query<T, F extends string = string, I = T> = WholeQuery<T> & FieldsOption<I, F>
/** The same for whole items. */
export type WholeQuery<T> = Where<T> & Selecting<T>
interface FieldsOption<T, F extends string> {
  /** The properties to return: the items have no others. */
  readonly fields?: readonly Among<F, PathOf<T>>[]
}
