// An array that is created: the issues of all its items first, then all of them in one step, or none.

import { getValue } from '../../base/paths.ts'
import { type Item, isObject, type Json } from '../../base/values.ts'
import { type AnyIssue, HttpError } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { listBlobFields } from '../../schema/blob.ts'
import { isWithin } from '../../schema/json-size.ts'
import type { Id, Stored } from '../../store/store.ts'
import { MAX_SET, takesArrays } from '../../store/writes.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import { copyCall } from '../calls/derive-call.ts'
import { isVisible, requireParent } from '../calls/items.ts'
import { toProgramItem } from '../calls/program-items.ts'
import { selectReadableFields, toReadable } from '../calls/represent.ts'
import { runInTransaction } from '../calls/run-transaction.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import { keepAnswer, runOncePerKey, toReadableAnswer } from './idempotency-key.ts'
import { choosesId, withBodyIssues } from './input.ts'
import { type ItemIssue, type Many, runEach } from './many.ts'
import { compileWrites } from './plan.ts'
import { compileItems } from './plan-items.ts'
import { refuseIfMatch } from './preconditions.ts'
import { requireAllReferences } from './references-of-many.ts'
import { addReturnApplied, VARY_PREFER } from './results.ts'
import { storeAll, storeInSets } from './store-many.ts'
import { WriteState } from './write-state.ts'

/** Compiles `POST /<collection>`: an array is created as a whole where the store has transactions. */
export function compileCreate(collection: CollectionDefinition): Perform {
  const { create } = compileWrites(collection)
  if (!takesArrays(collection.store)) return create
  return call =>
    Array.isArray(call.body?.value) ? createMany(call, call.body.value) : create(call)
}

async function createMany(
  call: OperationContext,
  bodies: readonly Json[],
): Promise<OperationResult> {
  const { arrayItems } = call.api.limits
  const { collection } = call.target
  await requireParent(call)
  refuseIfMatch({ call })
  if (bodies.length > arrayItems) {
    const message = `An array may have at most ${arrayItems} items, not ${bodies.length}. Send several.`
    throw new HttpError(413, [{ message, type: 'too_many_items' }])
  }
  const steps = compileItems(collection).create
  const locate = (issues: readonly ItemIssue[]) => issues.map(each => locateLine(call, each))
  const work = async (key?: string) => {
    const given = call.body?.lines ? bodies.map(body => omitExported(collection, body)) : bodies
    const writes = given.map(body => Object.assign(new WriteState(createItemCall(call)), { body }))
    const many: Many = { call, writes, steps, locate }
    let failure: unknown
    try {
      await checkAll(many)
      const stored = await storeCreated(many, key)
      await runEach(many, steps.end, true)
      return await buildResult(call, stored)
    } catch (error) {
      failure = error
      throw error
    } finally {
      for (const write of writes) if (write.call !== call) await write.call.discardUploads(failure)
    }
  }
  if (call.idempotencyKey === undefined) return work()
  return runOncePerKey(call, work, answer => replay(call, bodies.length, answer))
}

/** Creates the call of one item, where hooks share a state for each. */
function createItemCall(call: OperationContext): OperationContext {
  const { hooks, blobs } = call.target.collection
  return hooks.before.size + hooks.after.size > 0 || blobs ? copyCall(call) : call
}

/** Runs the steps of each item that need no other. @throws HttpError 400 with the issues of all. */
async function checkAll(many: Many): Promise<void> {
  const { call, steps } = many
  const { hooks } = call.target.collection
  await withBodyIssues(call.body?.issues, () => runEach(many, steps.check, false))
  if (hooks.before.has('create')) await requireAllReferences(many, call.transaction)
  // In one transaction with the write they run there.
  if (!hooks.transaction) await runEach(many, steps.complete, false)
}

/** Stores all items, with the answer of the key. @throws HttpError 400, 403, 409, 413 */
function storeCreated(many: Many, key: string | undefined): Promise<readonly Stored[]> {
  const { call, writes, steps } = many
  const { collection } = call.target
  const work = async (transaction: RunningTransaction) => {
    // An earlier run may have filled them in.
    for (const write of writes) Object.assign(write, { transaction, stored: undefined })
    if (collection.hooks.transaction) await runEach(many, steps.complete, false)
    await storeAll(many, transaction, () =>
      storeInSets(many, transaction, (store, set) =>
        store.write(
          set.map(({ values = {} }) => ({ create: values })),
          call.storeOptions,
        ),
      ),
    )
    for (const write of writes) write.transaction = call.transaction
    const stored = writes.flatMap(write => write.stored ?? [])
    if (key !== undefined) await keepAnswer(call, transaction, key, toKept(call, stored))
    return stored
  }
  return runInTransaction(call, call.transaction, transaction =>
    // Calls of hooks on the api itself are refused there.
    collection.hooks.transaction ? transaction.run(() => work(transaction)) : work(transaction),
  )
}

/** Says of which item an issue is, and on which line that stands. */
function locateLine({ body }: OperationContext, { at, issue }: ItemIssue): AnyIssue {
  const { message, field, type } = issue
  const line = body?.lines?.[at]
  return {
    message: line === undefined ? message : `Line ${line}: ${message}`,
    field: field === undefined ? String(at) : `${at}.${field}`,
    ...(type !== undefined && { type }),
  }
}

/** Leaves out of an exported item what the server sets: an id that clients do not choose, and addresses of contents. */
function omitExported(collection: CollectionDefinition, body: Json): Json {
  if (!isObject(body)) return body
  const own = { ...body }
  if (!choosesId(collection)) delete own[collection.shape.identity.name]
  if (!collection.blobs) return own
  for (const name of listBlobFields(collection.shape.fields)) {
    delete own[`${name}_url`]
    if (getValue(own, [name, 'url']) !== undefined && getValue(own, [name, 'data']) === undefined)
      delete own[name]
  }
  return own
}

/** What is kept of an array: its items, or their ids where they are too large. */
function toKept({ target, api }: OperationContext, stored: readonly Stored[]): Json[] {
  const items = stored.map(each => toReadableAnswer(target.collection, each))
  return isWithin(items, api.limits.keyAnswer) ? items : stored.map(({ id }) => id)
}

/** Answers as before; where the items were too large, with what they are by now, or with the status alone. */
async function replay(
  call: OperationContext,
  count: number,
  answer: Json,
): Promise<OperationResult> {
  const { collection } = call.target
  // `toKept` has made it; `keepAnswer` keeps nothing where it is too large.
  const kept = answer as unknown as readonly (Stored | Id)[]
  if (kept.length < count) return buildResult(call, undefined)
  const stored: Stored[] = []
  for (let at = 0; at < kept.length; at += MAX_SET) {
    const set = kept.slice(at, at + MAX_SET)
    const ids = set.filter(each => typeof each !== 'object')
    const found = ids.length > 0 ? await call.storeOf(collection).find(ids, call.storeOptions) : set
    for (const each of found)
      if (typeof each === 'object' && (await isVisible(call, collection, each.item)))
        stored.push(each)
  }
  return buildResult(call, stored)
}

/** Answers 201 with the created items, where they are known; 200 where there were none to create. */
async function buildResult(
  call: OperationContext,
  stored: readonly Stored[] | undefined,
): Promise<OperationResult> {
  const { collection } = call.target
  const { name, itemName } = collection
  const view = call.resultView(collection)
  const value = call.inProcess ? stored?.map(each => toProgramItem(view, each)) : undefined
  const status = stored?.length === 0 ? 200 : 201
  const result = { status, headers: addReturnApplied([], call), vary: VARY_PREFER, value }
  // A page shows lists with links, which an answer to a POST has not.
  if (!stored || call.writeResponse === 'minimal' || call.negotiated?.format.page) return result
  const data: Item[] = []
  for (const { item } of stored) data.push(await toReadable(call, item, undefined, true))
  const fields = selectReadableFields(collection, undefined)
  return { ...result, representation: { kind: 'list', name, itemName, fields, data } }
}
