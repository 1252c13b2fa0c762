// The optional part of a store that tells what has changed: live lists follow it.

import type { Awaitable, Item } from '../base/values.ts'

/** What has happened to one item. */
export interface Change {
  readonly id: string | number
  /** The item before; absent where it was created. */
  readonly before?: Item | undefined
  /** The item afterwards; absent where it was deleted. */
  readonly after?: Item | undefined
}

/** What `StoreChanges.read` found. */
export interface ReadChanges {
  /** Changes of one item are in their order. Only what is committed, and never twice. */
  readonly changes: readonly Change[]
  /** Where the next read goes on. */
  readonly position: string
  /** Whether this is all that was committed before the call. False: read on, or again later. */
  readonly current: boolean
}

/** A log of the changes of a store, by whatever program. */
export interface StoreChanges {
  /**
   * Finds a position: what is committed after the call is read behind it. It may wait until writes that have begun end.
   */
  position(): Awaitable<string>

  /**
   * Reads the changes behind a position, in batches of about `limit`.
   * @param after opaque, at most 128 characters: of `position`, of an earlier read, or what a client sends in its place.
   * @returns `gone` for a position that is too old, or not of this log: what has changed since cannot be told.
   */
  read(after: string, limit: number): Awaitable<ReadChanges | 'gone'>

  /**
   * Calls a function when there may be something new, until the returned function is called. It need not know of the
   * writes of other processes: the log is read each 100 ms as well.
   */
  listen?(wake: () => void): () => void

  /** How many milliseconds changes have waited by now, because a transaction that has begun before them goes on; 0: none waits. */
  late?(): number

  /** Whether the database compares the values of a field in its own way, so that it alone can tell what passes a filter. */
  judges?(field: string): boolean
}
