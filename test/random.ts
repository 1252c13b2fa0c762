// What random tests draw from: the same at each run, so that none fails by chance. `npm run explore` draws anew, and more.

export const SEED = Number(process.env.SEED ?? 20_261_127)

const TIMES = Number(process.env.RUNS ?? 1)

/** How many cases to try, of a test that usually tries so many. */
export function runs(usual: number): number {
  return usual * TIMES
}
