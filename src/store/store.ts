// The contract of a store: its few methods and what each promises. `storeCases()` of `rest-conventions/testing` tests it.

import type { Path } from '../base/paths.ts'
import type { TextBudget } from '../base/text-budget.ts'
import type { Awaitable, Item, Json, Scalar } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import type { StoreChanges } from './changes.ts'
import type { ValueFilter } from './filter.ts'
import type { Group, Grouping } from './groups.ts'
import type { IdempotencyRecord } from './idempotency-record.ts'
import type { ProgramStore } from './program-store.ts'
import type { FilterSet, Selection } from './selection.ts'

/** What identifies an item: a text, or a whole number where the collection says so. */
export type Id = string | number

/** An item as a store keeps it. */
export interface Stored {
  readonly id: Id
  /** The whole item, `id` and the dates included. Never changed in place: a write makes a new one. */
  readonly item: Item
  /** Opaque. Each write makes a new one; it is never used again, not even for another item of the same id. */
  readonly version: string
  /** The time of the last write, in milliseconds since 1970; absent where the store does not know it. */
  readonly updatedAt?: number | undefined
}

/** An item at a version. */
export type ItemVersion = Pick<Stored, 'id' | 'version'>

/** Adds an item. */
export interface Creation {
  /** Its properties without the dates; with the id if the client chose it. */
  readonly create: Item
}

/** Replaces the values of an item that is still at the version of `before`. */
export interface Update {
  /** Its new properties, as those of {@link Creation.create}. */
  readonly update: Item
  /** The item as it was read. */
  readonly before: Stored
}

/** Removes an item that is still at its version; or has the database mark or hide it in place of that. */
export interface Deletion {
  readonly delete: ItemVersion
}

/** Changes of one kind. */
export type Changes = readonly Creation[] | readonly Update[] | readonly Deletion[]

/** How an item is identified. */
export interface Identity {
  /** The name of the identifying field. */
  readonly name: string
  /** `uuid`: a UUIDv7 of the store. `integer`: counted by it from 1. `text`: chosen by the client, else a UUIDv7. */
  readonly kind: 'uuid' | 'integer' | 'text'
  /** Whether ids that the store makes become visible in their order; absent: they do. A store may always have it so. */
  readonly ordered?: false | undefined
  /** The two references that make up the id; absent if the id is a separate value. See `relation-ids.ts`. */
  readonly parts?: readonly string[] | undefined
}

/** A partial unique set: it holds among the items that pass all conditions. */
export interface PartialSet {
  /** Dotted paths, as in {@link Shape.unique}. */
  readonly fields: readonly string[]
  /** `in` with one value, or `exists`, of top-level fields that hold a string, a whole number or a boolean: as in a partial index. */
  readonly where: readonly ValueFilter[]
}

/** Describes a collection to its store. */
export interface Shape {
  /** The collection's name, for tables and messages. */
  readonly name: string
  /** Every field of an item, the server-owned ones included, in the order of printing. */
  readonly fields: Fields
  /** Whether items may have properties beyond the named ones. */
  readonly open?: boolean | undefined
  readonly identity: Identity
  /** The names of the dates that the store sets; absent where items have none. */
  readonly createdAt?: string | undefined
  readonly updatedAt?: string | undefined
  /** Sets of dotted paths of which no two items may have the same values; a set with a null or absent value is free. */
  readonly unique: readonly (readonly string[])[]
  /** The partial unique sets; absent if there are none. */
  readonly partial?: readonly PartialSet[] | undefined
  /** Dotted paths, or sets of them, that lists filter and sort by. */
  readonly indexes: readonly (readonly string[])[]
  /** Dotted paths of the texts that searches compare folded; absent where there are none. */
  readonly search?: readonly string[] | undefined
  /** The names of the read-only fields, whose values no client sends; absent where there are none. */
  readonly readOnly?: readonly string[] | undefined
  /** The name of the date of a deletion, which new items lack; absent without a trash. */
  readonly trash?: string | undefined
  /** The names of the write-only fields, which no answer has: a log of changes leaves them out. */
  readonly writeOnly?: readonly string[] | undefined
}

/** A field whose values are ids of the items of another store in the same database, and what their deletion does. */
export interface StoreReference {
  readonly field: string
  readonly store: Store
  readonly onDelete?: 'cascade' | 'restrict' | undefined
}

/** What a store knows of its database. */
export interface StoreFacts {
  /**
   * The fields whose references the database keeps, as a foreign key does: a value that names no item, or the deletion
   * of one that is named, is a ReferenceConflictError, or the latter deletes what names it.
   */
  readonly keptReferences: ReadonlySet<string>
  /** Whether a create can succeed: false if a column needs a value that no create has. `/health` names such a collection. */
  readonly takesCreates: boolean
  /** Whether a count of many items has taken more than 50 ms within the last minute. `/health` names such a collection. */
  readonly countsSlowly?: boolean | undefined
}

/** A part of a selection by position: the only one that a store with `pages: 'offset'` is asked for. */
export interface PositionSlice {
  readonly limit: number
  readonly offset: number
}

/** A part of a selection forward (or backward) from a place in the sort. */
export interface KeySlice {
  readonly limit: number
  /** The sort keys of an item that need not exist (any more); absent: from the start, or the end. */
  readonly key: readonly (Scalar | null)[] | undefined
  /** The last `limit` items before the key (or of the list), still in the order of the sort. */
  readonly backward: boolean
}

/** Which part of a selection a page is. */
export type Slice = PositionSlice | KeySlice

/** How to count: every item, by the database's own estimate, or not at all. */
export type TotalMode = 'exact' | 'estimated' | 'none'

/** What a store read for a slice. */
export interface StorePage {
  /** At most `limit` items, and no more than `maxBytes` allow. */
  readonly items: readonly Stored[]
  /** Whether further items follow in the direction of the slice; false where `limit` is 0. */
  readonly more: boolean
  /** The size of the whole selection, at the moment of the items; absent with `none`. */
  readonly total?: number | undefined
}

/** Options of every call of a store. */
export interface StoreOptions {
  /** Ends the work early: the store throws its reason. It may be made when first read: pass the options on uncopied. */
  readonly signal?: AbortSignal | undefined
  /** Whether the signal is aborted, known without making it. Absent: ask the signal. */
  readonly aborted?: boolean | undefined
  /** Of a write that compares versions: whether an earlier attempt changed nothing. Lock the item first: see `KeptError`. */
  readonly repeated?: boolean | undefined
  /** How many characters patterns may still be compared with, over all calls of a request: `matcher` counts them down. */
  readonly textBudget?: TextBudget | undefined
}

/** Options of a list or a count in a store. */
export interface ListOptions extends StoreOptions {
  /**
   * The bytes that the page's items may have as JSON, together: a page ends before the item that exceeds
   * them, with `more`, but never before its first. A store may ignore it.
   */
  readonly maxBytes?: number | undefined
  /**
   * How far the store must count. If more items match it may stop there, and give any larger number as the total. A store
   * may ignore it, and count all.
   */
  readonly exactUpTo?: number | undefined
  /** How long the work may take, in milliseconds; then the store may throw a `TooCostlyError`. */
  readonly maxTime?: number | undefined
}

/** How many items {@link Store.listEach} lists. */
export interface EachLimit {
  /** At most so many of one id; further ones are `more`. */
  readonly each: number
  /** An id whose items would make all of them more than that, and those behind it, are left to another call. */
  readonly all: number
}

/** Options of what completes an idempotency key. */
export interface KeepOptions extends StoreOptions {
  /** How long the answer is kept, in milliseconds. Default: a day. */
  readonly keepFor?: number | undefined
  /** Frees the key only if it has this claim. */
  readonly claim?: number | undefined
}

/** Options of a write to a store. */
export interface StoreWriteOptions extends KeepOptions {
  /** A claimed idempotency key, to be completed in the same step as the write. */
  readonly idempotencyKey?: string | undefined
  /**
   * Makes the answer that is kept under the key from what {@link Store.write} returns. Default: a list with
   * `{ id, item, version, updatedAt }` of each item.
   */
  readonly answer?: ((written: readonly Stored[]) => Json) | undefined
}

/** @throws the signal's reason, where the work is to end. */
export function throwIfAborted(options: StoreOptions | undefined): void {
  if (options?.aborted !== false) options?.signal?.throwIfAborted()
}

/** Keeps the items of a collection. A method may return its result at once, or a promise of it. */
export interface Store extends ProgramStore<Stored, StoreOptions> {
  /**
   * `key`: lists continue from a sort key. `offset`: the store cannot seek. It gets a {@link PositionSlice}
   * only, and `Link` leads on by `offset`: a page may then skip or repeat an item while others write.
   */
  readonly pages: 'key' | 'offset'

  /**
   * Where idempotency keys are kept. `store`: with the items, by `claim` and `complete`. `process`: in the
   * memory of this process, for the store; a restart loses them. `none`: nowhere, each key is new.
   * OPTIONS and the OpenAPI document name `Idempotency-Key` for `store` only.
   */
  readonly idempotency: 'store' | 'process' | 'none'

  /**
   * Identifies the database: stores with the same object here share transactions, and take `within` filters
   * on each other. Absent without them.
   */
  readonly database?: object | undefined
  /** Whether a version is a hash of the values alone: then a tag tells who guesses them. Default false. */
  readonly hashesValues?: boolean | undefined
  /** What has changed; absent where the store cannot tell. */
  readonly changes?: StoreChanges | undefined

  /**
   * Called at definition, once for each collection on this store; several may share it where they
   * agree on the identity.
   * @throws TypeError for fields that this store cannot hold.
   * @example store.attach({ ...shape, indexes: [['color']] })
   */
  attach(shape: Shape): void

  /**
   * Called by `defineApi` with the references of all versions, for a database that keeps them itself.
   * @throws TypeError for another store or `onDelete` of a field than before.
   * @example store.relate?.([{ field: 'parent_id', store, onDelete: 'cascade' }])
   */
  relate?(references: readonly StoreReference[]): void

  /**
   * What it has found in its database when it opened; `undefined` before. Absent if there is nothing to find.
   * @example const isKept = store.facts?.()?.keptReferences.has('car_id') ?? false
   */
  facts?(): StoreFacts | undefined

  /**
   * Finds items by their ids, at most 500.
   * @returns an item for each id, in their order; `undefined` if there is none.
   * @example const [first, second] = await store.find([red.id, 'none'])
   */
  find(ids: readonly Id[], options?: StoreOptions): Awaitable<readonly (Stored | undefined)[]>

  /**
   * Finds a slice of a selection with its total, both of one moment; of an empty slice it may be later. `limit` 0: no items.
   * @example const { items, total } = await store.list(all, { limit: 25, offset: 0 }, 'exact')
   */
  list(
    selection: Selection,
    slice: Slice,
    totalMode: TotalMode,
    options?: ListOptions,
  ): Awaitable<StorePage>

  /**
   * Counts the items that pass the filters and the search; `undefined` with `none`.
   * @example const count = await store.count(all, 'exact')
   */
  count(
    selection: FilterSet,
    totalMode: TotalMode,
    options?: ListOptions,
  ): Awaitable<number | undefined>

  /**
   * Counts the items that pass the filters and the search by their groups, in any order. Items that are written
   * meanwhile may count or not. Absent where the store cannot: the option `groups` is then a TypeError.
   * @throws HttpError 400, or gives an infinite value, for a sum that no number can be.
   * @example await store.countBy?.(all, { keys: [{ path: ['color'] }], aggregates: [], limit: 1000 })
   */
  countBy?(
    selection: FilterSet,
    grouping: Grouping,
    options?: ListOptions,
  ): Awaitable<readonly Group[]>

  /**
   * Reads the whole selection in its order, in batches of at most 500 items, in constant memory; leaving early frees all.
   * @example for await (const batch of store.stream(all)) console.log(batch.length)
   */
  stream(selection: Selection, options?: StoreOptions): AsyncIterable<readonly Stored[]>

  /**
   * Makes changes of one kind, at most 500: all of them, or none. A store without `transaction` gets one a call.
   *
   * Ids made by the store grow, in the order of the changes, and become visible in that order: a client that has seen
   * an id will not later find a new smaller one. An id is never made twice.
   * @param options.idempotencyKey a claimed key, which gets its answer in the same step. It stays claimed if nothing is
   * changed.
   * @returns the items as they are now, in the order of the changes: none of deletions. `undefined`, with nothing
   * changed, if another writer was faster: one item is not at its version any more, or is not there. So too if one is
   * named twice.
   * @throws UniqueError, UnstorableError, ReferenceConflictError, RefusedError, for the first change that the store
   * finds; KeptError if the database keeps one out. `at` says which, if the store knows it. UnavailableError, nothing
   * changed, for a key whose claim has expired: another request may have it.
   * @example
   * const [blue] = (await store.write([{ create: { color: 'blue' } }])) ?? []
   * const changed = await store.write([{ update: { color: 'green' }, before: red }])
   * const isGone = (await store.write([{ delete: red }])) !== undefined
   */
  write(changes: Changes, options?: StoreWriteOptions): Awaitable<readonly Stored[] | undefined>

  /**
   * Lists the items of several ids at once, at most 500: of each those whose value at a path is that id. It is one list
   * for each id otherwise.
   * @param path of a field that holds ids, or of the id itself.
   * @param ids no two are equal.
   * @returns a page without total for each of the first ids: for all, or for as many as `limit.all` and
   * `options.maxBytes` allow, at least one.
   * @example const [first] = (await store.listEach?.(['id'], [red.id], all, { each: 5, all: 1000 })) ?? []
   */
  listEach?(
    path: Path,
    ids: readonly Id[],
    selection: Selection,
    limit: EachLimit,
    options?: ListOptions,
  ): Awaitable<readonly StorePage[]>

  /**
   * Claims an idempotency key, in one step, for 10 s; without `renew` for a minute. Needed if `idempotency` is `store`.
   * @param key opaque, at most 64 characters.
   * @param fingerprint of the request: kept with the key and returned with its record.
   * @example const { state } = (await store.claim?.('key', 'fingerprint')) ?? { state: 'new' }
   */
  claim?(key: string, fingerprint: string, options?: StoreOptions): Awaitable<IdempotencyRecord>

  /**
   * Renews a claim for another 10 s, in one step: `undefined` if the key has its answer or not this claim, else the new claim.
   * @example const next = await store.renew?.('key', 1760000010000)
   */
  renew?(key: string, claim: number): Awaitable<number | undefined>

  /**
   * Keeps the answer of a claimed key; without an answer (the work failed) the key is free again.
   * @throws UnavailableError within a transaction, for a key whose claim has expired.
   * @example await store.complete?.('key', { id: 1 })
   */
  complete?(key: string, answer: Json | undefined, options?: KeepOptions): Awaitable<void>

  /**
   * Runs work on several stores of one database in one transaction: all of its writes happen, or none.
   * What the work reads is as of one moment, its own writes included; nobody else sees these before the
   * end, nor are writes of others undone with it. An error that the work throws undoes it. A write that
   * fails alone is undone alone, and the work may go on. Absent where the store has no transactions; with
   * it, `idempotency` is `store`.
   * @param work gets the same stores, in the same order, bound to the transaction: not to be used after
   * it, and without `claim`, `attach`, `transaction` and `close`. It may run more than once, from its
   * start, where others were in the way. A call on another store of the database that it waits for may
   * wait for the transaction itself.
   * @param options.signal undoes the transaction when it is aborted, unless it has ended.
   * @throws TypeError, before the work starts, for a store of another `database`.
   * @example await store.transaction?.([store], async ([inside]) => inside?.write([{ create: { color: 'white' } }]))
   */
  transaction?<T>(
    stores: readonly Store[],
    work: (stores: readonly Store[]) => Promise<T>,
    options?: StoreOptions,
  ): Promise<T>

  /**
   * Makes and checks what the store needs, such as its table. Calls do that themselves, the first one for all.
   * @throws Error that says what is missing.
   * @example await store.open?.()
   */
  open?(): Promise<void>

  /**
   * Frees what the store itself has made; running calls end first.
   * @example await store.close()
   */
  close(): Promise<void>
}
