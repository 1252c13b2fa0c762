// The contract of a blob store, where the contents of binary properties live.

/** Where bytes live. A key is made by the store, never taken from a client, and never used again. */
export interface BlobStore {
  /**
   * Keeps a content under a new key; when it resolves the bytes are as durable as the store is.
   * @throws what the content throws; an `UnavailableError` where there is no room, or the store cannot be
   * reached: a 503. Then nothing is kept.
   */
  put(
    content: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal },
  ): Promise<{ key: string; size: number }>
  /** The bytes from `first` to `last`, both inclusive; all without. `undefined` where there is no such key. */
  get(
    key: string,
    range?: { first: number; last: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Removes a content; one that does not exist is no error. */
  delete(key: string): Promise<void>
  /** Every key with its age's beginning, in milliseconds since 1970: for {@link sweepBlobs}. */
  keys(): AsyncIterable<{ key: string; createdAt: number }>
}

/** A content that comes in one piece. */
export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
