// Idempotency keys of a store that does not keep them itself: in this process, or nowhere.
import { andThen } from '../base/values.ts'
import { createIdempotencyRecords } from './idempotency.ts'
import type { Changes, Store, StoreWriteOptions } from './store.ts'
import { buildAnswer } from './written.ts'

/** A store with the methods for idempotency keys. */
export type KeyedStore = Store & Required<Pick<Store, 'claim' | 'complete'>>

type Records = ReturnType<typeof createIdempotencyRecords>

/** Keeps nothing: each key is new. */
const NO_RECORDS: Records = {
  claim: () => ({ state: 'new' }),
  renew: () => undefined,
  requireClaim: () => {},
  complete: () => {},
  clear: () => {},
}

/** By store: collections that share one have the same keys. */
const keyedStores = new WeakMap<Store, KeyedStore>()

/**
 * Adds `claim` and `complete` to a store that keeps no idempotency keys: with `process` they are kept in
 * memory and lost at a restart, with `none` each key is new. The same store gives the same result.
 * @throws TypeError for a store with `idempotency: 'store'` that lacks one of them, and for one with
 * transactions that says otherwise: its keys must be kept in the transaction.
 */
export function toKeyedStore(store: Store): KeyedStore {
  const { idempotency } = store
  if (idempotency === 'store') {
    if (isKeyed(store)) return store
    throw new TypeError(
      "A store with idempotency: 'store' needs the methods claim and complete. Without them, say 'process' or 'none'.",
    )
  }
  if (store.transaction) {
    throw new TypeError("A store with transactions needs idempotency: 'store', claim and complete.")
  }
  const known = keyedStores.get(store)
  if (known) return known
  const records = idempotency === 'process' ? createIdempotencyRecords() : NO_RECORDS
  const keyed = addRecords(store, records)
  keyedStores.set(store, keyed)
  return keyed
}

function isKeyed(store: Store): store is KeyedStore {
  return store.claim !== undefined && store.complete !== undefined
}

/** Wraps a store. Each method is called on the store itself: it may be an instance of a class. */
function addRecords(store: Store, records: Records): KeyedStore {
  /** Writes, and keeps the answer of the key. */
  function write(changes: Changes, options?: StoreWriteOptions) {
    const key = options?.idempotencyKey
    if (key === undefined) return store.write(changes, options)
    records.requireClaim(key)
    // The store may keep other keys: this one is not among them.
    const { signal, repeated } = options ?? {}
    return andThen(store.write(changes, { signal, repeated }), written => {
      if (written) records.complete(key, buildAnswer(options, written), options)
      return written
    })
  }

  return {
    pages: store.pages,
    idempotency: store.idempotency,
    ...(store.database && { database: store.database }),
    ...(store.hashesValues && { hashesValues: true }),
    attach: shape => store.attach(shape),
    find: (...parameters) => store.find(...parameters),
    list: (...parameters) => store.list(...parameters),
    count: (...parameters) => store.count(...parameters),
    stream: (...parameters) => store.stream(...parameters),
    write,
    ...(store.changes && { changes: store.changes }),
    ...(store.countBy && { countBy: store.countBy.bind(store) }),
    ...(store.listEach && { listEach: store.listEach.bind(store) }),
    claim: records.claim,
    renew: records.renew,
    complete: records.complete,
    open: async () => store.open?.(),
    close() {
      records.clear()
      return store.close()
    },
  }
}
