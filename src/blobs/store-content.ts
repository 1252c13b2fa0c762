// Storing and removing contents within a time.
import { setTimeout as sleep } from 'node:timers/promises'
import { Deadlines, unavailable } from '../http/timeouts.ts'
import { publishWork } from '../store/events.ts'
import type { BlobStore } from './blob-store.ts'
import type { BlobContent } from './content-places.ts'

/** The deadlines of blob stores. */
const pending = new Deadlines()

/**
 * Stores a content. The store may take so long for each piece and for its end; the time until the next piece
 * arrives does not count. A content that is stored too late is removed again.
 * @throws HttpError 503 where the store takes longer than `time` milliseconds.
 */
export function storeContent(
  blobs: BlobStore,
  content: AsyncIterator<Uint8Array>,
  time: number,
  signal: AbortSignal,
): Promise<{ key: string; size: number }> {
  const late = new AbortController()
  const expire = () =>
    late.abort(unavailable('The upload took too long to be kept', 'work_too_slow'))
  let deadline = pending.add(time, expire)
  // A store may ask for pieces ahead of those that have not arrived, and settle before they do.
  let awaited = 0
  let settled = false
  const pieces: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => pieces,
    async next() {
      pending.delete(deadline)
      awaited++
      const piece = await content.next()
      awaited--
      if (awaited === 0 && !settled) deadline = pending.add(time, expire)
      return piece
    },
    async return(value) {
      await content.return?.()
      return { value, done: true }
    },
  }
  const put = async () => {
    try {
      const stored = await blobs.put(pieces, { signal: AbortSignal.any([signal, late.signal]) })
      if (late.signal.aborted) await removeContents([{ blobs, key: stored.key }])
      return stored
    } finally {
      settled = true
      pending.delete(deadline)
    }
  }
  return new Promise((resolve, reject) => {
    late.signal.onabort = () => reject(late.signal.reason)
    put().then(resolve, reject)
  })
}

const REMOVE_TIMEOUT_MS = 1000

/**
 * Removes contents that are no longer needed. Never fails and never takes long, since the response is
 * decided: a sweep removes what stays behind.
 */
export async function removeContents(contents: readonly BlobContent[]): Promise<void> {
  if (contents.length === 0) return
  const signal = AbortSignal.timeout(REMOVE_TIMEOUT_MS)
  const removals = Promise.all(
    contents.map(async ({ blobs, key }) => {
      try {
        await blobs.delete(key, { signal })
      } catch (error) {
        publishWork({ type: 'orphan', key, error })
      }
    }),
  )
  await Promise.race([removals, sleep(REMOVE_TIMEOUT_MS, undefined, { ref: false })])
}
