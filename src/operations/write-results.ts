// What a write is answered with: the representation, a redirect, or nothing, as preferred and permitted. The same
// answer again for the same `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).

import { createHash } from 'node:crypto'
import { HttpError } from '../errors.ts'
import type { HeaderList } from '../http/message.ts'
import { cannotFollow } from '../http/method-override.ts'
import { printPreferences } from '../http/prefer.ts'
import type { CollectionDefinition, Operation } from '../model/definition.ts'
import { printPath } from '../model/routes.ts'
import { type Awaitable, andThen, type Item, isObject, type Json, omit } from '../schema/values.ts'
import {
  type Id,
  type IdempotencyRecord,
  type Stored,
  toAnswer,
  type WriteOptions,
} from '../store/store.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { atCurrentParent } from './items.ts'
import { itemValidators } from './read.ts'
import { representChanged } from './represent.ts'
import type { Uploads } from './uploads.ts'

const VARY_PREFER: readonly string[] = ['Prefer']

/** Decides what a change is answered with; `undefined` is a redirect to the item, of an action to its collection. */
export function chooseWriteResponse(context: OperationContext): OperationContext['returns'] {
  const { target, operation, suppressed, preferences, api, negotiated } = context
  const preferred = preferences.return
  const { collection, id } = target
  const gives = (name: Operation) =>
    collection.operations.has(name) && context.can(collection, name)
  const creates = operation === 'create'
  // A client that cannot read an item does not get it after a change. One that creates it knows it.
  if (!creates && !gives('read') && !gives('list')) return 'minimal'
  if (suppressed) return 'representation'
  if (preferred) return preferred
  // A client that follows the redirect would repeat If-Match on the GET, and read 412 after a success.
  if (cannotFollow(context.request.headers)) return 'representation'
  // An HTML form is answered by a redirect, so that reloading does not send it again.
  if (api.changes === 'representation' && id !== undefined && !negotiated?.format.page)
    return 'representation'
  // A redirect needs a target that the client may read.
  if (creates || gives(id === undefined ? 'list' : 'read')) return undefined
  return id === undefined ? 'minimal' : 'representation'
}

/** Answers 201 with the created item. */
export function buildCreatedResult(
  requested: OperationContext,
  stored: Stored,
): Awaitable<OperationResult> {
  const context = atCurrentParent(requested, stored.item)
  context.keepUploads(stored.item)
  const { target, returns } = context
  const location = context.href({ ...target, kind: 'item', id: stored.id })
  const headers: HeaderList = ['Location', location]
  const minimal = returns === 'minimal'
  if (!minimal) headers.push('Content-Location', location)
  addReturnApplied(headers, context)
  return andThen(minimal ? undefined : representChanged(context, stored), representation => ({
    status: 201,
    headers,
    representation,
    validators: itemValidators(stored, context.variant),
    vary: VARY_PREFER,
    stored,
  }))
}

/**
 * Answers a change as {@link chooseWriteResponse} has decided. PUT and PATCH are answered by a 303 to the item,
 * so that no client repeats the write; `Prefer` may choose otherwise.
 */
export async function buildChangedResult(
  requested: OperationContext,
  stored: Stored,
): Promise<OperationResult> {
  const context = atCurrentParent(requested, stored.item)
  const { target, operation, returns } = context
  const item = { ...target, kind: 'item' } as const
  const common = { vary: VARY_PREFER, stored }
  if (returns === 'representation') {
    return {
      ...common,
      status: 200,
      headers: addReturnApplied(['Content-Location', context.href(item)], context),
      representation: await representChanged(context, stored),
      validators: itemValidators(stored, context.variant),
    }
  }
  if (returns === 'minimal') {
    // After a PUT no validator may be sent where the server added to what it was sent (RFC 9110 §9.3.4).
    const validators = operation === 'patch' ? itemValidators(stored, context.variant) : undefined
    return { ...common, status: 204, headers: addReturnApplied([], context), validators }
  }
  return { ...common, status: 303, headers: ['Location', context.hrefAsRequested(item)] }
}

/** Answers 200 with the last representation of a deleted item. */
export async function buildDeletedResult(
  context: OperationContext,
  stored: Stored,
): Promise<OperationResult> {
  const minimal = context.returns === 'minimal'
  return {
    status: minimal ? 204 : 200,
    headers: addReturnApplied([], context),
    representation: minimal ? undefined : await representChanged(context, stored),
    vary: VARY_PREFER,
    stored,
  }
}

/** Adds `Preference-Applied` where the preference decided the answer (RFC 7240 §3). */
export function addReturnApplied(
  headers: HeaderList,
  { preferences, returns }: OperationContext,
): HeaderList {
  if (returns && preferences.return === returns)
    headers.push('Preference-Applied', printPreferences({ return: returns }))
  return headers
}

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
 * Does a write once for each key: {@link toWriteOptions} keeps the answer in the same step as the change.
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
    // An answer under this key was kept by `toWriteOptions`.
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
