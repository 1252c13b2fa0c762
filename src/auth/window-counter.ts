// Counts requests per key in fixed windows, in the memory of this process.

/** The window of one key. */
export interface CountedWindow {
  used: number
  /** By the clock of `now`. */
  readonly end: number
}

/** How many ended windows one request removes, so that no request pays for all of them. */
const MAX_REMOVED = 10

export class WindowCounter {
  readonly #milliseconds: number
  /** In the order in which they end, since all are equally long. */
  readonly #windows = new Map<string, CountedWindow>()

  /** @param duration the length of a window in seconds. */
  constructor(duration: number) {
    this.#milliseconds = duration * 1000
  }

  /**
   * Counts one for a key. The first one starts the window of the key.
   * @param now `performance.now()`, which no clock that is set moves.
   */
  add(key: string, now: number): CountedWindow {
    const current = this.#windows.get(key)
    if (current && current.end > now) {
      current.used++
      return current
    }
    this.#removeEnded(now)
    const window = { used: 1, end: now + this.#milliseconds }
    this.#windows.delete(key)
    this.#windows.set(key, window)
    return window
  }

  /** Finds the window of a key that lasts. */
  find(key: string, now: number): CountedWindow | undefined {
    const window = this.#windows.get(key)
    return window && window.end > now ? window : undefined
  }

  /** Has a window of a key end after some milliseconds: it began elsewhere, and lasts no longer than others. */
  set(key: string, now: number, left: number): void {
    this.#removeEnded(now)
    this.#windows.delete(key)
    this.#windows.set(key, { used: 1, end: now + left })
  }

  /** How many windows are kept. */
  get size(): number {
    return this.#windows.size
  }

  #removeEnded(now: number): void {
    let removed = 0
    for (const [key, { end }] of this.#windows) {
      if (end > now || removed === MAX_REMOVED) return
      this.#windows.delete(key)
      removed++
    }
  }
}
