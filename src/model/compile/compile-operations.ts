// The operations that a collection has.
import { NEEDED_OPERATIONS } from '../../auth/access.ts'
import { assertValid } from '../../options.ts'
import type { Declaration } from '../types/declaration.ts'
import { OPERATIONS, type Operation } from '../types/operation.ts'

/**
 * Compiles the declared operations.
 * @throws TypeError for one by filter whose store has no transactions, or without those that it needs.
 */
export function compileOperations({
  name,
  operations,
  store,
}: Declaration): ReadonlySet<Operation> {
  const declared = new Set<string>(operations ?? OPERATIONS)
  for (const [operation, needed] of NEEDED_OPERATIONS) {
    if (!declared.has(operation)) continue
    const missing = needed.filter(each => !declared.has(each))
    assertValid(
      missing.length === 0,
      `${name}: the operation ${operation} needs ${missing.join(' and ')} beside it in operations`,
    )
    assertValid(
      store.transaction && store.database,
      `${name}: the operation ${operation} needs a store with transactions, such as sqlStore() or memoryStore()`,
    )
  }
  return new Set(operations ?? OPERATIONS)
}
