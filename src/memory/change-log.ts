// The last changes of a store in memory. They are noted from the first look at them on.

import type { Change, ReadChanges, StoreChanges } from '../store/changes.ts'
import { createVersion } from '../store/ids.ts'

/** How many changes are kept at least; up to twice as many are. */
const KEPT = 10_000

export class ChangeLog implements Required<Omit<StoreChanges, 'judges' | 'late'>> {
  readonly #name = createVersion()
  readonly #listeners = new Set<() => void>()
  #changes: Change[] = []
  /** The number of the first of them. */
  #first = 1

  add(change: Change): void {
    if (this.#changes.length === 2 * KEPT) {
      this.#changes = this.#changes.slice(KEPT)
      this.#first += KEPT
    }
    this.#changes.push(change)
    for (const wake of this.#listeners) wake()
  }

  position(): string {
    return `${this.#name}-${this.#first + this.#changes.length - 1}`
  }

  /** Reads all at once: what a call has written and undone is never read in parts. */
  read(after: string): ReadChanges | 'gone' {
    const number = Number(after.slice(this.#name.length + 1))
    const at = number + 1 - this.#first
    const isOwn = after === `${this.#name}-${number}` && Number.isSafeInteger(at)
    if (!isOwn || at < 0 || at > this.#changes.length) return 'gone'
    return { changes: this.#changes.slice(at), position: this.position(), current: true }
  }

  listen(wake: () => void): () => void {
    this.#listeners.add(wake)
    return () => this.#listeners.delete(wake)
  }
}
