// The queue of the transactions of a database: a few run at a time, and before each the event loop turns, so that
// other requests are served in between.
import { takeTurn, waitForPass } from '../base/turns.ts'
import { publishWait } from './events.ts'
import { type StoreOptions, throwIfAborted } from './store.ts'
import { unwatch, watch } from './watch.ts'

/** For how long after a conflict transactions run one after another, in milliseconds: the next ones might meet too. */
const CALM_MS = 1000
/** The longest such time: it doubles each time that a conflict follows it soon, as where all create in one collection. */
const MAX_CALM_MS = 8000

/** How long they run with one pass of the event loop between two, until new requests are served first; milliseconds. */
const TURN_MS = 10

interface Waiting {
  readonly exclusive: boolean
  start(): void
}

/** Runs the transactions of one database in this process. */
export class TransactionQueue {
  readonly #findWidth: () => number
  readonly #waiting: Waiting[] = []
  #running = 0
  /** Whether no other may run beside the running one. */
  #isExclusive = false
  /** When the last turn was. */
  #turned = Number.NEGATIVE_INFINITY
  /** Until when they run one after another, by `performance.now()`. */
  #calmUntil = 0
  #calmMs = CALM_MS

  /** @param findWidth how many may run at the same time. */
  constructor(findWidth: () => number) {
    this.#findWidth = findWidth
  }

  /** Whether a transaction runs or waits. */
  get busy(): boolean {
    return this.#running > 0
  }

  /** Whether a conflict was so lately that transactions run one after another. */
  get isCalm(): boolean {
    return performance.now() < this.#calmUntil
  }

  /**
   * Runs a transaction when it is its turn.
   * @param exclusive whether it runs again, after a conflict: it is the next, and no other runs beside it.
   * @throws the signal's reason, before the work begins, where it waits too long.
   */
  async run<T>(work: () => Promise<T>, options: StoreOptions, exclusive = false): Promise<T> {
    throwIfAborted(options)
    if (exclusive) this.#calm()
    if (this.#fits(exclusive) && (exclusive || this.#waiting.length === 0)) this.#enter(exclusive)
    else {
      const since = performance.now()
      await this.#wait(options, exclusive)
      publishWait('transaction', since)
    }
    try {
      await this.#takeTurn()
      throwIfAborted(options)
      return await work()
    } finally {
      this.#running--
      this.#isExclusive = false
      this.#startNext()
    }
  }

  #calm(): void {
    const since = performance.now() - this.#calmUntil
    if (since >= this.#calmMs) this.#calmMs = CALM_MS
    else if (since >= 0) this.#calmMs = Math.min(2 * this.#calmMs, MAX_CALM_MS)
    this.#calmUntil = performance.now() + this.#calmMs
  }

  async #takeTurn(): Promise<void> {
    if (performance.now() - this.#turned < TURN_MS) return waitForPass()
    await (takeTurn(true) ?? waitForPass())
    this.#turned = performance.now()
  }

  #fits(exclusive: boolean): boolean {
    if (this.#running === 0) return true
    if (exclusive || this.#isExclusive || this.isCalm) return false
    return this.#running < this.#findWidth()
  }

  #enter(exclusive: boolean): void {
    this.#running++
    this.#isExclusive = exclusive
  }

  #wait(options: StoreOptions, exclusive: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(options.signal?.reason)
        this.#startNext()
      }
      const waiting: Waiting = {
        exclusive,
        start() {
          unwatch(watched)
          resolve()
        },
      }
      const watched = watch(options, undefined, leave)
      const first = exclusive ? this.#waiting.findIndex(each => !each.exclusive) : -1
      this.#waiting.splice(first < 0 ? this.#waiting.length : first, 0, waiting)
    })
  }

  #startNext(): void {
    for (let [next] = this.#waiting; next && this.#fits(next.exclusive); [next] = this.#waiting) {
      this.#waiting.shift()
      this.#enter(next.exclusive)
      next.start()
    }
  }
}
