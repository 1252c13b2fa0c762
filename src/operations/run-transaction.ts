// Transactions over several collections of one version.
import { memoize } from '../base/memoize.ts'
import { unavailable } from '../http/timeouts.ts'
import type { CollectionDefinition, VersionDefinition } from '../model/types/definition.ts'
import type { OwnTransaction, TransactionOptions } from '../model/types/hooks.ts'
import { ANYTHING, checkOptions, type Rules } from '../options.ts'
import { onAbort } from '../store/abort.ts'
import { UnknownOutcomeError } from '../store/errors.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import type { Store } from '../store/store.ts'
import { type CallScope, createFind, type OperationContext } from './context.ts'
import { RunningTransaction } from './running-transaction.ts'
import { requireOutside } from './work-context.ts'

const RULES: Rules<TransactionOptions> = { of: ANYTHING, principal: ANYTHING, signal: ANYTHING }

/**
 * Runs the work of a program in a transaction, or as a part of the one that runs.
 * @throws TypeError where the stores have no transactions, or are in several databases.
 */
export function runTransaction<R>(
  outer: CallScope,
  work: (tx: OwnTransaction) => Promise<R>,
  options?: TransactionOptions,
): Promise<R> {
  const result = runWork(outer, work, options)
  return outer.transaction ? outer.transaction.calls.track('transaction', result) : result
}

async function runWork<R>(
  outer: CallScope,
  work: (tx: OwnTransaction) => Promise<R>,
  options: TransactionOptions = {},
): Promise<R> {
  checkOptions('The options of transaction', options, RULES)
  const { of, ...callOptions } = options
  const name = typeof of === 'object' ? of.name : of
  const own = name === undefined ? outer.own : outer.version.collections.get(name)
  const scope = { ...outer, ...callOptions, own }
  return transact(scope, transaction => {
    const within = { ...scope, transaction, signal: transaction.signal }
    const bind = (system?: boolean): OwnTransaction => ({
      collection: createFind({ ...within, system }),
      asSystem: () => bind(true),
    })
    return transaction.run(() => work(bind(scope.system)))
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
  const { signal } = limit
  // Not by `AbortSignal.any`: Node 20 keeps what depends on a signal for as long as that lives.
  const unlink = outer && onAbort(outer, () => limit.abort(outer.reason))
  const timer = setTimeout(() => {
    limit.abort(tooSlow())
    // Its request is over: a call that waits for the transaction must not be done after it.
    request?.abort(signal.reason)
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
  let committed: boolean | undefined = false
  try {
    const result = await first.transaction(stores, run, { signal })
    committed = true
    return result
  } catch (error) {
    if (error instanceof UnknownOutcomeError) committed = undefined
    throw error
  } finally {
    clearTimeout(timer)
    unlink?.()
    await attempt?.end(committed)
  }
}

function tooSlow(): Error {
  return unavailable('The transaction took too long. Try again.', 'work_too_slow')
}

/** Groups the collections of a version by the database of their stores, with those of others that they refer to, or that refer to them. */
const groupByDatabase = memoize(({ collections }: VersionDefinition) => {
  const groups = new Map<object, CollectionDefinition[]>()
  const members = new Set(collections.values())
  for (const collection of members) {
    const { children, targets } = collection
    for (const each of [...children, ...targets.values()]) members.add(each.collection)
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
