// Transactions over several collections of one version.

import { memoize } from '../base/memoize.ts'
import type { Awaitable } from '../base/values.ts'
import { unavailable } from '../http/timeouts.ts'
import type { CollectionDefinition, VersionDefinition } from '../model/types/definition.ts'
import type { Transaction, TransactionOptions } from '../model/types/hooks.ts'
import { ANYTHING, checkOptions, type Rules } from '../options.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import type { Store } from '../store/store.ts'
import { type CallScope, createFind, type OperationContext } from './context.ts'
import { RunningCalls } from './in-process/track-calls.ts'
import { beginWork, endWork, requireOutside, runWithin, type Work } from './work-context.ts'

/** One run of the work of a transaction: it may be undone, and run again. */
export class RunningTransaction {
  /** Aborted when the transaction is to end. */
  readonly signal: AbortSignal
  readonly calls = new RunningCalls()
  readonly #stores: ReadonlyMap<Store, KeyedStore>
  readonly #afterCommit: (() => Awaitable<void>)[] = []
  readonly #atEnd: (() => Awaitable<void>)[] = []
  #work: Work | undefined
  /** The first error of a part that is not whole, in an object: any value may be thrown. */
  #failure: { readonly error: unknown } | undefined

  constructor(stores: ReadonlyMap<Store, KeyedStore>, signal: AbortSignal) {
    this.#stores = stores
    this.signal = signal
  }

  /** Finds the store of a collection within the transaction; of one in another database the plain one. */
  storeOf({ name, store }: CollectionDefinition): KeyedStore {
    const inside = this.#stores.get(store)
    if (!inside) requireOutside(store, name)
    return inside ?? store
  }

  /** @throws TypeError for a collection in another database. */
  requireMember({ name, store }: CollectionDefinition): void {
    if (this.#stores.has(store)) return
    throw new TypeError(
      `The collection ${name} is not in the database of this transaction: a transaction is in one database`,
    )
  }

  /** Runs the work of a program, or a nested part of it: one that fails undoes the transaction, even if it is caught. */
  async run<R>(work: () => Promise<R>): Promise<R> {
    const [member] = this.#stores.keys()
    this.#work ??= beginWork(member?.database)
    try {
      return await runWithin(this.#work, work)
    } catch (error) {
      throw this.fail(error)
    }
  }

  /** Undoes the transaction at its end, which throws the first of these errors. @returns the error. */
  fail(error: unknown): unknown {
    this.#failure ??= { error }
    return error
  }

  /** @throws the first error of a part, and TypeError for calls that nobody has awaited. */
  requireWhole(): void {
    if (this.#failure) throw this.#failure.error
    const { names } = this.calls
    if (names.length === 0) return
    throw new TypeError(
      `The transaction is undone, since calls in it were not awaited: ${names.join(', ')}`,
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
    if (this.#work) endWork(this.#work)
    for (const work of [...(committed ? this.#afterCommit : []), ...this.#atEnd]) await work()
  }
}

const RULES: Rules<TransactionOptions> = { of: ANYTHING, principal: ANYTHING, signal: ANYTHING }

/**
 * Runs the work of a program in a transaction, or as a part of the one that runs.
 * @throws TypeError where the stores have no transactions, or are in several databases.
 */
export function runTransaction<R>(
  outer: CallScope,
  work: (tx: Transaction) => Promise<R>,
  options?: TransactionOptions,
): Promise<R> {
  const result = runWork(outer, work, options)
  return outer.transaction ? outer.transaction.calls.track('transaction', result) : result
}

async function runWork<R>(
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
    // A resource has the types of its collection.
    return transaction.run(() => work({ collection } as Transaction))
  })
}

/**
 * Runs work in a transaction over the database of a call's collection. Work of a program goes through
 * `RunningTransaction.run`.
 * @param outer the transaction that it is part of, if there is one.
 */
export function runInTransaction<R>(
  { runtime, target, request }: OperationContext,
  outer: RunningTransaction | undefined,
  work: (transaction: RunningTransaction) => Promise<R>,
): Promise<R> {
  const { version, collection: own } = target
  return transact(
    { runtime, version, own, transaction: outer, request, signal: request.signal },
    work,
  )
}

async function transact<R>(
  { runtime, version, own, request, signal: outer, transaction }: Omit<CallScope, 'base'>,
  work: (transaction: RunningTransaction) => Promise<R>,
): Promise<R> {
  if (transaction) return work(transaction)
  const stores = [...new Set(findMembers(version, own).map(({ store }) => store))]
  const first = stores[0] as Required<Store> // all members have transactions
  requireOutside(first, 'api', 'transaction')
  const limit = new AbortController()
  const signal = outer ? AbortSignal.any([outer, limit.signal]) : limit.signal
  const timer = setTimeout(() => {
    limit.abort(tooSlow())
    // Its request is over: a call that waits for the transaction must not be done after it.
    request?.abort(limit.signal.reason)
  }, runtime.api.limits.workTime)
  let attempt: RunningTransaction | undefined
  const run = async (bound: readonly Store[]) => {
    await attempt?.end(false)
    // A keyed store binds keyed stores, one for each.
    const members = stores.map((store, at) => [store, bound[at] as KeyedStore] as const)
    attempt = new RunningTransaction(new Map(members), signal)
    try {
      const result = await work(attempt)
      attempt.requireWhole()
      return result
    } finally {
      attempt.calls.abandon()
    }
  }
  let committed = false
  try {
    const result = await first.transaction(stores, run, { signal })
    committed = true
    return result
  } finally {
    clearTimeout(timer)
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
