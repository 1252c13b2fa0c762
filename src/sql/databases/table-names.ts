// The tables that the store keeps beside those of collections.

/** The last id made for each table. */
export const SEQUENCES = 'rest_sequences'
/** Claimed and answered idempotency keys of each table. */
export const IDEMPOTENCY = 'rest_idempotency'
/** The log of changes. Its row 0 has the random name of the log as `id`, and how far it is pruned as `before`. */
export const LOG = 'rest_changes'
