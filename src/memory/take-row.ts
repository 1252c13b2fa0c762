// Hands out items in memory, each to one caller alone.
import { parseInstant } from '../base/dates.ts'
import type { TakeRequest } from '../store/program-store.ts'
import type { Stored } from '../store/store.ts'
import type { MemoryRows } from './memory-rows.ts'

/** `Store.take` of a store in memory. */
export function takeRow(rows: MemoryRows, request: TakeRequest<Stored>): Stored | undefined {
  const { lease, attempts, milliseconds, held } = request
  const now = rows.clock()
  const until = new Date(now + milliseconds).toISOString()
  if (held) {
    const row = rows.get(held.id)
    return row?.version === held.version ? rows.touch(row, { [lease]: until }) : undefined
  }
  const free = findFree(rows, request, now)
  const count = attempts !== undefined && { [attempts]: Number(free?.item[attempts] ?? 0) + 1 }
  return free && rows.touch(free, { [lease]: until, ...count })
}

/** Finds the oldest item that was never handed out, else that whose lease ended first. */
function findFree(
  rows: MemoryRows,
  { lease, attempts = '', maxAttempts = Number.POSITIVE_INFINITY }: TakeRequest<Stored>,
  now: number,
): Stored | undefined {
  let [free, since]: [Stored | undefined, number] = [undefined, now]
  for (const row of rows.values()) {
    const { item } = row
    if (Number(item[attempts] ?? 0) > maxAttempts) continue
    const until = item[lease] ?? null
    if (until === null) return row
    const ended = parseInstant(String(until))
    if (free ? ended >= since : ended > now) continue
    free = row
    since = ended
  }
  return free
}
