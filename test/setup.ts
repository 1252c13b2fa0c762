// Runs before each test file: properties of fast-check draw from the one seed.
import fc from 'fast-check'
import { SEED } from './random.ts'

fc.configureGlobal({ seed: SEED })
