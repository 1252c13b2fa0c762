// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): the first answer again, instead of
// the work again.
import { createHash } from 'node:crypto'
import { HttpError } from '../errors.ts'
import type { CollectionDefinition } from '../model/definition.ts'
import { printPath } from '../model/routes.ts'
import { type Awaitable, type Item, isObject, type Json } from '../schema/values.ts'
import {
  type Id,
  type IdempotencyRecord,
  type Stored,
  toAnswer,
  type WriteOptions,
} from '../store/store.ts'
import type { OperationContext, OperationResult, Uploads } from './context.ts'
import { toReadable } from './field-roles.ts'
import { buildChangedResult, buildCreatedResult, buildDeletedResult } from './write-results.ts'

/** The maximum size of a kept answer as JSON, in bytes; a larger one is kept as a redirect. */
const MAX_ANSWER_BYTES = 64 * 1024

/** What became of the item of a write. */
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
  const { item, ...rest } = toAnswer(toReadable(collection, stored))
  return { outcome, ...rest, ...(isSmall(item) && { item }) }
}

/** What is kept of an action's result: nothing where it is too large, which is answered as a redirect. */
export function limitAnswer(result: Json[]): Json[] {
  return isSmall(result) ? result : []
}

function isSmall(value: unknown): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_ANSWER_BYTES
}

/**
 * Does a write once for each key: the answer is kept in the same step as the change, by
 * {@link toWriteOptions}.
 * @throws as {@link once} does.
 */
export function writeOnce(
  context: OperationContext,
  write: () => Awaitable<OperationResult>,
): Awaitable<OperationResult> {
  if (context.idempotencyKey === undefined) return write()
  return claimOnce(
    context,
    async key => {
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
  { claimedKey, request, target }: OperationContext,
  outcome: Outcome,
  removed?: Stored,
): WriteOptions {
  if (claimedKey === undefined) return request
  const { collection } = target
  // A write has one of them.
  const answer = (written: Stored | undefined) =>
    toWriteAnswer(outcome, (written ?? removed) as Stored, collection)
  return { signal: request.signal, idempotencyKey: claimedKey, answer }
}

/** Keeps the answer of a change that writes nothing. */
export async function keepUnchanged(context: OperationContext, stored: Stored): Promise<void> {
  const { claimedKey, target } = context
  const { collection } = target
  if (claimedKey !== undefined)
    await context
      .storeOf(target.collection)
      .complete(claimedKey, toWriteAnswer('changed', stored, collection))
}

function buildEarlierResult(
  context: OperationContext,
  { outcome = 'created', id, version, updatedAt, item }: WriteAnswer,
): Awaitable<OperationResult> {
  if (!item && outcome === 'deleted') return { status: 204, headers: [], value: undefined }
  if (!item) {
    const location = context.href({ ...context.target, kind: 'item', id })
    return { status: 303, headers: ['Location', location], value: undefined }
  }
  const stored: Stored = { id, version, item, ...(updatedAt !== undefined && { updatedAt }) }
  if (outcome === 'created') return buildCreatedResult(context, stored)
  return outcome === 'changed'
    ? buildChangedResult(context, stored)
    : buildDeletedResult(context, stored)
}

/**
 * Does the work of an action once for each key, or gives the answer that it had.
 * @param work is given the key as the store knows it, and gives an answer that can be kept.
 * @param answered the result that the answer stands for.
 * @param keep keeps the answer under the key, where the work itself has not.
 * @throws HttpError 422 for the same key with another body, 409 while the first is still running.
 */
export async function once<T extends Json>(
  context: OperationContext,
  work: (key: string | undefined) => Promise<T>,
  answered: (answer: T) => OperationResult | Promise<OperationResult>,
  keep?: ((key: string, answer: T) => Awaitable<void>) | undefined,
): Promise<OperationResult> {
  if (context.idempotencyKey === undefined) return answered(await work(undefined))
  let answer: T | undefined
  const result = await claimOnce(
    context,
    async key => {
      answer = await work(key)
      try {
        await keep?.(key, answer)
      } catch {
        // The work is done: a failure would have the client ask for it again. Until its claim ends the key
        // is refused, as if the work were going on.
      }
      return undefined
    },
    // An answer under this key was kept by `keep`.
    earlier => answered(earlier as T),
  )
  return result ?? answered(answer as T) // the work has given one
}

/**
 * Claims the key and does the work, or gives the earlier answer. A key belongs to the principal, the method
 * and the target; work that fails leaves it free.
 */
async function claimOnce<T>(
  context: OperationContext,
  work: (key: string) => Promise<T>,
  replay: (answer: Json) => Awaitable<OperationResult>,
): Promise<T | OperationResult> {
  const { target, idempotencyKey = '', principal, method, body } = context
  const store = context.storeOf(target.collection)
  const key = hash([principal?.id ?? null, method, printPath(target, []), idempotencyKey])
  const { value = null, issues = [] } = body ?? {}
  const said = issues.map(({ message }) => message)
  const fingerprint = hash([withDigests(value, context.uploads), ...said])
  const attempt = await store.claim(key, fingerprint, context.request)
  if (attempt.state !== 'new') {
    return { ...(await replay(earlierAnswer(attempt, fingerprint))), replayed: true }
  }
  try {
    return await work(key)
  } catch (error) {
    try {
      await store.complete(key, undefined)
    } catch {
      // What the work was refused for is what the client must hear; the key is free again in a minute.
    }
    throw error
  }
}

function earlierAnswer(
  attempt: Exclude<IdempotencyRecord, { state: 'new' }>,
  fingerprint: string,
): Json {
  const issue = { field: 'idempotency-key', type: 'idempotency_key' } as const
  if (attempt.fingerprint !== fingerprint) {
    const message = 'This Idempotency-Key was used with another body; take a new key'
    throw new HttpError(422, [{ message, ...issue }])
  }
  if (attempt.state === 'running') {
    const message = 'The first request with this Idempotency-Key is still running'
    throw new HttpError(409, [{ message, ...issue }], { headers: ['Retry-After', '1'] })
  }
  return attempt.answer
}

/** Files sent again lie under new keys: their digests stand for them. */
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
