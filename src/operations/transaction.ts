// Transactions over several collections of one version.
import { unavailable } from '../http/timeouts.ts'
import type { CollectionDefinition, VersionDefinition } from '../model/definition.ts'
import type { Transaction, TransactionOptions } from '../model/hooks.ts'
import { ANYTHING, checkOptions, type Rules } from '../options.ts'
import { memoize } from '../schema/memoize.ts'
import type { Awaitable, Item } from '../schema/values.ts'
import { type KeyedStore, toKeyedStore } from '../store/keyed-store.ts'
import type { Store } from '../store/store.ts'
import {
  type CallScope,
  type OperationContext,
  RequestContext,
  type RunningTransaction,
  type Uploads,
} from './context.ts'
import { translateStoreError } from './store-errors.ts'

/** One run of the work of a transaction: it may be undone, and run again. */
class Attempt implements RunningTransaction {
  readonly signal: AbortSignal
  readonly #stores: ReadonlyMap<Store, KeyedStore>
  /** What is done once the transaction has happened, and what at its end in any case. */
  readonly #afterCommit: (() => Awaitable<void>)[] = []
  readonly #atEnd: (() => Awaitable<void>)[] = []

  constructor(stores: ReadonlyMap<Store, KeyedStore>, signal: AbortSignal) {
    this.#stores = stores
    this.signal = signal
  }

  storeOf({ store }: CollectionDefinition): KeyedStore {
    return this.#stores.get(store) ?? store
  }

  requireMember({ name, store }: CollectionDefinition): void {
    if (this.#stores.has(store)) return
    throw new TypeError(
      `The collection ${name} is not in the database of this transaction: a transaction is in one database`,
    )
  }

  afterCommit(work: () => Awaitable<void>): void {
    this.#afterCommit.push(work)
  }

  keep(uploads: Uploads, item: Item): void {
    this.afterCommit(() => uploads.keep(item))
  }

  discard(uploads: Uploads): void {
    this.#atEnd.push(() => uploads.discard())
  }

  async end(committed: boolean): Promise<void> {
    for (const work of [...(committed ? this.#afterCommit : []), ...this.#atEnd]) await work()
  }
}

const RULES: Rules<TransactionOptions> = { of: ANYTHING, principal: ANYTHING, signal: ANYTHING }

/**
 * Runs work in a transaction, or as a part of the one that runs.
 * @throws TypeError where the stores have no transactions, or are in several databases.
 */
export async function runTransaction<R>(
  scope: CallScope,
  work: (tx: Transaction) => Promise<R>,
  options: TransactionOptions = {},
): Promise<R> {
  checkOptions('The options of transaction', options, RULES)
  const { of, ...given } = options
  const { runtime, version } = scope
  const defaults = { ...scope.defaults, ...given }
  const name = typeof of === 'object' ? of.name : of
  const own = name === undefined ? scope.own : version.collections.get(name)
  return transact({ ...scope, defaults }, own, transaction => {
    const inside = { ...scope, transaction, defaults: { ...defaults, signal: transaction.signal } }
    const collection = (named: string | { readonly name: string } = own?.name ?? '') =>
      runtime.createResource(inside, typeof named === 'string' ? named : named.name)
    return work({ collection } as Transaction) // a resource has the types of its collection
  })
}

/** Runs the work of an action in a transaction: it gets the same request, in it. */
export function runInTransaction<R>(
  context: OperationContext,
  work: (context: OperationContext) => Promise<R>,
): Promise<R> {
  const { runtime, target, base, request, transaction } = context
  const { version, collection } = target
  const scope = { runtime, version, base, transaction, defaults: { signal: request.signal } }
  return transact(scope, collection, running => {
    const prototype: RequestContext = RequestContext.prototype
    return work(Object.assign(Object.create(prototype), context, { transaction: running }))
  })
}

async function transact<R>(
  { runtime, version, defaults, transaction }: CallScope,
  own: CollectionDefinition | undefined,
  work: (transaction: RunningTransaction) => Promise<R>,
): Promise<R> {
  if (transaction) return work(transaction)
  const collections = findMembers(version, own)
  const stores = [...new Set(collections.map(({ store }) => store))]
  const [first] = stores
  const limit = new AbortController()
  const given = defaults?.signal
  const signal = given ? AbortSignal.any([given, limit.signal]) : limit.signal
  let timer: NodeJS.Timeout | undefined
  let attempt: Attempt | undefined
  const run = async (bound: readonly Store[]) => {
    await attempt?.end(false)
    // From its begin: while it waits for others it holds nothing.
    timer = setTimeout(() => limit.abort(tooSlow()), runtime.api.limits.workTime)
    const keyed = bound.map((store, at) => [stores[at] as Store, toKeyedStore(store)] as const) // one for each
    attempt = new Attempt(new Map(keyed), signal)
    try {
      return await work(attempt)
    } finally {
      clearTimeout(timer)
    }
  }
  let committed = false
  try {
    // Members have transactions.
    const result = await (first as Required<Store>).transaction(stores, run, { signal })
    committed = true
    return result
  } catch (error) {
    throw translateStoreError(error)
  } finally {
    await attempt?.end(committed)
  }
}

function tooSlow(): Error {
  return unavailable('The transaction took too long. Try again.', 'work_too_slow')
}

/** The collections of a version, by the database of their stores. */
const groupByDatabase = memoize(({ collections }: VersionDefinition) => {
  const groups = new Map<object, CollectionDefinition[]>()
  for (const collection of collections.values()) {
    const { database, transaction } = collection.store
    if (!database || !transaction) continue
    groups.set(database, [...(groups.get(database) ?? []), collection])
  }
  return groups
})

/** Finds the collections that take part: those in one database. */
function findMembers(
  version: VersionDefinition,
  own: CollectionDefinition | undefined,
): readonly CollectionDefinition[] {
  const groups = groupByDatabase(version)
  const found = own ? groups.get(own.store.database ?? own) : [...groups.values()][0]
  if (!found) {
    const names = own?.name ?? [...version.collections.keys()].join(', ')
    throw new TypeError(`The stores of these collections have no transactions: ${names}`)
  }
  if (own || groups.size === 1) return found
  const names = [...groups.values()].map(group => group.map(({ name }) => name).join(', '))
  throw new TypeError(
    `A transaction is in one database, and these collections are in ${groups.size}: ${names.join('; ')}. Name one of the database: transaction(work, { of: '${found[0]?.name}' })`,
  )
}
