// The contract of a blob store, where the contents of binary properties live.

/** Stores contents by key. The store generates the keys and never uses one again. */
export interface BlobStore {
  /**
   * Stores a content under a new key. When the promise resolves, the bytes are as durable as the store is.
   * @throws what the content throws; an `UnavailableError` (503) where the store is full or cannot be
   * reached. Then nothing is stored.
   */
  put(
    content: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal },
  ): Promise<{ key: string; size: number }>
  /** Reads the bytes from `first` to `last`, both inclusive, or all; `undefined` for an unknown key. */
  get(
    key: string,
    range?: { first: number; last: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Removes a content. An unknown key is not an error. */
  delete(key: string): Promise<void>
  /** Lists every key with its creation time, in milliseconds since 1970, for {@link sweepBlobs}. */
  keys(): AsyncIterable<{ key: string; createdAt: number }>
}
