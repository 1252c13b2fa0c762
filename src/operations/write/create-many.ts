// An array that is created: the issues of all its items first, then all of them in one step, or none.

import { getValue } from '../../base/paths.ts'
import { takeTurn } from '../../base/turns.ts'
import { type Awaitable, type Item, isObject, type Json } from '../../base/values.ts'
import { AnyHttpError, type AnyIssue, HttpError, MAX_ISSUES } from '../../errors.ts'
import { parseId } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { listBlobFields } from '../../schema/blob.ts'
import { isWithin } from '../../schema/json-size.ts'
import { createSet, findSet, MAX_SET } from '../../store/sets.ts'
import type { Id, Stored } from '../../store/store.ts'
import {
  CallContext,
  type OperationContext,
  type OperationResult,
  type Perform,
} from '../context.ts'
import { toProgramItem } from '../in-process/program-items.ts'
import { findVisible, isVisible, requireParent } from '../items.ts'
import { selectReadableFields, toReadable } from '../represent.ts'
import { runInTransaction } from '../run-transaction.ts'
import type { RunningTransaction } from '../running-transaction.ts'
import { unknownReference } from './check-references.ts'
import { keepAnswer, runOncePerKey, toReadableAnswer } from './idempotency-key.ts'
import { choosesId, withBodyIssues } from './input.ts'
import { compileItems, compileWrites } from './plan.ts'
import { refuseIfMatch } from './preconditions.ts'
import { addReturnApplied, VARY_PREFER } from './results.ts'
import { runSteps, type WriteStep } from './steps.ts'
import { WriteState } from './write.ts'

/** Others are served after so many items. */
const TURN = 100

/** Compiles `POST /<collection>`: an array is created as a whole where the store has transactions. */
export function compileCreate(collection: CollectionDefinition): Perform {
  const { create } = compileWrites(collection)
  const { transaction, database } = collection.store
  if (!transaction || !database) return create
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
  const work = async (key?: string) => {
    const given = call.body?.lines ? bodies.map(body => omitExported(collection, body)) : bodies
    const writes = given.map(body => Object.assign(new WriteState(createItemCall(call)), { body }))
    try {
      const stored = await storeAll(call, await checkAll(call, writes), key)
      await runEach(writes, compileItems(collection).end)
      return await buildResult(call, stored)
    } finally {
      for (const write of writes) if (write.call !== call) await write.call.discardUploads()
    }
  }
  if (call.idempotencyKey === undefined) return work()
  return runOncePerKey(call, work, answer => replay(call, bodies.length, answer))
}

/** Creates the call of one item, where hooks share a state for each. */
function createItemCall(call: OperationContext): OperationContext {
  const { hooks, blobs } = call.target.collection
  if (hooks.before.size === 0 && hooks.after.size === 0 && !blobs) return call
  const { runtime, request, base, inProcess } = call
  return Object.assign(new CallContext(runtime, request, base, inProcess), call)
}

/** Runs the steps of each item that need no other. @throws HttpError 400 with the issues of all. */
async function checkAll(
  call: OperationContext,
  writes: readonly WriteState[],
): Promise<readonly WriteState[]> {
  const { collection } = call.target
  const { check, complete } = compileItems(collection)
  await withBodyIssues(call.body?.issues, () => runEach(writes, check))
  if (collection.hooks.before.has('create')) await requireAllReferences(writes, call.transaction)
  // In one transaction with the write they run there.
  if (!collection.hooks.transaction) await runEach(writes, complete)
  return writes
}

/** Stores all items, with the answer of the key. @throws HttpError 400, 403, 409, 413 */
function storeAll(
  call: OperationContext,
  writes: readonly WriteState[],
  key: string | undefined,
): Promise<readonly Stored[]> {
  const { collection } = call.target
  const { complete, require, follow } = compileItems(collection)
  const work = async (transaction: RunningTransaction) => {
    // An earlier run may have filled them in.
    for (const write of writes) Object.assign(write, { transaction, stored: undefined })
    if (collection.hooks.transaction) await runEach(writes, complete)
    await runEach(writes, require)
    await requireAllReferences(writes, transaction)
    const stored = await storeSets(call, transaction, writes)
    for (const [at, write] of writes.entries()) write.stored = stored[at]
    await runEach(writes, follow)
    for (const write of writes) write.transaction = call.transaction
    if (key !== undefined) await keepAnswer(call, transaction, key, toKept(call, stored))
    return stored
  }
  return runInTransaction(call, call.transaction, transaction =>
    // Calls of hooks on the api itself are refused there.
    collection.hooks.transaction ? transaction.run(() => work(transaction)) : work(transaction),
  )
}

/** Stores all items in sets. One that fails behind another undoes the transaction, even if that goes on. */
async function storeSets(
  call: OperationContext,
  transaction: RunningTransaction,
  writes: readonly WriteState[],
): Promise<readonly Stored[]> {
  const store = transaction.storeOf(call.target.collection)
  const stored: Stored[] = []
  try {
    for (let at = 0; at < writes.length; at += MAX_SET) {
      const set = writes.slice(at, at + MAX_SET).map(({ values }) => values as Item) // `complete` fills it in
      stored.push(...(await createSet(store, set, call.storeOptions)))
    }
    return stored
  } catch (error) {
    // Without `createAll` some items of the set may be stored.
    throw stored.length > 0 || !store.createAll ? transaction.fail(error) : error
  }
}

/** Runs steps on each item. @throws HttpError 400 with the issues of all, or the first other error. */
async function runEach(writes: readonly WriteState[], steps: readonly WriteStep[]): Promise<void> {
  if (steps.length === 0) return
  const issues: AnyIssue[] = []
  for (const [at, write] of writes.entries()) {
    if (at % TURN === TURN - 1) await takeTurn()
    try {
      const running: Awaitable<WriteState> = runSteps(steps, write)
      if (running instanceof Promise) await running
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
      const located = error.errors.map(entry => locate(write.call, at, entry))
      if (error.status !== 400)
        throw new AnyHttpError(error.status, located, { headers: error.headers, cause: error })
      issues.push(...located)
    }
    if (issues.length >= MAX_ISSUES) break
  }
  throwIssues(issues)
}

/** Says of which item an issue is, and on which line that stands. */
function locate(
  { body }: OperationContext,
  at: number,
  { message, field, type }: AnyIssue,
): AnyIssue {
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

function throwIssues(issues: readonly AnyIssue[]): void {
  if (issues.length > 0) throw new AnyHttpError(400, issues.slice(0, MAX_ISSUES))
}

/** Finds the items that all of them refer to, each once. @throws HttpError 400 */
async function requireAllReferences(
  writes: readonly WriteState[],
  transaction: RunningTransaction | undefined,
): Promise<void> {
  const [{ call } = {}] = writes
  if (!call) return
  const { version, collection } = call.target
  const issues: AnyIssue[] = []
  for (const [field, { collection: name }] of collection.references) {
    const parent = version.collections.get(name)
    if (!parent) continue
    const finder = new ReferenceFinder(call, parent, transaction)
    const named = writes.flatMap(({ values, checked }, at) => {
      const value = (values ?? checked)?.[field] ?? null
      return value === null ? [] : [{ at, value, byClient: value === checked?.[field] }]
    })
    await finder.prepare(named.map(({ value }) => value))
    for (const { at, value, byClient } of named) {
      if (await finder.has(value, byClient)) continue
      issues.push(locate(call, at, unknownReference(field, parent, value)))
    }
  }
  throwIssues(issues)
}

/** Finds out which items of a collection there are: by sets where all are visible, else each once. */
class ReferenceFinder {
  readonly #call: OperationContext
  readonly #parent: CollectionDefinition
  readonly #transaction: RunningTransaction | undefined
  readonly #known = new Map<string, boolean>()

  constructor(
    call: OperationContext,
    parent: CollectionDefinition,
    transaction: RunningTransaction | undefined,
  ) {
    this.#call = call
    this.#parent = parent
    this.#transaction = transaction
  }

  async prepare(values: readonly Json[]): Promise<void> {
    const parent = this.#parent
    if (parent.visible || parent.hideExistence) return
    const ids = [...new Set(values.flatMap(value => parseId(parent, String(value)) ?? []))]
    const store = this.#call.storeOf(parent, this.#transaction)
    for (let at = 0; at < ids.length; at += MAX_SET) {
      const set = ids.slice(at, at + MAX_SET)
      const found = await findSet(store, set, this.#call.storeOptions)
      for (const [place, id] of set.entries())
        this.#known.set(String(id), found[place] !== undefined)
    }
  }

  async has(value: Json, byClient: boolean): Promise<boolean> {
    const parent = this.#parent
    const id = parseId(parent, String(value))
    if (id === undefined) return false
    const known = this.#known.get(String(id)) ?? this.#known.get(`${byClient} ${id}`)
    if (known !== undefined) return known
    const found = await findVisible(this.#call, parent, id, byClient, this.#transaction)
    this.#known.set(`${byClient} ${id}`, found !== undefined)
    return found !== undefined
  }
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
    const found =
      ids.length > 0 ? await findSet(call.storeOf(collection), ids, call.storeOptions) : set
    for (const each of found)
      if (typeof each === 'object' && (await isVisible(call, collection, each.item)))
        stored.push(each)
  }
  return buildResult(call, stored)
}

/** Answers 201 with the created items, where they are known. */
async function buildResult(
  call: OperationContext,
  stored: readonly Stored[] | undefined,
): Promise<OperationResult> {
  const { collection } = call.target
  const { name, itemName } = collection
  const value = call.inProcess ? stored?.map(each => toProgramItem(collection, each)) : undefined
  const result = { status: 201, headers: addReturnApplied([], call), vary: VARY_PREFER, value }
  // A page shows lists with links, which an answer to a POST has not.
  if (!stored || call.writeResponse === 'minimal' || call.negotiated?.format.page) return result
  const data: Item[] = []
  for (const { item } of stored) data.push(await toReadable(call, item, undefined, true))
  const fields = selectReadableFields(collection, undefined)
  return { ...result, representation: { kind: 'list', name, itemName, fields, data } }
}
