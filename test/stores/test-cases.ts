// The contract of a store as tests of vitest, none of which is skipped.
import { expect, test } from 'vitest'
import type { StoreCase } from '../../src/testing/index.ts'

/** @param gaps why some cases do not apply: each reason. With any other, or without one of these, the last test fails. */
export function testCases(cases: readonly StoreCase[], gaps: readonly string[] = []): void {
  const reasons = new Set<string>()
  for (const { name, run } of cases)
    test(name, () => run({ skip: reason => void reasons.add(reason) }))
  test('every case applied, but for what the store says that it lacks', () => {
    expect([...reasons].sort()).toEqual([...gaps].sort())
  })
}
