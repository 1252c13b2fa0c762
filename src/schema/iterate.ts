/**
 * Iterates over what `next` gives, until it gives nothing. While it waits it keeps none of that: a generator
 * would, and hundreds of streams that wait for their turn would each hold a batch.
 * @param source what `next` reads from; it is closed when the iteration ends early.
 */
export function iterate<T>(
  next: () => Promise<T | undefined>,
  source?: AsyncIterator<unknown>,
): AsyncIterableIterator<T, undefined> {
  let ended = false
  const end = async () => {
    ended = true
    await source?.return?.()
    return { done: true, value: undefined } as const
  }
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      if (ended) return { done: true, value: undefined }
      try {
        const value = await next()
        if (value !== undefined) return { done: false, value }
      } catch (error) {
        await end()
        throw error
      }
      ended = true
      return { done: true, value: undefined }
    },
    return: end,
  }
}
