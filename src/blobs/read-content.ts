// Reading a content from a store that may fall silent.
import { Deadlines } from '../http/timeouts.ts'
import { UnavailableError } from '../store/errors.ts'
import type { BlobStore } from './blob-store.ts'

const pending = new Deadlines()

/** How a content is read. */
export interface BlobReadOptions {
  readonly range?: { readonly first: number; readonly last: number } | undefined
  readonly signal: AbortSignal
  /** How long the store may take for the first bytes, and then for each piece, in milliseconds. */
  readonly time: number
}

/**
 * Reads a content; it is opened when it is first read. A store that falls silent is given up: its signal is aborted, so
 * that it frees the connection.
 * @returns whether there is one.
 * @throws UnavailableError where the store takes longer than `time` for the next piece; what the store throws.
 */
export async function* readContent(
  blobs: BlobStore,
  key: string,
  { range, signal, time }: BlobReadOptions,
): AsyncGenerator<Uint8Array, boolean> {
  const silent = new AbortController()
  const giveUp = () => {
    const error = new UnavailableError(`The blob store sent no bytes for ${time} ms`)
    silent.abort(error)
    return error
  }
  const ends = AbortSignal.any([signal, silent.signal])
  const content = await pending.within(blobs.get(key, range, { signal: ends }), time, giveUp)
  if (!content) return false
  const pieces = content[Symbol.asyncIterator]()
  try {
    while (true) {
      const { done, value } = await pending.within(pieces.next(), time, giveUp)
      if (done) return true
      yield value
    }
  } finally {
    const closed = pieces.return?.()
    // A store that is silent may not answer this either.
    if (silent.signal.aborted) closed?.catch(() => undefined)
    else await closed
  }
}
