// What a write makes: the item that a store keeps, and the answer that it keeps under an idempotency key.

import type { Item, Json } from '../base/values.ts'
import type { Id, Shape, Stored, StoreWriteOptions } from './store.ts'

/**
 * How far the dates of an item run ahead of the clock that changes it more often than once a second. Only the date of a server
 * with another clock is further ahead.
 */
export const MAX_AHEAD_MS = 10_000

/**
 * Finds the date of a change, in milliseconds since 1970: now, or the next whole second after the date before. HTTP compares
 * dates by seconds, and the server of the change before may have had another clock.
 */
export function findNextDate(now: number, before: number | undefined): number {
  if (before === undefined) return now
  const next = (Math.floor(before / 1000) + 1) * 1000
  if (!(next > now)) return now
  const ahead = next - now
  return ahead > MAX_AHEAD_MS && ahead <= MAX_AHEAD_MS + 1000 ? before : next
}

/** Makes the answer that a write keeps by default of an item. */
export function toAnswer({ id, item, version, updatedAt }: Stored) {
  return { id, item, version, ...(updatedAt !== undefined && { updatedAt }) } satisfies Json
}

/** Makes the answer to keep under the idempotency key of a write from what it returns. */
export function buildAnswer(
  options: StoreWriteOptions | undefined,
  written: readonly Stored[],
): Json {
  return options?.answer ? options.answer(written) : written.map(toAnswer)
}

/**
 * Builds the item that a store keeps: the id first, then the values in their order, then the dates.
 * @param copy copies a value. Default: it is kept as it is.
 */
export function assemble(
  { identity, createdAt, updatedAt }: Shape,
  id: Id,
  values: Item,
  created: string,
  updated: string,
  copy: (value: Json) => Json = value => value,
): Item {
  const item: Item = { [identity.name]: id }
  for (const name of Object.keys(values)) {
    const value = values[name]
    if (value !== undefined && name !== identity.name && name !== createdAt && name !== updatedAt)
      item[name] = copy(value)
  }
  if (createdAt !== undefined) item[createdAt] = created
  if (updatedAt !== undefined) item[updatedAt] = updated
  return item
}
