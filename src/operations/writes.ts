// create, replace, patch and delete (specification, "Resource operations"; conventions, "Writing").

import { HttpError } from '../errors.ts'
import { mergeForm } from '../formats/form-values.ts'
import { JSON_PATCH_TYPE, jsonPatch, mergePatch } from '../formats/patch.ts'
import { evaluate, onVersions, preconditionFailed } from '../http/conditional.ts'
import type { HeaderList } from '../http/message.ts'
import { printPreferences } from '../http/prefer.ts'
import { type Item, isObject, type Json, sameJson } from '../schema/values.ts'
import { type Id, type Store, type Stored, toAnswer, UniqueError } from '../store/store.ts'
import { blobPatch, removeBlobs } from './blob-inputs.ts'
import {
  assertVisible,
  atCurrentParent,
  type Call,
  inScope,
  notFound,
  type OperationResult,
  refuseIfMatch,
  requireParent,
  runBefore,
} from './call.ts'
import { once } from './idempotency.ts'
import {
  checkedWith,
  checkReferences,
  hookedValues,
  newValues,
  ownValues,
  patchedValues,
  requireBody,
  requireSize,
  valuesFor,
  withOwnValues,
} from './input.ts'
import { itemValidators } from './reads.ts'
import { changedRepresentation } from './serialize.ts'

/** `POST /<collection>`: 201 with the created item. `If-None-Match: *` asks for what it does anyway. */
export async function create(call: Call): Promise<OperationResult> {
  const { store } = call.target.collection
  await requireParent(call)
  refuseIfMatch(call)
  const work = async (idempotencyKey: string | undefined) => {
    const values = await newValues(call)
    const keyed =
      idempotencyKey === undefined ? call.caller : { signal: call.caller.signal, idempotencyKey }
    return toAnswer(await store.create(values, keyed))
  }
  return once(call, work, stored => created(call, stored))
}

async function created(asked: Call, stored: Stored): Promise<OperationResult> {
  const call = atCurrentParent(asked, stored.item)
  call.uploads?.keep(stored.item)
  const { target, returns } = call
  const location = call.href({ ...target, kind: 'item', id: stored.id })
  const minimal = returns === 'minimal'
  return {
    status: 201,
    headers: [
      'Location',
      location,
      ...(minimal ? [] : ['Content-Location', location]),
      ...returnApplied(call),
    ],
    ...(!minimal && { representation: await changedRepresentation(call, stored.item) }),
    validators: itemValidators(stored, call.variant),
    vary: ['Prefer'],
    result: stored.item,
  }
}

/** `PUT /<collection>/<id>`: the whole item anew. */
export async function replace(call: Call): Promise<OperationResult> {
  const { validator } = call.target.collection
  const sent = requireBody(call)
  return change(call, (own, { id, item }) =>
    checkedWith(call.body?.issues, async () =>
      validator.replace(own, await valuesFor(call, id, sent, item)),
    ),
  )
}

/** `PATCH /<collection>/<id>`: a merge patch, or a JSON Patch by its media type. A patch that changes nothing writes nothing. */
export async function patch(call: Call): Promise<OperationResult> {
  const sent = requireBody(call)
  return change(call, (_own, current) =>
    checkedWith(call.body?.issues, () =>
      patchedValues(call, current, shown => applyPatch(call, current.item, shown, sent)),
    ),
  )
}

function applyPatch(call: Call, current: Item, shown: Item, sent: Json): Json {
  const { body, limits, target } = call
  if (body?.type === JSON_PATCH_TYPE)
    return jsonPatch(shown, sent, limits.patchOperations, limits.depth, limits.body)
  if (isObject(sent)) {
    const placed = blobPatch(call, sent, shown, current)
    return body?.form
      ? mergeForm(shown, placed, target.collection.takenFields)
      : mergePatch(shown, placed)
  }
  const message = 'A merge patch of an item must be an object'
  throw new HttpError(400, [{ message, type: 'invalid_type' }])
}

/** `DELETE /<collection>/<id>`: 200 with the last representation. */
export async function remove(call: Call): Promise<OperationResult> {
  const { target, returns } = call
  const { store } = target.collection
  return untilUncontested(call, async () => {
    const current = await requireCurrent(call)
    await runBefore(call, { item: current.item }, undefined)
    const { id, version, item } = current
    if (!(await store.delete(id, version, call.caller))) return undefined
    const minimal = returns === 'minimal'
    const outcome: OperationResult = {
      status: minimal ? 204 : 200,
      headers: returnApplied(call),
      ...(!minimal && { representation: await changedRepresentation(call, item) }),
      vary: ['Prefer'],
      result: item,
    }
    await removeBlobs(call, item)
    return outcome
  })
}

/** Reads, decides and writes at the version that was read. */
async function change(
  call: Call,
  next: (own: Item, current: Stored) => Promise<Item>,
): Promise<OperationResult> {
  const { collection } = call.target
  return untilUncontested(call, async () => {
    const current = mayCreate(call) ? await currentItem(call) : await requireCurrent(call)
    if (!current) {
      call.authorize?.('create')
      return createAt(call)
    }
    const own = ownValues(collection, current.item)
    const checked = await next(own, current)
    const values = await hookedValues(call, { item: current.item }, checked)
    if (call.operation === 'patch' && sameJson(values, own)) return changed(call, current)
    const stored = await update(call, current, values, checked)
    return stored && changed(call, stored)
  })
}

/**
 * Writes checked values at the version that was read; `undefined` where it is not that any more.
 * @param sent the values as they were before a hook; default the values.
 */
export async function update(
  call: Call,
  { id, version, item }: Stored,
  values: Item,
  sent?: Item,
): Promise<Stored | undefined> {
  const { collection } = call.target
  requireSize(call, values)
  assertVisible(call, withOwnValues(collection, item, values))
  await checkReferences(call, values, { sent, current: item })
  const stored = await collection.store.update(id, version, values, call.caller)
  if (!stored) return undefined
  call.uploads?.keep(stored.item)
  await removeBlobs(call, item, stored.item)
  return stored
}

function mayCreate({ operation, target }: Call): boolean {
  return target.collection.putCreates && operation === 'replace'
}

/** A PUT that creates; `undefined` where another one was faster: there is an item to replace now. */
async function createAt(call: Call): Promise<OperationResult | undefined> {
  const { store } = call.target.collection
  const values = await newValues(call, call.target.id)
  try {
    return await created(call, await store.create(values, call.caller))
  } catch (error) {
    const taken = error instanceof UniqueError && (await currentItem(call)) !== undefined
    if (taken) return undefined
    throw error
  }
}

/**
 * PUT and PATCH answer 303 to the item, so that no client sends the write again; `Prefer` chooses otherwise,
 * and who could not follow is given the item at once.
 */
export async function changed(asked: Call, stored: Stored): Promise<OperationResult> {
  const call = atCurrentParent(asked, stored.item)
  const { target, operation, returns } = call
  const location = call.href({ ...target, kind: 'item' })
  const common = { vary: ['Prefer'], result: stored.item }
  if (returns === 'representation') {
    return {
      ...common,
      status: 200,
      headers: ['Content-Location', location, ...returnApplied(call)],
      representation: await changedRepresentation(call, stored.item),
      validators: itemValidators(stored, call.variant),
    }
  }
  if (returns === 'minimal') {
    // After a PUT no validator may be sent where the server added to what it was sent (RFC 9110 §9.3.4).
    const validators = operation === 'patch' && { validators: itemValidators(stored, call.variant) }
    return { ...common, status: 204, headers: returnApplied(call), ...validators }
  }
  return { ...common, status: 303, headers: ['Location', location] }
}

/**
 * The item as it is, its preconditions met; `undefined` where there is none.
 * @throws HttpError 412, and 428 where the collection requires a precondition and none was sent.
 */
async function currentItem(call: Call): Promise<Stored | undefined> {
  const { target, method, preconditions } = call
  const { collection, id = '' } = target
  await requireParent(call)
  const stored = await collection.store.get(id, call.caller)
  const current = stored && inScope(call, stored.item) ? stored : undefined
  // Where the answer is 404 anyway no precondition counts (RFC 9110 §13.2.1).
  if (!current && !mayCreate(call)) return undefined
  const validators = current && validatorsOfWrite(current)
  if (evaluate(onVersions(preconditions), method, validators) !== 'proceed')
    throw preconditionFailed(preconditions)
  const { ifMatch, ifUnmodifiedSince } = preconditions
  const asked = collection.requirePrecondition && !call.inProcess
  // A date says nothing of what has none: it is ignored there (RFC 9110 §13.1.4).
  const since = current?.updatedAt === undefined ? undefined : ifUnmodifiedSince
  if (current && asked && !ifMatch && since === undefined) {
    const message = 'This collection takes changes only with If-Match: send the ETag that you read'
    throw new HttpError(428, [{ message, field: 'if-match', type: 'precondition_required' }])
  }
  return current
}

function validatorsOfWrite({ version, updatedAt }: Stored) {
  return { tag: version, ...(updatedAt !== undefined && { lastModified: updatedAt }) }
}

/** The same. @throws HttpError 404 */
export async function requireCurrent(call: Call): Promise<Stored> {
  const { collection, id = '' } = call.target
  const current = await currentItem(call)
  if (!current) throw notFound(collection, id)
  return current
}

/** How often a write begins again because another one came in between: each time that one succeeded. */
const MOST_ATTEMPTS = 1000

async function untilUncontested(
  { target }: Call,
  attempt: () => Promise<OperationResult | undefined>,
): Promise<OperationResult> {
  const { collection, id = '' } = target
  // Most writes meet nobody. Those that do go on one after another: else all but one would lose
  // every round.
  return (await attempt()) ?? inTurn(collection.store, id, () => repeated(attempt))
}

async function repeated(
  attempt: () => Promise<OperationResult | undefined>,
): Promise<OperationResult> {
  for (let count = 1; count < MOST_ATTEMPTS; count++) {
    const outcome = await attempt()
    if (outcome) return outcome
  }
  const message = 'Too many others are writing this item at the moment'
  throw new HttpError(503, [{ message, type: 'contended' }], { headers: ['Retry-After', '1'] })
}

const turns = new WeakMap<Store, Map<Id, Promise<void>>>()

/** Does the work when all earlier work on the item in this process has ended. */
function inTurn<T>(store: Store, id: Id, work: () => Promise<T>): Promise<T> {
  const items = turns.get(store) ?? new Map<Id, Promise<void>>()
  turns.set(store, items)
  const mine = (items.get(id) ?? Promise.resolve()).then(work)
  const end = () => {
    if (items.get(id) === settled) items.delete(id)
  }
  const settled: Promise<void> = mine.then(end, end)
  items.set(id, settled)
  return mine
}

/** Names what was preferred, where it is what is answered (RFC 7240 §3). */
export function returnApplied({ preferences, returns }: Call): HeaderList {
  if (!returns || preferences.return !== returns) return []
  return ['Preference-Applied', printPreferences({ return: returns })]
}
