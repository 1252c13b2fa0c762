/** The length in characters at which a chunk of a stream ends. */
const CHUNK = 64 * 1024

/** Prints a batch of items as chunks, each when it is asked for. */
export function* printChunks<T>(
  batch: readonly T[],
  print: (item: T) => string,
  head = '',
): Generator<string> {
  let text = head
  for (const item of batch) {
    text += print(item)
    if (text.length < CHUNK) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}
