// Idempotency keys of a store that does not keep them itself: in this process, or nowhere.
import { type Awaitable, andThen } from '../schema/values.ts'
import { createIdempotencyRecords } from './idempotency.ts'
import { buildAnswer, type Store, type Stored, type WriteOptions } from './store.ts'

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

/** What a keyed store is made of; of a store that keeps its own keys only itself. */
interface Member {
  readonly original: Store
  readonly records?: Records
}

const keyedMembers = new WeakMap<Store, Member>()

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
    keyed = withRecords(store, records)
    keyedStores.set(store, keyed)
  }
  return keyed
}

function isKeyed(store: Store): store is KeyedStore {
  return store.claim !== undefined && store.complete !== undefined
}

/** The same records, completed when the transaction has happened. */
function deferRecords(records: Records, completed: (() => void)[]): Records {
  return {
    ...records,
    complete(key, answer) {
      completed.push(() => records.complete(key, answer))
    },
  }
}

/** Each method is called on the store itself: it may be an instance of a class. */
function withRecords(store: Store, records: Records): KeyedStore {
  /** Does a write, and keeps the answer of its key. */
  function keyWrite<T extends Stored | boolean | undefined>(
    options: WriteOptions | undefined,
    write: (options: WriteOptions | undefined) => Awaitable<T>,
  ): Awaitable<T> {
    const key = options?.idempotencyKey
    if (!options || key === undefined) return write(options)
    records.requireClaim(key)
    // The store may keep keys of its own: this one is not among them.
    const { signal } = options
    return andThen(write(signal && { signal }), result => {
      const written = typeof result === 'object' ? result : undefined
      if (result) records.complete(key, buildAnswer(options, written))
      return result
    })
  }

  const keyed: KeyedStore = {
    pages: store.pages,
    idempotency: store.idempotency,
    ...(store.database && { database: store.database }),
    attach: shape => store.attach(shape),
    get: (...given) => store.get(...given),
    list: (...given) => store.list(...given),
    count: (...given) => store.count(...given),
    stream: (...given) => store.stream(...given),
    create: (values, options) => keyWrite(options, given => store.create(values, given)),
    update: (id, version, values, options) =>
      keyWrite(options, given => store.update(id, version, values, given)),
    delete: (id, version, options) => keyWrite(options, given => store.delete(id, version, given)),
    claim: (key, fingerprint) => records.claim(key, fingerprint),
    complete: (key, answer) => records.complete(key, answer),
    ...(store.transaction && {
      async transaction(stores, work, options) {
        const members = stores.map(each => keyedMembers.get(each) ?? { original: each })
        let completed: (() => void)[] = []
        const bind = (bound: Store, member: Member) =>
          member.records ? withRecords(bound, deferRecords(member.records, completed)) : bound
        // It was just found to have transactions.
        const result = await (store as Required<Store>).transaction(
          members.map(({ original }) => original),
          bound => {
            completed = []
            return work(bound.map((each, at) => bind(each, members[at] as Member))) // one for each
          },
          options,
        )
        for (const complete of completed) complete()
        return result
      },
    }),
    open: async () => store.open?.(),
    close() {
      records.clear()
      return store.close()
    },
  }
  keyedMembers.set(keyed, { original: store, records })
  return keyed
}
