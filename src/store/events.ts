// Events of work behind requests, for metrics: published on node:diagnostics_channel if it has subscribers.
import { channel } from 'node:diagnostics_channel'

/** Published when a statement or transaction of a database runs again after a lock or a conflict, such as 40001. */
export interface RetryEvent {
  readonly type: 'retry'
  /** How often it has run so far. */
  readonly tries: number
  /** The error of the driver. */
  readonly error: unknown
}

/** Published when work that had to wait begins. Waits of less than a millisecond are left out. */
export interface WaitEvent {
  readonly type: 'wait'
  /** A `connection` of the pool, or the turn of a `transaction`. */
  readonly for: 'connection' | 'transaction'
  /** Milliseconds. */
  readonly duration: number
}

/** Published when `take` renews the lease of an item, and when it ends. */
export interface LeaseEvent {
  readonly type: 'lease'
  readonly collection: string
  /** `lost` if another process has taken the item, or the item is deleted. */
  readonly state: 'renewed' | 'done' | 'failed' | 'lost'
  /** How long the item has been held, in milliseconds. */
  readonly age: number
}

/** Published when a content that no item holds cannot be removed. `sweepBlobs` removes it later. */
export interface OrphanEvent {
  readonly type: 'orphan'
  /** Its key in the blob store. */
  readonly key: string
  readonly error: unknown
}

/** Published when the exact total of more than 10,000 rows took longer than 50 ms. */
export interface SlowCountEvent {
  readonly type: 'slow_count'
  readonly table: string
  readonly total: number
  /** Milliseconds. */
  readonly duration: number
  /** The option that helps. */
  readonly advice: string
}

/** An event of `onWork`. */
export type WorkEvent = RetryEvent | WaitEvent | LeaseEvent | OrphanEvent | SlowCountEvent

/** The name of the channel. */
export const WORK_CHANNEL = 'rest-conventions:work'

export const workChannel = channel(WORK_CHANNEL)

/** Publishes how long work has waited, from one millisecond on. @param since by `performance.now()`. */
export function publishWait(kind: WaitEvent['for'], since: number): void {
  const duration = performance.now() - since
  if (duration >= 1) publishWork({ type: 'wait', for: kind, duration })
}

export function publishWork(event: WorkEvent): void {
  if (workChannel.hasSubscribers) workChannel.publish(event)
}
