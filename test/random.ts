// What random tests draw from: the same at each run, so that none fails by chance. `npm run explore` draws anew, and more.

export const SEED = Number(process.env.SEED ?? 20_261_127)

const TIMES = Number(process.env.RUNS ?? 1)

/** How many cases to try, of a test that usually tries so many. */
export function runs(usual: number): number {
  return usual * TIMES
}

/** Numbers from 0 to 1, the same for the same seed: a linear congruential generator with the constants of glibc. */
export function seeded(seed = SEED): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x80000000
  }
}

/** Draws whole numbers below a bound, the same for the same seed. */
export function drawer(seed = SEED): (below: number) => number {
  const random = seeded(seed)
  return below => Math.floor(random() * below)
}
