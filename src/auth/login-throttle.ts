// Guesses at credentials: how often those of one address may be wrong, by the policies of the rate limit.
import { HttpError } from '../errors.ts'
import { type Guess, printRateLimitHeaders, type RateLimit, tooManyRequests } from './rate-limit.ts'

/**
 * Looks at the credentials of an address, which may be wrong so often within the limit. Of those that
 * come together each is told as if they had come one after another: where more of them may be wrong than
 * are left, an answer waits for those before it.
 * @param named whether the request has a header that credentials stand in. One without may be
 * anonymous: over the limit it is refused only where it turns out to have some.
 * @param look gives what they are worth, `undefined` for none; throws HttpError 401 for wrong ones.
 * @throws HttpError 429, and what `look` throws.
 */
export async function verifyThrottled<T>(
  limit: RateLimit,
  address: string,
  request: Guess['request'],
  named: boolean,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const { over } = await failuresOf(limit, address)
  if (named && over) throw over
  const guesses = limit.guesses.get(address) ?? new Set<Guess>()
  limit.guesses.set(address, guesses)

  async function judge(): Promise<T | undefined> {
    const { found, wrong } = await worth(look)
    if (found === undefined && !wrong) return undefined
    const { left } = await failuresOf(limit, address)
    if (left > 0 && guesses.size > left) await earlier(guesses, mine)
    const { over } = await failuresOf(limit, address)
    if (wrong) {
      // What is over the limit is counted too.
      await Promise.allSettled(limit.policies.map(({ failures }) => failures.consume(address)))
    }
    const refusal = over ?? wrong
    if (refusal) throw refusal
    return found
  }

  const judged = judge()
  const mine: Guess = { request, judged }
  guesses.add(mine)
  try {
    return await judged
  } finally {
    guesses.delete(mine)
    if (guesses.size === 0) limit.guesses.delete(address)
  }
}

async function worth<T>(
  look: () => Promise<T>,
): Promise<{ found?: T | undefined; wrong?: HttpError }> {
  try {
    return { found: await look() }
  } catch (error) {
    if (error instanceof HttpError && error.status === 401) return { wrong: error }
    throw error
  }
}

/** Waits for the guesses that began before one, but for those whose request has ended. */
async function earlier(guesses: ReadonlySet<Guess>, mine: Guess): Promise<void> {
  for (const each of guesses) {
    if (each === mine) return
    const { request, judged } = each
    if (request.aborted) continue
    await new Promise<void>(resolve => {
      const end = () => resolve()
      judged.then(end, end)
      request.signal.addEventListener('abort', end, { once: true })
    })
  }
}

/** How many wrong credentials of an address there may still be; where none, its refusal. */
async function failuresOf(
  limit: RateLimit,
  address: string,
): Promise<{ left: number; over?: HttpError }> {
  let left = Number.POSITIVE_INFINITY
  for (const policy of limit.policies) {
    const known = await policy.failures.get(address)
    left = Math.min(left, policy.limiter.points - (known?.consumedPoints ?? 0))
    if (!known || left > 0) continue
    const reset = Date.now() + known.msBeforeNext
    const state = { policy, remaining: 0, reset, exceeded: true }
    return { left: 0, over: tooManyRequests(state, printRateLimitHeaders(limit, [state])) }
  }
  return { left }
}
