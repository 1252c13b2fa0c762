// Items that are handed out to jobs, each to one process alone: `take` of a collection with `lease`.
import { channel } from 'node:diagnostics_channel'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { TakeOptions } from '../../model/types/take.ts'
import { ANYTHING, checkOptions, type Rules, wholeFrom } from '../../options.ts'
import type { CallScope } from '../calls/context.ts'
import { type ProgramItem, toProgramItem } from '../calls/program-items.ts'
import { requireOutside } from '../calls/running-transaction.ts'
import { HeldItem, type Lease } from './held-item.ts'

/** Published when an item is left out, since it was taken `maxAttempts` times. */
export interface PoisonEvent {
  /** The name of the collection. */
  readonly collection: string
  /** The item, frozen. */
  readonly item: ProgramItem
}

export const poisonChannel = channel('rest-conventions:poison')

const DEFAULT_SECONDS = 60

const RULES: Rules<TakeOptions> = {
  limit: wholeFrom(1),
  lease: wholeFrom(1, 'seconds'),
  maxAttempts: wholeFrom(1),
  signal: ANYTHING,
}

/** @throws TypeError in a transaction, without `asSystem()`, and for options that do not fit. */
export function take(
  scope: CallScope,
  collection: CollectionDefinition,
  options: TakeOptions = {},
): AsyncIterable<ProgramItem> {
  const { name, lease, store } = collection
  checkOptions(`The options of ${name}.take`, options, RULES)
  if (!lease || !store.take) throw new TypeError(`${name}.take needs the option lease of ${name}`)
  if (scope.transaction)
    throw new TypeError(
      `${name}.take cannot run in a transaction, because a lease is committed at once. Call it on the api`,
    )
  requireOutside(store, name, 'take')
  if (!scope.system)
    throw new TypeError(
      `${name}.take asks no row policy. Call it as api.asSystem().collection('${name}').take()`,
    )
  const { lease: seconds = DEFAULT_SECONDS, maxAttempts } = options
  if (maxAttempts !== undefined && lease.attempts === undefined)
    throw new TypeError(`${name}.take: maxAttempts needs the option attempts of ${name}`)
  const held = { ...lease, collection: name, take: store.take, milliseconds: seconds * 1000 }
  return { [Symbol.asyncIterator]: () => handOut(collection, held, options) }
}

async function* handOut(
  collection: CollectionDefinition,
  lease: Lease,
  { limit = Number.POSITIVE_INFINITY, maxAttempts, signal }: TakeOptions,
): AsyncGenerator<ProgramItem, void, undefined> {
  for (let count = 0; count < limit; ) {
    signal?.throwIfAborted()
    const stored = await lease.take({ ...lease, maxAttempts }, { signal })
    if (!stored) return
    const item = toProgramItem(collection, stored)
    // One attempt more than it has: it is handed out once to be named, and never again.
    if (
      Number(stored.item[lease.attempts ?? ''] ?? 0) > (maxAttempts ?? Number.POSITIVE_INFINITY)
    ) {
      poisonChannel.publish({ collection: collection.name, item } satisfies PoisonEvent)
      continue
    }
    const held = new HeldItem(lease, stored, item)
    let isDone = false
    try {
      yield item
      isDone = true
    } finally {
      await held.end(!isDone)
    }
    count++
  }
}
