// Idempotency keys of a store that does not keep them itself: in this process, or nowhere.
import { andThen } from '../schema/values.ts'
import { createIdempotencyRecords } from './idempotency.ts'
import { type Store, toAnswer } from './store.ts'

/** A store with the methods for idempotency keys. */
export type KeyedStore = Store & Required<Pick<Store, 'claim' | 'complete'>>

type Records = ReturnType<typeof createIdempotencyRecords>

/** The number of keys of one store that a process keeps. */
const MAX_KEYS = 100_000

/** Keeps nothing: each key is new. */
const NO_RECORDS: Records = {
  claim: () => ({ state: 'new' }),
  requireClaim: () => {},
  complete: () => {},
  clear: () => {},
}

const keyedStores = new WeakMap<Store, KeyedStore>()
const originals = new WeakMap<Store, Store>()

/**
 * Adds `claim` and `complete` to a store that keeps no idempotency keys: with `process` they are kept in
 * memory and lost at a restart, with `none` each key is new. The same store gives the same result.
 * @throws TypeError for a store that says `store` and has not both.
 */
export function toKeyedStore(store: Store): KeyedStore {
  const { idempotency } = store
  if (idempotency === 'store') {
    if (isKeyed(store)) return store
    throw new TypeError(
      "A store with idempotency: 'store' needs the methods claim and complete. Without them, say 'process' or 'none'.",
    )
  }
  let keyed = keyedStores.get(store)
  if (!keyed) {
    const records =
      idempotency === 'process' ? createIdempotencyRecords(Date.now, MAX_KEYS) : NO_RECORDS
    keyed = withRecords(store, records, [])
    keyedStores.set(store, keyed)
  }
  return keyed
}

function isKeyed(store: Store): store is KeyedStore {
  return store.claim !== undefined && store.complete !== undefined
}

/** Each method is called on the store itself: it may be an instance of a class. */
function withRecords(store: Store, records: Records, writeOnly: string[]): KeyedStore {
  const keyed: KeyedStore = {
    pages: store.pages,
    idempotency: store.idempotency,
    ...(store.database && { database: store.database }),
    attach(shape) {
      store.attach(shape)
      writeOnly.push(...(shape.writeOnly ?? []))
    },
    get: (...given) => store.get(...given),
    list: (...given) => store.list(...given),
    count: (...given) => store.count(...given),
    stream: (...given) => store.stream(...given),
    create(values, options) {
      const key = options?.idempotencyKey
      if (!options || key === undefined) return store.create(values, options)
      records.requireClaim(key)
      // The store may keep keys of its own: this one is not among them.
      const { signal } = options
      return andThen(store.create(values, signal && { signal }), stored => {
        records.complete(key, toAnswer(stored, { writeOnly }))
        return stored
      })
    },
    update: (...given) => store.update(...given),
    delete: (...given) => store.delete(...given),
    claim: (key, fingerprint) => records.claim(key, fingerprint),
    complete: (key, answer) => records.complete(key, answer),
    ...(store.transaction && {
      transaction: (stores, work, options) =>
        // Just found to be there.
        (store.transaction as NonNullable<Store['transaction']>)(
          stores.map(each => originals.get(each) ?? each),
          bound => work(bound.map(each => withRecords(each, records, writeOnly))),
          options,
        ),
    }),
    close() {
      records.clear()
      return store.close()
    },
  }
  originals.set(keyed, store)
  return keyed
}
