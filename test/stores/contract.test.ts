import { describe, test } from 'vitest'
import { memoryStore } from '../../src/stores/memory.ts'
import { storeCases } from '../../src/testing.ts'

describe('memory', () => {
  for (const { name, run } of storeCases(() => memoryStore())) test(name, run)
})
