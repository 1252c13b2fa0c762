/** The length in characters at which a chunk of a stream ends. */
const CHUNK = 64 * 1024

/** Prints batches of items as chunks, each when it is asked for; the head is part of the first one. */
export async function* printBatches<T>(
  batches: AsyncIterable<readonly T[]>,
  print: (item: T) => string,
  head = '',
): AsyncGenerator<string> {
  let text = head
  for await (const batch of batches) {
    if (batch.length === 0) continue
    for (const item of batch) {
      text += print(item)
      if (text.length < CHUNK) continue
      yield text
      text = ''
    }
    if (text !== '') yield text
    text = ''
  }
  if (text !== '') yield text
}
