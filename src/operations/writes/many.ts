// What a call of several items adds to the plan: the steps of each, where the items come from, and whose issue is which.

import { takeTurn } from '../../base/turns.ts'
import type { Awaitable } from '../../base/values.ts'
import { AnyHttpError, HttpError, MAX_ISSUES } from '../../errors.ts'
import { KeptError } from '../../store/errors.ts'
import type { Stored } from '../../store/store.ts'
import type { OperationResult } from '../calls/context.ts'
import { type ItemIssue, type Many, runSteps, type WriteState, type WriteStep } from './steps.ts'

/** @throws TypeError for the write of one item: no plan of one has such a step. */
export function manyOf({ many }: Pick<WriteState, 'many'>): Many {
  if (!many) throw new TypeError('This write has one item')
  return many
}

/** Fills in the writes of the items. */
export async function findItems(write: WriteState): Promise<void> {
  const many = manyOf(write)
  many.items = await many.find(write)
}

/** Runs steps with the items, whose uploads end with them: what is not kept by then is removed. */
export async function withItems(
  write: WriteState,
  steps: readonly WriteStep[],
): Promise<WriteState> {
  let failure: unknown
  try {
    return await runSteps(steps, write)
  } catch (error) {
    failure = error
    throw error
  } finally {
    for (const { call } of manyOf(write).items)
      if (call !== write.call) await call.discardUploads(failure)
  }
}

/** Runs steps for each item that is not stored yet. @throws as {@link runEach} does. */
export function eachOpen(write: WriteState, steps: readonly WriteStep[]): Promise<WriteState> {
  return runEach(write, steps, item => item.stored === undefined)
}

/** Runs steps for each item, once all are stored. @throws as {@link runEach} does. */
export function eachStored(write: WriteState, steps: readonly WriteStep[]): Promise<WriteState> {
  return runEach(write, steps, item => item.stored !== undefined)
}

/** Others are served after so many items. */
const TURN = 100

/** @throws HttpError 400 with the issues of all items, or the first other error. */
async function runEach(
  write: WriteState,
  steps: readonly WriteStep[],
  applies: (item: WriteState) => boolean,
): Promise<WriteState> {
  const issues: ItemIssue[] = []
  let cause: HttpError | undefined
  for (const [at, item] of steps.length === 0 ? [] : manyOf(write).items.entries()) {
    if (at % TURN === TURN - 1) await takeTurn()
    if (!applies(item)) continue
    item.transaction = write.transaction
    try {
      const running: Awaitable<WriteState> = runSteps(steps, item)
      if (running instanceof Promise) await running
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
      if (error.status !== 400) throw locateError(write, error, at)
      issues.push(...error.errors.map(issue => ({ at, issue })))
      cause ??= error
    }
    if (issues.length >= MAX_ISSUES) break
  }
  throwLocated(write, issues, cause)
  return write
}

/** @throws HttpError 400 if there are issues. With several items, each issue names its item. */
export function throwLocated(
  { many }: Pick<WriteState, 'many'>,
  issues: readonly ItemIssue[],
  cause?: HttpError,
): void {
  if (issues.length === 0) return
  const located = many?.locate(issues) ?? issues.map(({ issue }) => issue)
  throw new AnyHttpError(400, located.slice(0, MAX_ISSUES), { cause })
}

/** Says of which item the issues of an error are. */
export function locateError(write: WriteState, cause: HttpError, at: number): HttpError {
  const issues = manyOf(write).locate(cause.errors.map(issue => ({ at, issue })))
  if (cause instanceof KeptError) return new KeptError({ at, issues, cause })
  return new AnyHttpError(cause.status, issues, { headers: cause.headers, cause })
}

/** The items as they were stored, or deleted. */
export function listStored(write: WriteState): readonly Stored[] {
  return manyOf(write).items.flatMap(({ stored }) => stored ?? [])
}

/** Builds the result of all items. */
export function answerAll(write: WriteState): Awaitable<OperationResult> {
  return manyOf(write).buildResult(listStored(write))
}
