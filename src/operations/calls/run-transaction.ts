// Transactions over several collections of one database.
import { memoize } from '../../base/memoize.ts'
import type { Awaitable } from '../../base/values.ts'
import { unavailable } from '../../http/timeouts.ts'
import type { ApiDefinition } from '../../model/types/definition.ts'
import type { OwnTransaction, TransactionOptions } from '../../model/types/hooks.ts'
import { ANYTHING, assertValid, checkOptions, type Rules, show } from '../../options.ts'
import { LimitedOptions } from '../../store/abort.ts'
import { UnknownOutcomeError } from '../../store/errors.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import type { CallScope, OperationContext } from './context.ts'
import { findClaim } from './live-claims.ts'
import { createFindSql } from './program-sql.ts'
import { createFind, resolveCollection } from './resolve-collection.ts'
import { RunningTransaction, requireOutside } from './running-transaction.ts'

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
  assertValid(
    typeof work === 'function',
    `transaction needs a function, such as async tx => { … }, not ${show(work)}`,
  )
  checkOptions('The options of transaction', options, RULES)
  const { of, ...callOptions } = options
  const own = of === undefined ? outer.own : resolveCollection(outer, of).collection
  const scope = { ...outer, ...callOptions, own }
  return transact(scope, transaction => {
    // Its calls end with it.
    const within = { ...scope, transaction, signal: undefined }
    const bind = (system?: boolean): OwnTransaction => ({
      collection: createFind({ ...within, system }),
      sql: createFindSql(within),
      asSystem: () => bind(true),
    })
    // The work of a program may give any thenable.
    return transaction.run(async () => work(bind(scope.system)))
  })
}

/**
 * Runs work in a transaction over the database of a call's collection. Work of a program goes through
 * `RunningTransaction.run`.
 * @param outer the transaction that it is part of, if there is one.
 */
export function runInTransaction<R>(
  context: OperationContext,
  outer: RunningTransaction | undefined,
  work: (transaction: RunningTransaction) => Awaitable<R>,
): Promise<R> {
  const { runtime, target, request } = context
  const { version, collection: own } = target
  const scope = { runtime, version, own, transaction: outer, request }
  const isKeyed = !outer && context.idempotencyKey !== undefined
  const claim = isKeyed ? findClaim(context) : undefined
  return claim ? claim.pause(() => transact(scope, work)) : transact(scope, work)
}

async function transact<R>(
  scope: Omit<CallScope, 'base'>,
  work: (transaction: RunningTransaction) => Awaitable<R>,
): Promise<R> {
  const { runtime, request, signal, transaction } = scope
  if (transaction) return work(transaction)
  const stores = findStores(scope)
  const first = stores[0] as Required<Store> // all members have transactions
  requireOutside(first, 'api', 'transaction')
  const outer: StoreOptions = signal ? { signal } : (request ?? {})
  const limited = new LimitedOptions(outer, runtime.api.limits.workTime, () => {
    const error = tooSlow()
    // Its request is over: a call that waits for the transaction must not be done after it.
    request?.abort(error)
    return error
  })
  let attempt: RunningTransaction | undefined
  const run = async (bound: readonly Store[]) => {
    await attempt?.end(false)
    // A keyed store binds keyed stores, one for each.
    const members = stores.map((store, at) => [store, bound[at] as KeyedStore] as const)
    attempt = new RunningTransaction(new Map(members), limited)
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
    const result = await first.transaction(stores, run, limited)
    committed = true
    return result
  } catch (error) {
    if (error instanceof UnknownOutcomeError) committed = undefined
    throw error
  } finally {
    limited.release()
    await attempt?.end(committed)
  }
}

function tooSlow(): Error {
  return unavailable('The transaction took too long. Try again.', 'work_too_slow')
}

/** Groups the stores of all versions by their database: a hook of one version may call a collection of another. */
const groupByDatabase = memoize(({ versions }: ApiDefinition) => {
  const groups = new Map<object, Set<Store>>()
  for (const { collections } of versions) {
    for (const { store } of collections.values()) {
      const { database, transaction } = store
      if (!database || !transaction) continue
      groups.set(database, (groups.get(database) ?? new Set()).add(store))
    }
  }
  return groups
})

/** Finds the stores of a transaction: all of its database, which is that of its own collection, or of its version. */
function findStores({
  runtime,
  version,
  own,
}: Pick<CallScope, 'runtime' | 'version' | 'own'>): readonly Store[] {
  const groups = groupByDatabase(runtime.api)
  const found = own && groups.get(own.store.database ?? own.store)
  if (found) return [...found]
  const members = own ? [own] : [...version.collections.values()]
  const named = new Map<Iterable<Store>, string[]>()
  for (const { name, store } of members) {
    const stores = groups.get(store.database ?? store)
    if (stores) named.set(stores, [...(named.get(stores) ?? []), name])
  }
  const [stores, ...others] = named.keys()
  if (!stores) {
    const names = members.map(({ name }) => name).join(', ')
    throw new TypeError(`The stores of these collections have no transactions: ${names}`)
  }
  if (others.length === 0) return [...stores]
  const names = [...named.values()]
  throw new TypeError(
    `A transaction is in one database, and these collections are in ${named.size}: ${names.map(each => each.join(', ')).join('; ')}. Name one of the database: transaction(work, { of: '${names[0]?.[0]}' })`,
  )
}
