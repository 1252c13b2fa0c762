// An item that a loop of `take` holds: its lease is renewed while the body of the loop runs.
import { type LeaseEvent, publishWork } from '../../store/events.ts'
import type { LeaseFields, TakeRequest } from '../../store/program-store.ts'
import type { Store, Stored } from '../../store/store.ts'
import type { ProgramItem } from '../calls/program-items.ts'
import { findVersion, renewVersion } from '../calls/program-items.ts'

/** By the item that a body got, or that its write of it gave: an entry lives as long as that object. */
const held = new WeakMap<object, HeldItem>()

/** Finds what holds an item, if a loop of `take` gave it. */
export function findHeld(target: unknown): HeldItem | undefined {
  return typeof target === 'object' && target !== null ? held.get(target) : undefined
}

/** How an item is held: the store of its collection, and for how long. */
export interface Lease extends LeaseFields {
  readonly collection: string
  readonly take: Required<Store>['take']
  readonly milliseconds: number
}

export class HeldItem {
  readonly #lease: Lease
  /** The item as it is in the store, by what is known here. */
  #stored: Stored
  /** The object whose version is renewed with the lease. */
  #item: ProgramItem
  readonly #timer: NodeJS.Timeout
  readonly #since = performance.now()
  #renewal: Promise<void> = Promise.resolve()
  #writes = 0
  /** Whether a renewal waits for the end of a write. */
  #isDue = false
  #isOver = false
  #isLost = false

  constructor(lease: Lease, stored: Stored, item: ProgramItem) {
    this.#lease = lease
    this.#stored = stored
    this.#item = item
    held.set(item, this)
    this.#timer = setInterval(() => this.#renew(), lease.milliseconds / 3)
  }

  /** Runs a write of the item. No renewal comes in between: the write would find another version. */
  async during(operation: string, write: () => Promise<ProgramItem>): Promise<ProgramItem> {
    this.#writes++
    try {
      await this.#renewal
      const written = await write()
      if (operation === 'delete') this.#isOver = true
      else this.#follow(written)
      return written
    } finally {
      this.#writes--
      if (this.#isDue) this.#renew()
    }
  }

  /** Ends the renewals. @param givesBack whether the item is free for others at once. */
  async end(givesBack: boolean): Promise<void> {
    clearInterval(this.#timer)
    await this.#renewal
    if (givesBack && !this.#isOver) await this.#take(0)
    this.#isOver = true
    if (!this.#isLost) this.#publish(givesBack ? 'failed' : 'done')
  }

  /** Goes on with the version that a write has made. */
  #follow(written: ProgramItem | undefined): void {
    const version = findVersion(written)
    if (!written || version?.id !== this.#stored.id) return
    this.#stored = { ...this.#stored, ...version }
    this.#item = written
    held.set(written, this)
  }

  #renew(): void {
    this.#isDue = this.#writes > 0
    if (this.#isOver || this.#isDue) return
    // A database that cannot be reached may be back before the lease ends; else its next owner makes writes a 409.
    this.#renewal = this.#take(this.#lease.milliseconds).catch(() => undefined)
  }

  #publish(state: LeaseEvent['state']): void {
    const { collection } = this.#lease
    publishWork({ type: 'lease', collection, state, age: performance.now() - this.#since })
  }

  async #take(milliseconds: number): Promise<void> {
    const { take, lease, attempts } = this.#lease
    const request: TakeRequest<Stored> = { lease, attempts, milliseconds, held: this.#stored }
    const renewed = await take(request)
    if (!renewed) {
      this.#isOver = true
      this.#isLost = true
      this.#publish('lost')
      return
    }
    if (milliseconds > 0) this.#publish('renewed')
    this.#stored = renewed
    renewVersion(this.#item, renewed.version)
  }
}
