// What comes and goes with each request.

/** An entry knows its place in the list; it is in one list, once. */
export interface LiveEntry {
  place: number
}

/**
 * A list of what lives just now, in no order. A `Set` from which something is deleted with each request moves into ever
 * new tables, each held by the one before: once one of them is in V8's old space, young collections keep all that follow
 * and what they held (docs/decisions/live-lists.md).
 */
export class LiveList<T extends LiveEntry> {
  readonly #entries: T[] = []

  get size(): number {
    return this.#entries.length
  }

  add(entry: T): void {
    entry.place = this.#entries.push(entry) - 1
  }

  /** @returns whether it was there. */
  delete(entry: T): boolean {
    if (this.#entries[entry.place] !== entry) return false
    const last = this.#entries.pop()
    if (last && last !== entry) {
      last.place = entry.place
      this.#entries[last.place] = last
    }
    return true
  }

  /** Those of this moment, which may come and go while they are looked at. */
  list(): readonly T[] {
    return [...this.#entries]
  }
}
