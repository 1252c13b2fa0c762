// Transactions over several collections of one version.
import type { Transaction } from '../model/hooks.ts'
import type { CallScope } from './context.ts'

/** @throws TypeError until the stores have transactions. */
export async function runTransaction<R>(
  _scope: CallScope,
  _work: (tx: Transaction) => Promise<R>,
): Promise<R> {
  throw new TypeError('Transactions are not implemented yet.')
}
