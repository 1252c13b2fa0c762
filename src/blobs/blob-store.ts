// The contract of a blob store, where the contents of binary properties live.

/** What each call gets. */
export interface BlobCallOptions {
  /** Aborted when nobody waits for the result any more: free the connection that it holds. */
  readonly signal?: AbortSignal | undefined
}

/** Stores contents by key. The store generates the keys and never uses one again. */
export interface BlobStore {
  /**
   * Stores a content under a new key. When the promise resolves, the bytes are as durable as the store is.
   * @throws what the content throws; an `UnavailableError` (503) where the store is full or cannot be
   * reached. Then nothing is stored.
   */
  put(
    content: AsyncIterable<Uint8Array>,
    options?: BlobCallOptions,
  ): Promise<{ key: string; size: number }>
  /**
   * Reads the bytes from `first` to `last`, both inclusive, or all; `undefined` for an unknown key. The signal is for
   * the bytes too.
   * @throws `UnavailableError` (503) where the store cannot be reached; reading the bytes may throw it too.
   */
  get(
    key: string,
    range?: { first: number; last: number },
    options?: BlobCallOptions,
  ): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Removes a content. An unknown key is not an error. */
  delete(key: string, options?: BlobCallOptions): Promise<void>
  /** Lists every key with its creation time, in milliseconds since 1970, for {@link sweepBlobs}. */
  keys(): AsyncIterable<{ key: string; createdAt: number }>
}
