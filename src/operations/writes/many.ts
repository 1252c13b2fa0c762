// Several items that are written as one: the steps of each, and whose issue is which.

import { takeTurn } from '../../base/turns.ts'
import type { Awaitable } from '../../base/values.ts'
import { AnyHttpError, type AnyIssue, HttpError, MAX_ISSUES } from '../../errors.ts'
import { KeptError } from '../../store/errors.ts'
import type { OperationContext } from '../calls/context.ts'
import { runSteps, type WriteStep } from './steps.ts'
import type { WriteState } from './write-state.ts'

/** The steps of each item, as its single write has them. What all items need is done for all at once. */
export interface ItemSteps {
  /** What was sent, by itself. */
  readonly check: readonly WriteStep[]
  /** What the `before` hooks make of it. */
  readonly complete: readonly WriteStep[]
  /** Whether it may be stored, within the transaction. */
  readonly require: readonly WriteStep[]
  /** Once it is stored, within the transaction. */
  readonly follow: readonly WriteStep[]
  /** Once it is committed. */
  readonly end: readonly WriteStep[]
}

/** An issue of the item at a place. */
export interface ItemIssue {
  readonly at: number
  readonly issue: AnyIssue
}

/** The writes of several items. */
export interface Many {
  readonly call: OperationContext
  readonly writes: readonly WriteState[]
  readonly steps: ItemSteps
  /** Says in the issues of which items they are. */
  readonly locate: (issues: readonly ItemIssue[]) => readonly AnyIssue[]
}

/** Others are served after so many items. */
const TURN = 100

/**
 * Runs steps on each item that is not stored yet, or that is.
 * @throws HttpError 400 with the issues of all, or the first other error.
 */
export async function runEach(
  many: Many,
  steps: readonly WriteStep[],
  isStored: boolean,
): Promise<void> {
  if (steps.length === 0) return
  const issues: ItemIssue[] = []
  let cause: HttpError | undefined
  for (const [at, write] of many.writes.entries()) {
    if (at % TURN === TURN - 1) await takeTurn()
    if ((write.stored !== undefined) !== isStored) continue
    try {
      const running: Awaitable<WriteState> = runSteps(steps, write)
      if (running instanceof Promise) await running
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
      const own = error.errors.map(issue => ({ at, issue }))
      if (error.status !== 400) throw locateError(many, error, own)
      issues.push(...own)
      cause ??= error
    }
    if (issues.length >= MAX_ISSUES) break
  }
  throwLocated(many, issues, cause)
}

/** @throws HttpError 400 where there are issues. */
export function throwLocated(
  { locate }: Many,
  issues: readonly ItemIssue[],
  cause?: HttpError,
): void {
  if (issues.length > 0) throw new AnyHttpError(400, locate(issues).slice(0, MAX_ISSUES), { cause })
}

/** Says of which items the issues of an error are. */
export function locateError(
  { locate }: Many,
  cause: HttpError,
  issues: readonly ItemIssue[],
): HttpError {
  return new AnyHttpError(cause.status, locate(issues), { headers: cause.headers, cause })
}

/** Says which of the items the database keeps, or keeps out. */
export function locateKept({ locate }: Many, cause: KeptError, at: number): KeptError {
  return new KeptError({ at, issues: locate(cause.errors.map(issue => ({ at, issue }))), cause })
}
