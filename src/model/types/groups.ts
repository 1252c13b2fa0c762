// The query of a count by groups in a program, and what it finds.
import type { AggregateWord, DatePart } from '../../store/groups.ts'
import type { Plain } from './collection-types.ts'
import type { Bounds, Head, Rest, Where } from './list-query.ts'

/** What `by` names: a declared field, or the day, month or year (UTC) of one that holds dates. */
export type GroupName<Groups extends string> = Groups | `${Groups}:${DatePart}`

/** The fields of each aggregate: one, or a list. */
type Aggregated<T, Fields extends Readonly<Record<AggregateWord, string>>> = {
  readonly [Word in AggregateWord]?: OneOrMore<
    Having<Fields[Word], T, Word extends 'sum' | 'avg' ? number : number | string>
  >
}
type OneOrMore<V> = V | readonly V[]

/** Infers a path and checks its values. */
type Having<F extends string, T, V> = F extends string
  ? Fits<NonNullable<ValueOfPath<T, F>>, V> extends true
    ? F
    : never
  : never
type Fits<Value, V> = unknown extends Value
  ? true
  : [Value] extends [never]
    ? false
    : [Value] extends [V]
      ? true
      : false

/** The type of the value at a dotted path. */
type ValueOfPath<T, F extends string> = F extends `${infer K}.${infer Below}`
  ? ValueOfPath<Exclude<ValueOf<T, K>, Plain>, Below>
  : ValueOf<T, F>
type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? T[K] : undefined) : never

/** The input of `count` by groups. */
export type CountBy<
  T,
  By extends string,
  Fields extends Readonly<Record<AggregateWord, string>>,
> = Where<T> &
  Bounds<T> & {
    /** What items are grouped by; without a name all of them are one group. */
    readonly by: OneOrMore<By>
    /** The order of the groups: `-count`, `color`, `-sum.price`. Default: by their keys. */
    readonly sort?: OneOrMore<string>
    /** How many groups are returned. Default: all, at most 1,000. */
    readonly limit?: number
  } & Aggregated<T, Fields>

/** A group: its keys, how many items have them, and what was computed of these. */
export type GroupOf<
  T,
  By extends string,
  Fields extends Readonly<Record<AggregateWord, string>>,
> = GroupKeysOf<T, By extends `${infer Name}:${DatePart}` ? Name : By> & {
  readonly count: number
} & {
  readonly [Word in AggregateWord as [Fields[Word]] extends [never] ? never : Word]: Computed<
    T,
    Fields[Word],
    Word
  >
}

type GroupKeysOf<T, F extends string, Missing = never> = {
  readonly [K in Head<F>]: K extends F
    ? Exclude<ValueOf<T, K>, undefined> | Missing | (undefined extends ValueOf<T, K> ? null : never)
    : GroupKeysOf<Exclude<ValueOf<T, K>, Plain>, Rest<F, K>, null>
}

type Computed<T, F extends string, Word> = {
  readonly [K in Head<F>]: K extends F
    ? Word extends 'sum'
      ? number
      : Word extends 'avg'
        ? number | null
        : NonNullable<ValueOf<T, K>> | null
    : Computed<Exclude<ValueOf<T, K>, Plain>, Rest<F, K>, Word>
}
