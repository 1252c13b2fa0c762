// The contract of a store as data, for any runner:
//   for (const { name, run } of storeCases(() => myStore())) test(name, run)
import type { Store } from '../store/store.ts'
import { READING } from './reading.ts'
import { shapeWith } from './sample.ts'
import { WRITING } from './writing.ts'

export interface StoreCase {
  readonly name: string
  /** Why the store does not keep this part of the contract. */
  readonly exception?: string
  /** Makes a store, tries it and closes it; throws an `AssertionError` where the contract is broken. */
  run(): Promise<void>
}

const CASES = [...READING, ...WRITING].flatMap(([ids, checks]) =>
  Object.entries(checks).map(([name, check]) => ({ name, ids, check })),
)

/**
 * The contract of {@link Store} as cases. Not tried: what outlives the process, what `close` frees, how long
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
  return CASES.map(({ name, ids, check }) => ({
    name,
    ...(exceptions[name] !== undefined && { exception: exceptions[name] }),
    async run() {
      const store = await make()
      try {
        store.attach(shapeWith(ids))
        await check(store)
      } finally {
        await store.close()
      }
    },
  }))
}
