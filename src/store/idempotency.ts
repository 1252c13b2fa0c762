// Idempotency records in memory.
import type { Json } from '../base/values.ts'
import { UnavailableError } from './errors.ts'
import type { IdempotencyRecord } from './idempotency-record.ts'
import type { KeepOptions } from './store.ts'

/** How long the claim of an idempotency key lasts without a renewal, and its answer is kept by default; milliseconds. */
export const CLAIM_TTL_MS = 10_000
export const RECORD_TTL_MS = 86_400_000

interface Claim {
  readonly fingerprint: string
  /** By the clock of the records. */
  readonly until: number
}

interface Answered extends Claim {
  readonly answer: Json
}

/** The number of keys of one store that a process keeps. */
const MAX_KEYS = 100_000

/**
 * Keeps claims and answers until they expire.
 * @param clock in milliseconds. Default `performance.now()`, which no clock that is set moves.
 * @param max the number of either that is kept: beyond it the oldest go early.
 */
export function createIdempotencyRecords(clock = () => performance.now(), max = MAX_KEYS) {
  // A `Map` keeps the order of insertion: the oldest entries come first.
  const claims = new Map<string, Claim>()
  const answers = new Map<string, Answered>()

  function sweep(entries: Map<string, Claim>): void {
    for (const [key, { until }] of entries) {
      if (clock() < until && entries.size <= max) return
      entries.delete(key)
    }
  }

  return {
    claim(key: string, fingerprint: string): IdempotencyRecord {
      sweep(claims)
      sweep(answers)
      const done = answers.get(key)
      if (done && clock() < done.until)
        return { state: 'done', fingerprint: done.fingerprint, answer: done.answer }
      const running = claims.get(key)
      if (running) {
        const { fingerprint, until } = running
        return { state: 'running', fingerprint, rest: until - clock() }
      }
      const until = clock() + CLAIM_TTL_MS
      claims.set(key, { fingerprint, until })
      return { state: 'new', claim: until }
    },
    renew(key: string, claim: number): number | undefined {
      const running = claims.get(key)
      if (running?.until !== claim) return undefined
      const until = clock() + CLAIM_TTL_MS
      // Behind those that end before it.
      claims.delete(key)
      claims.set(key, { fingerprint: running.fingerprint, until })
      return until
    },
    /** @throws UnavailableError for a key without a claim: another request may have it. */
    requireClaim(key: string): void {
      if (claims.has(key)) return
      throw new UnavailableError('The claim of the idempotency key has expired')
    },
    complete(key: string, answer: Json | undefined, options?: KeepOptions): void {
      const claim = claims.get(key)
      if (answer === undefined && (options?.claim ?? claim?.until) !== claim?.until) return
      claims.delete(key)
      if (!claim || answer === undefined) return
      const until = clock() + (options?.keepFor ?? RECORD_TTL_MS)
      // Behind the answers before it, also where one of this key has expired.
      answers.delete(key)
      answers.set(key, { fingerprint: claim.fingerprint, answer, until })
    },
    clear(): void {
      claims.clear()
      answers.clear()
    },
  }
}
