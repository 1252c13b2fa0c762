// A small part of `bench/proofs/fuzz.ts`, on the stores in memory.
import { expect, test } from 'vitest'
import { runs, SEED } from '../random.ts'
import { fuzz } from './fuzz.ts'
import { openExample, openOdd } from './fuzzed-apis.ts'

test.each([
  ['the example', openExample],
  ['an odd api', openOdd],
])('requests made of the document of %s are answered as it says', async (_, open) => {
  const { violations, statuses } = await fuzz(open(), { count: runs(400), seed: SEED })
  expect(violations).toEqual([])
  // Requests of all kinds came through.
  for (const status of [200, 201, 400, 404]) expect(statuses[status]).toBeGreaterThan(2)
})
