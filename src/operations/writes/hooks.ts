// The hooks around a write: within its transaction, or once it is committed.

import {
  type Awaitable,
  andThen,
  cloneJson,
  freezeDeep,
  type Item,
  isObject,
  type Json,
  sameJson,
} from '../../base/values.ts'
import { toJson } from '../../formats/json-value.ts'
import { JSON_PATCH_TYPE } from '../../formats/patch.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import { ConflictError } from '../../model/conflict-error.ts'
import type { HookValues } from '../../model/types/compiled-hooks.ts'
import type { Stored } from '../../store/store.ts'
import { findOne } from '../../store/writes.ts'
import { toProgramItem } from '../calls/program-items.ts'
import { runAfter, runAfterWithin, runBefore } from '../calls/run-hooks.ts'
import { runInTransaction } from '../calls/run-transaction.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import { toChanges } from './enforce-field-roles.ts'
import { runSteps, type Write, type WriteState, type WriteStep } from './steps.ts'
import { Contested } from './store-item.ts'

/** Runs the `before` hooks on checked values. */
export function runBeforeHook(write: Write<'checked'>): Awaitable<Item> {
  const { call, checked, transaction } = write
  // A hook may change the value in place, and parts of it belong to the stored item, too.
  const value = cloneJson(checked)
  const returned = runBefore(call, toHookValues(write, value), value, transaction)
  return andThen(returned, result => {
    // Most hooks change nothing: then there is no copy to make.
    if (sameJson(result, checked)) return checked
    const json = toJson(result)
    // A result that is no object as JSON, such as a Date, is ignored.
    const next = isObject(json) ? json : value
    return sameJson(next, checked) ? checked : next
  })
}

/** Runs the `before` hooks of a deletion. */
export function runBeforeDelete({ call, current, transaction }: Write<'current'>): Awaitable<void> {
  return andThen(runBefore(call, { stored: current }, undefined, transaction), ignore)
}

function ignore(): void {}

/** Runs the `after` hooks of a write that is done, once its transaction is committed. */
export function runAfterHook(write: Write<'stored'>): Awaitable<void> {
  const { call, stored } = write
  return runAfter(call, toProgramItem(toWhole(call.target.collection), stored), toHookValues(write))
}

/** Runs them within the transaction of the write: what one throws undoes it. */
export function runAfterHookWithin(write: Write<'stored'>): Awaitable<void> {
  const { call, stored, transaction } = write
  const result = toProgramItem(toWhole(call.target.collection), stored)
  return runAfterWithin(call, result, transaction, toHookValues(write))
}

/**
 * Runs steps and the `after` hooks in one transaction: both happen, or none. The database may run them more than once.
 * @throws ConflictError within another transaction, where the item has another version by now: that is undone.
 * TypeError for a hook that has changed the item itself.
 */
export async function runWithHooks(
  write: WriteState,
  steps: readonly WriteStep[],
): Promise<WriteState> {
  const { call, transaction: outer } = write
  const { collection } = call.target
  const run = (running: RunningTransaction) => {
    write.transaction = running
    // An earlier run may have filled them in.
    write.values = undefined
    write.stored = undefined
    return andThen(runSteps(steps, write), ({ stored }) => {
      if (stored) {
        const result = toProgramItem(toWhole(collection), stored)
        return running.run(() => runAfterWithin(call, result, running, toHookValues(write)))
      }
      // What the hooks wrote goes with the attempt.
      if (!outer) throw new Contested()
      throw new ConflictError(collection.itemName, { mine: undefined, theirs: undefined })
    })
  }
  const hasBefore = findHooks(write).length > 0
  try {
    await runInTransaction(call, outer, running =>
      // Where a hook has written before, a failure undoes the outer transaction, too.
      hasBefore ? running.run(() => run(running)) : run(running),
    )
    write.transaction = outer
  } catch (error) {
    if (!(error instanceof Contested)) throw error
    write.stored = undefined
    await requireOtherWriter(write)
  }
  return write
}

/** Runs steps of several items, and their hooks, in one transaction. The database may run them more than once. */
export async function runAllWithHooks(
  write: WriteState,
  steps: readonly WriteStep[],
): Promise<WriteState> {
  const { call, transaction: outer } = write
  await runInTransaction(call, outer, running => {
    write.transaction = running
    // Calls of hooks on the api itself are refused there.
    return running.run(() => runSteps(steps, write))
  })
  write.transaction = outer
  return write
}

/** @throws TypeError where nobody else has changed the item: another attempt would end as this one. */
async function requireOtherWriter({ call, current, repeated }: WriteState): Promise<void> {
  const { collection } = call.target
  const store = call.storeOf(collection)
  // A hash is the same again where others have changed the item twice. The next attempt locks the item: then it is
  // known whether the database itself was the cause.
  if (!current || store.hashesValues || !repeated) return
  const now = await findOne(store, current.id, call.storeOptions)
  if (now?.version !== current.version) return
  throw new TypeError(
    `${collection.name}: a hook before ${call.operation} wrote its own item in the same transaction. Change its value instead, or use an action with transaction: true`,
  )
}

function findHooks({ call, current }: WriteState) {
  const operation = operationOf(call.operation, current)
  return call.target.collection.hooks.before.get(operation) ?? []
}

/** A PUT without an item runs the hooks of a create. */
function operationOf(operation: string, current: Stored | undefined): string {
  return operation === 'replace' && !current ? 'create' : operation
}

/** Collects what hooks are told of a write. */
function toHookValues(write: WriteState, value = write.values): HookValues {
  const { call, current: stored } = write
  const input = readInput(write)
  freezeDeep(input)
  return { operation: operationOf(call.operation, stored), stored, input, value }
}

/** Reads the input for hooks: a JSON Patch as its changes by property, as a merge patch is. */
function readInput({ call, body, own, checked }: WriteState): Json | undefined {
  if (own && checked && call.body?.type === JSON_PATCH_TYPE) return toChanges(own, checked)
  return body
}
