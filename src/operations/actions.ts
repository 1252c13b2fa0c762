// Actions: the verbs of a collection or an item (specification, "Resource operations").

import { HttpError, type Issue } from '../errors.ts'
import { formValue } from '../formats/form-values.ts'
import { mergePatch } from '../formats/patch.ts'
import { isRead } from '../http/message.ts'
import { ConflictError } from '../model/conflict-error.ts'
import type { ActionDefinition } from '../model/definition.ts'
import { RESERVED } from '../query.ts'
import { type Item, isObject, type Json, sameJson } from '../schema/values.ts'
import { type Stored, throwIfAborted, toAnswer } from '../store/store.ts'
import { patchBlobs } from './blob-inputs.ts'
import {
  type DecodedBody,
  type OperationContext,
  type OperationResult,
  withTarget,
} from './context.ts'
import { protect, protectResult, toReadable } from './field-roles.ts'
import { giveItem } from './given-items.ts'
import { OperationTools, runBefore } from './hooks.ts'
import { limitAnswer, once } from './idempotency.ts'
import { checkPatched, ownValues, withReadIssues } from './input.ts'
import { atCurrentParent, isReachable, requireItem, requireParent } from './items.ts'
import { itemValidators } from './read.ts'
import { representChanged } from './serialize.ts'
import { runInTransaction } from './transaction.ts'
import { refuseIfMatch, requireCurrent } from './write-preconditions.ts'
import { addApplied, buildChangedResult } from './write-results.ts'
import { update } from './writes.ts'

/**
 * Runs an action: 200 with what it gives. An item of the collection is answered as that item is everywhere.
 * Where it gives nothing it is answered as a change of the item is, and without an item 303 to the collection.
 */
export async function act(
  context: OperationContext,
  action: ActionDefinition,
): Promise<OperationResult> {
  const { collection } = context.target
  const store = context.storeOf(collection)
  const safe = action.method === 'GET'
  let stored: Stored | undefined
  const work = async (context: OperationContext) => {
    const current = await findActedOn(context, safe)
    const returned = await run(context, action, current, await checkInput(context, action))
    const { value } = returned
    stored = returned.stored ?? (action.givesItem ? await findGiven(context, value) : undefined)
    if (stored) return [null, toAnswer(toReadable(collection, stored))]
    // An action may return dates and undefined properties: the result is kept and sent as JSON.
    return value === undefined ? [] : [JSON.parse(JSON.stringify(value)) as Json]
  }
  const workWhole = (key?: string) =>
    runInTransaction(context, async inside => {
      const result = await work(inside)
      if (key !== undefined) await inside.storeOf(collection).complete(key, limitAnswer(result))
      return result
    })
  const answer = ([data, item]: readonly Json[]): OperationResult | Promise<OperationResult> => {
    // A second value was kept of an item.
    if (item !== undefined) return buildGivenResult(context, stored ?? (item as unknown as Stored))
    if (data === undefined) return buildEmptyResult(context)
    const { name, outputFields: fields } = action
    return {
      status: 200,
      headers: [],
      representation: { kind: 'document', name, data, ...(fields && { fields }) },
      value: data,
    }
  }
  const keep = (key: string, result: Json[]) => store.complete(key, limitAnswer(result))
  const whole = action.transaction
  const doWork = whole ? workWhole : () => work(context)
  return safe ? answer(await doWork()) : once(context, doWork, answer, whole ? undefined : keep)
}

/** Finds the item acted on; preconditions are for actions that change something. */
async function findActedOn(context: OperationContext, safe: boolean): Promise<Stored | undefined> {
  const { id } = context.target
  if (id !== undefined && !safe) return requireCurrent(context)
  if (id !== undefined) return requireItem(context)
  await requireParent(context)
  if (!safe) refuseIfMatch(context)
  return undefined
}

/** Finds the item that an action says it gives. @throws TypeError for anything else. */
async function findGiven(context: OperationContext, value: unknown): Promise<Stored | undefined> {
  if (value === undefined || value === null) return undefined
  const { collection, action } = context.target
  const id = isObject(value) ? value[collection.shape.identity.name] : undefined
  const isId = typeof id === 'string' || typeof id === 'number'
  const found = isId && (await context.storeOf(collection).get(id, context.request))
  if (found) return found
  throw new TypeError(
    `${collection.name}: the action ${action?.name} has output: 'item', but gave no item of the collection`,
  )
}

/** 200 with an item, where the client may see it. */
async function buildGivenResult(
  context: OperationContext,
  stored: Stored,
): Promise<OperationResult> {
  const { action: _action, ...place } = context.target
  const item = withTarget(context, { ...place, kind: 'item', id: stored.id })
  const at = atCurrentParent(item, stored.item)
  if (!(await isReachable(at, stored.item))) return buildEmptyResult(context)
  return {
    status: 200,
    headers: isRead(context.method) ? [] : ['Content-Location', at.href(at.target)],
    representation: await representChanged(at, stored),
    validators: itemValidators(stored, at.variant),
    value: protect(at.target.collection, stored.item),
    stored,
  }
}

async function buildEmptyResult(context: OperationContext): Promise<OperationResult> {
  const { action: _action, id, ...place } = context.target
  const store = context.storeOf(context.target.collection)
  const stored = id === undefined ? undefined : await store.get(id, context.request)
  // An action may do more than its caller, who gets no item that it could not read.
  if (id !== undefined && stored) {
    const item = withTarget(context, { ...place, id, kind: 'item' })
    if (await isReachable(atCurrentParent(item, stored.item), stored.item))
      return { ...(await buildChangedResult(item, stored)), value: undefined, stored: undefined }
  }
  const list = { ...place, kind: 'collection' } as const
  const url = context.href(list)
  const common = { vary: ['Prefer'], value: undefined }
  switch (context.returns) {
    case 'minimal':
      return { ...common, status: 204, headers: addApplied([], context) }
    case 'representation': {
      const representation = { kind: 'document', name: 'place', data: { url } } as const
      return { ...common, status: 200, headers: addApplied([], context), representation }
    }
    default:
      return { ...common, status: 303, headers: ['Location', context.hrefAsRequested(list)] }
  }
}

/** What an action gave, and the item acted on where it is that. */
interface Returned {
  readonly value: unknown
  readonly stored: Stored | undefined
}

async function run(
  context: OperationContext,
  action: ActionDefinition,
  current: Stored | undefined,
  input: unknown,
): Promise<Returned> {
  const { collection } = context.target
  let stored = current
  const item = current && giveItem(collection, current)
  /** The items that the action was given, by what it was given. */
  const given = new Map<unknown, Stored>()
  if (current) given.set(item, current)
  const before = { value: input, input, ...(current && { stored: current }) }
  const checked = await runBefore(context, before, input)
  const tools = Object.assign(new OperationTools(context), {
    input: checked,
    ...(item && { item, id: current.id }),
    update: async (changes: Readonly<Record<string, unknown>>) => {
      // The path names the parent that the item has now: a program may give it another.
      const anywhere = withTarget(context, { ...context.target, parent: undefined })
      stored = await changeItem(anywhere, stored, changes)
      const changed = giveItem(collection, stored)
      given.set(changed, stored)
      return changed
    },
  })
  const value = await action.run?.(tools)
  return { value, stored: given.get(value) }
}

/** Changes the item acted on, at the version that was read. */
async function changeItem(
  context: OperationContext,
  stored: Stored | undefined,
  changes: Readonly<Record<string, unknown>>,
): Promise<Stored> {
  const { collection } = context.target
  if (!stored) throw new TypeError('update() is for actions on an item')
  throwIfAborted(context.request)
  // A program's changes are JSON by declaration; the schema checks them.
  const values = await checkPatched(context, stored, shown =>
    mergePatch(shown, patchBlobs(context, changes as Item, shown, stored.item)),
  )
  if (sameJson(values, ownValues(collection, stored.item))) return stored
  const changed = await update(context, stored, values)
  if (changed) return changed
  // `*` holds of the item as it is now, too.
  const { ifMatch } = context.preconditions
  const status = ifMatch && ifMatch !== '*' ? 412 : 409
  const now = await context.storeOf(collection).get(stored.id, context.request)
  const theirs =
    now && (await isReachable(context, now.item)) ? giveItem(collection, now) : undefined
  throw new ConflictError(
    collection.itemName,
    { mine: protectResult(collection, changes), theirs },
    status,
  )
}

/** What the client sent, checked: from the query where the method is GET, else from the body. */
async function checkInput(context: OperationContext, action: ActionDefinition): Promise<unknown> {
  // A context in process gives the input of any action as a value.
  const { value: sent, issues } =
    context.body ?? (action.method === 'GET' ? queryInput(context, action) : { value: {} })
  return withReadIssues(issues, async () => {
    if (action.check) return action.check(sent)
    if (isObject(sent) && Object.keys(sent).length === 0) return sent
    const message = `${action.name} takes no input`
    throw new HttpError(400, [{ message, type: 'unexpected_input' }])
  })
}

function queryInput(
  { parameters, api: { limits } }: OperationContext,
  { inputFields }: ActionDefinition,
): Pick<DecodedBody, 'value' | 'issues'> {
  const issues: Issue[] = []
  const own = parameters.filter(({ name }) => inputFields?.has(name) || !RESERVED.has(name))
  const value = formValue(
    own.map(({ name, value }) => [name, value]),
    { fields: inputFields, limits, issues },
  )
  return { value, issues }
}
