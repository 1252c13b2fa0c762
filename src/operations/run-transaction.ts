// Transactions over several collections of one version.
import { unavailable } from '../http/timeouts.ts'
import type { CollectionDefinition, VersionDefinition } from '../model/definition.ts'
import type { Transaction, TransactionOptions } from '../model/hooks.ts'
import { ANYTHING, checkOptions, type Rules } from '../options.ts'
import { memoize } from '../schema/memoize.ts'
import type { Awaitable } from '../schema/values.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import type { Store } from '../store/store.ts'
import { type CallScope, createFind, derive, type OperationContext } from './context.ts'

/** One run of the work of a transaction: it may be undone, and run again. */
export class RunningTransaction {
  /** Aborted when the transaction is to end. */
  readonly signal: AbortSignal
  readonly #stores: ReadonlyMap<Store, KeyedStore>
  readonly #afterCommit: (() => Awaitable<void>)[] = []
  readonly #atEnd: (() => Awaitable<void>)[] = []

  constructor(stores: ReadonlyMap<Store, KeyedStore>, signal: AbortSignal) {
    this.#stores = stores
    this.signal = signal
  }

  /** Finds the store of a collection within the transaction; of one in another database the plain one. */
  storeOf({ store }: CollectionDefinition): KeyedStore {
    return this.#stores.get(store) ?? store
  }

  /** @throws TypeError for a collection in another database. */
  requireMember({ name, store }: CollectionDefinition): void {
    if (this.#stores.has(store)) return
    throw new TypeError(
      `The collection ${name} is not in the database of this transaction: a transaction is in one database`,
    )
  }

  /** Does work once the transaction is committed, and not where it is undone. */
  afterCommit(work: () => Awaitable<void>): void {
    this.#afterCommit.push(work)
  }

  /** Does work at the end in any case, after that of {@link afterCommit}. */
  atEnd(work: () => Awaitable<void>): void {
    this.#atEnd.push(work)
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
  outer: CallScope,
  work: (tx: Transaction) => Promise<R>,
  options: TransactionOptions = {},
): Promise<R> {
  checkOptions('The options of transaction', options, RULES)
  const { of, ...callOptions } = options
  const name = typeof of === 'object' ? of.name : of
  const own = name === undefined ? outer.own : outer.version.collections.get(name)
  const scope = { ...outer, ...callOptions, own }
  return transact(scope, transaction => {
    const collection = createFind({ ...scope, transaction, signal: transaction.signal })
    return work({ collection } as Transaction) // a resource has the types of its collection
  })
}

/** Runs work in a transaction over the database of a request's collection: it gets the context within it. */
export function runInTransaction<R>(
  context: OperationContext,
  work: (context: OperationContext) => Promise<R>,
): Promise<R> {
  const { runtime, target, request, transaction } = context
  const { version, collection: own } = target
  return transact({ runtime, version, own, transaction, signal: request.signal }, running =>
    work(derive(context, { transaction: running })),
  )
}

async function transact<R>(
  { runtime, version, own, signal: outer, transaction }: Omit<CallScope, 'base'>,
  work: (transaction: RunningTransaction) => Promise<R>,
): Promise<R> {
  if (transaction) return work(transaction)
  const stores = [...new Set(findMembers(version, own).map(({ store }) => store))]
  const [first] = stores
  const limit = new AbortController()
  const signal = outer ? AbortSignal.any([outer, limit.signal]) : limit.signal
  let timer: NodeJS.Timeout | undefined
  let attempt: RunningTransaction | undefined
  const run = async (bound: readonly Store[]) => {
    await attempt?.end(false)
    // The time begins with the work: a transaction that waits holds nothing.
    timer = setTimeout(() => limit.abort(tooSlow()), runtime.api.limits.workTime)
    // A keyed store binds keyed stores, one for each.
    const members = stores.map((store, at) => [store, bound[at] as KeyedStore] as const)
    attempt = new RunningTransaction(new Map(members), signal)
    try {
      return await work(attempt)
    } finally {
      clearTimeout(timer)
    }
  }
  let committed = false
  try {
    // All members have transactions.
    const result = await (first as Required<Store>).transaction(stores, run, { signal })
    committed = true
    return result
  } finally {
    await attempt?.end(committed)
  }
}

function tooSlow(): Error {
  return unavailable('The transaction took too long. Try again.', 'work_too_slow')
}

/** Groups the collections of a version by the database of their stores. */
const groupByDatabase = memoize(({ collections }: VersionDefinition) => {
  const groups = new Map<object, CollectionDefinition[]>()
  for (const collection of collections.values()) {
    const { database, transaction } = collection.store
    if (!database || !transaction) continue
    groups.set(database, [...(groups.get(database) ?? []), collection])
  }
  return groups
})

/** Finds the collections of a transaction: those in one database. */
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
