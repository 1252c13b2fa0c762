// What a store may have for programs, and no request uses.
import type { Awaitable } from '../base/values.ts'

/** The fields of items that are handed out. */
export interface LeaseFields {
  /** A date-time: until then the item is somebody's. */
  readonly lease: string
  /** A whole number: how often the item was handed out. */
  readonly attempts?: string | undefined
}

/** Asks for the next item that is free, or again for one that is held. @typeParam Row an item as a store keeps it. */
export interface TakeRequest<Row> extends LeaseFields {
  /** How long the item is the caller's, in milliseconds by the clock of the database. */
  readonly milliseconds: number
  /** Items that were handed out more often are left out. It needs `attempts`. */
  readonly maxAttempts?: number | undefined
  /** The item as it was handed out last: its lease begins anew, and with 0 milliseconds ends. */
  readonly held?: Row | undefined
}

/** The optional members of a store for programs. */
export interface ProgramStore<Row, Options> {
  /** In a transaction: what runs statements of the program's own in it, such as a Kysely. Absent without SQL. */
  readonly sql?: unknown

  /**
   * Hands out an item whose lease is absent or over, to one caller alone, in one step: items that were never handed out
   * first, in the order of their creation, then those whose lease ended first. It sets the lease, counts the attempt, and
   * makes a new version; the date of the last write stays.
   * @param request with `held`: the item again if it is still at that version. Its attempts stay.
   * @returns `undefined` if no item is free, or the held one was changed, deleted or handed out to another caller.
   * @example const next = await store.take?.({ lease: 'taken_until', milliseconds: 60_000 })
   */
  take?(request: TakeRequest<Row>, options?: Options): Awaitable<Row | undefined>
}
