// A write with an `Idempotency-Key` is done once (draft-ietf-httpapi-idempotency-key-header): the same request
// again gets the answer of the first.

import { createHash } from 'node:crypto'
import { type Awaitable, type Item, isObject, type Json, omit } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import { toWhole } from '../../model/compile/compile-views.ts'
import { printPath } from '../../model/compile/routes.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { isWithin } from '../../schema/json-size.ts'
import type { IdempotencyRecord } from '../../store/idempotency-record.ts'
import type { Id, Stored, StoreWriteOptions } from '../../store/store.ts'
import { toAnswer } from '../../store/written.ts'
import type { OperationContext, OperationResult } from '../calls/context.ts'
import { findVisible } from '../calls/items.ts'
import { completeKey, LiveClaim } from '../calls/live-claims.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import type { Uploads } from '../calls/uploads.ts'
import {
  addReturnApplied,
  buildChangedResult,
  buildCreatedResult,
  buildDeletedResult,
} from './results.ts'
import { runSteps, type Write, type WriteState, type WriteStep } from './steps.ts'

/** What a write has done to its item. */
type Outcome = 'created' | 'changed' | 'deleted'

/** The answer to a write, as it is kept. */
interface WriteAnswer {
  readonly outcome: Outcome
  readonly id: Id
  readonly version: string
  readonly updatedAt?: number
  /** Absent where it is too large, and of a change that writes nothing. */
  readonly item?: Item
}

function toWriteAnswer(context: OperationContext, outcome: Outcome, stored: Stored): Json {
  const { item, ...rest } = toReadableAnswer(context.target.collection, stored)
  return { outcome, ...rest, ...(isSmall(context, item) && { item }) }
}

/** Builds the answer that is kept of an item: without its write-only properties. It is printed as whoever repeats it sees it. */
export function toReadableAnswer(collection: CollectionDefinition, stored: Stored) {
  return toAnswer({ ...stored, item: omit(stored.item, toWhole(collection).hidden) })
}

/**
 * Keeps the answer of an action: nothing where it is too large, which is answered as a redirect.
 * @throws what the store throws within a transaction, which it undoes.
 */
export async function keepAnswer(
  context: OperationContext,
  transaction: RunningTransaction | undefined,
  key: string,
  answer: Json[],
): Promise<void> {
  const store = context.storeOf(context.target.collection, transaction)
  const keepFor = context.api.limits.keyTime
  const kept = isSmall(context, answer) ? answer : []
  if (transaction) await store.complete(key, kept, { keepFor })
  // The work is done: after a failure the client would repeat it.
  else await completeKey(store, key, kept, { keepFor })
}

function isSmall({ api }: OperationContext, value: Json): boolean {
  return isWithin(value, api.limits.keyAnswer)
}

/**
 * Runs steps once for each key: the store keeps the answer of {@link toWriteOptions} in the same step as the change.
 * @throws as {@link runOncePerKey} does.
 */
export function claimKey(write: WriteState, steps: readonly WriteStep[]): Awaitable<WriteState> {
  const { call } = write
  if (call.idempotencyKey === undefined) return runSteps(steps, write)
  const work = async (key: string) => {
    write.key = key
    const { result } = await runSteps(steps, write)
    return result as OperationResult // the last step fills it in
  }
  const { many } = write
  const replay = (answer: Json) =>
    // The store kept what `toWriteOptions` made.
    many ? many.replay(answer) : buildEarlierResult(call, answer as never)
  return runOncePerKey(call, work, replay, many?.texts).then(result => {
    write.result = result
    return write
  })
}

/** The options of the store call that does a write, with its key where it has one. */
export function toWriteOptions(write: Write, outcome: Outcome): StoreWriteOptions {
  const { key, call, current, repeated } = write
  const { storeOptions, api } = call
  if (key === undefined && !repeated) return storeOptions
  // A write has a result, or the item that it removed.
  const answer = ([written]: readonly Stored[]) =>
    toWriteAnswer(call, outcome, (written ?? current) as Stored)
  const keepFor = api.limits.keyTime
  return { signal: storeOptions.signal, idempotencyKey: key, answer, keepFor, repeated }
}

/** Completes the idempotency key of a change that writes nothing: the item itself has the answer. */
export function completeUnchanged(write: Write<'current'>): Awaitable<void> {
  const { key, call, store, current } = write
  if (key === undefined) return undefined
  const { id, version } = current
  return store.complete(
    key,
    { outcome: 'changed', id, version },
    { keepFor: call.api.limits.keyTime },
  )
}

/** Builds the earlier result; where its item was not kept, of the item as long as it has the same version. */
async function buildEarlierResult(
  context: OperationContext,
  { outcome, id, version, updatedAt, item }: WriteAnswer,
): Promise<OperationResult> {
  if (item) {
    const stored: Stored = { id, version, item, ...(updatedAt !== undefined && { updatedAt }) }
    return RESULT_BUILDERS[outcome](context, stored)
  }
  const { target, writeResponse } = context
  if (outcome === 'deleted') return { status: 204, headers: [] }
  const current = await findVisible(context, target.collection, id)
  if (current?.version === version) return RESULT_BUILDERS[outcome](context, current)
  if (outcome === 'changed' && writeResponse === 'minimal')
    return { status: 204, headers: addReturnApplied([], context) }
  const location = context.hrefAsRequested({ ...target, kind: 'item', id })
  return { status: 303, headers: ['Location', location] }
}

const RESULT_BUILDERS = {
  created: buildCreatedResult,
  changed: buildChangedResult,
  deleted: buildDeletedResult,
}

/**
 * Claims the key of a request and does the work, or gives the earlier answer. A key belongs to the principal,
 * the method and the target, that of a form to its body too; work that fails leaves it free.
 * @param work gets the key as the store knows it, and keeps the answer under it.
 * @param replay builds the result from the kept answer.
 * @param texts what the request says besides its body.
 * @throws HttpError 422 for the same key with another body, 409 while the first is still running.
 */
export async function runOncePerKey(
  context: OperationContext,
  work: (key: string) => Awaitable<OperationResult>,
  replay: (answer: Json) => Awaitable<OperationResult>,
  texts: readonly string[] = [],
): Promise<OperationResult> {
  const { target, idempotencyKey = '', principal, method, body, request } = context
  const store = context.storeOf(target.collection)
  const { value = null, issues = [] } = body ?? {}
  const messages = issues.map(({ message }) => message)
  const fingerprint = hash([withDigests(value, context.uploads), ...messages, ...texts])
  const isFormKey = body?.form === true && request.headers['idempotency-key'] === undefined
  const named = [principal?.id ?? null, method, printPath(target, []), idempotencyKey]
  const key = hash(isFormKey ? [...named, fingerprint] : named)
  const claim = async () => store.claim(key, fingerprint, context.storeOptions)
  let record = await claim()
  // Who clicks twice sees the answer to the second click: it waits for the first, about three seconds.
  for (let wait = 25; isFormKey && record.state === 'running' && wait <= 1600; wait *= 2) {
    await new Promise(resolve => setTimeout(resolve, wait))
    record = await claim()
  }
  if (record.state !== 'new') return replay(findAnswer(record, fingerprint))
  const claimed = new LiveClaim(store, key, record.claim, context)
  try {
    const result = await work(key)
    claimed.end()
    return result
  } catch (error) {
    // A key that has its answer by now keeps it.
    await claimed.free()
    throw error
  }
}

/** Prints the rest of a claim in whole seconds. */
function printRest(rest = 1): string {
  return String(Math.max(1, Math.ceil(rest / 1000)))
}

function findAnswer(
  record: Exclude<IdempotencyRecord, { state: 'new' }>,
  fingerprint: string,
): Json {
  const issue = { field: 'idempotency-key', type: 'idempotency_key' } as const
  if (record.fingerprint !== fingerprint) {
    const message = 'This Idempotency-Key was used with another body; take a new key'
    throw new HttpError(422, [{ message, ...issue }])
  }
  if (record.state === 'running') {
    const message = 'The first request with this Idempotency-Key is still running'
    throw new HttpError(409, [{ message, ...issue }], {
      headers: ['Retry-After', printRest(record.rest)],
    })
  }
  return record.answer
}

/** Replaces files by their digests: the same file sent again has another key. */
function withDigests(value: Json, uploads: Uploads | undefined): Json {
  if (!uploads || !isObject(value)) return value
  const entries = Object.entries(value).map(([name, property]) => {
    const key = isObject(property) && typeof property.key === 'string' ? property.key : ''
    return [name, uploads.digest(key) ?? property] as const
  })
  return Object.fromEntries(entries)
}

function hash(value: Json): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}
