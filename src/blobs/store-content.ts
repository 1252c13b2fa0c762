// Storing and removing contents within a time.
import { storeWithinTime } from '../http/timeouts.ts'
import type { BlobStore } from './blob-store.ts'

/**
 * Stores a content. One that is stored too late is removed again.
 * @throws HttpError 503 where the store takes longer than `time` milliseconds for a piece.
 */
export function storeContent(
  blobs: BlobStore,
  content: AsyncIterator<Uint8Array>,
  time: number,
  signal: AbortSignal,
): Promise<{ key: string; size: number }> {
  const ended = new AbortController()
  const either = AbortSignal.any([signal, ended.signal])
  let late = false
  const put = async (pieces: AsyncIterable<Uint8Array>) => {
    const stored = await blobs.put(pieces, { signal: either })
    if (late) await removeContents(blobs, [stored.key])
    return stored
  }
  return storeWithinTime(content, time, put, error => {
    late = true
    ended.abort(error)
  })
}

const REMOVE_TIMEOUT_MS = 1000

/**
 * Removes contents that are no longer needed. Never fails and never takes long, since the response is
 * decided: a sweep removes what stays behind.
 */
export async function removeContents(blobs: BlobStore, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, REMOVE_TIMEOUT_MS)
  })
  await Promise.race([Promise.allSettled(keys.map(async key => blobs.delete(key))), late])
  clearTimeout(timer)
}
