// create, replace, patch and delete (specification, "Resource operations"; conventions, "Writing").

import { HttpError } from '../errors.ts'
import { mergeForm } from '../formats/form-values.ts'
import { JSON_PATCH_TYPE, jsonPatch, mergePatch } from '../formats/patch.ts'
import {
  type Awaitable,
  andThen,
  type Item,
  isObject,
  type Json,
  sameJson,
} from '../schema/values.ts'
import { UniqueError } from '../store/errors.ts'
import type { Id, Store, Stored } from '../store/store.ts'
import { authorize } from './authorize.ts'
import { patchBlobs, removeBlobs } from './blob-inputs.ts'
import type { OperationContext, OperationResult } from './context.ts'
import { requireImmutable, toChanges } from './enforce-field-roles.ts'
import { deleteWithChildren, writeReferring } from './enforce-references.ts'
import { completeUnchanged, toWriteOptions, writeOnce } from './idempotency-key.ts'
import {
  checkNew,
  checkPatched,
  ownValues,
  prepareValues,
  requireBody,
  requireWritable,
  runValueHook,
  withBodyIssues,
} from './input.ts'
import { requireParent } from './items.ts'
import { runBefore } from './run-hooks.ts'
import {
  findForWrite,
  refuseIfMatch,
  requireForWrite,
  retryContested,
} from './write-preconditions.ts'
import { buildChangedResult, buildCreatedResult, buildDeletedResult } from './write-results.ts'

/** `POST /<collection>`: 201 with the created item. `If-None-Match: *` asks for what it does anyway. */
export function create(context: OperationContext): Awaitable<OperationResult> {
  return andThen(requireParent(context), () => {
    refuseIfMatch(context)
    return writeOnce(context, () =>
      andThen(createItem(context), stored => buildCreatedResult(context, stored)),
    )
  })
}

function createItem(context: OperationContext, id?: Id): Awaitable<Stored> {
  const options = toWriteOptions(context, 'created')
  return andThen(checkNew(context, id), checked =>
    andThen(runValueHook(context, { input: context.body?.value }, checked), values =>
      checkAndWrite(context, values, checked, undefined, store => store.create(values, options)),
    ),
  )
}

/**
 * Checks the values of an item, and writes them in the same transaction where there is one.
 * @param checked the values as they were before the hook.
 */
function checkAndWrite<T>(
  context: OperationContext,
  values: Item,
  checked: Item,
  current: Item | undefined,
  work: (store: Store) => Awaitable<T>,
): Awaitable<T> {
  return writeReferring(context, values, current, inside =>
    andThen(requireWritable(inside, values, checked, current), () =>
      work(inside.storeOf(inside.target.collection)),
    ),
  )
}

/** `PUT /<collection>/<id>`: replaces the whole item. */
export async function replace(context: OperationContext): Promise<OperationResult> {
  const { collection } = context.target
  const body = requireBody(context)
  return change(context, async (own, { id, item }) => {
    const prepared = await prepareValues(context, body, id, item)
    const values = await collection.validator.replace(own, prepared)
    requireImmutable(collection, own, values)
    return values
  })
}

/** `PATCH /<collection>/<id>`: a merge patch, or a JSON Patch by its media type. A patch that changes nothing writes nothing. */
export async function patch(context: OperationContext): Promise<OperationResult> {
  const body = requireBody(context)
  return change(context, (_own, current) =>
    checkPatched(context, current, printed => applyPatch(context, body, current.item, printed)),
  )
}

function applyPatch(context: OperationContext, patch: Json, current: Item, printed: Item): Json {
  const { target, api } = context
  const { type, form } = context.body ?? {}
  if (type === JSON_PATCH_TYPE)
    return jsonPatch(printed, patch, {
      maxOperations: api.limits.patchOperations,
      maxDepth: api.limits.depth,
      maxSize: api.limits.body,
      writeOnly: target.collection.writeOnly,
    })
  if (isObject(patch)) {
    const changes = patchBlobs(context, patch, printed, current)
    return form
      ? mergeForm(printed, changes, target.collection.bodyFields)
      : mergePatch(printed, changes)
  }
  const message = 'A merge patch of an item must be an object.'
  throw new HttpError(400, [{ message, type: 'invalid_type' }])
}

/** `DELETE /<collection>/<id>`: 200 with the last representation. */
export async function remove(context: OperationContext): Promise<OperationResult> {
  const { collection } = context.target
  return writeOnce(context, () =>
    retryContested(context, async () => {
      const current = await requireForWrite(context)
      const { id, version, item } = current
      await runBefore(context, { stored: current }, undefined)
      const options = toWriteOptions(context, 'deleted', current)
      const deleted =
        collection.children.length > 0
          ? await deleteWithChildren(context, current, options)
          : await context.storeOf(collection).delete(id, version, options)
      if (!deleted) return undefined
      // Serialized before its contents are removed, since small ones are inline.
      const result = await buildDeletedResult(context, current)
      await removeBlobs(context, item)
      return result
    }),
  )
}

/**
 * Changes an item: finds it, evaluates the preconditions, checks its next values, runs the `before` hook, and
 * writes at the version that was read. Where another write came in between it starts again.
 */
async function change(
  context: OperationContext,
  computeValues: (own: Item, current: Stored) => Promise<Item>,
): Promise<OperationResult> {
  const { collection } = context.target
  const creates = context.operation === 'replace' && collection.putCreates
  const attempt = async () => {
    const current = creates ? await findForWrite(context, creates) : await requireForWrite(context)
    if (!current) return createAt(context)
    const own = ownValues(collection, current.item)
    const checked = await withBodyIssues(context.body?.issues, () => computeValues(own, current))
    const input = readInput(context, own, checked)
    const values = await runValueHook(context, { stored: current, input }, checked)
    if (context.operation === 'patch' && sameJson(values, own)) {
      await completeUnchanged(context, current)
      return buildChangedResult(context, current)
    }
    const stored = await update(context, current, values, checked)
    return stored && buildChangedResult(context, stored)
  }
  return writeOnce(context, () => retryContested(context, attempt))
}

/** Reads the input for hooks: a JSON Patch as its changes by property, as a merge patch is. */
function readInput({ body }: OperationContext, own: Item, checked: Item): Json | undefined {
  return body?.type === JSON_PATCH_TYPE ? toChanges(own, checked) : body?.value
}

/**
 * Writes checked values at the version that was read; `undefined` where the item has another one by now.
 * @param checked the values as they were before the hook; default the values.
 */
export async function update(
  context: OperationContext,
  { id, version, item }: Stored,
  values: Item,
  checked = values,
): Promise<Stored | undefined> {
  const { collection } = context.target
  const options = toWriteOptions(context, 'changed')
  const stored = await checkAndWrite(context, values, checked, item, store =>
    store.update(id, version, values, options),
  )
  if (!stored || !collection.blobs) return stored
  context.keepUploads(stored.item)
  await removeBlobs(context, item, stored.item)
  return stored
}

/** Creates by PUT; `undefined` where another request was faster: there is an item to replace now. */
async function createAt(context: OperationContext): Promise<OperationResult | undefined> {
  authorize(context, ['create'])
  try {
    return await buildCreatedResult(context, await createItem(context, context.target.id))
  } catch (error) {
    const isTaken =
      error instanceof UniqueError && (await findForWrite(context, true)) !== undefined
    if (isTaken) return undefined
    throw error
  }
}
