/**
 * Iterates over what `next` gives, until it gives nothing. While it waits it keeps none of that: a generator
 * would, and hundreds of streams that wait for their turn would each hold a batch.
 * @param source what `next` reads from; it is closed when the iteration ends early.
 */
export function iterate<T>(
  next: () => Promise<T | undefined>,
  source?: AsyncIterator<unknown>,
): AsyncIterableIterator<T, undefined> {
  return new Iteration(next, source)
}

/** A class for its methods: functions of each request would live long (see the rules in docs/architecture.md). */
class Iteration<T> implements AsyncIterableIterator<T, undefined> {
  readonly #next: () => Promise<T | undefined>
  readonly #source: AsyncIterator<unknown> | undefined
  #ended = false

  constructor(next: () => Promise<T | undefined>, source: AsyncIterator<unknown> | undefined) {
    this.#next = next
    this.#source = source
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    try {
      const value = this.#ended ? undefined : await this.#next()
      if (value !== undefined) return { done: false, value }
      this.#ended = true
      return { done: true, value: undefined }
    } catch (error) {
      await this.return()
      throw error
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#ended = true
    await this.#source?.return?.()
    return { done: true, value: undefined }
  }
}
