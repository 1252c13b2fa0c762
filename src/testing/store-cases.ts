// The contract of a store as data, for any runner:
//   for (const { name, run } of storeCases(() => myStore())) test(name, run)
import type { KeyedStore } from '../store/keyed-store.ts'
import type { Store } from '../store/store.ts'
import { READING } from './reading.ts'
import { recordCalls } from './record-calls.ts'
import { type Checks, shapeWith } from './sample.ts'
import { WRITING } from './writing.ts'

export interface StoreCase {
  readonly name: string
  /** Why the store does not keep this part of the contract. */
  readonly exception?: string
  /** Makes a store, tries it and closes it; throws an `AssertionError` where the contract is broken. */
  run(): Promise<void>
}

const CASES = [...READING, ...WRITING].flatMap(([ids, checks, needs]) =>
  // A group is tried with the stores that it needs.
  Object.entries(checks as Checks<KeyedStore>).map(([name, check]) => ({
    name,
    ids,
    check,
    needs,
  })),
)

/**
 * Lists the contract of {@link Store} as cases. A failure names the last call of the store and its result. A
 * store with `pages: 'offset'` need not seek, and one whose `idempotency` is not `store` keeps no keys: those
 * cases pass. Not tried: what outlives the process, what `close` frees, how long
 * idempotency keys are kept, how near an estimate comes, a signal while a call is at work (but of a
 * stream), and what is refused with `UnstorableError`, `ConflictError` or, by `attach`, a `TypeError`.
 * @param make creates a new, empty store at each call.
 * @param exceptions names of cases that the store does not pass, each with its reason.
 * @throws TypeError for an exception from a case that there is not.
 */
export function storeCases(
  make: () => Store | Promise<Store>,
  exceptions: Readonly<Record<string, string>> = {},
): StoreCase[] {
  for (const name of Object.keys(exceptions)) {
    if (!CASES.some(each => each.name === name)) throw new TypeError(`Unknown case "${name}"`)
  }
  return CASES.map(({ name, ids, check, needs }) => ({
    name,
    ...(exceptions[name] !== undefined && { exception: exceptions[name] }),
    async run() {
      const { store, explain } = recordCalls(await make())
      const applies =
        needs === undefined ||
        (needs === 'seeks' ? store.pages === 'key' : store.idempotency === 'store')
      try {
        store.attach(shapeWith(ids))
        // With its idempotency it has the methods for it: a missing one fails the case.
        if (applies) await check(store as KeyedStore)
      } catch (error) {
        throw explain(error)
      } finally {
        await store.close()
      }
    },
  }))
}
