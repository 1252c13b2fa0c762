/** How many slow reads of a database run at the same time. */
const MAX_SLOW = 4

/** Runs slow reads, a few at a time: more would be no faster, and would occupy all connections of a pool. */
export class SlowReads {
  #running = 0
  readonly #waiting: (() => void)[] = []

  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#running >= MAX_SLOW) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await read()
    } finally {
      // The next one takes this place, so that the number stays true.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
