// Runs before each test file: properties of fast-check draw from the one seed; what is left behind is removed at the end.
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { cleanUps } from './clean-up.ts'
import { SEED } from './random.ts'

fc.configureGlobal({ seed: SEED })

afterAll(() => {
  for (const cleanUp of cleanUps) cleanUp()
})
