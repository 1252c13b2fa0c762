// The contract of a store as data, for any runner:
//   for (const { name, run } of storeCases(() => myStore())) test(name, run)
import type { KeyedStore } from '../store/keyed-store.ts'
import type { Store } from '../store/store.ts'
import { CHANGES } from './changes.ts'
import { EACH } from './each.ts'
import { FILTERING } from './filtering.ts'
import { GROUPING } from './grouping.ts'
import { READING } from './reading.ts'
import { recordCalls } from './record-calls.ts'
import { REFERENCES } from './references.ts'
import { type CheckGroup, shapeWith } from './sample.ts'
import { SETS } from './sets.ts'
import { TAKING } from './taking.ts'
import { TRANSACTIONS } from './transactions.ts'
import { WRITING } from './writing.ts'

/** One test of the contract of a store. */
export interface StoreCase {
  readonly name: string
  /**
   * Makes a store, tries it and closes it; throws an `AssertionError` where the contract is broken. A case
   * that does not apply to the store skips itself.
   * @param runner what vitest and node:test give a test.
   * @param rest ignored: the type of `node:test` has a callback.
   */
  run(runner?: { skip?(reason: string): void }, ...rest: readonly unknown[]): Promise<void>
}

const CASES = [
  ...FILTERING,
  ...READING,
  ...GROUPING,
  ...WRITING,
  ...SETS,
  ...EACH,
  ...REFERENCES,
  ...TRANSACTIONS,
  ...CHANGES,
  ...TAKING,
].flatMap(([ids, checks, needs]) =>
  Object.entries(checks).map(([name, check]) => ({ name, ids, check, needs })),
)

/**
 * Lists the contract of {@link Store} as cases. A failure names the last call of the store and its result. A
 * store with `pages: 'offset'` need not seek, one whose `idempotency` is not `store` keeps no keys, and one
 * without `transaction` has none, and takes one change a call. Nor must it have `countBy`, `listEach`, `relate`, `changes` and `take`: those cases are skipped. Not tried: what outlives
 * the process, what `close` frees, how long idempotency keys are kept, how near an estimate comes, a signal while a call is at work (but
 * of a stream), and what is refused with `UnstorableError`, `ConflictError` or, by `attach`, a `TypeError`.
 * @param make creates a new, empty store at each call; its methods are replaced by recording ones.
 * @example
 * import { memoryStore } from 'rest-conventions'
 * import { storeCases } from 'rest-conventions/testing'
 * const cases = storeCases(() => memoryStore()) // it.each(cases)('$name', each => each.run())
 */
export function storeCases(make: () => Store | Promise<Store>): StoreCase[] {
  return CASES.map(({ name, ids, check, needs }) => ({
    name,
    async run(...[runner]) {
      const store = await make()
      const explain = recordCalls(store)
      const reason = needs && findReason(store, needs)
      try {
        store.attach(shapeWith(ids))
        // With its idempotency it has the methods for it: a missing one fails the case.
        if (reason === undefined) await check(store as KeyedStore)
      } catch (error) {
        throw explain(error)
      } finally {
        await store.close()
      }
      if (reason !== undefined) runner?.skip?.(reason)
    },
  }))
}

/** Why a case does not apply to a store; `undefined` where it does. */
function findReason(store: Store, needs: NonNullable<CheckGroup[2]>): string | undefined {
  switch (needs) {
    case 'seeks':
      return store.pages === 'key' ? undefined : "The store's pages are 'offset'"
    case 'idempotency':
      return store.idempotency === 'store' ? undefined : 'The store keeps no idempotency keys'
    case 'transactions':
      return store.transaction ? undefined : 'The store has no transactions'
    default:
      return store[needs] ? undefined : `The store has no ${needs}`
  }
}
