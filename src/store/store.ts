// The contract of a store: its few methods and what each promises. `storeCases()` in
// `rest-conventions/testing` shows whether an implementation keeps it.
import type { Fields } from '../schema/fields.ts'
import type { Item, Json, Scalar } from '../schema/values.ts'
import type { Selection } from './selection.ts'

/** What identifies an item: a text, or a whole number where the collection says so. */
export type Id = string | number

/** An item as a store keeps it. */
export interface Stored {
  readonly id: Id
  /** The whole item, `id` and the dates included. Never changed in place: a write makes a new one. */
  readonly item: Item
  /** Opaque and never used again, not even for another item of the same id: a new one for each write. */
  readonly version: string
  /** When the last write was, in milliseconds since 1970; absent where the store does not know. */
  readonly updatedAt?: number
}

/** How an item is identified. */
export interface Identity {
  /** The name of the identifying field. */
  readonly name: string
  /**
   * `uuid`: UUIDv7 made by the store. `integer`: counted by the store from 1. `text`: chosen by the
   * client, by the store (a UUIDv7) where the client leaves it out.
   */
  readonly kind: 'uuid' | 'integer' | 'text'
}

/** What a store must know of the collection it serves. */
export interface Shape {
  /** The collection's name, for tables and messages. */
  readonly name: string
  /** Every field of an item, the server-owned ones included, in the order of printing. */
  readonly fields: Fields
  /** Whether items may have properties beyond the named ones. */
  readonly open?: boolean
  readonly identity: Identity
  /** The names of the dates that the store sets; absent where items have none. */
  readonly createdAt?: string
  readonly updatedAt?: string
  /** Sets of dotted paths of which no two items may have the same values; a set with a null or absent value is free. */
  readonly unique: readonly (readonly string[])[]
  /** Dotted paths, or sets of them, that lists filter and sort by. */
  readonly indexes: readonly (readonly string[])[]
}

/** Which part of a selection: by position, or onwards (or backwards) from a place in the sort. */
export type Slice =
  | { readonly limit: number; readonly offset: number }
  | {
      readonly limit: number
      /** The sort keys of an item that need not exist (any more); absent: from the start, or the end. */
      readonly key: readonly (Scalar | null)[] | undefined
      /** The last `limit` items before the key (or of the list), still in the order of the sort. */
      readonly backward: boolean
    }

/** How to count: every item, by the database's own guess, or not at all. */
export type TotalMode = 'exact' | 'estimated' | 'none'

export interface Page {
  readonly items: readonly Stored[]
  /** Of the whole selection, at the moment of the items; absent with `none`. */
  readonly total?: number
}

export interface StoreOptions {
  /**
   * Ends the work early; the store then throws the signal's reason. May be made when it is first asked
   * for, by a getter that a copy of the options loses: hand them on as they are.
   */
  readonly signal?: AbortSignal
  /**
   * What the signal says, without making it: that takes an eighth of a read of SQLite. Absent: ask the
   * signal.
   */
  readonly aborted?: boolean
}

/** @throws the signal's reason, where the work is to end. */
export function throwIfAborted(options: StoreOptions | undefined): void {
  if (options?.aborted !== false) options?.signal?.throwIfAborted()
}

/** What `begin` found under an idempotency key. */
export type IdempotencyRecord =
  /** Nothing: the caller does the work now and ends with `create` or `finish`. */
  | { readonly state: 'new' }
  /** Somebody does the work at this moment. */
  | { readonly state: 'running'; readonly fingerprint: string }
  | { readonly state: 'done'; readonly fingerprint: string; readonly answer: Json }

export interface Store {
  /**
   * Called at definition, once for each collection on this store; several may share it where they
   * agree on the identity.
   * @throws TypeError for fields that this store cannot hold.
   */
  attach(shape: Shape): void

  get(id: Id, options?: StoreOptions): Promise<Stored | undefined>

  /** A slice of a selection with its total, both of one moment. `limit` 0 gives no items. */
  list(selection: Selection, slice: Slice, total: TotalMode, options?: StoreOptions): Promise<Page>

  /** The number of items that the filters and the search let through; absent with `none`. */
  count(
    selection: Pick<Selection, 'where' | 'search'>,
    total: TotalMode,
    options?: StoreOptions,
  ): Promise<number | undefined>

  /** The whole selection in its order, a batch at a time, in constant memory; leaving early frees all. */
  stream(selection: Selection, options?: StoreOptions): AsyncIterable<readonly Stored[]>

  /**
   * Adds an item. Ids made by the store grow, and become visible in their order: who has seen an id
   * will not later find a new smaller one. An id is never made twice.
   * @param values the properties without dates; with the id where the client chose it.
   * @param options.idempotencyKey a key that `begin` gave to this caller: in the same step its answer
   * becomes `{ id, item, version, updatedAt }` of what was created.
   * @throws UniqueError, UnstorableError, ConflictError; UnavailableError, nothing added, for a key whose
   * claim is lost: it took so long that somebody else may have it.
   */
  create(
    values: Item,
    options?: StoreOptions & { readonly idempotencyKey?: string },
  ): Promise<Stored>

  /**
   * Replaces the values of an item, if it is still at this version, in one step.
   * @returns `undefined` where it is not: changed or deleted meanwhile.
   * @throws UniqueError, UnstorableError, ConflictError
   */
  update(id: Id, version: string, values: Item, options?: StoreOptions): Promise<Stored | undefined>

  /**
   * Removes an item, if it is still at this version, in one step.
   * @throws ConflictError
   */
  delete(id: Id, version: string, options?: StoreOptions): Promise<boolean>

  /**
   * Claims an idempotency key, in one step. A claim that was never finished is free again after
   * a minute; an answer is kept for a day.
   * @param key opaque, at most 64 characters.
   * @param fingerprint of what is asked: kept with the key and given back.
   */
  begin(key: string, fingerprint: string, options?: StoreOptions): Promise<IdempotencyRecord>

  /** Keeps the answer of a claimed key; without one (the work failed) the key is free again. */
  finish(key: string, answer: Json | undefined, options?: StoreOptions): Promise<void>

  /** Frees what the store holds; running calls end first. */
  close(): Promise<void>
}

/** How long a claimed idempotency key waits for its answer, and how long an answer is kept; milliseconds. */
export const CLAIM_TTL_MS = 60_000
export const RECORD_TTL_MS = 86_400_000

/** Thrown by a store where an item would equal another in a set of fields that must be unique. */
export class UniqueError extends Error {
  override readonly name = 'UniqueError'
  /** The dotted paths of the set, as far as they are fields; the identity's name where the id is taken. */
  readonly fields: readonly string[]

  constructor(fields: readonly string[], options?: { cause?: unknown }) {
    super(`Another item has the same ${fields.join(' and ') || 'values'}`, options)
    this.fields = fields
  }
}

/** Thrown by a store for a change that what else it keeps forbids, such as a foreign key. */
export class ReferenceConflictError extends Error {
  override readonly name = 'ConflictError'

  constructor(options?: { cause?: unknown }) {
    super('Something refers to this, or this refers to something that is not there', options)
  }
}

/**
 * Thrown by a store for values that it cannot keep, such as a text too long for an index, or what a
 * check of its own forbids.
 */
export class UnstorableError extends Error {
  override readonly name = 'UnstorableError'
  /** The dotted paths of the values, as far as the store knows them. */
  readonly fields: readonly string[]

  constructor(fields: readonly string[], options?: { cause?: unknown }) {
    super(`${fields.join(' and ') || 'A value'} cannot be kept by the store`, options)
    this.fields = fields
  }
}

/** Thrown by a store that cannot be reached at the moment, or has given a claim away: the same call may work later. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError'
}

/** The item that a store keeps: the id first, then the values in their order, then the dates. */
export function assemble(
  { identity, createdAt, updatedAt }: Shape,
  id: Id,
  values: Item,
  created: string,
  updated: string,
): Item {
  const item: Item = { [identity.name]: id }
  for (const [name, value] of Object.entries(values)) {
    if (name !== identity.name && name !== createdAt && name !== updatedAt) item[name] = value
  }
  if (createdAt !== undefined) item[createdAt] = created
  if (updatedAt !== undefined) item[updatedAt] = updated
  return item
}
