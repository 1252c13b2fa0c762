// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): the first answer again, instead of
// the work again.
import { createHash } from 'node:crypto'
import { HttpError } from '../errors.ts'
import { printPath } from '../model/routes.ts'
import { type Awaitable, isObject, type Json } from '../schema/values.ts'
import type { IdempotencyRecord } from '../store/store.ts'
import type { OperationContext, OperationResult, Uploads } from './context.ts'

/**
 * Does the work once for each key, or gives the answer that it had. The key belongs to the principal,
 * the method and the target; work that fails leaves it free.
 * @param work is given the key as the store knows it, and gives an answer that can be kept.
 * @param answered the result that the answer stands for.
 * @param keep keeps the answer under the key, where the work itself has not kept it in one step.
 * @throws HttpError 422 for the same key with another body, 409 while the first is still running.
 */
export async function once<T extends Json>(
  context: OperationContext,
  work: (key: string | undefined) => Promise<T>,
  answered: (answer: T) => OperationResult | Promise<OperationResult>,
  keep?: (key: string, answer: T) => Awaitable<void>,
): Promise<OperationResult> {
  const { target, idempotencyKey, principal, method, body } = context
  if (idempotencyKey === undefined) return answered(await work(undefined))
  const { store } = target.collection
  const key = hash([principal?.id ?? null, method, printPath(target, []), idempotencyKey])
  const { value = null, issues = [] } = body ?? {}
  const said = issues.map(({ message }) => message)
  const fingerprint = hash([withDigests(value, context.uploads), ...said])
  const attempt = await store.claim(key, fingerprint, context.request)
  if (attempt.state !== 'new') {
    // An answer under this key was kept by this same function.
    const earlier = earlierAnswer(attempt, fingerprint) as T
    return { ...(await answered(earlier)), replayed: true }
  }
  let answer: T
  try {
    answer = await work(key)
  } catch (error) {
    try {
      await store.complete(key, undefined)
    } catch {
      // What the work was refused for is what the client must hear; the key is free again in a minute.
    }
    throw error
  }
  try {
    await keep?.(key, answer)
  } catch {
    // The work is done: a failure would have the client ask for it again. Until its claim ends the key
    // is refused, as if the work were going on.
  }
  return answered(answer)
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
