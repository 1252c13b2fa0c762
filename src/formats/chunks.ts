import { iterate } from '../base/iterate.ts'

/** The length in characters at which a chunk of a stream ends. */
const CHUNK = 64 * 1024

/**
 * Prints batches of items as chunks, each when it is asked for; the head is part of the first one. They are bytes:
 * of a text Node keeps three bytes for each character until the client reads it.
 */
export function printBatches<T>(
  batches: AsyncIterable<readonly T[]>,
  print: (item: T) => string,
  head = '',
): AsyncIterable<Uint8Array> {
  const source = batches[Symbol.asyncIterator]()
  let items: readonly T[] = []
  let isFirst = true
  return iterate(async () => {
    let text = isFirst ? head : ''
    isFirst = false
    while (items.length === 0) {
      const { done, value } = await source.next()
      if (done) return text === '' ? undefined : Buffer.from(text)
      items = value
    }
    let printed = 0
    for (const item of items) {
      text += print(item)
      printed++
      if (text.length >= CHUNK) break
    }
    items = items.slice(printed)
    return Buffer.from(text)
  }, source)
}
