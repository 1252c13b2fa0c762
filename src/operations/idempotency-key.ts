// A write with an `Idempotency-Key` is done once (draft-ietf-httpapi-idempotency-key-header): the same request
// again gets the answer of the first.

import { createHash } from 'node:crypto'
import { HttpError } from '../errors.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { printPath } from '../model/routes.ts'
import { type Awaitable, type Item, isObject, type Json, omit } from '../schema/values.ts'
import {
  type Id,
  type IdempotencyRecord,
  type Stored,
  toAnswer,
  type WriteOptions,
} from '../store/store.ts'
import type { OperationContext, OperationResult } from './context.ts'
import type { Uploads } from './uploads.ts'
import { buildChangedResult, buildCreatedResult, buildDeletedResult } from './write-results.ts'

/** The maximum size of a kept answer as JSON, in bytes; a larger one is kept as a redirect. */
const MAX_ANSWER_BYTES = 64 * 1024

/** What a write has done to its item. */
type Outcome = 'created' | 'changed' | 'deleted'

/** The answer to a write, as it is kept. */
interface WriteAnswer {
  /** Absent in what earlier releases have kept of a create. */
  readonly outcome?: Outcome
  readonly id: Id
  readonly version: string
  readonly updatedAt?: number
  /** Absent where it is too large. */
  readonly item?: Item
}

function toWriteAnswer(outcome: Outcome, stored: Stored, collection: CollectionDefinition): Json {
  const { item, ...rest } = toReadableAnswer(collection, stored)
  return { outcome, ...rest, ...(isSmall(item) && { item }) }
}

/** Builds the answer that is kept of an item: without its write-only properties. */
export function toReadableAnswer({ writeOnly }: CollectionDefinition, stored: Stored) {
  return toAnswer({ ...stored, item: omit(stored.item, writeOnly) })
}

/**
 * Keeps the answer of an action: nothing where it is too large, which is answered as a redirect.
 * @throws what the store throws within a transaction, which it undoes.
 */
export async function keepAnswer(
  context: OperationContext,
  key: string,
  answer: Json[],
): Promise<void> {
  const store = context.storeOf(context.target.collection)
  try {
    await store.complete(key, isSmall(answer) ? answer : [])
  } catch (error) {
    if (context.transaction) throw error
    // The work is done: after a failure the client would repeat it. The key is refused until its claim ends.
  }
}

function isSmall(value: unknown): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_ANSWER_BYTES
}

/**
 * Does a write once for each key: the store keeps the answer of {@link toWriteOptions} in the same step as the change.
 * @throws as {@link runOncePerKey} does.
 */
export function writeOnce(
  context: OperationContext,
  write: () => Awaitable<OperationResult>,
): Awaitable<OperationResult> {
  if (context.idempotencyKey === undefined) return write()
  return runOncePerKey(
    context,
    key => {
      context.claimedKey = key
      return write()
    },
    // The store kept what `toWriteOptions` made.
    answer => buildEarlierResult(context, answer as unknown as WriteAnswer),
  )
}

/**
 * The options of the store call that does the write of a request, with its key where it has one.
 * @param removed the item that is deleted.
 */
export function toWriteOptions(
  { claimedKey, storeOptions, target }: OperationContext,
  outcome: Outcome,
  removed?: Stored,
): WriteOptions {
  if (claimedKey === undefined) return storeOptions
  const { collection } = target
  // A write has a result, or the item that it removed.
  const answer = (written: Stored | undefined) =>
    toWriteAnswer(outcome, (written ?? removed) as Stored, collection)
  return { signal: storeOptions.signal, idempotencyKey: claimedKey, answer }
}

/** Completes the idempotency key of a change that writes nothing. */
export function completeUnchanged(context: OperationContext, stored: Stored): Awaitable<void> {
  const { claimedKey, target } = context
  if (claimedKey === undefined) return undefined
  const answer = toWriteAnswer('changed', stored, target.collection)
  return context.storeOf(target.collection).complete(claimedKey, answer)
}

function buildEarlierResult(
  context: OperationContext,
  { outcome = 'created', id, version, updatedAt, item }: WriteAnswer,
): Awaitable<OperationResult> {
  if (!item && outcome === 'deleted') return { status: 204, headers: [] }
  if (!item) {
    const location = context.href({ ...context.target, kind: 'item', id })
    return { status: 303, headers: ['Location', location] }
  }
  const stored: Stored = { id, version, item, ...(updatedAt !== undefined && { updatedAt }) }
  return RESULT_BUILDERS[outcome](context, stored)
}

const RESULT_BUILDERS = {
  created: buildCreatedResult,
  changed: buildChangedResult,
  deleted: buildDeletedResult,
}

/**
 * Claims the key of a request and does the work, or gives the earlier answer. A key belongs to the principal,
 * the method and the target; work that fails leaves it free.
 * @param work gets the key as the store knows it, and keeps the answer under it.
 * @param replay builds the result from the kept answer.
 * @throws HttpError 422 for the same key with another body, 409 while the first is still running.
 */
export async function runOncePerKey(
  context: OperationContext,
  work: (key: string) => Awaitable<OperationResult>,
  replay: (answer: Json) => Awaitable<OperationResult>,
): Promise<OperationResult> {
  const { target, idempotencyKey = '', principal, method, body } = context
  const store = context.storeOf(target.collection)
  const key = hash([principal?.id ?? null, method, printPath(target, []), idempotencyKey])
  const { value = null, issues = [] } = body ?? {}
  const messages = issues.map(({ message }) => message)
  const fingerprint = hash([withDigests(value, context.uploads), ...messages])
  const record = await store.claim(key, fingerprint, context.storeOptions)
  if (record.state !== 'new')
    return { ...(await replay(findAnswer(record, fingerprint))), replayed: true }
  try {
    return await work(key)
  } catch (error) {
    try {
      // A key that has its answer by now keeps it.
      await store.complete(key, undefined)
    } catch {
      // The client must get the error of the work; the key is free again in a minute.
    }
    throw error
  }
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
    throw new HttpError(409, [{ message, ...issue }], { headers: ['Retry-After', '1'] })
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
