// Reads of PostgreSQL that wait at the same time share a statement: those by id read their rows together, equal lists
// read one answer. A read joins only a statement that has not begun, so that it sees every write before it.

import type { StoreOptions } from '../../store/store.ts'
import { isAborted, unwatch, type WatchedCall, watch } from '../../store/watch.ts'
import { type Runner, type SharedWork, waitForOnly } from './runner.ts'

/** So many statements begin at once, each for one read; what comes while they run is shared. */
const FEW = 2
/** The most reads that share a statement. */
const MAX_READS = 64
/** A statement that has run so long, in milliseconds, keeps no others waiting. */
const SLOW_MS = 40

/** Runs a reading statement. */
type ReadNow = <T>(work: (runner: Runner) => Promise<T>, options: StoreOptions) => Promise<T>

/** A read that waits. */
class WaitingRead {
  readonly input: unknown
  readonly options: StoreOptions
  readonly #settle: PromiseSettlers
  readonly #watched: WatchedCall

  constructor(input: unknown, options: StoreOptions, settle: PromiseSettlers) {
    this.input = input
    this.options = options
    this.#settle = settle
    this.#watched = watch(options, undefined, () => settle.reject(options.signal?.reason))
  }

  resolve(result: unknown): void {
    unwatch(this.#watched)
    this.#settle.resolve(result as never) // of its own input
  }

  reject(error: unknown): void {
    unwatch(this.#watched)
    this.#settle.reject(error)
  }
}

interface PromiseSettlers {
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** The reads of one statement. To the statement it is their signal: aborted once all of them are. */
class ReadGroup implements StoreOptions {
  readonly waiting: WaitingRead[] = []
  readonly key: unknown
  readonly work: SharedWork<never, unknown>
  readonly read: ReadNow

  constructor(key: unknown, work: SharedWork<never, unknown>, read: ReadNow) {
    this.key = key
    this.work = work
    this.read = read
  }

  get aborted(): boolean {
    return this.waiting.every(({ options }) => isAborted(options))
  }

  get signal(): AbortSignal | undefined {
    return this.aborted ? AbortSignal.abort() : undefined
  }

  run(waiting: readonly WaitingRead[], runner: Runner): Promise<readonly unknown[]> {
    // All inputs of one key are of one type.
    return this.work(waiting.map(({ input }) => input) as never[], runner)
  }
}

export class SharedReads {
  readonly #waits: boolean
  readonly #isFinal: (error: unknown) => boolean
  #running = 0
  /** The groups that may be joined, by their keys. */
  readonly #open = new Map<unknown, ReadGroup>()
  /** Those that wait for a statement to end. */
  readonly #queue: ReadGroup[] = []

  /**
   * @param waits whether reads wait until a statement ends that runs; otherwise for a connection alone.
   * @param isFinal whether a failure of a statement is that of each of its reads. Otherwise they are repeated, each
   * alone.
   */
  constructor(waits: boolean, isFinal: (error: unknown) => boolean) {
    this.#waits = waits
    this.#isFinal = isFinal
  }

  /** @param toKey gives the key of reads that may share a statement; called only where some run. */
  async run<Input, Result>(
    toKey: () => unknown,
    input: Input,
    work: SharedWork<Input, Result>,
    read: ReadNow,
    options: StoreOptions,
  ): Promise<Result> {
    if (this.#running >= FEW) return this.#join(toKey(), input, work, read, options)
    const leave = this.#enter()
    try {
      return await alone(input, work, read, options)
    } finally {
      leave()
    }
  }

  #join<Input, Result>(
    key: unknown,
    input: Input,
    work: SharedWork<Input, Result>,
    read: ReadNow,
    options: StoreOptions,
  ): Promise<Result> {
    const open = this.#open.get(key)
    const joins = open !== undefined && open.waiting.length < MAX_READS
    const group = joins ? open : new ReadGroup(key, work, read)
    const result = new Promise<Result>((resolve, reject) => {
      group.waiting.push(new WaitingRead(input, options, { resolve, reject }))
    })
    if (joins) return result
    this.#open.set(key, group)
    if (this.#waits) this.#queue.push(group)
    else void this.#start(group)
    return result
  }

  /** Counts a statement that runs; where others wait for it, for as long as it is not slow. @returns what ends that. */
  #enter(): () => void {
    let counts = true
    const leave = () => {
      if (watched) unwatch(watched)
      if (!counts) return
      counts = false
      this.#running--
      while (this.#running < FEW) {
        const next = this.#queue.shift()
        if (!next) break
        void this.#start(next)
      }
    }
    this.#running++
    const watched = this.#waits ? watch({}, SLOW_MS, leave) : undefined
    return leave
  }

  async #start(group: ReadGroup): Promise<void> {
    const leave = this.#enter()
    try {
      const results = await group.read(runner => {
        this.#close(group)
        return group.run(group.waiting, runner)
      }, group)
      for (const [at, each] of group.waiting.entries()) each.resolve(results[at])
    } catch (error) {
      this.#close(group)
      const { waiting, work, read } = group
      const isShared = waiting.length === 1 || this.#isFinal(error)
      for (const each of waiting) {
        const { input, options } = each
        if (isAborted(options)) each.reject(options.signal?.reason)
        else if (isShared) each.reject(error)
        else
          alone(input as never, work, read, options).then(
            result => each.resolve(result),
            reason => each.reject(reason),
          )
      }
    } finally {
      leave()
    }
  }

  #close(group: ReadGroup): void {
    if (this.#open.get(group.key) === group) this.#open.delete(group.key)
  }
}

async function alone<Input, Result>(
  input: Input,
  work: SharedWork<Input, Result>,
  read: ReadNow,
  options: StoreOptions,
): Promise<Result> {
  return waitForOnly(read(runner => work([input], runner), options))
}
