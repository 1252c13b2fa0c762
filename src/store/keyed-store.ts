// Idempotency keys of a store that does not keep them itself: in this process, or nowhere.
import { type Awaitable, andThen } from '../base/values.ts'
import { createIdempotencyRecords } from './idempotency.ts'
import type { Store, Stored, StoreWriteOptions } from './store.ts'
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
  /** Does a write, and keeps the answer of its key. */
  function keyWrite<T extends Stored | boolean | undefined>(
    options: StoreWriteOptions | undefined,
    write: (options: StoreWriteOptions | undefined) => Awaitable<T>,
  ): Awaitable<T> {
    const key = options?.idempotencyKey
    if (!options || key === undefined) return write(options)
    records.requireClaim(key)
    // The store may keep other keys: this one is not among them.
    const { signal, repeated } = options
    return andThen(write({ signal, repeated }), result => {
      const written = typeof result === 'object' ? result : undefined
      if (result) records.complete(key, buildAnswer(options, written), options)
      return result
    })
  }

  return {
    pages: store.pages,
    idempotency: store.idempotency,
    ...(store.database && { database: store.database }),
    ...(store.hashesValues && { hashesValues: true }),
    attach: shape => store.attach(shape),
    get: (...parameters) => store.get(...parameters),
    list: (...parameters) => store.list(...parameters),
    count: (...parameters) => store.count(...parameters),
    stream: (...parameters) => store.stream(...parameters),
    create: (values, options) => keyWrite(options, inner => store.create(values, inner)),
    update: (id, version, values, options) =>
      keyWrite(options, inner => store.update(id, version, values, inner)),
    delete: (id, version, options) => keyWrite(options, inner => store.delete(id, version, inner)),
    ...(store.changes && { changes: store.changes }),
    ...(store.countBy && { countBy: store.countBy.bind(store) }),
    ...(store.getMany && { getMany: store.getMany.bind(store) }),
    ...(store.listEach && { listEach: store.listEach.bind(store) }),
    ...(store.createAll && { createAll: store.createAll.bind(store) }),
    ...(store.updateAll && { updateAll: store.updateAll.bind(store) }),
    ...(store.deleteAll && { deleteAll: store.deleteAll.bind(store) }),
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
