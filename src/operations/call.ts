// One operation asked for, and what came of it: plain values, before and after which there are bytes.

import type { Principal } from '../auth/scheme.ts'
import { HttpError, type Issue } from '../errors.ts'
import type { Representation, Upload } from '../formats/format.ts'
import type { Preconditions, Validators } from '../http/conditional.ts'
import type { Limits } from '../http/limits.ts'
import type { HeaderList, Parameter } from '../http/message.ts'
import type { Preferences } from '../http/prefer.ts'
import type {
  CallOptions,
  Calls,
  CollectionDefinition,
  Hooks,
  OperationEvent,
} from '../model/definition.ts'
import type { CollectionTarget, Parent, Target } from '../model/routes.ts'
import type { BlobRecord } from '../schema/blob.ts'
import { getValue } from '../schema/paths.ts'
import { freezeDeep, type Item, isObject, type Json } from '../schema/values.ts'
import type { Filter } from '../store/selection.ts'
import {
  type Id,
  ReferenceConflictError,
  type Stored,
  type StoreOptions,
  UnavailableError,
  UniqueError,
  UnstorableError,
} from '../store/store.ts'
import { buildRowFilter } from './row-policy.ts'

/** The body of a request, decoded. */
export interface CallBody {
  readonly value: Json
  /** Its media type without parameters; absent where the client did not say. */
  readonly type: string | undefined
  /** What was wrong with single values before the schema saw them: see {@link ReadContext.issues}. */
  readonly issues?: readonly Issue[]
  /** Whether it was a form. */
  readonly form?: boolean | undefined
}

/**
 * The contents that one request has brought so far. What no written item has taken when the request
 * ends is removed again.
 */
export interface Uploads {
  /**
   * Keeps a content for the property at a dotted path.
   * @throws HttpError 400 where the property takes no file or not this type, 413 over the limit.
   */
  put(field: string, file: Upload): Promise<Json>
  /** The record of a content that this request has brought. */
  find(key: string): BlobRecord | undefined
  /** The SHA-256 of such a content: the same bytes sent again have another key. */
  digest(key: string): string | undefined
  /** Says that an item holds these now. */
  keep(item: Item): void
  /** Removes what nobody kept. */
  discard(): Promise<void>
}

export interface Call {
  readonly target: CollectionTarget
  /** The name of the operation or action. */
  readonly operation: string
  /** The effective method. */
  readonly method: string
  readonly parameters: readonly Parameter[]
  readonly body: CallBody | undefined
  readonly preconditions: Preconditions
  /** Whether a program calls, which cannot be asked for a precondition. */
  readonly inProcess?: boolean
  readonly preferences: Preferences
  /** What a change is answered with; default by a redirect. Not always what is preferred. */
  readonly returns?: Preferences['return']
  /** The `Range` header. */
  readonly range: string | undefined
  readonly idempotencyKey: string | undefined
  /** The contents that the request has brought, where the collection has binary properties. */
  readonly uploads: Uploads | undefined
  /** What tells this format's entity tags from those of others. */
  readonly variant: string
  /** Whether the format prints lists whole, as a stream. */
  readonly streams: boolean
  readonly principal: Principal | undefined
  /**
   * Asks whether another operation, which this one turns out to need, is allowed too; absent for calls in process.
   * @throws HttpError 401, 403
   */
  readonly authorize?: (operation: string) => void
  /** Whether the sender may do something to a collection; absent for calls in process. */
  readonly may?: (collection: CollectionDefinition, operation: string) => boolean
  /** Who waits for the outcome, as stores are told: the request itself, whose signal is made when somebody asks. */
  readonly caller: StoreOptions & { readonly signal: AbortSignal }
  readonly limits: Limits
  /** The absolute address of a target. */
  readonly href: (target: Target) => string
  /** The operations of another collection of the same version, for actions. */
  readonly collection: (name: string, options?: CallOptions) => Calls
}

export interface OperationResult {
  readonly status: number
  readonly headers: HeaderList
  readonly representation?: Representation | undefined
  /** Of what is represented, for `ETag`, `Last-Modified` and the conditions of a read. */
  readonly validators?: Validators
  /** What of the request the answer depends on besides its format. */
  readonly vary?: readonly string[]
  /** What hooks and in-process callers get. */
  readonly result: unknown
  /** That it was done by an earlier request of the same `Idempotency-Key`: hooks have heard of it. */
  readonly replayed?: true
}

export function createEvent(call: Call, more: Partial<OperationEvent> = {}): OperationEvent {
  const { target, operation, principal, caller } = call
  return {
    collection: target.collection.name,
    operation,
    principal,
    signal: caller.signal,
    ...(target.id !== undefined && { id: target.id }),
    ...more,
  }
}

/** Runs the collection's `before` hook; what it returns takes the place of the value. */
export function runBefore<T>(
  call: Call,
  more: Partial<OperationEvent>,
  value: T,
): T | Item | Promise<T | Item> {
  const { before } = call.target.collection.hooks
  if (!before) return value
  freezeDeep(more.item)
  return replaced(before, createEvent(call, more), value)
}

async function replaced<T>(
  before: NonNullable<Hooks['before']>,
  event: OperationEvent,
  value: T,
): Promise<T | Item> {
  const given = await before(event)
  // A hook may take long: nothing is done any more for who has gone, or has been refused, meanwhile.
  event.signal.throwIfAborted()
  return isObject(given) ? given : value
}

/** The filters that a parent and the row rule put on every operation. */
export function buildScope({ target, principal }: Call): Filter[] {
  const { parent, collection } = target
  const sight = buildRowFilter(collection, principal)
  return [
    ...(parent ? [{ path: [parent.field], operator: 'in', values: [parent.id] } as const] : []),
    ...(sight?.where ?? []),
  ]
}

/**
 * The same call at the place where an item is after a change: below the parent of its path only while it
 * is that one's, which a hook or an action may have changed.
 */
export function atCurrentParent(call: Call, item: Item): Call {
  const { parent } = call.target
  if (!parent || getValue(item, [parent.field]) === parent.id) return call
  return withoutParent(call)
}

/** The same call whatever parent its path names. */
export function withoutParent(call: Call): Call {
  return { ...call, target: { ...call.target, parent: undefined } }
}

/** Whether an item is in reach: below the target's parent, if it has one, and in the principal's sight. */
export function inScope({ target, principal }: Call, item: Item): boolean {
  const { parent, collection } = target
  if (parent && getValue(item, [parent.field]) !== parent.id) return false
  return buildRowFilter(collection, principal)?.sees(item) ?? true
}

/**
 * An item of any collection, where it is there and in the principal's sight. A collection that hides
 * what exists has none for who may not read it.
 */
export async function findVisible(
  call: Call,
  collection: CollectionDefinition,
  id: Id,
): Promise<Stored | undefined> {
  if (collection.hideExistence && call.may?.(collection, 'read') === false) return undefined
  const stored = await collection.store.get(id, call.caller)
  if (!stored) return undefined
  return (buildRowFilter(collection, call.principal)?.sees(stored.item) ?? true)
    ? stored
    : undefined
}

/** @throws HttpError 404 where the parent of the target does not exist. */
export function requireParent(call: Call): Promise<void> | undefined {
  const { parent } = call.target
  return parent && requireVisible(call, parent)
}

async function requireVisible(call: Call, { collection, id }: Parent): Promise<void> {
  if (!(await findVisible(call, collection, id))) throw notFound(collection, id)
}

/** The item of a read. @throws HttpError 404 */
export async function requireItem(call: Call): Promise<Stored> {
  const { collection, id = '' } = call.target
  await requireParent(call)
  const stored = await collection.store.get(id, call.caller)
  if (!stored || !inScope(call, stored.item)) throw notFound(collection, id)
  return stored
}

/**
 * The lists of a collection have tags, the collection itself has none: only `If-Match: *` holds of it.
 * @throws HttpError 412 (RFC 9110 §13.1.1)
 */
export function refuseIfMatch({ preconditions: { ifMatch } }: Call): void {
  if (!ifMatch || ifMatch === '*') return
  const message = 'A collection has no entity tag that If-Match could name: send it without'
  throw new HttpError(412, [{ message, field: 'if-match', type: 'precondition_failed' }])
}

/**
 * Refuses to write what its writer would not see.
 * @param values of the item to be, without the id that only the store knows.
 * @throws HttpError 403, or as if there were nothing where the collection hides what exists.
 */
export function assertVisible({ target, principal }: Call, values: Item): void {
  const { collection, id } = target
  const sight = buildRowFilter(collection, principal)
  if (sight?.sees(dated(collection, values)) ?? true) return
  if (collection.hideExistence) throw notFound(collection, id ?? '')
  const message = `This would be no ${collection.itemName} of yours`
  throw new HttpError(403, [{ message, type: 'forbidden_row' }])
}

/** Values with the dates that a store gives them now. */
function dated({ shape: { createdAt, updatedAt } }: CollectionDefinition, values: Item): Item {
  const now = new Date().toISOString()
  const created = createdAt === undefined ? {} : { [createdAt]: now }
  const updated = updatedAt === undefined ? {} : { [updatedAt]: now }
  return { ...created, ...values, ...updated }
}

export function notFound({ itemName }: CollectionDefinition, id: Id): HttpError {
  const message = `There is no ${itemName} with the id ${JSON.stringify(String(id).slice(0, 64))}`
  return new HttpError(404, [{ message, type: 'not_found' }])
}

/** A store's error as a refusal; anything else as it is. */
export function translateStoreError(error: unknown): unknown {
  if (error instanceof UniqueError) {
    const { message, fields } = error
    const type = 'not_unique'
    const issues: Issue[] = fields.map(field => ({ message, field, type }))
    return new HttpError(409, issues.length > 0 ? issues : [{ message, type }], {
      cause: error,
    })
  }
  if (error instanceof ReferenceConflictError) {
    const { message } = error
    return new HttpError(409, [{ message, type: 'conflict' }], { cause: error })
  }
  if (error instanceof UnstorableError) {
    const { message, fields } = error
    const issues: Issue[] = fields.map(field => ({ message, field, type: 'too_long' }))
    return new HttpError(400, issues.length > 0 ? issues : [{ message, type: 'unstorable' }], {
      cause: error,
    })
  }
  if (error instanceof UnavailableError) {
    const options = { headers: ['Retry-After', '5'], cause: error }
    return new HttpError(
      503,
      [{ message: 'The store cannot be reached at the moment', type: 'unavailable' }],
      options,
    )
  }
  return error
}

/** The date for `Last-Modified`; none within the second of the change, where it says too little (RFC 9110 §8.8.2.1). */
export function lastModifiedOf({ updatedAt }: Pick<Stored, 'updatedAt'>): number | undefined {
  if (updatedAt === undefined) return undefined
  return Math.floor(updatedAt / 1000) < Math.floor(Date.now() / 1000) ? updatedAt : undefined
}
