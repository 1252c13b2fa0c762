// Idempotency records in memory.
import type { Json } from '../schema/values.ts'
import { UnavailableError } from './errors.ts'
import { CLAIM_TTL_MS, type IdempotencyRecord, RECORD_TTL_MS } from './store.ts'

interface Claim {
  readonly fingerprint: string
  readonly at: number
}

interface Answered extends Claim {
  readonly answer: Json
}

/** The number of keys of one store that a process keeps. */
const MAX_KEYS = 100_000

/**
 * Keeps claims and answers until they expire.
 * @param max the number of either that is kept: beyond it the oldest go early.
 */
export function createIdempotencyRecords(clock: () => number, max = MAX_KEYS) {
  // A `Map` keeps the order of insertion: the oldest entries come first.
  const claims = new Map<string, Claim>()
  const answers = new Map<string, Answered>()

  function sweep(entries: Map<string, Claim>, lifetime: number): void {
    for (const [key, { at }] of entries) {
      if (clock() - at < lifetime && entries.size <= max) return
      entries.delete(key)
    }
  }

  return {
    claim(key: string, fingerprint: string): IdempotencyRecord {
      sweep(claims, CLAIM_TTL_MS)
      sweep(answers, RECORD_TTL_MS)
      const done = answers.get(key)
      if (done) return { state: 'done', fingerprint: done.fingerprint, answer: done.answer }
      const running = claims.get(key)
      if (running) return { state: 'running', fingerprint: running.fingerprint }
      claims.set(key, { fingerprint, at: clock() })
      return { state: 'new' }
    },
    /** @throws UnavailableError for a key without a claim: another request may have it. */
    requireClaim(key: string): void {
      if (claims.has(key)) return
      throw new UnavailableError('The claim of the idempotency key has expired')
    },
    complete(key: string, answer: Json | undefined): void {
      const claim = claims.get(key)
      claims.delete(key)
      if (!claim || answer === undefined) return
      answers.set(key, { fingerprint: claim.fingerprint, answer, at: clock() })
    },
    clear(): void {
      claims.clear()
      answers.clear()
    },
  }
}
