// The records of idempotency keys, as stores give them.
import type { Json } from '../base/values.ts'

/** The state of an idempotency key when `claim` looked. */
export type IdempotencyRecord =
  /**
   * The key is now claimed: the caller does the work and ends with `create` or `complete`. `claim` tells this claim from
   * others of the key; it is needed for `renew`.
   */
  | { readonly state: 'new'; readonly claim?: number }
  /** Another request does the work at this moment; without a renewal the key is free after `rest` milliseconds. */
  | { readonly state: 'running'; readonly fingerprint: string; readonly rest?: number }
  | { readonly state: 'done'; readonly fingerprint: string; readonly answer: Json }
