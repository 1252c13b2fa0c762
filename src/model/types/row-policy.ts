// The type of a row policy: a function whose filters are exact. TypeScript lets a function return an object with more
// properties than its type names, so a misspelt field would compile.
import type { Plain } from './collection-types.ts'

/** A function that returns filters `F` for a principal `P`; what it does return is inferred as `Rows`. */
export type RowPolicy<P, Rows, F> = ((principal: P | undefined) => Rows | F | undefined) &
  Checked<Rows, F | undefined>

/** Nothing to demand, or a text that no function is: it names what is wrong. */
type Checked<Rows, F> =
  WrongPath<Rows, F> extends infer Path
    ? [Path] extends [never]
      ? [Rows] extends [F]
        ? unknown
        : 'visible returns no filters of this collection'
      : `${Path & string} is no field, or is compared to a value that it cannot have`
    : never

/** The paths of an object that the filters `F` do not have, or whose values they do not take: eight deep. */
type WrongPath<T, F, At extends string = '', Depth extends number = 8> = [Depth] extends [never]
  ? never
  : 0 extends 1 & T
    ? never // any
    : symbol extends F
      ? never // of an item whose type is not known
      : T extends object
        ? {
            [K in keyof T & string]: K extends AnyKey<Exclude<F, Plain>>
              ? WrongPath<
                  EachOf<Required<T>[K]>,
                  EachOf<ValueAt<Exclude<F, Plain>, K>>,
                  JoinPath<At, K>,
                  Less[Depth]
                >
              : JoinPath<At, K>
          }[keyof T & string]
        : T extends F
          ? never
          : At

type Less = readonly [never, never, 1, 2, 3, 4, 5, 6, 7]
type JoinPath<At extends string, K extends string> = At extends '' ? K : `${At}.${K}`
/** The elements of a list; anything else as it is. */
type EachOf<T> = T extends readonly (infer E)[] ? E : T
type AnyKey<F> = F extends unknown ? keyof F : never
type ValueAt<F, K> = F extends unknown
  ? K extends keyof F
    ? Exclude<F[K], undefined>
    : never
  : never
