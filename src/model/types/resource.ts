// The callable methods of one collection: the same in process and in the client.
import type { BasePrincipal, Principal } from '../../auth/scheme.ts'
import type { Input, Output, SomeSchema } from '../../schema/zod-fields.ts'
import type {
  AnyNames,
  Def,
  DefChanges,
  DefCompared,
  DefInput,
  DefItem,
  IdOf,
  NamedBy,
  Separated,
  UnknownDef,
} from './collection-types.ts'
import type { CountBy, GroupName, GroupOf } from './groups.ts'
import type { Matching } from './list-query.ts'
import type { Operation } from './operation.ts'
import type { Included, IncludeOf, RelatedFilters, RelatedItem, RelatedQuery } from './related.ts'
import type { TakeOf } from './take.ts'

/** Options of every call. `undefined` counts as not given. */
export interface CallOptions<P extends BasePrincipal = Principal> {
  /**
   * Who calls, for row policies and hooks. Default: within a hook or an action its principal, else nobody.
   * In process only: a client is authenticated by its credentials.
   */
  readonly principal?: P | undefined
  /** Ends the work early: the call throws the signal's reason. Default: within a hook or an action its signal. */
  readonly signal?: AbortSignal | undefined
  /** Headers of the request of a client: `{ 'Accept-Language': 'fr' }`. In process there is no request, and they are ignored. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of a read. */
export interface ReadOptions<P extends BasePrincipal = Principal, Path extends string = string>
  extends CallOptions<P> {
  /** What to include in the item: `['model', 'options(5)']`. Default: nothing. */
  readonly include?: readonly Path[] | undefined
}

/** Options of a create. */
export interface CreateOptions<P extends BasePrincipal = Principal> extends CallOptions<P> {
  /** Tries the write, returns its result and undoes it. Default false. HttpError 400 without transactions, and for files. */
  readonly dryRun?: boolean | undefined
}

/** Options of a write. Without any, a write to an item is conditional and a write to an id is not. */
export interface WriteOptions<P extends BasePrincipal = Principal> extends CreateOptions<P> {
  /** The version that the item must have, by `versionOf`: for a copy of an item. */
  readonly version?: string | undefined
  /** The entity tag that the item must have, instead of the version that was read. */
  readonly ifMatch?: string | undefined
  /** Whether to write whatever version the item has. Default false. */
  readonly unconditional?: boolean | undefined
}

/** Options of a write to all items that match a filter. */
export interface ManyOptions extends CreateOptions {
  /** How many items it may affect: HttpError 400 where more match. Default: `limits.affected`, which is above it. */
  readonly maxAffected?: number | undefined
}

/** One page of a list. A copy of it, as JSON or a structured clone, has no functions: it goes on by `cursor`. */
export interface Page<T> {
  readonly items: readonly T[]
  /** The size of the whole list; `undefined` where the collection does not count. */
  readonly total: number | undefined
  /** Where the page after this one begins: `list({ …, cursor })` reads it. `undefined` where there is none. */
  readonly cursor: string | undefined
  /** Reads the page after this one; `undefined` where there is none. */
  next(): Promise<Page<T> | undefined>
  /** Reads the page before this one; `undefined` where there is none. */
  previous(): Promise<Page<T> | undefined>
}

/**
 * The items that match, read when they are asked for. `for await` gives all of them in constant memory, or
 * `limit` of them. Each use reads again.
 */
export interface List<T> extends AsyncIterable<T> {
  /** Reads one page: `limit` is its size. Default: the collection's `defaultLimit`. */
  page(): Promise<Page<T>>
  /** Reads the first item; `undefined` where nothing matches. */
  first(): Promise<T | undefined>
  /**
   * Reads all items.
   * @param options.max the most items that the array may have. Default 10,000.
   * @throws RangeError where there are more: nothing is cut off.
   */
  toArray(options?: { readonly max?: number | undefined }): Promise<T[]>
}

/**
 * An id, or an item that this library gave: then the write is conditional on the version that was read.
 * As in {@link DefItem}, the type says `id` with `idField: 'identifier'` too.
 */
export type Target<Id> = Id | { readonly id: Id }

/**
 * The operations of one collection, called by a program: the same path as a request, `HttpError` included.
 * Row policies (`visible`) apply to the given principal. Scopes (`access`) are not checked in process,
 * and operations that the declaration leaves out stay callable: a client has neither.
 *
 * A write takes an id or an item. With an item that was read here it is conditional: it throws a
 * `ConflictError` where the item was changed since. A copy of an item (`{ ...car }`) is a `TypeError`: name
 * its version by `version: versionOf(car)`, or say `unconditional: true`. With an id alone nothing is compared.
 */
export interface Resource<D extends Def = UnknownDef, in out Named = AnyNames>
  extends OperationsOf<D, Named>,
    SearchOf<D, Named>,
    ByFilterOf<D, Named> {}

/** Options of an upsert of an array. */
export interface UpsertManyOptions extends CreateOptions {
  /** The fields of the unique set that names the items, or `id` if clients choose ids. Default: the only set. */
  readonly onConflict?: string | readonly string[] | undefined
  /** Whether items that exist are patched, or stay as they are. Default `'merge-duplicates'`. */
  readonly resolution?: 'merge-duplicates' | 'ignore-duplicates' | undefined
}

/** The writes to the items of an array, and to all items that match a filter: all of them, or none. The store needs transactions. */
export interface ByFilterOf<D extends Def, in out Named = AnyNames> {
  /**
   * Applies a JSON Merge Patch to each item that matches, as `patch` does, and gives their number.
   * @throws HttpError as for one item, and 400 where more match than may be affected; TypeError without a filter.
   * @example
   * const sold = await cars.patchMany({ color: 'red' }, { price: 0 }, { maxAffected: 50 })
   */
  patchMany(
    filters: Matching<DefCompared<D>> & RelatedFilters<D, Named>,
    changes: DefChanges<D>,
    options?: ManyOptions,
  ): Promise<number>
  /**
   * Deletes each item that matches, as `delete` does, and gives their number.
   * @throws HttpError as `patchMany` does
   * @example
   * const gone = await cars.deleteMany({ price: { lt: 5 } }, { maxAffected: 10 })
   */
  deleteMany(
    filters: Matching<DefCompared<D>> & RelatedFilters<D, Named>,
    options: ManyOptions & { readonly maxAffected: number },
  ): Promise<number>
  /**
   * Creates the items of an array, and patches those that a unique set finds. It gives all, in this order.
   * @throws HttpError as `create` and `patch` do; TypeError if the fields are not a set of the option `unique`.
   * @example
   * await cars.upsertMany([{ plate: 'AB-123', color: 'green', price: 30 }], { onConflict: 'plate' })
   */
  upsertMany(
    items: readonly DefChanges<D>[],
    options?: UpsertManyOptions,
  ): Promise<readonly DefItem<D>[]>
}

/** The search of a collection. */
export interface SearchOf<D extends Def, in out Named = AnyNames> {
  /**
   * Lists the items that contain all words, in the fields that the collection's `search` names.
   * @example
   * const found = await cars.search('red').toArray()
   */
  search<const P extends string = never, const F extends string = never>(
    words: string,
    query?: RelatedQuery<D, Named, P, F>,
    options?: CallOptions<D['principal']>,
  ): List<RelatedItem<D, Named, P, F>>
}

/** What only collections have that declare it. One condition for all costs the others nothing. */
type DeclaredOf<D extends Def, Named> = [D['groups' | 'lease' | 'trash']] extends [never]
  ? unknown
  : GroupsOf<D, Named> & TakeOf<D> & TrashOf<D, Named>

/** The trash of a collection, if it has one. */
type TrashOf<D extends Def, Named> = [D['trash']] extends [never]
  ? unknown
  : { readonly trash: Trash<D, Named> }

/** The calls for items in the trash: reads, restore and the permanent deletion. */
export interface Trash<D extends Def, in out Named = AnyNames>
  extends Pick<OperationsOf<D, Named>, 'list' | 'count' | 'read' | 'delete'> {
  /**
   * Takes an item out of the trash, with all that was deleted with it.
   * @throws HttpError 404; 409 if another item has its unique values by now, or if it refers to a deleted item.
   * @example
   * await cars.delete(car)
   * await cars.trash.restore(car.id)
   */
  restore(target: Target<NamedBy<D>>, options?: WriteOptions<D['principal']>): Promise<DefItem<D>>
}

/** The count by groups of a collection, where its declaration names any. */
type GroupsOf<D extends Def, Named> = [D['groups']] extends [never]
  ? unknown
  : CountByGroups<D, Named>

export interface CountByGroups<D extends Def, in out Named = AnyNames> {
  /**
   * Counts the items that match by groups: those that the option `groups` of the collection names.
   * @throws HttpError 400 for more than 1,000 groups.
   * @example
   * const colors = await cars.count({ by: 'color', sum: 'price', sort: '-count' })
   */
  count<
    By extends GroupName<D['groups']> = never,
    Sum extends string = never,
    Avg extends string = never,
    Min extends string = never,
    Max extends string = never,
  >(
    query: CountBy<DefCompared<D>, By, { sum: Sum; avg: Avg; min: Min; max: Max }> &
      RelatedFilters<D, Named>,
    options?: CallOptions<D['principal']>,
  ): Promise<readonly GroupOf<DefCompared<D>, By, { sum: Sum; avg: Avg; min: Min; max: Max }>[]>
}

/** The operations and actions of a collection. @typeParam Named the collections of the api, by name. */
export interface OperationsOf<D extends Def, in out Named = AnyNames> {
  /**
   * Lists items: all that match, or `limit` of them. Nothing is cut off silently.
   * @example
   * for await (const each of cars.list({ price: { gte: 10 }, sort: '-price' })) console.log(each.price)
   */
  list<const P extends string = never, const F extends string = never>(
    query?: RelatedQuery<D, Named, P, F>,
    options?: CallOptions<D['principal']>,
  ): List<RelatedItem<D, Named, P, F>>
  /**
   * Counts the items that match.
   * @example
   * const red = await cars.count({ color: 'red' })
   */
  count(
    filters?: Matching<DefCompared<D>> & RelatedFilters<D, Named>,
    options?: CallOptions<D['principal']>,
  ): Promise<number>
  /**
   * Reads an item.
   * @throws HttpError 404
   * @example
   * const same = await cars.read(car.id)
   */
  read(id: IdOf<D>, options?: CallOptions<D['principal']>): Promise<DefItem<D>>
  read<const P extends string>(
    id: IdOf<D>,
    options: ReadOptions<D['principal'], IncludeOf<D, Named, P>>,
  ): Promise<Included<D, Named, P>>
  /**
   * Creates an item.
   * @throws HttpError 400, 403, 409
   * @example
   * const blue = await cars.create({ color: 'blue', price: 20 })
   */
  create(item: DefInput<D>, options?: CreateOptions<D['principal']>): Promise<DefItem<D>>
  /**
   * Creates all items of an array, or none: at most `limits.arrayItems`. The store needs transactions.
   * @throws HttpError as for one item; the `field` of an issue begins with the index: `1.color`.
   * @example
   * const [red, blue] = await cars.create([{ color: 'red', price: 1 }, { color: 'blue', price: 2 }])
   */
  create(
    items: readonly DefInput<D>[],
    options?: CreateOptions<D['principal']>,
  ): Promise<readonly DefItem<D>[]>
  // Again: what TypeScript infers of a function is of its last signature. Of four it reports that one alone, in few lines.
  create(item: DefInput<D>, options?: CreateOptions<D['principal']>): Promise<DefItem<D>>
  create(item: Separated<DefInput<D>>, options?: CreateOptions<D['principal']>): Promise<DefItem<D>>
  /**
   * Replaces all values of an item.
   * @throws HttpError 400, 403, 404, 409; ConflictError
   * @example
   * await cars.replace(car, { color: 'green', price: 30 })
   */
  replace(
    target: Target<NamedBy<D>>,
    item: DefInput<D>,
    options?: WriteOptions<D['principal']>,
  ): Promise<DefItem<D>>
  /**
   * Creates an item, or replaces the item with these values of a unique set.
   * @throws HttpError 400, 403, 409; TypeError if the fields are not a set of the option `unique`.
   * @example
   * await cars.upsert({ plate: 'AB-123' }, { plate: 'AB-123', color: 'green', price: 30 })
   */
  upsert(
    key: Partial<DefInput<D>>,
    item: DefInput<D>,
    options?: CreateOptions<D['principal']>,
  ): Promise<DefItem<D>>
  /**
   * Applies a JSON Merge Patch to an item.
   * @throws HttpError 400, 403, 404, 409; ConflictError
   * @example
   * await cars.patch(car.id, { price: 31 }) // by id: unconditional; by item: only if unchanged
   */
  patch(
    target: Target<NamedBy<D>>,
    changes: DefChanges<D>,
    options?: WriteOptions<D['principal']>,
  ): Promise<DefItem<D>>
  /**
   * Reads an item, asks `change` for a merge patch, and applies it to just that version; again from the
   * start where the item was changed meanwhile. `change` may run several times.
   * @throws ConflictError after many attempts.
   * @example
   * await cars.change(car.id, ({ price }) => ({ price: price + 1 }))
   */
  change(
    target: Target<NamedBy<D>>,
    change: (item: DefItem<D>) => DefChanges<D> | Promise<DefChanges<D>>,
    options?: CallOptions<D['principal']>,
  ): Promise<DefItem<D>>
  /**
   * Deletes an item and gives its last values.
   * @throws HttpError 404, 409; ConflictError
   * @example
   * await cars.delete(car, { unconditional: true })
   */
  delete(target: Target<NamedBy<D>>, options?: WriteOptions<D['principal']>): Promise<DefItem<D>>
  /**
   * The actions: `cars.actions.buy(car, { offer: 900 })`.
   * @example
   * await cars.actions.paint(car.id, { color: 'white' })
   */
  readonly actions: ActionsOf<D>
}

/** A resource with its actions as methods too: `cars.buy(car, { offer: 900 })`. */
export type Callable<D extends Def, Named = AnyNames> = DeclaredOf<D, Named> &
  Resource<D, Named> &
  ActionsOf<D>

/**
 * A resource over HTTP. It has only what the declaration allows: in process the operations that it leaves out
 * stay callable, for the program's own use.
 */
export type Remote<D extends Def, Named = AnyNames> = [
  D['readOnly' | 'binary' | 'operations' | 'search' | 'groups' | 'trash'],
] extends [never]
  ? OperationsOf<D, Named> & ActionsOf<D>
  : Allowed<ByClient<D>, Named>

type Allowed<D extends Def, Named> = ([D['operations']] extends [never]
  ? GroupsOf<D, Named> & OperationsOf<D, Named>
  : ('count' extends D['operations'] ? GroupsOf<D, Named> : unknown) &
      Omit<OperationsOf<D, Named>, Refused<D['operations']>>) &
  ([D['search']] extends [never] ? unknown : SearchOf<D, Named>) &
  TrashOf<D, Named> &
  ActionsOf<D>

/** The methods that need an operation which the declaration leaves out. */
type Refused<O extends Operation> =
  | Exclude<Operation, O>
  | ('read' | 'patch' extends O ? never : 'change')
  | ('create' | 'replace' extends O ? never : 'upsert')

/** The types of a declaration as clients have them, who set no read-only properties and read addresses of files. */
export type ByClient<D extends Def> = [D['readOnly'] | D['binary']] extends [never]
  ? D
  : Omit<D, 'by'> & { readonly by: 'client' }

/** The actions of a collection as functions. */
export type ActionsOf<D extends Def> = {
  readonly [K in keyof D['on']]: ActionCall<
    D,
    D['on'][K],
    Member<D['input'], K>,
    Member<D['output'], K>
  >
}

/** A property of a type that may not have it. */
export type Member<T, K> = K extends keyof T ? T[K] : unknown

type Result<D extends Def, Out> = Out extends 'item'
  ? DefItem<D>
  : Out extends SomeSchema
    ? Output<Out>
    : unknown

type ActionCall<D extends Def, On, In, Out> = On extends 'item'
  ? In extends SomeSchema
    ? (
        target: Target<NamedBy<D>>,
        input: Input<In>,
        options?: WriteOptions<D['principal']>,
      ) => Promise<Result<D, Out>>
    : (
        target: Target<NamedBy<D>>,
        options?: WriteOptions<D['principal']>,
      ) => Promise<Result<D, Out>>
  : unknown extends On
    ? (...given: readonly unknown[]) => Promise<unknown>
    : In extends SomeSchema
      ? (input: Input<In>, options?: CallOptions<D['principal']>) => Promise<Result<D, Out>>
      : (options?: CallOptions<D['principal']>) => Promise<Result<D, Out>>
