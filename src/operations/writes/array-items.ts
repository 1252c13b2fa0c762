// The items of an array that is created: which issue is of which, and the answer.

import { getValue } from '../../base/paths.ts'
import { type Awaitable, type Item, isObject, type Json } from '../../base/values.ts'
import type { AnyIssue } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { listBlobFields } from '../../schema/blob.ts'
import { isWithin } from '../../schema/json-size.ts'
import type { Id, Stored } from '../../store/store.ts'
import { MAX_SET } from '../../store/writes.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { copyCall } from '../calls/derive-call.ts'
import { isVisible } from '../calls/items.ts'
import { toProgramItem } from '../calls/program-items.ts'
import { selectReadableFields, toReadable } from '../calls/represent.ts'
import { VARY_PREFER } from '../reads/page.ts'
import { toReadableAnswer } from './idempotency-key.ts'
import { choosesId } from './input.ts'
import { addReturnApplied } from './results.ts'
import { type ItemIssue, type Many, WriteState } from './steps.ts'

/** The items of an array. */
export class ArrayItems implements Many {
  items: readonly WriteState[] = []
  protected readonly call: OperationContext
  readonly #bodies: readonly Json[]

  constructor(call: OperationContext, bodies: readonly Json[]) {
    this.call = call
    this.#bodies = bodies
  }

  find({ call }: WriteState): Awaitable<WriteState[]> {
    return this.createItems(call)
  }

  protected createItems(call: OperationContext): WriteState[] {
    const { collection } = call.target
    const isExport = call.body?.lines !== undefined
    return this.#bodies.map(body => {
      const item = new WriteState(createItemCall(call))
      item.body = isExport ? omitExported(collection, body) : body
      return item
    })
  }

  locate(issues: readonly ItemIssue[]): AnyIssue[] {
    return issues.map(each => locateLine(this.call, each))
  }

  toAnswer(stored: readonly Stored[]): Json[] {
    return toKept(this.call, stored)
  }

  buildResult(stored: readonly Stored[]): Promise<OperationResult> {
    return buildResult(this.call, stored)
  }

  replay(answer: Json): Promise<OperationResult> {
    return replay(this.call, this.#bodies.length, answer)
  }
}

/** Creates the call of one item, where hooks share a state for each. */
function createItemCall(call: OperationContext): OperationContext {
  const { hooks, blobs } = call.target.collection
  return hooks.before.size + hooks.after.size > 0 || blobs ? copyCall(call) : call
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
  // `keepAnswer` does not keep a result that is too large.
  const kept: readonly (Stored | Id)[] = answer as never // `toKept` has made it
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
