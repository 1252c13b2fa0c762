// Several items that are stored in one transaction, in sets.

import { ChangeError, KeptError } from '../../store/errors.ts'
import type { Changes } from '../../store/store.ts'
import { MAX_SET } from '../../store/writes.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import { conflictOf, deleteAllDoomed } from './enforce-references.ts'
import { locateError, manyOf } from './many.ts'
import type { WriteState } from './steps.ts'

/**
 * Stores all items that are not stored yet. One that fails behind another undoes the transaction, even if that goes on.
 * @throws HttpError 400, 409
 */
export async function storeAll(write: WriteState): Promise<void> {
  const { call } = write
  const { items } = manyOf(write)
  const transaction = write.transaction as RunningTransaction // the plan has begun one
  const store = call.storeOf(call.target.collection, transaction)
  // A program that catches the error may go on, with nothing of a set.
  const searches = !(call.inProcess && call.transaction)
  let begun = false
  /** Stores a part; if it fails, the item that does is looked for in each half. */
  const storePart = async (part: readonly number[]): Promise<void> => {
    const set = part.flatMap(at => items[at] ?? [])
    try {
      const stored = await store.write(toChanges(set), call.storeOptions)
      // Only a hook of the same transaction can have changed one meanwhile.
      if (!stored) throw conflictOf(call)
      begun = true
      for (const [place, item] of set.entries()) item.stored = stored[place]
    } catch (error) {
      if (!(error instanceof ChangeError)) throw error
      const [first = 0] = part
      const isKnown = part.length === 1 || error instanceof KeptError
      const place = error.at ?? (isKnown ? 0 : undefined)
      if (place !== undefined) throw locateError(write, error, part[place] ?? first)
      if (!searches) throw error
      const half = part.length >> 1
      await storePart(part.slice(0, half))
      await storePart(part.slice(half))
    }
  }
  const open = [...items.keys()].filter(at => items[at]?.stored === undefined)
  // A change may free a value for a new item.
  const changed = open.filter(at => items[at]?.current)
  const created = open.filter(at => !items[at]?.current)
  try {
    for (const each of [changed, created])
      for (let at = 0; at < each.length; at += MAX_SET)
        await storePart(each.slice(at, at + MAX_SET))
  } catch (error) {
    throw begun ? transaction.fail(error) : error
  }
}

/** Lists the changes of items: all of them are new, or none is. */
function toChanges(items: readonly WriteState[]): Changes {
  if (items[0]?.current === undefined) return items.map(({ values = {} }) => ({ create: values }))
  return items.flatMap(({ current, values = {} }) =>
    current ? { update: values, before: current } : [],
  )
}

/** Deletes all items, with what is deleted with them. @throws HttpError 409 */
export async function deleteAll(write: WriteState): Promise<void> {
  const { items } = manyOf(write)
  const currents = items.flatMap(({ current }) => current ?? [])
  try {
    await deleteAllDoomed(write, currents)
  } catch (error) {
    throw error instanceof KeptError ? locateError(write, error, error.at ?? 0) : error
  }
  for (const item of items) item.stored = item.current
}
