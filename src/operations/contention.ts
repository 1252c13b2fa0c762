// Writers that meet at one item: each tries again, in line, until it has written or given up.
import { HttpError } from '../errors.ts'
import type { Id, Store } from '../store/store.ts'
import type { OperationContext, OperationResult } from './context.ts'

/** How often a write starts again because another one came in between: each time that one succeeded. */
const MAX_ATTEMPTS = 1000

/**
 * Runs an attempt until it gives a result; `undefined` means that another write came in between.
 * @throws HttpError 503 after {@link MAX_ATTEMPTS}.
 */
export async function retryContested(
  context: OperationContext,
  attempt: () => Promise<OperationResult | undefined>,
): Promise<OperationResult> {
  const { collection, id = '' } = context.target
  // Most writes meet no other. Those that do wait in line: else all but one would lose every round.
  const first = await attempt()
  if (first) return first
  return runInLine(context.storeOf(collection), id, async () => {
    for (let count = 1; count < MAX_ATTEMPTS; count++) {
      const result = await attempt()
      if (result) return result
    }
    const message = 'Too many clients are writing this item at the moment. Try again.'
    throw new HttpError(503, [{ message, type: 'contended' }], { headers: ['Retry-After', '1'] })
  })
}

const lines = new WeakMap<Store, Map<Id, Promise<void>>>()

/** Does the work when all earlier work on the item in this process has ended. */
function runInLine<T>(store: Store, id: Id, work: () => Promise<T>): Promise<T> {
  const items = lines.get(store) ?? new Map<Id, Promise<void>>()
  lines.set(store, items)
  const mine = (items.get(id) ?? Promise.resolve()).then(work)
  const end = () => {
    if (items.get(id) === settled) items.delete(id)
  }
  const settled: Promise<void> = mine.then(end, end)
  items.set(id, settled)
  return mine
}
