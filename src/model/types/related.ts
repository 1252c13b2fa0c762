// What may be included in the items of a collection, and what an item is that includes it. The type checker works it out
// only where a call includes something.
import type { Def, DefCompared, DefItem } from './collection-types.ts'
import type { Among, Exists, PathOf, Selected, Selecting, Where } from './list-query.ts'

/** The types of a collection of the api; those of any where its name is not known. */
type DefNamed<Named, N> = N extends keyof Named
  ? Named[N] extends { readonly def: infer D extends Def }
    ? D
    : never
  : never

/** The collection that a declared reference names. Keys are looked up, since TypeScript 5 keeps the inferred object fresh. */
type CollectionOf<R> = R extends string ? R : R['collection' & keyof R]

/** The name of what a field refers to. */
export type RelationName<F, R> = 'as' extends keyof R
  ? R['as'] & string
  : F extends `${infer Name}_id` | `${infer Name}Id`
    ? Name
    : never

/** By name: the collection, and whether there are many. */
export type RelationsOf<D extends Def, Named> = ToOne<D, D['parents']> &
  ToOne<D, D['references']> &
  ToMany<D['name'], Named>

type ToOne<D extends Def, R> = {
  readonly [F in keyof R as Exclude<RelationName<F, R[F]>, keyof DefItem<D>>]: {
    readonly to: CollectionOf<R[F]>
    readonly many: false
  }
}

// Inferred: `keyof` would work out the names of the whole index each time.
type ToMany<Name extends string, Named> =
  ChildrenOf<Named> extends {
    readonly [K in Name]: infer Children extends string
  }
    ? { readonly [N in Children]: { readonly to: N; readonly many: true } }
    : unknown
/** The names of the children of each collection: one index for all, since each of them looks. */
type ChildrenOf<Named> = {
  [N in keyof Named as Named[N] extends { readonly def: { readonly parents: infer P } }
    ? CollectionOf<P[keyof P]> & string
    : never]: N
}

/** `options(5)` is of `options`. */
type BaseOf<Part extends string> = Part extends `${infer Base}(${number})` ? Base : Part
type HeadOf<Path extends string> = BaseOf<Path extends `${infer Head}.${string}` ? Head : Path>
type BelowOf<Path extends string, Name extends string> = Path extends `${infer Head}.${infer Rest}`
  ? BaseOf<Head> extends Name
    ? Rest
    : never
  : never

/** A path of `include`, where it is one; else what it may begin with. */
export type IncludePath<D extends Def, Named, Path extends string> = string extends keyof Named
  ? Path
  : CheckPath<RelationsOf<D, Named>, Named, Path>
type CheckPath<R, Named, Path extends string> = Path extends `${infer Head}.${infer Rest}`
  ? BaseOf<Head> extends keyof R
    ? Rest extends IncludePath<TargetOf<R[BaseOf<Head>], Named>, Named, Rest>
      ? Path
      : `${Head}.${keyof RelationsOf<TargetOf<R[BaseOf<Head>], Named>, Named> & string}`
    : keyof R & string
  : BaseOf<Path> extends keyof R
    ? Path
    : keyof R & string
type TargetOf<R, Named> = R extends { readonly to: infer To } ? DefNamed<Named, To> : never

/** An item with what these paths add to it. Editors show the properties: the branches of a conditional type have no name. */
export type Included<D extends Def, Named, Path extends string> = [Path] extends [never]
  ? DefItem<D>
  : DefItem<D> &
      (string extends keyof Named
        ? { readonly [K in HeadOf<Path>]: unknown }
        : IncludedParts<RelationsOf<D, Named>, Named, Path>)
type IncludedParts<R, Named, Path extends string> = R extends unknown
  ? {
      readonly [K in HeadOf<Path> & keyof R]: R[K] extends { readonly many: true }
        ? readonly Included<TargetOf<R[K], Named>, Named, BelowOf<Path, K & string>>[]
        : Included<TargetOf<R[K], Named>, Named, BelowOf<Path, K & string>> | null
    }
  : never

/** Filters by related items: `{ model: { name: 'Clio' }, options: { exists: false } }`. Of many one must match. */
export type RelatedFilters<D extends Def, Named> = string extends keyof Named
  ? unknown
  : FiltersThrough<RelationsOf<D, Named>, Named>
type FiltersThrough<R, Named> = {
  readonly [K in keyof R]?:
    | (Where<DefCompared<TargetOf<R[K], Named>>> & RelatedFilters<TargetOf<R[K], Named>, Named>)
    | Exists
}

/** The names below what is included. */
type DottedIn<P extends string> = HeadOf<P> | `${HeadOf<P>}.${string}`

/** The input of a list that includes related items, or is filtered by them. */
export type RelatedQuery<D extends Def, Named, P extends string, F extends string> = Where<
  DefCompared<D>
> &
  RelatedFilters<D, Named> &
  Selecting<DefCompared<D>> & {
    /** Related items to include in each item: `['model.maker', 'options(5)']`. */
    readonly include?: readonly IncludeOf<D, Named, P>[]
    /** The properties to return: the items have no others. Those of included items follow a dot. */
    readonly fields?: readonly Among<F, PathOf<DefItem<D>> | DottedIn<NoInfer<P>>>[]
  }
/** A path that is checked. */
export type IncludeOf<D extends Def, Named, P extends string> =
  P extends IncludePath<D, Named, P> ? P : IncludePath<D, Named, P>

/** An item of such a list. */
export type RelatedItem<D extends Def, Named, P extends string, F extends string> = [F] extends [
  never,
]
  ? Included<D, Named, P>
  : Selected<Included<D, Named, P>, F>
