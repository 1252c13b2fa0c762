// What a live list is made of, by the types of a client.
import type { Def, DefCompared, DefItem } from '../model/types/collection-types.ts'
import type { Matching } from '../model/types/list-query.ts'

/** What has changed in a list. */
export interface LiveChange<T> {
  /** Items that are new, have changed, or pass the filters now: put them by their ids. */
  readonly items: readonly T[]
  /** Ids of items that are not in the list any more. */
  readonly removed: readonly (string | number)[]
  /** Whether to clear the list first: the whole list follows. */
  readonly reset: boolean
  /** Whether your copy is the list now. */
  readonly ready: boolean
}

/** The items of a collection, by its name. */
export type LiveItem<Named, N extends keyof Named> = Named[N] extends {
  readonly def: infer D extends Def
}
  ? DefItem<D>
  : never

/** Which items of a collection, by its name. */
export type LiveFilters<Named, N extends keyof Named> = Named[N] extends {
  readonly def: infer D extends Def
}
  ? Matching<DefCompared<D>>
  : never
